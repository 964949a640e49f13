package engine

import (
	"fmt"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// outside stores what an agent says while it runs no turn of the thread: what
// came by Host.Emit, and what was on its way when the turn ended without the
// agent. What cannot be without a turn is counted.
func (a *actor) outside(d *decision, o output) {
	if o.ops == nil {
		if o.sync == nil { // its run has been parted from, which answers it
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
		if !a.lateLogged { // once: an agent that has lost its way says very much
			a.lateLogged = true
			a.e.log.Warn("an agent said something outside of a turn that cannot be stored; more of it is only counted",
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
		return d.setThread(op)
	case items.Create:
		return d.items.createOutside(op)
	}
	return fmt.Errorf("%T without a turn: %w", op, items.ErrRefused)
}

// createOutside makes an item of no turn, which is written ended, in one
// event.
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
