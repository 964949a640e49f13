// Package fold makes one coherent view of a stream of notifications in which
// work is retried (docs/rewind.md).
//
// A View takes events in the order of their seq. It says whether an event joins
// the live view, and what a marker (stream/rewind) supersedes. It keeps the live
// turns and items, and separately what is superseded. A Collapser is the
// server's half: given the markers up to a seq, it says which events of a page
// to leave out.
//
// The package is a pure library: no goroutines, no clock, no input or output.
// Only a marker removes events from a view. Clients (rpc/client, holon watch)
// and the store use it.
package fold
