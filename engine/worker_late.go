package engine

import (
	"context"

	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// refuseLate keeps what was written of a try that had been taken back, as far
// as the attempt has room for it, and returns the refusal. Nothing is kept in a
// thread that has closed: it has had its last event.
func (a *actor) refuseLate(l turns.Lease, late *lateError, written func(*decision) ([]lateEvent, error)) error {
	refusal := late.live
	d := a.decide()
	if err := d.selectTurn(l.TurnID); err != nil {
		return err
	}
	list := late.events
	if list == nil && written != nil {
		var err error
		if list, err = written(d); err != nil {
			return err
		}
	}
	kept := false
	if a.state.thread.State != threads.Closed {
		for _, w := range list {
			kept = d.late.keep(l.Attempt, w.step, w.epoch, w.method, w.params) || kept
		}
	}
	if !kept {
		return &refusal
	}
	rc, err := a.commit(d)
	if err != nil {
		return err
	}
	refusal.Seq = rc.Last
	return &refusal
}

// selectTurn makes the unit one about a turn of the thread, whatever state it
// is in.
func (d *decision) selectTurn(turnID string) error {
	if d.next().isActive(turnID) {
		return nil
	}
	if was := d.next().queued(turnID); was != nil && was.turn.Attempt > 1 {
		q := *was
		q.tries = was.tries.clone()
		d.next().enqueue(&q)
		d.change.selectTries(q.tries)
		return nil
	}
	rows, err := d.rules.log.Steps(context.Background(), turnID)
	if err != nil {
		return err
	}
	d.change.selectTries(triesFromRows(turnID, rows))
	return nil
}

// epochIn is the epoch of the newest try of a path in an attempt that may have
// been given up; 0 if there is none. Late is rare, so the log is read for it.
func epochIn(log logReader, turnID string, attempt int, step string) (epoch int, err error) {
	if step == "" {
		return attempt, nil
	}
	rows, err := log.Steps(context.Background(), turnID)
	for _, row := range rows {
		if row.Step == step && row.Lineage[0].Epoch == attempt {
			epoch = row.Epoch
		}
	}
	return epoch, err
}
