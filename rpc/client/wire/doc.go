// Package wire has the protocol as Go types, for clients: params and results of every
// method, params of every notification, the objects in them, and the names of methods,
// kinds and states.
//
// It is generated from the document that a server publishes (docs/openrpc.json,
// rpc.discover), not from the types of the server, and imports none of them. So a
// program that imports it, such as the holon command, links nothing of the server's log
// and rules. A test of package api compares each type with the server's own.
//
// The types follow these rules:
//
//   - turn/start has TurnStartParams, TurnStartResult and MethodTurnStart; turn/started,
//     a notification, has TurnStartedEvent and EventTurnStarted.
//   - An optional member that is zero is left out. It is a pointer if zero does not mean
//     the same as its absence, and if it is an object.
//   - An enumeration is another name for string, because a later version of the server
//     may send other values. Its constants are the known ones.
//   - A member that may be any JSON is a json.RawMessage. So is the content of an item:
//     its type says which content it is (ToolCallContent, say), and AnyContent reads all
//     kinds. AnyEvent does the same for the params of notifications.
//
// time.go is written by hand; all other files are generated.
package wire
