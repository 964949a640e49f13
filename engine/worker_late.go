package engine

import (
	"context"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// refuseLate keeps what was written of a try that had been taken back, as far
// as the attempt has room for it, and returns the refusal. Nothing is kept in a
// thread that has closed: it has had its last event.
func (a *actor) refuseLate(l turns.Lease, late *lateError, written func(*builder) ([]lateEvent, error)) error {
	refusal := late.stands
	b := a.build()
	if err := a.useTriesOf(b, l.TurnID); err != nil {
		return err
	}
	list := late.written
	if list == nil && written != nil {
		var err error
		if list, err = written(b); err != nil {
			return err
		}
	}
	kept := false
	if a.thread.State != threads.Closed {
		for _, w := range list {
			kept = b.late(l.Attempt, w.step, w.epoch, w.method, w.params) || kept
		}
	}
	if !kept {
		return &refusal
	}
	rc, err := a.commit(b)
	if err != nil {
		return err
	}
	refusal.Seq = rc.Last
	return &refusal
}

// useTriesOf makes the unit one about a turn of the thread, whatever state it
// is in.
func (a *actor) useTriesOf(b *builder, turnID string) error {
	switch {
	case a.active != nil && a.active.turn.TurnID == turnID:
		return nil
	case a.tried[turnID] != nil:
		b.change.use(a.tried[turnID].clone())
		b.after = append(b.after, func(ledger.Receipt) { a.tried[turnID] = b.change.tries })
		return nil
	}
	rows, err := a.e.store.Steps(context.Background(), turnID)
	if err != nil {
		return err
	}
	b.change.use(triesOf(turnID, rows))
	return nil
}

// epochIn is the epoch of the newest try of a path in an attempt that may have
// been given up; 0 if there is none. Late is rare, so the log is read for it.
func epochIn(store turns.Store, turnID string, attempt int, step string) (epoch int, err error) {
	if step == "" {
		return attempt, nil
	}
	rows, err := store.Steps(context.Background(), turnID)
	for _, row := range rows {
		if row.Step == step && row.Lineage[0].Epoch == attempt {
			epoch = row.Epoch
		}
	}
	return epoch, err
}
