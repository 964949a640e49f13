package api

import (
	"context"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// ItemWriteResult answers item/create, item/append, item/update and
// item/delete.
type ItemWriteResult struct {
	ItemID string       `json:"item_id"`
	Status items.Status `json:"status"`
	Seq    int64        `json:"seq"`
}

// write does one op.
func (h *Handlers) write(ctx context.Context, l turns.Lease, op turns.ItemOp, key *ledger.Key) (ItemWriteResult, error) {
	w, err := h.leased(l)
	if err != nil {
		return ItemWriteResult{}, err
	}
	r, err := w.WriteItems(ctx, turns.WriteItems{Lease: l, Ops: []turns.ItemOp{op}, Key: key})
	if err != nil {
		return ItemWriteResult{}, singleOpError(err)
	}
	out := ItemWriteResult{Seq: r.Seq}
	for _, it := range r.Items { // one
		out.ItemID, out.Status = it.ItemID, it.Status
	}
	return out, nil
}

// singleOpError names the member of an error as the params of a single op do.
func singleOpError(err error) error {
	var bad *turns.InvalidError
	if errors.As(err, &bad) {
		if field, ok := strings.CutPrefix(bad.Field, "ops[0]."); ok {
			return &turns.InvalidError{Field: field, Reason: bad.Reason, Text: bad.Text}
		}
	}
	return err
}

// ItemCreateParams are the params of item/create. ItemID is a pointer because
// an empty id is a mistake, an absent one asks for a new id. Step absent is the
// turn itself, Epoch absent the live try.
type ItemCreateParams struct {
	Lease   turns.Lease    `json:"lease"`
	ItemID  *string        `json:"item_id,omitzero"`
	Step    string         `json:"step,omitzero"`
	Epoch   *int           `json:"epoch,omitzero"`
	Status  items.Status   `json:"status,omitzero"`
	Content jsontext.Value `json:"content"`
	Keyed
	Extra
}

// ItemCreateResult answers item/create.
type ItemCreateResult = ItemWriteResult

// ItemCreate answers item/create.
func (h *Handlers) ItemCreate(ctx context.Context, p ItemCreateParams) (ItemCreateResult, error) {
	op := turns.ItemOp{Op: turns.OpCreate, Step: p.Step, Status: p.Status, Content: nilIfNull(p.Content)}
	if op.Content == nil {
		return ItemCreateResult{}, Invalid("content", "required", "the member is required")
	}
	if p.ItemID != nil {
		if op.ItemID = *p.ItemID; op.ItemID == "" {
			return ItemCreateResult{}, Invalid("item_id", "out_of_range", "an id is not empty; leave it out for a new one")
		}
	}
	var err error
	if op.Epoch, err = epochOf("epoch", p.Epoch); err != nil {
		return ItemCreateResult{}, err
	}
	return h.write(ctx, p.Lease, op, p.key)
}

// ItemAppendParams are the params of item/append. Text is a pointer because it
// may be empty, but not absent.
type ItemAppendParams struct {
	Lease  turns.Lease `json:"lease"`
	ItemID string      `json:"item_id"`
	Text   *string     `json:"text"`
	Keyed
	Extra
}

// ItemAppendResult answers item/append.
type ItemAppendResult = ItemWriteResult

// ItemAppend answers item/append.
func (h *Handlers) ItemAppend(ctx context.Context, p ItemAppendParams) (ItemAppendResult, error) {
	return h.write(ctx, p.Lease, turns.ItemOp{Op: turns.OpAppend, ItemID: p.ItemID, Text: *p.Text}, p.key)
}

// ItemUpdateParams are the params of item/update.
type ItemUpdateParams struct {
	Lease   turns.Lease    `json:"lease"`
	ItemID  string         `json:"item_id"`
	Status  items.Status   `json:"status,omitzero"`
	Content jsontext.Value `json:"content,omitzero"`
	Keyed
	Extra
}

// ItemUpdateResult answers item/update.
type ItemUpdateResult = ItemWriteResult

// ItemUpdate answers item/update.
func (h *Handlers) ItemUpdate(ctx context.Context, p ItemUpdateParams) (ItemUpdateResult, error) {
	return h.write(ctx, p.Lease, turns.ItemOp{Op: turns.OpUpdate, ItemID: p.ItemID, Status: p.Status, Content: nilIfNull(p.Content)}, p.key)
}

// ItemDeleteParams are the params of item/delete.
type ItemDeleteParams struct {
	Lease  turns.Lease `json:"lease"`
	ItemID string      `json:"item_id"`
	Keyed
	Extra
}

// ItemDeleteResult answers item/delete.
type ItemDeleteResult = ItemWriteResult

// ItemDelete answers item/delete.
func (h *Handlers) ItemDelete(ctx context.Context, p ItemDeleteParams) (ItemDeleteResult, error) {
	return h.write(ctx, p.Lease, turns.ItemOp{Op: turns.OpDelete, ItemID: p.ItemID}, p.key)
}

// ItemBatchParams are the params of item/batch: what the four methods above
// do, in one transaction.
type ItemBatchParams struct {
	turns.WriteItems
	Keyed
	Extra
}

// ItemBatchResult answers item/batch.
type ItemBatchResult = turns.WriteItemsResult

// ItemBatch answers item/batch.
func (h *Handlers) ItemBatch(ctx context.Context, p ItemBatchParams) (ItemBatchResult, error) {
	w, err := h.leased(p.Lease)
	if err != nil {
		return ItemBatchResult{}, err
	}
	if len(p.Ops) == 0 {
		return ItemBatchResult{}, Invalid("ops", "required", "give at least one")
	}
	for i := range p.Ops {
		p.Ops[i].Content = nilIfNull(p.Ops[i].Content)
		if p.Ops[i].Epoch < 0 {
			return ItemBatchResult{}, Invalid(indexed("ops", i)+".epoch", "out_of_range", "epochs count from 1")
		}
	}
	r, err := w.WriteItems(ctx, p.WriteItems)
	r.Items = append([]turns.WrittenItem{}, r.Items...)
	return r, err
}
