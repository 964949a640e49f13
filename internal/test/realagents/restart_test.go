//go:build linux

package realagents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A permission is open when the server ends, and is answered when it runs again.

func answeredAfterStop(r *run) { r.questionOutlives(func() { r.stop(r) }) }

func answeredAfterKill(r *run) { r.questionOutlives(r.kill) }

// questionOutlives allows the command of a thread's first turn, of which the agent may have
// kept nothing yet, and refuses that of a later turn, each after the server has ended and was
// started again.
func (r *run) questionOutlives(end func()) {
	r.Helper()
	r.answeredAfterRestart(end, "allow_once", 1, "I will run a command. |I will run a command. |The tool is done.")
	r.answeredAfterRestart(end, "reject_once", 0, "I will run a command. |I leave it undone.")
}

func (r *run) answeredAfterRestart(end func(), kind string, runs int, want string) {
	r.Helper()
	threadID, cwd := r.thread()
	if runs == 0 {
		r.says(threadID, "hello", "Hello")
	}
	turnID := r.turn(threadID, "TOOL, or SAY apple")
	question := r.question(turnID, "permission_request")
	session := r.session(threadID)
	if !r.info().Capabilities.Load && !r.info().Capabilities.Resume {
		r.lacks("")
	}
	if r.agent.ByMinute {
		r.nextMinute()
	}
	before := r.restartsTold()
	end()
	r.start(r.T)
	if again := r.question(turnID, "permission_request"); again != question {
		r.fail("the question was %s and is %s", question, again)
	}
	if v := r.until(turnID, "the question", func(v *turnView) bool { return v.items[question] != nil }); v.state != "" {
		r.fail("after the restart the turn is %s", v.state)
	}
	r.respond(question, kind)
	answered := time.Now()
	v := r.end(turnID, "completed")
	r.remark("done %.1f s after the answer", v.ended.Sub(answered).Seconds())
	if ran := lines(r, filepath.Join(cwd, "tool-was-here.txt")); ran != runs {
		r.fail("after %s the command has run %d times; items: %v", kind, ran, kinds(v))
	}
	var said []string
	for _, message := range v.of("agent_message") {
		if !strings.HasPrefix(message.text, "Warning: ") { // Codex does not know the model
			said = append(said, message.text)
		}
	}
	if got := strings.Join(said, "|"); got != want {
		r.fail("after %s it said %q, not %q; items: %v", kind, got, want, kinds(v))
	}
	told := v.of("user_message")
	if len(told) != 2 || told[1].content["origin"] != "resume" || v.items[question].content["resolved_by"] != "client" {
		r.fail("the prompts of the turn: %v, the question %+v", kinds(v), v.items[question].content)
	}
	asked := v.of("permission_request")
	if len(asked) != 1+runs || runs > 0 && asked[1].content["resolved_by"] != "restart" {
		r.fail("it was asked %d times; items: %v", len(asked), kinds(v))
	}
	if n := r.restartsTold() - before; n != 1 {
		r.fail("the model was told the answer %d times", n)
	}
	if now := r.session(threadID); now != session {
		r.fail("the session was %s and is %s", session, now)
	}
	if attempts := r.attempts(turnID); !slices.Equal(attempts, []int64{1}) {
		r.fail("the turn's attempts are %v", attempts)
	}
	r.continued(threadID, session)
}

// attempts lists the attempts that the events of a turn name.
func (r *run) attempts(turnID string) (list []int64) {
	r.Helper()
	events, _ := r.events.all()
	for _, e := range events {
		var p struct{ Attempt int64 }
		if err := json.Unmarshal(e.Params, &p); err != nil {
			r.fail("%v", err)
		}
		if e.TurnID == turnID && p.Attempt > 0 && !slices.Contains(list, p.Attempt) {
			list = append(list, p.Attempt)
		}
	}
	return list
}

// restartsTold counts how often the model was asked to answer a prompt that tells of a
// restart.
func (r *run) restartsTold() (n int) {
	r.Helper()
	raw, err := os.ReadFile(filepath.Join(r.root, "model.log"))
	if err != nil {
		r.fail("%v", err)
	}
	for line := range strings.Lines(string(raw)) {
		var request struct{ Beside, Tools []string }
		if err := json.Unmarshal([]byte(line), &request); err != nil {
			r.fail("%v", err)
		}
		if len(request.Tools) > 0 {
			n += strings.Count(strings.Join(request.Beside, "\n"), "The server was restarted while you waited for: ")
		}
	}
	return n
}

// lines counts the lines of a file; there are none if there is no file.
func lines(r *run, path string) int {
	r.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		r.fail("%v", err)
	}
	return strings.Count(string(text), "\n")
}
