// Package follow owns the durable readers of the log: the parts of the server
// that must act on events, also on events that were committed while they lagged
// or before a crash. One Dispatcher knows which follower wants which threads and
// methods. A follower without new events has no goroutine, reads nothing and
// writes nothing, so that ten thousand of them cost nothing per event.
//
// It promises three things. A follower handles every event that it wants at
// least once and in order, or receives the range that it has lost. No follower
// delays the writer, the tail or another follower. Memory is bounded.
//
// Effects happen exactly once by an identity: a Task has a unique key, and a
// follower that owns its effects moves its position in the unit that has them.
//
// It decodes no event, knows no database and decides nothing for a follower.
package follow
