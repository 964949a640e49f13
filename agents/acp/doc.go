// Package acp runs turns with any agent that speaks the Agent Client Protocol
// (https://agentclientprotocol.com), version 1, on its stdin and stdout. A
// thread is a session of the agent; one process serves many threads.
// docs/agents.md is the users' reference.
//
// What the package promises: everything an agent says about a thread becomes
// items of it, whatever it is and whenever it comes (package mapping); the
// agent's session is on the log before its first prompt; no second prompt is
// sent while one runs; every permission request is answered; what is started
// is ended, its process group included; what waits in memory has a bound, and
// then the agent's stdout is not read (I7).
//
// How it is made: peer reads and writes JSON-RPC messages and routes them;
// pool and process start, watch and end processes; session is a conversation
// with its own goroutine, the only one that maps and hands over; prompt is one
// run of it. docs/decisions.md says why the peer is our own.
package acp
