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
// Only agents/acp calls it.
package mapping
