package engine

import (
	"context"
	"slices"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// lateEvent is what a worker wanted to write in a superseded try.
type lateEvent struct {
	step   string
	epoch  int
	method string
	params any
}

// lateError says that a try was superseded, and what the worker still wrote in it.
type lateError struct {
	live   turns.SupersededError
	events []lateEvent
}

func (e *lateError) Error() string { return e.live.Error() }

// refuseLate keeps what was written in a superseded try, as far as the attempt has
// room for it, and returns the refusal. In a closed thread it keeps nothing: no
// event may follow thread/closed.
func refuseLate(a *actor, l turns.Lease, late *lateError, written func(*decision) ([]lateEvent, error)) error {
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

// refuseOps looks for ops in superseded tries of the live attempt. If there are
// any, it returns a *lateError with all of them.
func (w *lateWriter) refuseOps(ops []workerOp) error {
	var found *lateError
	for _, op := range ops {
		late, epoch, err := w.isLate(op)
		if err != nil {
			return err
		}
		if late == nil {
			continue
		}
		if found == nil {
			found = late
		}
		found.events = append(found.events, w.opEvent(op, late.live.Step, epoch))
	}
	if found != nil {
		return found
	}
	return nil
}

// isLate reports whether the op belongs to a superseded try, and the epoch of that
// try. late is nil if it does not.
func (w *lateWriter) isLate(op workerOp) (late *lateError, epoch int, err error) {
	if _, creates := op.op.(items.Create); creates {
		_, late, err = w.d.steps.findTry(op.field, op.step, op.epoch)
		return late, op.epoch, err
	}
	if w.d.active().open.get(op.itemID) != nil {
		return nil, 0, nil
	}
	row, err := w.d.items.readEnded(op.itemID)
	if err != nil || row == nil || row.TurnID != w.d.change.tries().turnID || len(row.Lineage) == 0 {
		return nil, 0, err
	}
	if span := w.d.change.tries().live[row.Step]; span != nil && slices.Equal(span.Lineage, row.Lineage) {
		return nil, 0, nil
	}
	return w.d.steps.supersededError(row.Step), row.Epoch, nil
}

// opEvents returns the ops of a worker whose attempt was superseded.
func (w *lateWriter) opEvents(l turns.Lease, ops []workerOp) (list []lateEvent, err error) {
	for _, op := range ops {
		step, epoch := op.step, op.epoch
		if _, creates := op.op.(items.Create); creates {
			if epoch == 0 {
				epoch, err = epochIn(w.d.rules.log, l.TurnID, l.Attempt, step)
			}
		} else {
			epoch = l.Attempt
			var row *items.Item
			if row, err = w.d.items.readEnded(op.itemID); row != nil && row.TurnID == l.TurnID {
				step, epoch = row.Step, row.Epoch
			}
		}
		if err != nil {
			return nil, err
		}
		list = append(list, w.opEvent(op, step, epoch))
	}
	return list, nil
}

// opEvent returns the op as turn/late has it.
func (w *lateWriter) opEvent(op workerOp, step string, epoch int) lateEvent {
	method, params := w.asEvent(op.op)
	return lateEvent{step: step, epoch: epoch, method: method, params: params}
}

// selectTurn selects the turn of the unit, which may be in any state.
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

// epochIn returns the epoch of the newest try of a path in an attempt that may be
// superseded; 0 if there is none. It reads the log, because late writes are rare.
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
