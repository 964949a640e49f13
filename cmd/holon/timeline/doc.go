// Package timeline shows events to a person: a live, coloured timeline on a
// terminal, plain self-contained lines where the output is no terminal.
//
// It owns the look of events, the status line with its spinner, wrapping to the
// width, removing superseded lines (docs/rewind.md), and sanitizing the text of
// agents (package sanitize): an agent's text cannot move the cursor, change colours or
// hide text. A Renderer is a pure state machine: it starts no goroutine, reads
// only the given clock and writes only to the given writer, so its output can
// be compared byte for byte. It calls no server.
package timeline
