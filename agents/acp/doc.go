// Package acp runs turns with any agent that speaks the Agent Client Protocol
// (https://agentclientprotocol.com), version 1, on its stdin and stdout. A
// thread is a session of the agent; one process serves many threads.
// docs/agents-reference.md is the users' reference.
//
// What the package promises: everything an agent says about a thread becomes
// items, at any time (package mapping); the agent's session id is in the log
// before its first prompt; no second prompt is sent while one runs; every
// permission request is answered; every started process is ended with its
// process group; memory for waiting messages has a bound, and when it is
// reached the agent's stdout is not read (I7).
//
// How it works: peer reads and writes JSON-RPC messages and routes them; pool
// and process start, watch and end processes; session is a conversation with
// its own goroutine, the only one that maps messages and emits ops; prompt is
// one run of it. docs/decisions.md says why the package has its own peer.
package acp
