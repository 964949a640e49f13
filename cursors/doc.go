// Package cursors records how far consumers have come. A cursor is one row for
// each (consumer_id, stream_name, subject_id). It owns nothing and decides
// nothing: what a consumer does with a stream is the consumer's business.
//
// It promises that the sequence of a cursor only rises, except by a reset, also
// while several writers race: each write has a fence that compares, in the
// appending transaction, the row that it was decided from. A reset and a deletion
// are events of the log, everything else changes rows only.
//
// Clients change cursors through a Service. A part of the server that confirms
// what it has delivered writes the row of its cursor in its own unit: it reads the
// cursor with Get, makes the next one with Advance, Fail or Reset, and adds it to
// the unit with Write.
//
// It never starts a goroutine. Its caller is package api, and what delivers events.
package cursors
