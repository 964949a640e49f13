package api

import (
	"context"

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

// TurnStart answers turn/start.
func (h *Handlers) TurnStart(ctx context.Context, p TurnStartParams) (TurnStartResult, error) {
	if p.ThreadID == "" {
		if p.ThreadID = h.api.DefaultThread; p.ThreadID == "" {
			return TurnStartResult{}, Invalid("thread_id", "required", "the member is required")
		}
	}
	p.Metadata = nilIfNull(p.Metadata)
	return h.api.Engine.Start(ctx, p.Start)
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
	return h.api.Engine.Steer(ctx, turns.Steer{TurnID: p.TurnID, Input: p.Input, Interrupt: p.Mode == SteerInterrupt, Key: p.key})
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

// TurnListParams are the params of turn/list.
type TurnListParams struct {
	ThreadID string      `json:"thread_id,omitzero"`
	State    turns.State `json:"state,omitzero"`
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
	l, err := h.api.Reader.ListTurns(ctx, turns.Query{ThreadID: p.ThreadID, State: p.State, Cursor: p.Cursor, Limit: limit, Newest: p.Order == OrderDesc})
	return TurnListResult{Turns: l.Rows, NextCursor: l.Next, LatestSeq: l.Latest}, err
}
