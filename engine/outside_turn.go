package engine

import (
	"fmt"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// outside stores output that belongs to no turn: output of Host.Emit, and output
// that was on its way when its turn ended without the agent. What needs a turn is
// only counted.
func (a *actor) outside(d *decision, o output) {
	if o.ops == nil {
		if o.sync == nil { // the end of its run answers a sync
			a.e.lateOutput.Add(1)
		}
		return
	}
	for _, op := range o.ops {
		err := d.outsideOp(op)
		if err == nil {
			continue
		}
		a.e.lateOutput.Add(1)
		if !a.lateLogged { // once: a broken agent may send very much
			a.lateLogged = true
			a.e.log.Warn("agent output outside of a turn cannot be stored; further ones are only counted",
				zap.String("thread_id", a.id), zap.Error(err))
		}
	}
}

func (d *decision) outsideOp(op items.Op) error {
	switch {
	case d.next().thread == nil:
		return threads.ErrNotFound
	case d.next().thread.State == threads.Closed:
		return threads.ErrClosed
	}
	switch op := op.(type) {
	case items.SetThread:
		return d.setThread(op, "")
	case items.Create:
		return d.items.createOutside(op)
	}
	return fmt.Errorf("%T without a turn: %w", op, items.ErrRefused)
}

// createOutside adds an item without a turn. It is written as ended, in one event.
func (w *itemWriter) createOutside(op items.Create) error {
	if op.Content == nil || op.ItemID == "" {
		return fmt.Errorf("an item without id or content: %w", items.ErrRefused)
	}
	kind := op.Content.Kind()
	status, err := items.Next(items.Absent, kind, items.VerbCreate, op.Status)
	if err != nil {
		return err
	}
	if status.Open() {
		return fmt.Errorf("an open %s without a turn: %w", kind, items.ErrRefused)
	}
	if err := w.mustBeNew(op.ItemID); err != nil {
		return err
	}
	content, err := fit(op.Content, w.d.rules.cfg.MaxItemBytes)
	if err != nil {
		return fmt.Errorf("%w: %w", err, items.ErrRefused)
	}
	w.d.change.item(nil, "", notify.ItemCreated, op.ItemID, scope{}, &items.Created{
		ItemID: op.ItemID, Type: "created", Status: status,
		Content: content.raw, Truncated: content.truncated, TotalBytes: content.total, Kind: kind,
	})
	return nil
}
