//go:build linux

package realagents

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed82539d15/holon/rpc/client"
)

// scenarios in the order in which they are run, on one server.
var scenarios = []scenario{
	{"text, first turn", firstTurn},
	{"text, agent running", secondTurn},
	{"tool allowed by a second client", toolAllowed},
	{"tool rejected", toolRejected},
	{commandsEnvironment, leavesMarkers},
	{"file written", fileWritten},
	{"question answered", questionAnswered},
	{"image seen by the model", imageSeen},
	{"interrupt while streaming", interruptStream},
	{"interrupt at a permission", interruptPermission},
	{"interrupt of a running tool", interruptTool},
	{"interrupt beside another's tool", interruptBesideTool},
	{"steer", steer},
	{"steer with interrupt", steerInterrupt},
	{"two threads at once", twoThreads},
	{"mode changed", modeChanged},
	{whatIsUnasked, doneUnasked},
	{"mode configured, server killed", modeOverKill},
	{"directory renamed", directoryRenamed},
	{"fork", forked},
	{"model overloaded", modelOverloaded},
	{"agent killed in mid-turn", agentKilled},
	{"agent killed while a command runs", agentKilledInTool},
	{"server killed in mid-turn", serverKilled},
	{questionOverStop, answeredAfterStop},
	{questionOverKill, answeredAfterKill},
	{"session lost by the agent", sessionLost},
	{"woken by its inbox", wokenByInbox},
	{"child awaited, child told by a wake", toldOfChildren},
	{"turn waits for its child", waitsForChild},
	{"two threads, each with its own tools", ownServersOnly},
	{"agent killed in work_await", killedInAwait},
	{"agent killed in work_await, retried", retriedInAwait},
	{"work_await silent for 95 s", silentAwait},
}

const (
	commandsEnvironment = "a command's environment"
	whatIsUnasked       = "what is done unasked in each mode"
	// These two run as often as EnvRestarts says.
	questionOverStop = "permission open while the server is stopped"
	questionOverKill = "permission open while the server is killed"
	// lastScenario runs after all others.
	lastScenario = "server stopped, nothing left"
)

func contains(text, want string) bool { return strings.Contains(text, want) }

func firstTurn(r *run) {
	threadID, _ := r.thread()
	called := time.Now()
	v := r.says(threadID, "hello", "Hello from the mock model.")
	r.streamed(v, called)
	i := r.info()
	if i.Protocol != "acp/1" || i.Processes < 1 || i.Sessions < 1 || i.State != "ready" {
		r.fail("agent/list says %+v", i)
	}
}

func secondTurn(r *run) {
	threadID, _ := r.thread()
	called := time.Now()
	r.streamed(r.says(threadID, "hello", "Hello from the mock model."), called)
}

// streamed checks that the answer came in pieces and records when the first
// came.
func (r *run) streamed(v *turnView, called time.Time) {
	r.Helper()
	for _, item := range v.of("agent_message") {
		if item.deltas > 0 {
			r.remark("text after %.1f s", item.first.Sub(called).Seconds())
			return
		}
	}
	r.fail("nothing was streamed: %d messages without a delta", len(v.of("agent_message")))
}

func toolAllowed(r *run) {
	threadID, cwd := r.thread()
	turnID := r.turn(threadID, "TOOL please")
	question := r.question(turnID, "permission_request")
	r.respond(question, "allow_once")
	var late *client.Error
	err := r.first.Call(r.ctx, "item/respond", map[string]any{"item_id": question, "kind": "reject_once"}, nil)
	if !errors.As(err, &late) || late.Kind != "already_resolved" {
		r.fail("a second answer got %v", err)
	}
	v := r.end(turnID, "completed")
	if asked := v.items[question]; asked.status != "completed" {
		r.fail("the question has ended %s", asked.status)
	}
	if !contains(v.said(), "The tool is done.") || !fileExists(filepath.Join(cwd, "tool-was-here.txt")) {
		r.fail("the tool did not run; the agent said %q", v.said())
	}
	calls := v.of("command_execution")
	if len(calls) != 1 || calls[0].status != "completed" {
		r.fail("there are %d commands, not one that has completed: %v", len(calls), kinds(v))
	}
	if !contains(calls[0].text, "hello-from-tool") {
		r.remark("the command's output is not told")
	}
}

func toolRejected(r *run) {
	threadID, cwd := r.thread()
	turnID := r.turn(threadID, "TOOL please")
	question := r.question(turnID, "permission_request")
	r.respond(question, "reject_once")
	v := r.until(turnID, "its end", func(v *turnView) bool { return v.state != "" })
	if open := v.open(); len(open) > 0 || v.state == "failed" {
		r.fail("the turn has ended %s (%s) with open items %v", v.state, v.message, open)
	}
	if asked := v.items[question]; asked.status != "declined" {
		r.fail("the question has ended %s", asked.status)
	}
	if fileExists(filepath.Join(cwd, "tool-was-here.txt")) {
		r.fail("the tool ran all the same")
	}
	how := "ends its turn"
	if contains(v.said(), "The tool is done.") {
		how = "goes on"
	}
	for _, item := range v.of("command_execution", "tool_call") {
		if item.status == "completed" {
			r.fail("the command that was refused is said to have completed")
		}
	}
	r.remark("the agent %s: turn %s (%s), command %s", how, v.state, v.reason, statuses(v.of("command_execution", "tool_call")))
	r.says(threadID, "SAY again", "I say again.")
}

func fileWritten(r *run) {
	threadID, cwd := r.thread()
	path := filepath.Join(cwd, "notes.txt")
	turnID := r.turn(threadID, "WRITE "+path)
	v := r.until(turnID, "a permission or the end", func(v *turnView) bool {
		return v.state != "" || len(v.of("permission_request")) > 0
	})
	if len(v.of("permission_request")) > 0 {
		r.respond(r.question(turnID, "permission_request"), "allow_once")
	} else {
		r.remark("without asking")
	}
	v = r.end(turnID, "completed")
	if text, err := os.ReadFile(path); err != nil || !contains(string(text), "written by the mock model") {
		r.fail("the file holds %q, %v; items: %v", text, err, kinds(v))
	}
	changes := v.of("file_change")
	if len(changes) == 0 {
		r.fail("there is no file_change among %v", kinds(v))
	}
	if changes[0].status != "completed" {
		r.fail("the file_change has ended %s", changes[0].status)
	}
}

func questionAnswered(r *run) {
	threadID, _ := r.thread()
	turnID := r.turn(threadID, "ASK me")
	v := r.until(turnID, "a question or the end", func(v *turnView) bool {
		return v.state != "" || len(v.of("question", "permission_request")) > 0
	})
	if len(v.of("question")) == 0 {
		if v.state == "" {
			r.respond(r.question(turnID, "permission_request"), "reject_once")
			r.until(turnID, "its end", func(v *turnView) bool { return v.state != "" })
		}
		r.lacks("")
	}
	id := r.question(turnID, "question")
	r.callAs(r.second, "item/respond", map[string]any{"item_id": id, "answer": firstChoices(v.items[id].content)}, nil)
	v = r.end(turnID, "completed")
	if v.items[id].status != "completed" {
		r.fail("the question has ended %s", v.items[id].status)
	}
}

// firstChoices fills a question's form with the first choice of each field.
func firstChoices(question map[string]any) map[string]any {
	answer := map[string]any{}
	schema, _ := question["schema"].(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	for name, field := range properties {
		field, _ := field.(map[string]any)
		if choices, ok := field["oneOf"].([]any); ok && len(choices) > 0 {
			choice, _ := choices[0].(map[string]any)
			answer[name] = choice["const"]
		} else if choices, ok := field["enum"].([]any); ok && len(choices) > 0 {
			answer[name] = choices[0]
		}
	}
	return answer
}

// onePixel is the smallest valid picture.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func imageSeen(r *run) {
	threadID, _ := r.thread()
	r.says(threadID, "SAY apple", "I say apple.") // an agent that never ran has reported nothing
	if !r.info().Capabilities.Images {
		r.lacks("")
	}
	message := input("LOOK at this")[0].(map[string]any)
	message["content"] = append(message["content"].([]any), map[string]any{"type": "input_image", "mime_type": "image/png", "data": onePixel})
	var result struct {
		TurnID string `json:"turn_id"`
	}
	r.call("turn/start", map[string]any{"thread_id": threadID, "input": []any{message}}, &result)
	if v := r.end(result.TurnID, "completed"); !contains(v.said(), "I see 1 images.") {
		r.fail("the agent said %q", v.said())
	}
}

// slow starts a slow text and waits for its third word.
func (r *run) slow(threadID, prompt string) string {
	r.Helper()
	turnID := r.turn(threadID, prompt)
	r.until(turnID, "three words", func(v *turnView) bool { return v.words() >= 3 })
	return turnID
}

func steer(r *run) {
	threadID, _ := r.thread()
	r.says(threadID, "SAY apple", "I say apple.")
	turnID := r.slow(threadID, "SLOW 24")
	var steered struct {
		Delivery string
		ItemIDs  []string `json:"item_ids"`
	}
	called := time.Now()
	r.call("turn/steer", map[string]any{"turn_id": turnID, "input": input("SAY steered")}, &steered)
	v := r.end(turnID, "completed")
	if !contains(v.said(), "I say steered.") {
		r.fail("the steered text was not answered (%s); it said %.200q", steered.Delivery, v.said())
	}
	if len(steered.ItemIDs) != 1 || v.items[steered.ItemIDs[0]].status != "completed" {
		r.fail("the steered message: %+v", steered)
	}
	want := "queued"
	if r.info().Capabilities.Steering {
		want = "injected"
	}
	if steered.Delivery != want {
		r.fail("the text was %s, not %s", steered.Delivery, want)
	}
	r.remark("%s, turn ended %.1f s later", steered.Delivery, v.ended.Sub(called).Seconds())
}

func steerInterrupt(r *run) {
	threadID, _ := r.thread()
	turnID := r.slow(threadID, "SLOW please")
	called := time.Now()
	r.call("turn/steer", map[string]any{"turn_id": turnID, "mode": "interrupt", "input": input("SAY instead")}, nil)
	v := r.end(turnID, "completed")
	if !contains(v.said(), "I say instead.") || v.words() < 3 {
		r.fail("it said %.200q", v.said())
	}
	r.remark("turn ended %.1f s later", v.ended.Sub(called).Seconds())
}

func twoThreads(r *run) {
	one, _ := r.thread()
	two, _ := r.thread()
	first := r.slow(one, "SLOW 120") // longer than the second agent takes to start on a busy machine
	second := r.slow(two, "SLOW 16")
	if v := r.until(first, "words", func(v *turnView) bool { return v.words() > 0 }); v.state != "" {
		r.fail("the first turn ended before the second had begun to speak: nothing ran at once")
	}
	a, b := r.end(first, "completed"), r.end(second, "completed")
	if a.words() < 120 || b.words() < 16 {
		r.fail("%d and %d words came, not 120 and 16", a.words(), b.words())
	}
	if r.session(one) == r.session(two) {
		r.fail("both threads have the session %s", r.session(one))
	}
	r.remark("processes: %d", r.info().Processes)
}

// modelOverloaded checks that a turn whose model gave no answer has failed, and is
// retried if it has a policy.
func modelOverloaded(r *run) {
	if !r.agent.TellsFailures {
		r.lacks("")
	}
	threadID, _ := r.thread()
	var result struct {
		TurnID string `json:"turn_id"`
	}
	before := r.model.Requests()
	r.call("turn/start", map[string]any{
		"thread_id": threadID, "input": input("OVERLOADED"), "retry": map[string]any{"on_crash": "retry", "max_attempts": 2, "backoff_seconds": 1},
	}, &result)
	v := r.end(result.TurnID, "failed")
	if v.failure != "agent_failed" || !contains(v.message, "the agent failed: ") || !contains(v.message, "(service)") {
		r.fail("it failed with %s %q", v.failure, v.message)
	}
	var read struct {
		Turn struct {
			Attempt int
		}
	}
	r.call("turn/read", map[string]any{"turn_id": result.TurnID}, &read)
	if read.Turn.Attempt != 2 {
		r.fail("the turn ended in attempt %d", read.Turn.Attempt)
	}
	r.remark("%d requests: %s", r.model.Requests()-before, v.message)
	r.says(threadID, "SAY again", "I say again.")
}

// kinds lists the items of a turn with their states, for messages.
func kinds(v *turnView) []string {
	var list []string
	for _, id := range v.order {
		list = append(list, v.items[id].kind+" "+v.items[id].status)
	}
	return list
}

func statuses(list []*itemView) string {
	var all []string
	for _, item := range list {
		all = append(all, item.status)
	}
	return strings.Join(all, ", ")
}
