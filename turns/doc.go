// Package turns owns turns: their rows, states, events and folds, the attempts
// and steps of which they consist, the commands that clients and workers give
// with all that can be checked without looking at a thread, the policies of
// retries and leases, and the fence that keeps superseded tries from writing.
//
// It has the interfaces on both sides of the engine as well: what an agent is
// (Agent, Prompt, Host) and what the engine needs of a log (Store, Reader).
//
// Everything in it is a value or a pure function. What runs is package engine.
package turns
