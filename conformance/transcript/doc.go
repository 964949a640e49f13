// Package transcript plays golden conversations over any two-way connection.
//
// A transcript is a txtar file: a description, and one section for each
// conversation, in this format:
//
//	# a remark
//	> {"jsonrpc":"2.0","id":1,"method":"holon/status"}   a line the client sends
//	>q "\xff\xfe"                                        the same, quoted as in Go
//	< {"jsonrpc":"2.0","id":1,"result":{…}}              a line the server sends
//	~ wait turn/completed turn_id=<turn-1>               wait for an event
//	~ mark HERE                                          name the last event's seq
//	~ connect                                            drop the connection, dial again
//	~ restart                                            stop the server in order, start it, dial again
//	~ kill                                               kill the server, start it, dial again
//
// Values that differ from run to run are written as placeholders: ids by their
// order of appearance (<thread-1>), times, seqs, durations. In lines of the
// client a placeholder for an id or a mark is replaced by its value.
//
// The order in which lines arrive differs from run to run too, since an agent
// works while the client sends requests. The order of the log does not differ.
// So a transcript shows a response directly after the event that its seq names,
// or directly after its request if it has no seq, and events in the log's
// order. Consecutive deltas of an item are shown as one, because the server may
// merge them. Heartbeats are not shown.
//
// The caller provides the server and its connections, so the same transcript
// runs in one process, over HTTP, over a unix socket and over stdio. The
// package imports nothing of this project.
package transcript
