// Package console serves the console, the user interface in the browser: a page, its
// modules and its styles, which are embedded in the program.
//
// The files hold no data and are the same for everybody. What the page shows it asks the
// server for, as any client does, so this package knows no method and no identity. It
// answers GET and HEAD of exactly the files that it has and 404 to everything else;
// admission.Gate.Static decides before it which requests of browsers come here.
//
// static is what is served. static/vendor are libraries of others; update.sh in it brings
// them, and nobody edits them. The program in cmd makes one Console and serves it on every
// listener that is not a unix socket.
package console
