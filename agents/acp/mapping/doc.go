// Package mapping turns an agent's messages of the Agent Client Protocol into
// ops for the log: session/update notifications, permission requests,
// elicitations and results become items.Op, permission_request and question
// items (docs/write-an-agent.md, "ACP: what becomes what").
//
// It is pure: it reads JSON, keeps the state of one session in a Session and
// returns ops. It starts nothing, waits for nothing, knows no process and no
// thread. It promises that no update is lost: an update that fits no item, or
// breaks the protocol, becomes an extension item with the update as received.
// It never panics, whatever the JSON.
//
// A Session sends each update to the part that maps its kind: messages (and
// thoughts), calls of tools, plans, usage, or the thread's title and config.
// All parts emit to one output, so that the ops stay in the order of the
// updates. Ops outside of a turn are then joined to whole items (gathering).
//
// Only agents/acp calls it.
package mapping
