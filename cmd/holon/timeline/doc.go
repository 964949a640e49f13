// Package timeline shows events to a person: a live, coloured timeline on a
// terminal, plain self-contained lines where the output is no terminal.
//
// It owns how events look, the status line with its spinner, wrapping to the
// width, taking back what a retry supersedes (docs/rewind.md), and making text
// of agents harmless (Sanitizer): nothing an agent says can move the cursor,
// change colours or hide text. A Renderer is a pure state machine: it starts no
// goroutine, reads no clock but the one it is given and writes to the one
// writer it is given, so its output can be compared byte for byte. It asks no
// server anything.
package timeline
