package api

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// ItemListParams are the params of item/list. Without IncludeSuperseded it
// lists live items.
type ItemListParams struct {
	ThreadID          string       `json:"thread_id,omitzero"`
	TurnID            string       `json:"turn_id,omitzero"`
	Status            items.Status `json:"status,omitzero"`
	Type              items.Kind   `json:"type,omitzero"`
	IncludeSuperseded bool         `json:"include_superseded,omitzero"`
	Page
	Extra
}

// ItemListResult answers item/list.
type ItemListResult struct {
	Items      []items.Item `json:"items"`
	NextCursor string       `json:"next_cursor,omitzero"`
	LatestSeq  int64        `json:"latest_seq"`
}

// ItemList answers item/list.
func (h *Handlers) ItemList(ctx context.Context, p ItemListParams) (ItemListResult, error) {
	limit, err := p.limit()
	if err != nil {
		return ItemListResult{}, err
	}
	if err := oneOf("status", p.Status, items.Statuses); err != nil {
		return ItemListResult{}, err
	}
	if err := oneOf("type", p.Type, items.Kinds); err != nil {
		return ItemListResult{}, err
	}
	within := h.api.members(ctx, nil)
	if callerOf(ctx) != "" && p.TurnID != "" {
		within = nil // the rule for agents knows what of this turn it may read
	}
	l, err := h.api.Reader.ListItems(ctx, items.Query{
		Within:   within,
		ThreadID: p.ThreadID, TurnID: p.TurnID, Status: p.Status, Type: p.Type, Cursor: p.Cursor, Limit: limit, Newest: p.Order == OrderDesc,
		IncludeSuperseded: p.IncludeSuperseded,
	})
	return ItemListResult{Items: l.Rows, NextCursor: l.Next, LatestSeq: l.Latest}, err
}

// ItemReadParams are the params of item/read.
type ItemReadParams struct {
	ItemID string `json:"item_id"`
	Extra
}

// ItemReadResult answers item/read.
type ItemReadResult struct {
	Item      *items.Item `json:"item"`
	LatestSeq int64       `json:"latest_seq"`
}

// ItemRead answers item/read, also for a superseded item: the row says so.
func (h *Handlers) ItemRead(ctx context.Context, p ItemReadParams) (ItemReadResult, error) {
	it, latest, err := h.api.Reader.ReadItem(ctx, p.ItemID)
	if err == nil && it == nil {
		err = items.ErrNotFound
	}
	return ItemReadResult{Item: it, LatestSeq: latest}, err
}

// ItemRespondParams are the params of item/respond: an option by its id or by
// its kind, an outcome (cancelled), or an answer.
type ItemRespondParams struct {
	ItemID   string         `json:"item_id"`
	OptionID string         `json:"option_id,omitzero"`
	Kind     string         `json:"kind,omitzero"`
	Outcome  string         `json:"outcome,omitzero"`
	Answer   jsontext.Value `json:"answer,omitzero"`
	Keyed
	Extra
}

// ItemRespondResult answers item/respond.
type ItemRespondResult = turns.RespondResult

// ItemRespond answers item/respond.
func (h *Handlers) ItemRespond(ctx context.Context, p ItemRespondParams) (ItemRespondResult, error) {
	return h.api.Engine.Respond(ctx, turns.Respond{
		ItemID: p.ItemID, OptionID: p.OptionID, OptionKind: p.Kind, Outcome: p.Outcome,
		Answer: nilIfNull(p.Answer), By: clientOf(ctx), Once: onceOnly(ctx), Key: p.key,
	})
}
