// Package persisttest is the suite that every store of the log has to pass,
// and what it takes to write to a store the way an actor does. A store's own
// tests call Exercise; benchmarks use Maker.
package persisttest
