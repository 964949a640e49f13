// Package screen is what the pages of the dashboard have in common: harmless
// text, columns, styles, words for durations and sums, and the values that a
// page gives back to the program (Action).
//
// Every text of a server or an agent passes Clean, or OneLine for a row, before
// anything else is done with it. A text that then got colours of another
// renderer (Markdown) passes Colours. After that a line holds no control
// characters but our own colours, and each of its characters has a width that
// all terminals agree on, so columns stay straight.
//
// The package does no I/O, reads no clock and starts no goroutine. All of it may
// be used from any number of goroutines.
package screen
