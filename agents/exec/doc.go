// Package exec turns any command into an agent. Each prompt runs its own
// process in its own process group. The input goes to its stdin. Its stdout
// becomes a message or, with Output "events", is NDJSON events that become
// items. Its exit status is the outcome. docs/write-an-agent.md is the users'
// reference.
//
// What the package promises: no process of a prompt's group outlives Run, and
// every process is reaped; memory per prompt is bounded for any output; while
// the sink is full stdout is not read, so that the process waits (I7).
package exec
