//go:build linux

package realagents

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/seed82539d15/holon/rpc/client"
)

// scenario is one test with an agent. run returns, fails the run, or reports
// that the agent does not offer the feature.
type scenario struct {
	name string
	run  func(r *run)
}

// run is a running scenario.
type run struct {
	*testing.T
	*place
	ctx     context.Context
	within  time.Duration // for waits for the agent
	note    string
	failure string
	missing bool
}

// play runs a scenario and records its outcome in the table.
func (p *place) play(t *testing.T, s scenario) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // each wait has a bound of its own
	defer cancel()
	r := &run{T: t, place: p, ctx: ctx, within: agentWithin}
	started := time.Now()
	defer func() {
		c := cell{outcome: passed, took: time.Since(started), note: r.note}
		switch {
		case r.missing:
			c = cell{outcome: notOffered, note: r.note}
		case t.Failed():
			c = cell{outcome: failed, note: r.failure}
		}
		table.add(p.agent.Name, s.name, c)
	}()
	s.run(r)
}

// fail ends the run.
func (r *run) fail(format string, args ...any) {
	r.Helper()
	r.failure = fmt.Sprintf(format, args...)
	r.Fatal(r.failure)
}

// lacks ends the run because the agent does not have the feature.
func (r *run) lacks(why string) {
	r.missing, r.note = true, why
	r.SkipNow()
}

// remark adds a remark to the table.
func (r *run) remark(format string, args ...any) {
	if r.note != "" {
		r.note += ", "
	}
	r.note += fmt.Sprintf(format, args...)
}

// call calls a method as the first client.
func (r *run) call(method string, params, result any) {
	r.Helper()
	r.callAs(r.first, method, params, result)
}

func (r *run) callAs(c *client.Client, method string, params, result any) {
	r.Helper()
	if err := c.Call(r.ctx, method, params, result); err != nil {
		r.fail("%s: %v", method, err)
	}
}

// thread starts a thread with its own directory.
func (r *run) thread() (id, cwd string) {
	r.Helper()
	cwd = r.project(r.T)
	var result struct {
		ThreadID string `json:"thread_id"`
	}
	r.call("thread/start", map[string]any{"agent": r.agent.Name, "cwd": cwd}, &result)
	return result.ThreadID, cwd
}

func input(text string) []any {
	return []any{map[string]any{
		"type": "message", "role": "user",
		"content": []any{map[string]any{"type": "input_text", "text": text}},
	}}
}

// turn starts a turn.
func (r *run) turn(threadID, text string) string {
	r.Helper()
	var result struct {
		TurnID string `json:"turn_id"`
	}
	r.call("turn/start", map[string]any{"thread_id": threadID, "input": input(text)}, &result)
	return result.TurnID
}

// until waits until a turn meets a condition.
func (r *run) until(turnID, what string, ok func(*turnView) bool) *turnView {
	r.Helper()
	timeout := time.After(r.within)
	for {
		events, more := r.events.all()
		v := fold(events, turnID)
		if ok(v) {
			return v
		}
		if v.state != "" {
			r.fail("the turn has ended %s (%s %s) without %s; it said %.200q", v.state, v.failure, v.message, what, v.said())
		}
		select {
		case <-more:
		case <-timeout:
			r.fail("never: %s; the turn said %.200q, open: %v\n%s", what, v.said(), v.open(), r.logTail())
		}
	}
}

// end waits for a turn's end and checks its state.
func (r *run) end(turnID, state string) *turnView {
	r.Helper()
	v := r.until(turnID, "its end", func(v *turnView) bool { return v.state != "" })
	if v.state != state {
		r.fail("the turn has ended %s (%s %s, %s), not %s; it said %.200q", v.state, v.failure, v.message, v.reason, state, v.said())
	}
	if open := v.open(); len(open) > 0 {
		r.fail("the turn has ended %s with open items: %v", v.state, open)
	}
	return v
}

// says runs a turn and checks that its answer has a text.
func (r *run) says(threadID, prompt, want string) *turnView {
	r.Helper()
	v := r.end(r.turn(threadID, prompt), "completed")
	if !contains(v.said(), want) {
		r.fail("to %q it said %.300q, not %q", prompt, v.said(), want)
	}
	return v
}

// question waits for the second client to see a question of a turn.
func (r *run) question(turnID, kind string) string {
	r.Helper()
	v := r.until(turnID, "a "+kind, func(v *turnView) bool { return len(v.of(kind)) > 0 })
	id := v.of(kind)[0].id
	var pending struct {
		Items []struct {
			ItemID string `json:"item_id"`
			TurnID string `json:"turn_id"`
		} `json:"items"`
	}
	r.callAs(r.second, "item/list", map[string]any{"status": "pending", "turn_id": turnID}, &pending)
	if len(pending.Items) != 1 || pending.Items[0].ItemID != id {
		r.fail("the second client sees %+v, not the question %s", pending.Items, id)
	}
	return id
}

// respond answers a question as the second client.
func (r *run) respond(itemID, kind string) {
	r.Helper()
	r.callAs(r.second, "item/respond", map[string]any{"item_id": itemID, "kind": kind}, nil)
}

// interrupt interrupts a turn. It returns its view and the time from the call
// to its end.
func (r *run) interrupt(turnID string) (*turnView, time.Duration) {
	r.Helper()
	called := time.Now()
	r.call("turn/interrupt", map[string]any{"turn_id": turnID}, nil)
	v := r.end(turnID, "interrupted")
	return v, v.ended.Sub(called)
}

// session returns the agent's own name of a thread's session.
func (r *run) session(threadID string) string {
	r.Helper()
	var result struct {
		Thread struct {
			SessionID string `json:"agent_session_id"`
		} `json:"thread"`
	}
	r.call("thread/read", map[string]any{"thread_id": threadID}, &result)
	if result.Thread.SessionID == "" {
		r.fail("thread %s has no session of the agent", threadID)
	}
	return result.Thread.SessionID
}

// info returns the agent's entry in agent/list.
type info struct {
	Name         string
	State        string
	Version      string
	Protocol     string
	Processes    int
	Sessions     int
	LastError    string `json:"last_error"`
	Mode         string
	Warning      string
	Capabilities struct {
		Steering, Load, Resume, Fork, Images bool
		Modes, Models                        []string
	}
}

func (r *run) info() info {
	r.Helper()
	var result struct{ Agents []info }
	r.call("agent/list", nil, &result)
	for _, a := range result.Agents {
		if a.Name == r.agent.Name {
			return a
		}
	}
	r.fail("agent/list does not have %s: %+v", r.agent.Name, result)
	return info{}
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
