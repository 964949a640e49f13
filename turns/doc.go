// Package turns owns turns, attempts and steps: their rows, states, events and
// folds. It has the commands of clients and workers, with the checks that need
// no thread, the policies of retries and leases, and the fence that keeps
// superseded tries from writing.
//
// It also has the interfaces on both sides of the engine: to agents (Agent,
// Prompt, Host) and to the log (Store, Reader).
//
// Everything in it is a value or a pure function. Package engine runs turns.
package turns
