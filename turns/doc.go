// Package turns owns turns and everything that decides: the actor of a thread
// with its queue of turns, the commands clients give, the agents' side of a
// turn (Agent, Prompt), the limit on active turns, the pause of the runtime,
// recovery after a crash and the drain before a stop.
//
// One goroutine, the actor, owns a busy thread. It decides on what it has in
// memory, hands the events and the rows they leave to the appender as one
// Unit, and takes the rows as its memory only when the commit has returned
// (I1, I6). It tells an agent anything only after that, and never waits for
// one.
//
// rpc calls the Engine, cmd builds it, persist implements its Store.
package turns
