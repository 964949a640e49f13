//go:build linux

package realagents

import (
	"encoding/json"
)

// threadConfig holds the agent's settings in a thread.
type threadConfig struct {
	Mode  string
	Model string
	Modes []struct{ ID, Name string }
}

func (r *run) config(threadID string) threadConfig {
	r.Helper()
	var result struct {
		Thread struct{ Config json.RawMessage }
	}
	r.call("thread/read", map[string]any{"thread_id": threadID}, &result)
	var c threadConfig
	if len(result.Thread.Config) > 0 {
		if err := json.Unmarshal(result.Thread.Config, &c); err != nil {
			r.fail("the thread's config %s: %v", result.Thread.Config, err)
		}
	}
	return c
}

// modeChanged chooses another mode of the agent and checks that it stays.
func modeChanged(r *run) {
	threadID, _ := r.thread()
	r.says(threadID, "SAY apple", "I say apple.")
	before := r.config(threadID)
	other := ""
	for _, m := range before.Modes {
		if m.ID != before.Mode {
			other = m.ID
			break
		}
	}
	if other == "" {
		r.lacks("")
	}
	r.call("thread/configure", map[string]any{"thread_id": threadID, "config": map[string]any{"mode": other}}, nil)
	if now := r.config(threadID).Mode; now != other {
		r.fail("the mode is %q, not %q", now, other)
	}
	r.says(threadID, "RECALL", "apple")
	if now := r.config(threadID).Mode; now != other {
		r.fail("after a turn the mode is %q, not %q", now, other)
	}
	r.remark("%s → %s of %d", before.Mode, other, len(before.Modes))
}

// forked continues the same conversation in a second thread.
func forked(r *run) {
	threadID, _ := r.thread()
	r.says(threadID, "SAY apple", "I say apple.")
	if !r.info().Capabilities.Fork {
		r.lacks("")
	}
	var result struct {
		ThreadID string `json:"thread_id"`
	}
	r.call("thread/fork", map[string]any{"thread_id": threadID}, &result)
	if result.ThreadID == "" || result.ThreadID == threadID {
		r.fail("the fork is thread %q", result.ThreadID)
	}
	r.says(threadID, "SAY pear", "I say pear.")
	v := r.says(result.ThreadID, "RECALL", "apple")
	if contains(v.said(), "I say apple.") {
		r.fail("the history was repeated into the fork: %q", v.said())
	}
	if contains(v.said(), "pear") {
		r.fail("the fork knows what was said after it: %q", v.said())
	}
	if r.session(threadID) == r.session(result.ThreadID) {
		r.fail("both threads have one session")
	}
}
