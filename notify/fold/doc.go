// Package fold makes one coherent view of a stream of notifications in which
// work is tried again (docs/rewind.md).
//
// A View takes events in the order of their seq and says of each whether it
// joins the live view, and of each marker (stream/rewind) what it takes back.
// It keeps turns and items as they stand, and what is superseded apart. A
// Collapser is the server's half: it says which events of a page to leave out,
// given the markers up to a seq.
//
// It is a pure library: no goroutines, no clock, no input or output. It never
// drops an event on its own: what is left out is left out by a marker. Clients
// (rpc/client, holon watch) and the store use it.
package fold
