//go:build linux

package realagents

import (
	"errors"
	"os"

	"github.com/seed82539d15/holon/rpc/client"
)

// directoryRenamed renames the directory of a thread and tells the thread so. Whether the
// conversation goes on depends on how the agent finds its sessions; the thread does, in
// the new directory, unless the server knows that the agent cannot.
func directoryRenamed(r *run) {
	threadID, from := r.thread()
	r.says(threadID, "SAY apple", "I say apple.")
	before, to := r.session(threadID), from+"-renamed"
	if err := os.Rename(from, to); err != nil {
		r.fail("%v", err)
	}
	var cannot *client.Error
	if err := r.first.Call(r.ctx, "thread/configure", map[string]any{"thread_id": threadID, "cwd": to}, nil); errors.As(err, &cannot) && cannot.Kind == "agent_unsupported" {
		r.lacks("stays where it began")
	} else if err != nil {
		r.fail("thread/configure: %v", err)
	}
	v := r.end(r.turn(threadID, "RECALL"), "completed")
	told := ""
	for _, n := range v.of("notice") {
		told, _ = n.content["message"].(string)
	}
	switch {
	case contains(v.said(), "apple") && r.session(threadID) == before:
		r.remark("in its session")
	case contains(v.said(), "apple"):
		r.remark("in a new session, with what was said")
	case contains(told, "has lost the session"):
		r.remark("in a new session, as the thread says")
	default:
		r.fail("it said %.200q, and the thread nothing of a lost session: %q", v.said(), told)
	}
	turnID := r.turn(threadID, "TOOL please")
	question := r.question(turnID, "permission_request")
	r.respond(question, "allow_once")
	r.end(turnID, "completed")
	if !fileExists(to + "/tool-was-here.txt") {
		r.fail("the tool did not run in the new directory")
	}
}
