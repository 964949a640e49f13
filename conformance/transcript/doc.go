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
// What differs from run to run is written as a placeholder: ids by their order
// of appearance (<thread-1>), times, seqs, durations. A placeholder for an id
// or a mark stands for its value in the lines that the client sends.
//
// The order in which lines arrive differs from run to run too, since an agent
// works while the client speaks. What does not differ is the order of the log.
// So a transcript shows a response right behind the event that its seq names,
// or right behind its request when it has none, and events in the log's order;
// the deltas of an item that follow each other are shown as one, because the
// server may merge them. Heartbeats are not shown.
//
// A connection and a server come from the caller, so that the same transcript
// runs in one process, over HTTP, over a unix socket and over stdio. Nothing
// of this project is imported.
package transcript
