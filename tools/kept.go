package tools

import (
	"cmp"
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Background work that has a key is kept: it is in a child thread whose id follows from the turn
// and the key, so that a later attempt finds it there, as long as there is the log. It is no job,
// because its end is told. Work in a thread that exists has only an idempotency key.

// keeps reports whether the key of the call is of the turn: that of background work.
func (in *workStartIn) keeps() bool { return in.Key != "" && in.Background }

// startKept starts background work in a child thread of its own, or finds it.
func (r *request) startKept(ctx context.Context, in workStartIn, key string) (answer, *api.Error) {
	if in.WaitSeconds > 0 {
		defer r.saysSo(ctx)()
	}
	t, other, refused := r.keep(ctx, key, in.Cwd, turns.Start{Agent: in.Agent, Input: said(in.Prompt), Title: in.Title, WaitSeconds: in.WaitSeconds})
	if refused != nil {
		return answer{}, refused
	}
	data, err := json.Marshal(t, api.WireOptions)
	if err != nil {
		return answer{}, api.Errorf(api.KindInternal, "")
	}
	if t.Found {
		return workFound(&t, other, data), nil
	}
	return started(&t, data), nil
}

// keep starts background work in the child thread of the key, or finds what was started there:
// that is Found then, with its result, and other says what it was asked for if that is not c.
func (r *request) keep(ctx context.Context, key, cwd string, c turns.Start) (t turns.StartResult, other string, refused *api.Error) {
	id := threads.IDOf(key)
	if t, other, refused = r.find(ctx, id, c); t.Found || refused != nil {
		return t, other, refused
	}
	c.ThreadID, c.Parent, c.Background = id, &threads.Parent{ThreadID: r.agent.ThreadID}, true
	asked := api.TurnStartParams{Start: c, Keyed: keyed(key, "turn")}
	asked.Agent = ""
	_, _, refused = call[api.ThreadStartResult](ctx, r.server.Caller, "thread/start", api.ThreadStartParams{
		ThreadID: &id, Agent: c.Agent, Title: c.Title, Cwd: cwd, Parent: c.Parent, Keyed: keyed(key, "thread"),
	})
	if refused != nil && refused.Data.Kind == api.KindIdempotencyConflict { // perhaps it was asked for otherwise, and has no turn yet
		if t, other, refused = r.find(ctx, id, c); t.Found || refused != nil {
			return t, other, refused
		}
	}
	if refused == nil {
		t, _, refused = call[api.TurnStartResult](ctx, r.server.Caller, "turn/start", asked)
	}
	if refused != nil && refused.Data.Kind == api.KindIdempotencyConflict { // another call was faster
		if found, other, failed := r.find(ctx, id, c); found.Found || failed != nil {
			return found, other, failed
		}
	}
	return t, "", refused
}

// find looks for the background work in a thread, and at its result: for c.WaitSeconds, until it
// has ended.
func (r *request) find(ctx context.Context, threadID string, c turns.Start) (t turns.StartResult, other string, _ *api.Error) {
	first := r.firstTurn(ctx, threadID)
	if first == nil {
		return t, "", nil
	}
	t = turns.StartResult{
		TurnID: first.TurnID, ThreadID: threadID, State: first.State, Parent: first.Parent, AttentionPolicy: first.AttentionPolicy, Title: first.Title, Found: true, Seq: first.UpdatedSeq,
	}
	own, _, refused := call[api.ThreadReadResult](ctx, r.server.Caller, "thread/read", api.ThreadReadParams{ThreadID: r.agent.ThreadID})
	if refused != nil {
		return t, "", refused
	}
	prompt, agent, refused := r.askedFirst(ctx, t.TurnID)
	if refused != nil {
		return t, "", refused
	}
	if refused := r.look(ctx, &t, c.WaitSeconds); refused != nil { // last: what it returns counts as told
		return t, "", refused
	}
	return t, askedOther(prompt, agent, prompt == promptOf(c), agent == cmp.Or(c.Agent, own.Thread.Agent)), nil
}

// look adds the result of background work that was found. If it cannot be waited for, what was
// found is as good without.
func (r *request) look(ctx context.Context, t *turns.StartResult, seconds float64) *api.Error {
	a, _, refused := call[api.TurnAwaitResult](ctx, r.server.Caller, "turn/await", api.TurnAwaitParams{
		OwnerThreadID: r.agent.ThreadID, TurnIDs: []string{t.TurnID}, TimeoutSeconds: &seconds,
	})
	switch {
	case refused != nil && ctx.Err() != nil:
		return api.Errorf(api.KindUnavailable, "the waiting was cancelled; the work goes on")
	case refused == nil && len(a.Results) == 1:
		t.Results, t.Reason, t.Seq = a.Results, a.Reason, a.Seq
		if s := a.Results[0].State; s.Ended() || s == turns.Active || s == turns.Queued {
			t.State = s
		}
	}
	return nil
}

// isEarlier reports whether an answer to turn/start is one that an earlier attempt of the turn
// has got.
func (r *request) isEarlier(ctx context.Context, t *turns.StartResult) bool {
	_, attempt, refused := r.turn(ctx)
	return refused == nil && t.Parent != nil && t.Parent.Attempt < attempt
}

// firstTurn returns the first turn of a thread; nil if there is none, or no such thread.
func (r *request) firstTurn(ctx context.Context, threadID string) *turns.Turn {
	one := 1
	l, _, refused := call[api.TurnListResult](ctx, r.server.Caller, "turn/list", api.TurnListParams{ThreadID: threadID, Page: api.Page{Limit: &one}})
	if refused != nil || len(l.Turns) == 0 || l.Turns[0].ThreadID != threadID {
		return nil
	}
	return &l.Turns[0]
}

// keptFollows describes what becomes of background work that was found.
func keptFollows(t *turns.StartResult) string {
	text := "It has not ended: its end arrives in your inbox."
	if !t.Outside { // nobody waits for that
		text += fmt.Sprintf(" To have its result in this turn, call work_await with turn_ids [%q].", t.TurnID)
	}
	return text + "\n"
}
