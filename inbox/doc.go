// Package inbox has the rules of inboxes: what arrived for a thread from
// outside, grouped so that an agent or a person reads one entry instead of
// twenty, and acknowledged by exactly what was seen. docs/inbox.md describes
// them for users.
//
//   - A raw item is one thing that arrived, as it arrived.
//   - A digest collects raw items that belong together.
//   - An entry is what is read, acknowledged and told to an agent: one raw item,
//     or a snapshot of a digest.
//
// All of them are folds of inbox/* events (fold.go), and their ids are the seqs
// of these events. A Book decides: it reads rows, adds events and folds each
// into copies of the rows, so that a decision and a rebuild cannot differ (I2).
//
// The package has no goroutine, no clock and no database. The actor of a thread
// calls it (engine/inbox*.go).
package inbox
