// Package engine is what runs: one goroutine per busy thread owns its turns,
// decides what commands and agents ask for, and commits it. The gate bounds how
// many turns run at once; claims hand turns to workers; Recover and Drain are
// the beginning and the end of a server. docs/architecture.md follows a request
// and an event through it.
//
// It promises that what starts ends (I5), that nobody gets anything
// before it is durable (I1), and that an agent or a thread that fails takes
// nothing else with it.
//
// It keeps no state of its own: the rows of package turns, as committed, are
// its memory. Agents see it through the interfaces of package turns; cmd makes
// it, and package api calls it.
package engine
