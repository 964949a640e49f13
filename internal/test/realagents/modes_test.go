//go:build linux

package realagents

import (
	"os"
	"path/filepath"

	"github.com/seed82539d15/holon/cmd/holon/config"
)

// doneUnasked checks, in each mode that the agent offers, that what its preset says of the
// mode is true: in a mode in which it asks, no command is run and no file is written
// without a question, and in any other one it asks for less than both.
func doneUnasked(r *run) {
	preset, ok := config.PresetFor(r.agent.Program)
	if !ok {
		r.fail("no preset has the program %s", r.agent.Program)
	}
	threadID, _ := r.thread()
	r.says(threadID, "SAY apple", "I say apple.")
	opens := r.info()
	// OpenCode's own configuration asks here, and it is read: there is nothing to warn of.
	if does := preset.Unasked[opens.Mode]; opens.Mode == "" || (opens.Warning != "") != (does != "" && preset.Asks == nil) {
		r.fail("sessions open in the mode %q, in which it %s; the warning is %q", opens.Mode, does, opens.Warning)
	}
	for _, mode := range r.config(threadID).Modes {
		does, known := preset.Unasked[mode.ID]
		if !known {
			r.fail("the preset does not know the mode %s (%s)", mode.ID, mode.Name)
		}
		threadID, cwd := r.thread()
		if err := os.WriteFile(filepath.Join(cwd, "opencode.json"), []byte(r.agent.OwnPermissions), 0o600); r.agent.OwnPermissions != "" && err != nil {
			r.fail("%v", err)
		}
		r.says(threadID, "SAY apple", "I say apple.")
		r.call("thread/configure", map[string]any{"thread_id": threadID, "config": map[string]any{"mode": mode.ID}}, nil)
		ranAsked, ran := r.tries(threadID, "TOOL please", filepath.Join(cwd, "tool-was-here.txt"))
		path := filepath.Join(cwd, "notes.txt")
		wroteAsked, wrote := r.tries(threadID, "WRITE "+path, path)
		switch {
		case does == "" && (ran && !ranAsked || wrote && !wroteAsked):
			r.fail("in the mode %s it asks for a command: %v, and for a file: %v; its preset says that it asks", mode.ID, ranAsked, wroteAsked)
		case does != "" && ranAsked && wroteAsked:
			r.fail("in the mode %s it asks for both; its preset says that it %s", mode.ID, does)
		}
	}
	r.remark("opens in %s", opens.Mode)
}

// modeOverKill checks that a thread's session is in the mode that a client has configured
// after the server was killed, by what the agent asks for.
func modeOverKill(r *run) {
	preset, _ := config.PresetFor(r.agent.Program)
	threadID, cwd := r.thread()
	r.says(threadID, "SAY apple", "I say apple.")
	opens, other := r.config(threadID), ""
	for _, m := range opens.Modes {
		differs := (preset.Unasked[m.ID] == "") != (preset.Unasked[opens.Mode] == "")
		if m.ID != opens.Mode && (other == "" || differs) {
			if other = m.ID; differs {
				break
			}
		}
	}
	if caps := r.info().Capabilities; other == "" || !caps.Load && !caps.Resume {
		r.lacks("")
	}
	write := func(name string) (asked bool) {
		path := filepath.Join(cwd, name)
		asked, _ = r.tries(threadID, "WRITE "+path, path)
		return asked
	}
	before := write("before.txt")
	r.call("thread/configure", map[string]any{"thread_id": threadID, "config": map[string]any{"mode": other}}, nil)
	chosen := write("chosen.txt")
	session := r.session(threadID)
	if r.agent.ByMinute {
		r.nextMinute()
	}
	r.kill()
	r.start(r.T)
	if asked := write("again.txt"); asked != chosen {
		r.fail("before the kill it asks in the mode %s: %v, after it: %v", other, chosen, asked)
	}
	if now := r.config(threadID).Mode; now != other {
		r.fail("the mode was %s and is %q", other, now)
	}
	r.continued(threadID, session)
	r.remark("%s → %s, a file asked: %v → %v", opens.Mode, other, before, chosen)
}

// tries runs a turn that makes a file, allowing it if that is asked, and returns whether it
// was and whether the file is there.
func (r *run) tries(threadID, prompt, path string) (asked, done bool) {
	r.Helper()
	turnID := r.turn(threadID, prompt)
	v := r.until(turnID, "a permission or the end", func(v *turnView) bool {
		return v.state != "" || len(v.of("permission_request")) > 0
	})
	if asked = len(v.of("permission_request")) > 0; asked {
		r.respond(r.question(turnID, "permission_request"), "allow_once")
	}
	r.end(turnID, "completed")
	return asked, fileExists(path)
}
