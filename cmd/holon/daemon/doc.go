// Package daemon is holon serve: it makes the store, the agents, the engine and
// the wire from a configuration, opens listeners once recovery is committed,
// and stops in order. It is the only package that connects all others; it
// decides nothing itself.
package daemon
