// Package notify owns what a reader of the log sees: events and their names,
// the frames made of them, the filter of a subscription, the tail of newest
// frames in memory and the cursor that moves over tail and log.
//
// It promises that every reader gets the same bytes in the same order (I3)
// and that no reader, however slow, delays the writer or another reader (I4).
// It decodes nothing of an event's params but the seq that they begin with,
// and knows no database.
//
// persist publishes into the Tail, rpc reads through Cursors, and the domain
// packages make Drafts.
package notify
