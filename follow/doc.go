// Package follow owns the durable readers of the log: what in the server has
// to act on events, also on those that were committed while it was behind, or
// before a crash. One Dispatcher knows which follower wants which threads and
// methods. A follower without news has no goroutine, reads nothing and writes
// nothing, so that ten thousand of them cost nothing per event.
//
// It promises that a follower handles every event that it wants at least once
// and in order, or gets the range that it has lost; that no follower holds up
// the writer, the tail or another follower; and that memory stays bounded.
// Exactly once is made of that by an identity: a Task has a unique key, and a
// follower that owns its effects moves its position in the unit that has them.
//
// It decodes no event, knows no database and decides nothing for a follower.
package follow
