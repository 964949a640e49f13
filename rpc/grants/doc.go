// Package grants gives agents their tokens. A token is of one thread and one start
// of an agent's process, or of one attempt of a turn; it ends when that does. It
// admits like the server's own token, but only to what api lets an agent do.
//
// It owns how a token is made and which ones are live. It writes none anywhere, and
// knows nothing of HTTP: an admission gate asks it (Grants.Admit). It is apart from
// package admission because that one knows neither threads nor methods, and has one
// token that never changes.
package grants
