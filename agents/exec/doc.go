// Package exec makes an agent of any command. Each prompt is a process of its
// own, in its own process group: the input goes to its stdin, its stdout
// becomes a message or, with Output "events", NDJSON events that become items;
// its exit status is the outcome. docs/agents.md is the users' reference.
//
// What the package promises: no process of a prompt's group outlives Run, and
// every process is reaped; memory per prompt is bounded whatever is printed;
// while the sink is full stdout is not read, so that the process itself is
// held back (I7).
package exec
