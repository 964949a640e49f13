// Package hooks receives webhooks over HTTP, verifies who sent them, and makes items
// of inboxes of them.
//
//   - A Source is one configured sender. Compile checks it, once.
//   - A Handler serves POST /hooks/NAME. It verifies a body before it parses
//     it, and answers 202 only when everything is committed.
//   - What GitHub sends is known by its events (github.go). What others send is
//     described by expressions of the configuration (expression.go).
//
// It promises that an expression ends: its nodes, loops, memory and steps are
// bounded. It never logs or echoes a body or a secret, starts no
// goroutine, and keeps nothing on disk but which repository of a source came
// first. The engine stores the items (Deliverer).
package hooks
