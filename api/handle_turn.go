package api

import (
	"context"
	"errors"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// TurnStartParams are the params of turn/start.
type TurnStartParams struct {
	turns.Start
	Keyed
	Extra
}

// TurnStartResult answers turn/start.
type TurnStartResult = turns.StartResult

// TurnStart answers turn/start. With wait_seconds the function that it returns waits.
// A notification does not wait, because its result goes nowhere; nor does a member of
// a batch.
func (h *Handlers) TurnStart(ctx context.Context, p TurnStartParams) (r TurnStartResult, wait func(context.Context) (TurnStartResult, error), err error) {
	if p.ThreadID == "" && p.Job == "" {
		if p.ThreadID = h.api.DefaultThread; p.ThreadID == "" {
			return r, nil, Invalid("thread_id", "required", "the member is required")
		}
	}
	if p.Job != "" {
		if err := h.api.mayStartWith(ctx, "", p.Agent); err != nil {
			return r, nil, err
		}
	}
	p.Metadata = nilIfNull(p.Metadata)
	if p.WaitSeconds == 0 || isNotification(ctx) || inBatch(ctx) {
		if r, err = h.api.Engine.Start(ctx, p.Start); p.WaitSeconds > 0 {
			r.Waited = new(bool)
		}
		return r, nil, err
	}
	if p.Requester, err = requesterOf(ctx); err != nil {
		return r, nil, err
	}
	children, err := h.children()
	if err != nil {
		return r, nil, err
	}
	r, then, err := children.StartAndWait(ctx, p.Start, callerOf(ctx))
	if err != nil || then == nil {
		return r, nil, err
	}
	return r, func(ctx context.Context) (TurnStartResult, error) {
		ctx, cancel := h.whileOpen(ctx)
		defer cancel()
		r, sent, err := then(ctx)
		if sent != nil {
			AfterSent(ctx, sent)
		}
		return r, h.stopped(err)
	}, nil
}

// children returns the Children of the server, or an error if it has none.
func (h *Handlers) children() (Children, error) {
	if h.api.Children == nil {
		return nil, Errorf(KindUnavailable, "this server has no child turns")
	}
	return h.api.Children, nil
}

// whileOpen returns a context for something that waits: it also ends when the server
// stops.
func (h *Handlers) whileOpen(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.api.open, cancel)
	return ctx, func() { stop(); cancel() }
}

// stopped returns the error of what has waited: the server stops if that ended it.
func (h *Handlers) stopped(err error) error {
	if errors.Is(err, context.Canceled) && h.api.open.Err() != nil {
		return turns.ErrDraining
	}
	return err
}

// TurnAwaitParams are the params of turn/await: see turns.Await.
type TurnAwaitParams struct {
	OwnerThreadID  string        `json:"owner_thread_id,omitzero"`
	TurnIDs        []string      `json:"turn_ids,omitzero"`
	TimeoutSeconds *float64      `json:"timeout_seconds,omitzero"`
	WaitFor        turns.WaitFor `json:"wait_for,omitzero"`
	Extra
}

// TurnAwaitResult answers turn/await.
type TurnAwaitResult = turns.AwaitResult

// TurnAwait answers turn/await. With an owner, the ends in the result are told once it
// was written to the client's connection.
func (h *Handlers) TurnAwait(ctx context.Context, p TurnAwaitParams) (TurnAwaitResult, error) {
	if inBatch(ctx) {
		p.TimeoutSeconds = new(float64)
	}
	ctx, cancel := h.whileOpen(ctx)
	defer cancel()
	children, err := h.children()
	if err != nil {
		return TurnAwaitResult{}, err
	}
	requester, err := requesterOf(ctx)
	if err != nil {
		return TurnAwaitResult{}, err
	}
	r, sent, err := children.Await(ctx, turns.Await{
		OwnerThreadID: p.OwnerThreadID, TurnIDs: p.TurnIDs, TimeoutSeconds: p.TimeoutSeconds, WaitFor: p.WaitFor, Requester: requester,
	}, callerOf(ctx))
	if sent != nil {
		AfterSent(ctx, sent)
	}
	r.Results = append([]turns.Result{}, r.Results...)
	return r, h.stopped(err)
}

// TurnDetachParams are the params of turn/detach.
type TurnDetachParams struct {
	turns.DetachTurn
	Keyed
	Extra
}

// TurnDetachResult answers turn/detach.
type TurnDetachResult = turns.DetachResult

// TurnDetach answers turn/detach.
func (h *Handlers) TurnDetach(ctx context.Context, p TurnDetachParams) (TurnDetachResult, error) {
	children, err := h.children()
	if err != nil {
		return TurnDetachResult{}, err
	}
	return children.Detach(ctx, p.DetachTurn)
}

// callerOf returns the thread whose agent makes the request; "" = another client.
func callerOf(ctx context.Context) string {
	agent, _ := AgentOf(ctx)
	return agent.ThreadID
}

// TurnSteerParams are the params of turn/steer. Mode is auto if empty.
type TurnSteerParams struct {
	TurnID string               `json:"turn_id"`
	Input  []turns.InputMessage `json:"input"`
	Mode   SteerMode            `json:"mode,omitzero"`
	Keyed
	Extra
}

// SteerMode says whether a steer may interrupt the agent's current step.
type SteerMode string

// The modes of turn/steer.
const (
	SteerAuto      SteerMode = "auto"
	SteerInterrupt SteerMode = "interrupt"
)

// TurnSteerResult answers turn/steer.
type TurnSteerResult = turns.SteerResult

// TurnSteer answers turn/steer.
func (h *Handlers) TurnSteer(ctx context.Context, p TurnSteerParams) (TurnSteerResult, error) {
	if err := oneOf("mode", p.Mode, []SteerMode{SteerAuto, SteerInterrupt}); err != nil {
		return TurnSteerResult{}, err
	}
	return h.api.Engine.Steer(ctx, turns.Steer{TurnID: p.TurnID, Input: p.Input, Interrupt: p.Mode == SteerInterrupt, By: clientOf(ctx), Key: p.key})
}

// TurnInterruptParams are the params of turn/interrupt.
type TurnInterruptParams struct {
	turns.Interrupt
	Keyed
	Extra
}

// TurnInterruptResult answers turn/interrupt.
type TurnInterruptResult = turns.InterruptResult

// TurnInterrupt answers turn/interrupt. It returns once the interrupt is
// durable. The channel delivers the end of a turn that has not ended by then.
func (h *Handlers) TurnInterrupt(ctx context.Context, p TurnInterruptParams) (TurnInterruptResult, <-chan TurnInterruptResult, error) {
	return h.api.Engine.Interrupt(ctx, p.Interrupt)
}

// TurnReadParams are the params of turn/read. IncludeSuperseded adds the
// superseded steps and items.
type TurnReadParams struct {
	TurnID            string `json:"turn_id"`
	IncludeItems      bool   `json:"include_items,omitzero"`
	IncludeSuperseded bool   `json:"include_superseded,omitzero"`
	Extra
}

// TurnReadResult answers turn/read. Attempts are the newest tries of the turn
// itself, superseded ones included. Steps are those of the steps below it. Both
// are in the order of their beginning; a turn that has not started has none.
// Items are present if include_items is set. NextCursor continues in item/list
// with the same turn_id and include_superseded.
type TurnReadResult struct {
	Turn       *turns.Turn  `json:"turn"`
	Attempts   []turns.Step `json:"attempts,omitzero"`
	Steps      []turns.Step `json:"steps,omitzero"`
	Items      []items.Item `json:"items,omitzero"`
	NextCursor string       `json:"next_cursor,omitzero"`
	LatestSeq  int64        `json:"latest_seq"`
}

// TurnRead answers turn/read.
func (h *Handlers) TurnRead(ctx context.Context, p TurnReadParams) (TurnReadResult, error) {
	limit := 0
	if p.IncludeItems {
		limit = defaultLimit
	}
	s, err := h.api.Reader.ReadTurn(ctx, turns.TurnQuery{TurnID: p.TurnID, Items: limit, IncludeSuperseded: p.IncludeSuperseded})
	if err != nil {
		return TurnReadResult{}, err
	}
	if s.Turn == nil {
		return TurnReadResult{}, turns.ErrNotFound
	}
	r := TurnReadResult{Turn: s.Turn, Attempts: s.Attempts, Steps: s.Steps, NextCursor: s.Next, LatestSeq: s.Latest}
	if p.IncludeItems {
		r.Items = append([]items.Item{}, s.Items...)
	}
	return r, nil
}

// TurnListParams are the params of turn/list. ParentThreadID selects the child turns
// of that thread; it does not go with ThreadID. EndedBy selects the turns that were lost
// with a restart, in the order of their ends, and AfterSeq those of them whose end is later.
type TurnListParams struct {
	ThreadID       string      `json:"thread_id,omitzero"`
	ParentThreadID string      `json:"parent_thread_id,omitzero"`
	State          turns.State `json:"state,omitzero"`
	// Review selects the turns that wait for a review; pending is its only value.
	Review   turns.ReviewState `json:"review,omitzero"`
	EndedBy  turns.EndedBy     `json:"ended_by,omitzero"`
	AfterSeq *int64            `json:"after_seq,omitzero"`
	Page
	Extra
}

// TurnListResult answers turn/list.
type TurnListResult struct {
	Turns      []turns.Turn `json:"turns"`
	NextCursor string       `json:"next_cursor,omitzero"`
	LatestSeq  int64        `json:"latest_seq"`
}

// TurnList answers turn/list.
func (h *Handlers) TurnList(ctx context.Context, p TurnListParams) (TurnListResult, error) {
	limit, err := p.limit()
	if err != nil {
		return TurnListResult{}, err
	}
	if err := oneOf("state", p.State, turns.States); err != nil {
		return TurnListResult{}, err
	}
	if err := oneOf("review", p.Review, []turns.ReviewState{turns.ReviewPending}); err != nil {
		return TurnListResult{}, err
	}
	if p.ThreadID != "" && p.ParentThreadID != "" {
		return TurnListResult{}, Invalid("parent_thread_id", "invalid", "give either thread_id or parent_thread_id")
	}
	if err := oneOf("ended_by", p.EndedBy, []turns.EndedBy{turns.EndedByRestart}); err != nil {
		return TurnListResult{}, err
	}
	within := h.api.members(ctx, nil)
	if callerOf(ctx) != "" && p.ParentThreadID == callerOf(ctx) {
		within = nil // its outside work too
	}
	q := turns.Query{
		Within: within, ThreadID: p.ThreadID, ParentThreadID: p.ParentThreadID, State: p.State, Review: p.Review,
		EndedBy: p.EndedBy, Cursor: p.Cursor, Limit: limit, Newest: p.Order == OrderDesc,
	}
	if p.AfterSeq != nil {
		if q.AfterSeq = *p.AfterSeq; q.AfterSeq < 0 {
			return TurnListResult{}, Invalid("after_seq", turns.ReasonRange, "a sequence is not negative")
		} else if q.EndedBy == "" {
			return TurnListResult{}, Invalid("after_seq", "invalid", "goes with ended_by only")
		}
	}
	l, err := h.api.Reader.ListTurns(ctx, q)
	return TurnListResult{Turns: l.Rows, NextCursor: l.Next, LatestSeq: l.Latest}, err
}
