// Package overview is the page of the dashboard that lists all threads: which of
// them need the person, which work, which are done.
//
// It is a pure model (screen.Page): it takes messages and times and gives lines,
// and has no I/O, goroutine or clock. Only the rows that are visible are drawn.
// The selection follows the id of a thread. The order of rows stays as it is for
// orderStays after each key, so that nothing moves under a person's hand.
package overview
