// Package dashboard is the full screen that `holon` alone opens: the threads of a
// server, which of them need the person, and the conversation of one.
//
// It owns the terminal while it runs (bubbletea), the way between the pages, the
// keys that are the same everywhere, the notices, the title and the bell. Pages
// are pure models (screen.Page): package overview lists the threads, package
// conversation shows one. The program carries out what they ask for
// (screen.Action) off the update loop, by package requests, and gives them what
// comes back.
//
// It is a client like any other: it knows the server by rpc/client alone. One
// stream tells which threads have changed, and their summaries are read then,
// with at most one request in flight and four a second. Nothing polls: a conversation
// reads its children again when a stream says that something has happened below.
package dashboard
