//go:build linux

package realagents

import (
	"fmt"
	"time"
)

// wokenByInbox lets a burst of comments arrive for an idle agent: they become one
// entry, which wakes it once.
func wokenByInbox(r *run) {
	threadID, _ := r.thread()
	r.says(threadID, "hello", "Hello from the mock model.")
	r.call("inbox/configure", map[string]any{"thread_id": threadID, "policy": map[string]any{"window_ms": 300}}, nil)
	for i := range 12 {
		r.call("inbox/ingest", map[string]any{"thread_id": threadID, "items": []any{map[string]any{
			"source": "github", "native_id": fmt.Sprint(threadID, i), "summary": fmt.Sprintf("comment %d SAY woken", i),
			"grouping": map[string]any{"resource_ref": "pr:135", "event_family": "review_comments"},
		}}}, nil)
	}
	var woken string
	for deadline := time.Now().Add(30 * time.Second); woken == ""; {
		var turns struct {
			Turns []struct {
				ID   string `json:"turn_id"`
				Wake bool   `json:"wake"`
			} `json:"turns"`
		}
		r.call("turn/list", map[string]any{"thread_id": threadID}, &turns)
		for _, t := range turns.Turns[1:] {
			if !t.Wake || woken != "" {
				r.fail("turns: %+v", turns.Turns)
			}
			woken = t.ID
		}
		if time.Now().After(deadline) {
			r.fail("new entries have not woken the agent")
		}
		time.Sleep(50 * time.Millisecond)
	}
	v := r.end(woken, "completed")
	if v.said() == "" {
		r.fail("the agent has not answered")
	}
	var read struct {
		Entries []struct {
			Count   int    `json:"count"`
			Summary string `json:"summary"`
			Told    string `json:"told_by_turn_id"`
			Acked   string `json:"acked_at"`
		} `json:"entries"`
	}
	r.call("inbox/read", map[string]any{"thread_id": threadID, "include_acked": true}, &read)
	if e := read.Entries; len(e) != 1 || e[0].Count != 12 || e[0].Told != woken || e[0].Acked == "" {
		r.fail("entries: %+v", e)
	}
}
