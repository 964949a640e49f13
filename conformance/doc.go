// Package conformance is a black-box suite for the wire protocol of the
// control plane.
//
// It owns a table of checks. Each check has a stable id, a sentence that states
// the promise, and the source of the rule: a section of the JSON-RPC 2.0
// specification, of an RFC, or of docs/protocol.md.
//
// It sends raw bytes to any base URL (http, https or unix:PATH) and imports
// nothing of this project, so that a fault in the project's encoders cannot
// hide itself: it reads and checks the server's messages as bytes.
//
// A check that is a conversation is a script, a section of a file in checks. A
// check that compares bytes, times, or streams is a function. A script begins
// with its sentence, then its source and, in brackets, its needs:
//
//	-- turn.fail --
//	A turn whose agent gives up ends turn/failed with error kind and message.
//	protocol.md §4 Notifications [echo]
//	> thread/start {"agent":"echo"} < {"thread_id":"<thread>"}
//	> turn/start {"thread_id":"<thread>","input":"<input /fail oh>"} < {"turn_id":"<turn>"}
//	~ turn/failed turn_id=<turn> {"state":"failed","error":{"kind":"<nonempty>","message":"…oh…"}}
//
// Its lines are:
//
//	# a remark
//	> METHOD PARAMS            a request
//	> VERB /PATH [HEADERS]     an HTTP request; POST /rpc carries holon/status
//	>> BYTES                   the body of a POST /rpc; >>q "BYTES" as Go quotes
//	< PATTERN                  it succeeds, and the result is so
//	! KIND PATTERN             it is refused with the kind of error, and error.data is so
//	< STATUS PATTERN           the HTTP answer has the status, and headers are so
//	! STATUS KIND PATTERN      the HTTP answer has the status, and its body is such an error
//	<< PATTERN                 the whole answer is so; << nothing: there is none
//	~ METHOD PATH=VALUE … PATTERN    this event comes, if it has not come, and params are so
//	- METHOD PATH=VALUE …            no such event has come
//	= NAME TEXT                plays the section of that name, where TEXT is <text>
//
// An expectation may follow its request on the same line. On a separate line it
// is about the requests above it, up to those of an earlier expectation;
// several may follow each other. A request without an expectation must succeed.
// A script that waits for events uses POST /rpc/stream, any other POST /rpc.
// Threads that it starts are closed at its end, and a pause is ended.
//
// A pattern is JSON. The value may have members that the pattern does not name.
// An array must match as a whole, except that "…" matches any elements; a …
// within a text matches any text. "<time>", "<time?>" (or null), "<int>",
// "<bool>", "<string>", "<nonempty>", "<array>", "<object>" and "<any>" give
// the type of a value. "<absent>" means no value, "<none?>" a false, empty or
// absent one. Any other word in angle brackets is a name. It takes the first
// value that it matches and means that value from then on, also in requests. In
// a request, a name that begins with new- gets a new word. <base>, <host> and
// <server-token> are the server's. "<= <seq>", "> 5" and "<seq>+1" compare with
// a name or a number. "<input TEXT>" is the input of a turn with that text.
//
// A server that does not speak the protocol gets a full report. Every check
// runs separately under a time limit. A panic in one is that check's result,
// and a path that answers 404 fails only the checks that need it.
//
// The suite changes the tested server: it starts threads and turns, closes
// every thread it started, and pauses the runtime for a moment. It never
// deletes or reads what it did not create, except the log.
//
// The command holon conformance and the tests of this folder call it. The
// folder transcript plays golden conversations over any two-way connection.
package conformance
