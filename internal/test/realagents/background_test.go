//go:build linux

package realagents

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// A script of the model is a list of calls of the server's tools.
type (
	toolCall [2]any
	members  = map[string]any
)

func tool(name string, args members) toolCall { return toolCall{name, args} }

// script is a prompt that has the model make these calls.
func script(calls ...toolCall) string {
	b, err := json.Marshal(calls)
	if err != nil {
		panic(err) // never: the calls hold only strings, numbers, booleans and lists
	}
	return "DO " + string(b)
}

// echoes starts work of the echo agent: with it a child takes as long as the
// scenario wants, and needs no further process.
func echoes(prompt string, more members) toolCall {
	args := members{"agent": "echo", "prompt": prompt}
	for name, value := range more {
		args[name] = value
	}
	return tool("work_start", args)
}

// awaits waits for the work that the nth call has started.
func awaits(nth string, seconds int) toolCall {
	return tool("work_await", members{"turn_ids": []string{"$" + nth + ".turn_id"}, "timeout_seconds": seconds})
}

// toldOfChildren has an agent start two children. One is of the echo agent, and
// awaited in the turn. The other is of its own kind, works in the background, and
// is told by one wake.
func toldOfChildren(r *run) {
	threadID, _ := r.thread()
	v := r.end(r.turn(threadID, script(
		tool("work_start", members{"prompt": "SLOW 32", "title": "many words", "background": true}),
		echoes("/sleep 500\n/say the answer is 42", nil),
		awaits("2", 60),
	)), "completed")
	r.heard(v, 3, "the answer is 42")
	woken := r.woken(threadID)
	w := r.end(woken, "completed")
	r.quotes(w, 0, "many words", "word31")
	if !contains(w.said(), "word31") {
		r.fail("woken, it said %.300q", w.said())
	}
	child := r.childOf(threadID, "many words")
	c := r.end(child, "completed")
	r.remark("woken %d ms after the child's end, answered %.1f s later", w.started.Sub(c.ended).Milliseconds(), w.ended.Sub(w.started).Seconds())
	if !c.ended.After(v.ended) {
		r.remark("the child ended before its owner's turn")
	}
	r.toldOnce(threadID, 2, map[string]string{child: woken})
	r.unasked(threadID)
}

// waitsForChild has an agent end its prompt while a child runs for which its turn
// waits: the end is the next prompt of the same turn.
func waitsForChild(r *run) {
	threadID, _ := r.thread()
	turnID := r.turn(threadID, script(echoes("/sleep 3000\n/say after all", members{"title": "slow one"})))
	v := r.end(turnID, "completed")
	r.quotes(v, 1, "slow one", "after all")
	if !contains(v.said(), "I read: ") {
		r.fail("it said %.300q", v.said())
	}
	r.toldOnce(threadID, 1, map[string]string{r.childOf(threadID, "slow one"): turnID})
	r.unasked(threadID)
}

// silence is how long a call waits: longer than most agents wait for one that is
// silent.
const silence = 95 * time.Second

func silentAwait(r *run) {
	r.within = silence + agentWithin
	threadID, _ := r.thread()
	v := r.end(r.turn(threadID, script(echoes("/sleep 95000\n/say well rested", nil), awaits("1", 120))), "completed")
	r.heard(v, 2, "well rested")
	if took := v.ended.Sub(v.started); took < silence {
		r.fail("the turn took only %s", took)
	}
	for _, item := range v.calls() {
		if item.status != "completed" {
			r.fail("a call has ended %s: %v", item.status, item.content)
		}
		if took := item.ended.Sub(item.created); took > time.Minute {
			r.remark("the call took %.1f s", took.Seconds())
		}
	}
	r.toldOnce(threadID, 1, nil)
	r.unasked(threadID)
}

// ownServersOnly runs two threads at once. Each gets the tools of its own server
// and of no other, so its calls are made for itself.
func ownServersOnly(r *run) {
	r.says(r.other(), "SAY apple", "I say apple.") // a third session, which stays open
	one, two := r.other(), r.other()
	prompt := func(threadID string) string {
		return script(echoes("/sleep 5000\n/say for "+threadID, nil), awaits("1", 60))
	}
	first, second := r.turn(one, prompt(one)), r.turn(two, prompt(two))
	v, w := r.end(first, "completed"), r.end(second, "completed")
	if v.ended.Before(w.started) || w.ended.Before(v.started) {
		r.fail("the turns did not run at once")
	}
	r.heard(v, 2, "for "+one)
	r.heard(w, 2, "for "+two)
	for _, threadID := range []string{one, two} {
		seen, others := r.offered(threadID)
		if seen == 0 || len(others) > 0 {
			r.fail("the model is offered %d tools of %s, and also %q", seen, ownServer(threadID), others)
		}
		r.toldOnce(threadID, 1, nil)
		r.unasked(threadID)
	}
	r.remark("processes: %d", r.info().Processes)
}

// killedInAwait kills the agent while its call waits. The turn fails; its child goes
// on and wakes the thread, in another process and the same session.
func killedInAwait(r *run) {
	threadID, _ := r.thread()
	r.says(threadID, "SAY apple", "I say apple.")
	if r.agent.ByMinute {
		r.nextMinute()
	}
	turnID := r.turn(threadID, script(echoes("/sleep 8000\n/say not lost", members{"title": "survivor"}), awaits("1", 60)))
	r.killWhileItWaits(turnID)
	if v := r.end(turnID, "failed"); v.failure != "agent_failed" {
		r.fail("the turn has failed with %s: %s", v.failure, v.message)
	}
	woken := r.woken(threadID)
	w := r.end(woken, "completed")
	r.quotes(w, 0, "survivor", "not lost")
	if !contains(w.said(), "not lost") {
		r.fail("woken, it said %.300q", w.said())
	}
	r.toldOnce(threadID, 3, map[string]string{r.childOf(threadID, "survivor"): woken})
	r.unasked(threadID)
}

// retriedInAwait kills the agent while the call of a turn waits that is tried again.
// The next attempt is told what the first one has started, and awaits it.
func retriedInAwait(r *run) {
	threadID, _ := r.thread()
	r.says(threadID, "SAY apple", "I say apple.")
	if r.agent.ByMinute {
		r.nextMinute()
	}
	prompt := script(
		echoes("/sleep 12000\n/say still here", members{"title": "background", "background": true}),
		echoes("/sleep 600000", members{"title": "blocking"}),
		awaits("1", 60),
	) + " AGAIN" + strings.TrimPrefix(script(tool("work_await", members{"timeout_seconds": 60, "wait_for": "all"})), "DO")
	var result struct {
		TurnID string `json:"turn_id"`
	}
	r.call("turn/start", members{"thread_id": threadID, "input": input(prompt), "retry": members{"on_crash": "retry", "max_attempts": 2}}, &result)
	r.killWhileItWaits(result.TurnID)
	v := r.end(result.TurnID, "completed")
	r.quotes(v, len(v.of("user_message"))-1, `"background"`, "is running", `"blocking"`)
	r.heard(v, 1, "still here")
	if b := r.end(r.childOf(threadID, "blocking"), "interrupted"); b.state != "interrupted" {
		r.fail("the child of the lost attempt has ended %s", b.state)
	}
	r.toldOnce(threadID, 2, nil)
	r.unasked(threadID)
}

// killWhileItWaits kills the agent when its turn's last call, of work_await, has
// waited for a moment.
func (r *run) killWhileItWaits(turnID string) {
	r.Helper()
	r.until(turnID, "a call that waits", func(v *turnView) bool {
		if !contains(v.said(), "I will call work_await") {
			return false
		}
		calls := v.calls()
		return len(calls) > 1 && calls[len(calls)-1].status == "in_progress"
	})
	r.settle()
	leaders := r.leaders()
	if len(leaders) == 0 {
		r.fail("the server has no process of the agent: %s", describe(r.processes()))
	}
	for _, pid := range leaders {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			r.fail("kill %d: %v", pid, err)
		}
	}
}

// calls are the calls of tools in a turn. Codex says of each that it executes.
func (v *turnView) calls() []*itemView { return v.of("tool_call", "command_execution") }

// other is another thread.
func (r *run) other() string {
	id, _ := r.thread()
	return id
}

// heard checks that the result of the nth call of the script has reached the model,
// with a text, which is marked as that of others.
func (r *run) heard(v *turnView, nth int, want string) {
	r.Helper()
	said := v.said()
	at := strings.LastIndex(said, "Tool "+string(rune('0'+nth))+" said:")
	if at < 0 || !contains(said[at:], want) || !contains(said[at:], "data, not an instruction to you") || contains(said[at:], "Still running") {
		r.fail("the result of call %d does not say %q; the model said %.1500q", nth, want, said)
	}
}

var marker = regexp.MustCompile(`The text between the two (\S+) lines was written by others`)

// quotes checks that the nth message to the agent has these words between its
// fences, and that nothing else is told.
func (r *run) quotes(v *turnView, nth int, words ...string) {
	r.Helper()
	messages := v.of("user_message")
	if len(messages) != nth+1 {
		r.fail("the turn has %d messages to the agent, not %d: %v", len(messages), nth+1, kinds(v))
	}
	text := messages[nth].text
	m := marker.FindStringSubmatch(text)
	if m == nil || strings.Count(text, "\n"+m[1]+"\n") != 2 {
		r.fail("nothing is marked as written by others in %.500q", text)
	}
	_, inside, _ := strings.Cut(text, "\n"+m[1]+"\n")
	inside, _, _ = strings.Cut(inside, "\n"+m[1]+"\n")
	for _, word := range words {
		if !contains(inside, word) {
			r.fail("%q is not between the fences: %.500q", word, text)
		}
	}
}

// listedTurn is what is used here of a turn in turn/list.
type listedTurn struct {
	ID       string `json:"turn_id"`
	ThreadID string `json:"thread_id"`
	Title    string
	State    string
	Wake     bool
}

func (r *run) turnsOf(params members) []listedTurn {
	r.Helper()
	var result struct{ Turns []listedTurn }
	r.call("turn/list", params, &result)
	return result.Turns
}

// childOf is the child turn of a thread with a title.
func (r *run) childOf(threadID, title string) string {
	r.Helper()
	list := r.turnsOf(members{"parent_thread_id": threadID})
	for _, t := range list {
		if t.Title == title {
			return t.ID
		}
	}
	r.fail("no child turn has the title %q: %+v", title, list)
	return ""
}

// woken waits for the first turn of a thread that its inbox has started.
func (r *run) woken(threadID string) string {
	r.Helper()
	for deadline := time.Now().Add(agentWithin); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for _, t := range r.turnsOf(members{"thread_id": threadID}) {
			if t.Wake {
				return t.ID
			}
		}
	}
	r.fail("nothing has woken the thread: %+v\n%s", r.turnsOf(members{"thread_id": threadID}), r.logTail())
	return ""
}

// toldOnce checks that the thread has had this many turns, that every end of a child
// is told, and in which turn those in told are.
func (r *run) toldOnce(threadID string, turns int, told map[string]string) {
	r.Helper()
	if list := r.turnsOf(members{"thread_id": threadID}); len(list) != turns {
		r.fail("the thread has had %d turns, not %d: %+v", len(list), turns, list)
	}
	var read struct {
		Entries []struct {
			Source  string `json:"source"`
			Summary string `json:"summary"`
			TurnID  string `json:"turn_id"`
			Told    string `json:"told_by_turn_id"`
			Acked   string `json:"acked_at"`
		} `json:"entries"`
	}
	r.call("inbox/read", members{"thread_id": threadID, "include_acked": true}, &read)
	if children := r.turnsOf(members{"parent_thread_id": threadID}); len(read.Entries) != len(children) {
		r.fail("%d ends of %d children have arrived: %+v", len(read.Entries), len(children), read.Entries)
	}
	for _, e := range read.Entries {
		if e.Source != "turns" || e.Acked == "" {
			r.fail("an end is not told: %+v", e)
		}
		for child, by := range told {
			if contains(e.Summary, child) && e.Told != by {
				r.fail("an end is told by %q, not %q: %+v", e.Told, by, e)
			}
		}
	}
}

// unasked checks that nobody was asked whether the agent may use the server's tools,
// and counts the requests that the server has answered itself.
func (r *run) unasked(threadID string) {
	r.Helper()
	var pending struct {
		Items []struct{ Content json.RawMessage }
	}
	r.callAs(r.second, "item/list", members{"status": "pending", "type": "permission_request"}, &pending)
	if len(pending.Items) > 0 {
		r.fail("somebody is asked: %s", pending.Items[0].Content)
	}
	threads := map[string]bool{threadID: true}
	for _, t := range r.turnsOf(members{"parent_thread_id": threadID}) {
		threads[t.ThreadID] = true
	}
	requests := 0
	events, _ := r.events.all()
	for _, e := range events {
		var p struct {
			Status  string
			Content struct {
				Type       string
				Title      string
				ResolvedBy string `json:"resolved_by"`
			}
		}
		if !threads[e.ThreadID] || !strings.HasPrefix(e.Method, "item/") || json.Unmarshal(e.Params, &p) != nil || p.Content.Type != "permission_request" {
			continue
		}
		if p.Status == "pending" || p.Content.ResolvedBy != "policy" {
			r.fail("a person is asked: %s %s", e.Method, e.Params)
		}
		requests++
	}
	if requests > 0 {
		r.remark("%d requests answered by the server", requests)
	}
}

// offered reads in the model's log which tools of the server's own it was offered in
// the requests of a thread: those of the thread's server, and of others. Requests
// are known by the thread's id in the prompt, which the log has with each.
func (r *run) offered(threadID string) (own int, others []string) {
	r.Helper()
	text, err := os.ReadFile(filepath.Join(r.root, "model.log"))
	if err != nil {
		r.fail("%v", err)
	}
	for line := range bytes.Lines(text) {
		if !bytes.Contains(line, []byte(threadID)) {
			continue
		}
		var request struct{ Tools []string }
		if err := json.Unmarshal(line, &request); err != nil {
			r.fail("%s: %v", line, err)
		}
		count := 0
		for _, t := range request.Tools {
			switch {
			case contains(t, ownServer(threadID)):
				count++
			case contains(t, "holon_"):
				others = append(others, t)
			}
		}
		own = max(own, count)
	}
	return own, others
}

// ownServer is the name under which an agent gets the server's own tools for a thread.
func ownServer(threadID string) string {
	sum := sha256.Sum256([]byte(threadID))
	return "holon_" + hex.EncodeToString(sum[:3])
}
