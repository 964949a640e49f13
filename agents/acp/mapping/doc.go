// Package mapping turns what an agent says over the Agent Client Protocol
// into what the log keeps: session/update notifications, permission requests,
// elicitations and results become items.Op, permission_request and question
// items (docs/agents.md, "ACP: what becomes what").
//
// It is pure: it reads JSON, keeps what it needs to know of one session in a
// Session and returns ops. It starts nothing, waits for nothing, knows no
// process and no thread. It promises that no update is lost: what has no
// place among the items, or is not as the protocol says, becomes an extension
// item with the update as it came. It never panics, whatever the JSON.
//
// A Session sends each update to the part that maps its kind: messages (and
// thoughts), calls of tools, plans, usage, or the thread's title and config. All
// parts emit to one output, so that the ops stay in the order of the updates.
// What comes outside of a turn is then folded into whole items (gathering).
//
// Only agents/acp calls it.
package mapping
