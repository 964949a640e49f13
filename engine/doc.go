// Package engine runs turns: it decides what commands and agents may do, and
// commits it. Package cmd makes it, package api calls it, and agents see it
// through the interfaces of package turns.
//
//   - An actor owns each busy thread. Its loop takes commands and agent output
//     from an intake, one at a time (actors, loop, intake, actor).
//   - A decision is the result: a unit of events and rows (change), the next
//     state of the thread (state), and effects that follow the commit (effect).
//     Its itemWriter, stepWriter, turnWriter and lateWriter add the events.
//   - An executor works on the active turn: a run, which is a prompt of an agent
//     in this process, or a worker, which has claimed the turn over the wire.
//   - The gate bounds how many turns run at once. A slot is an actor's side of it.
//   - Workers has the commands of workers. Claims match turns with workers; a
//     lease is a signature, stored nowhere.
//   - Recover ends or retries what a crash left. Drain ends what runs at a stop.
//
// The engine promises that a turn which starts also ends (I5), that nothing
// reaches a client or an agent before it is durable (I1), and that an agent or a
// thread that fails affects no other thread.
//
// It stores nothing by itself: the committed rows of package turns are its
// memory. docs/architecture.md follows a request and an event through it.
package engine
