package engine

import (
	"context"
	"fmt"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// WriteItems writes to the items of a lease's turn. The Field of an
// *InvalidError begins with the op: ops[2].status. A write to a superseded step or
// item is kept as turn/late. It is refused together with all others, of which
// nothing is kept. Errors: *InvalidError, ErrLease, ErrNotFound, ErrNotActive,
// items.ErrNotFound, items.ErrConflict, *SupersededError, ledger.ErrKeyConflict,
// ErrDraining, ledger.ErrStorageFull, ledger.ErrStorageFailed.
func (ws *Workers) WriteItems(ctx context.Context, c turns.WriteItems) (turns.WriteItemsResult, error) {
	ops, err := decodeOps(c, ws.e.rules.cfg.MaxItemBytes)
	if err != nil {
		return turns.WriteItemsResult{}, err
	}
	return withLease(ctx, ws, leaseCommand[turns.WriteItemsResult]{
		lease: c.Lease, key: c.Key,
		decide: func(d *decision) (turns.WriteItemsResult, error) {
			if err := d.late.refuseOps(ops); err != nil {
				return turns.WriteItemsResult{}, err
			}
			r := turns.WriteItemsResult{Items: make([]turns.WrittenItem, len(ops))}
			for i, op := range ops {
				status, err := d.items.writeOp(op)
				if err != nil {
					return turns.WriteItemsResult{}, err
				}
				r.Items[i] = turns.WrittenItem{ItemID: op.itemID, Status: status}
			}
			return r, nil
		},
		lateEvents: func(d *decision) ([]lateEvent, error) { return d.late.opEvents(c.Lease, ops) },
	})
}

// writeOp applies one op that is not late, and returns the status of its item.
func (w *itemWriter) writeOp(op workerOp) (items.Status, error) {
	var err error
	switch is := op.op.(type) {
	case items.Create:
		err = w.createByWorker(op, is)
	case items.Append:
		if err = w.mustBeOfTurn(op); err == nil {
			if err = op.asInvalid("item_id", w.appendText(is)); err == nil {
				w.storeTruncated(op.itemID)
			}
		}
	case items.Update:
		if err = w.mustBeOfTurn(op); err == nil {
			err = op.asInvalid("status", w.update(is))
		}
	case items.Delete:
		if err = w.mustBeOfTurn(op); err == nil {
			err = op.asInvalid("item_id", w.delete(is))
		}
	}
	if err != nil {
		return "", err
	}
	if o := w.d.active().open.get(op.itemID); o != nil {
		return o.row.Status, nil
	}
	row, err := w.readEnded(op.itemID)
	if err != nil {
		return "", err
	}
	return row.Status, nil
}

// storeTruncated stores an open item whose text has just exceeded its bound. There
// are no deltas from then on, and further text is only in memory. A worker outlives
// a restart, after which the item must not look complete.
func (w *itemWriter) storeTruncated(itemID string) {
	if o := w.d.active().open.get(itemID); o.text.Truncated() && !o.row.Truncated {
		o.row = w.addUpdated(o, o.row.Status)
	}
}

// createByWorker creates an item. An id that the worker has chosen must be new in
// the whole log: it is looked up here, and if two turns use one at the same moment,
// the store refuses the second.
func (w *itemWriter) createByWorker(op workerOp, is items.Create) error {
	if row := w.d.change.tries().rows[op.step]; op.step != "" && row.Status.Ended() {
		return op.invalid("step", reasonEnded, "step %s has ended as %s", op.step, row.Status)
	}
	if op.ownID {
		row, err := w.readEnded(op.itemID)
		if err != nil {
			return err
		}
		if row != nil {
			return items.ErrConflict
		}
	}
	return op.asInvalid("status", w.create(is))
}

// mustBeOfTurn returns an error unless the op's item is one of the turn that its
// worker may change.
func (w *itemWriter) mustBeOfTurn(op workerOp) error {
	var row *items.Item
	if o := w.d.active().open.get(op.itemID); o != nil {
		row = o.row
	} else {
		var err error
		if row, err = w.readEnded(op.itemID); err != nil {
			return err
		}
	}
	_, deletes := op.op.(items.Delete)
	switch {
	case row == nil || row.TurnID != w.d.change.tries().turnID:
		return fmt.Errorf("%sitem_id: %w", op.field, items.ErrNotFound)
	case row.Type == items.KindUserMessage:
		return op.invalid("item_id", turns.ReasonInvalid, "is a user message")
	case !row.Status.Open() && !deletes, row.Status == items.StatusDeleted:
		return op.invalid("item_id", reasonEnded, "has ended as %s", row.Status)
	}
	return nil
}
