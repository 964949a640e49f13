// Package conformance is a black-box suite for the wire protocol of the
// control plane.
//
// It owns a table of checks. Each check has a stable id, a sentence that says
// what is promised, and the source of the rule: a section of the JSON-RPC 2.0
// specification, of an RFC, or of docs/protocol.md.
//
// It speaks raw bytes to any base URL (http, https or unix:PATH) and imports
// nothing of this project, so that a fault in our encoders cannot hide itself:
// what the server sends is read as bytes and judged as bytes.
//
// A server that does not speak the protocol gets a report, not a stop. Every
// check runs by itself under a time limit, a panic in one is that check's
// result, and a path that answers 404 fails the checks that need it and no
// others.
//
// The suite changes the server it is pointed at: it starts threads and turns,
// closes every thread it started, and pauses the runtime for a moment. It
// never deletes and never reads what it did not create, the log aside.
//
// The command holon conformance and the tests of this folder call it. The
// folder transcript plays golden conversations over any two-way connection.
package conformance
