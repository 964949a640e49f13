// Package console serves the console, the user interface in the browser: a page, its
// modules and its styles, which are embedded in the program.
//
// The files hold no data and are the same for everybody. The page requests its data as any
// client does, so this package knows no method and no identity. It answers GET and HEAD of
// exactly the files that it has, and 404 to other paths. admission.Gate.Static decides which
// requests of browsers reach it.
//
// static is what is served. static/vendor has libraries of others: its update.sh downloads
// them, and nobody edits them. cmd/holon makes one Console and serves it on every listener
// that is not a unix socket.
package console
