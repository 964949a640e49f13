package engine

import (
	"context"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

const (
	reasonEnded      = "ended"
	reasonNotStarted = "not_started"
)

// StepStart begins a try of a step, and of those above it that have none. A live
// try of the step, ended or not, is superseded with all below it. Errors: as
// WriteItems.
func (ws *Workers) StepStart(ctx context.Context, c turns.StartStep) (turns.StartStepResult, error) {
	if !notify.ValidStep(c.Step) {
		return turns.StartStepResult{}, turns.Invalid("step", turns.ReasonInvalid, "must be a path such as setup/clone: up to 8 names of A-Z a-z 0-9 _ . -")
	}
	if err := turns.CheckText("reason", c.Reason); err != nil {
		return turns.StartStepResult{}, err
	}
	return withLease(ctx, ws, leaseCommand[turns.StartStepResult]{
		lease: c.Lease, key: c.Key,
		decide: func(d *decision) (turns.StartStepResult, error) {
			for above := notify.StepAbove(c.Step); above != ""; above = notify.StepAbove(above) {
				if row := d.change.tries().rows[above]; row != nil && row.Status.Ended() {
					return turns.StartStepResult{}, turns.Invalid("step", reasonEnded, "step %s above it has ended as %s", above, row.Status)
				}
			}
			span, err := d.steps.start(c.Step, c.Reason)
			if err != nil { // one of its bounds: everything else has been checked
				return turns.StartStepResult{}, turns.Invalid("step", turns.ReasonTooMany, "%v", err)
			}
			return turns.StartStepResult{Step: c.Step, Epoch: span.Epoch}, nil
		},
		lateEvents: func(d *decision) ([]lateEvent, error) {
			return []lateEvent{{step: c.Step, method: notify.StepStarted, params: &turns.StepEvent{
				Type: "started", Status: turns.StepInProgress, Reason: cutText(c.Reason),
			}}}, nil
		},
	})
}

// StepEnd ends a try of a step that is under way, and those below it that are.
// Errors: as WriteItems.
func (ws *Workers) StepEnd(ctx context.Context, c turns.EndStep) (turns.EndStepResult, error) {
	if c.Status == "" {
		c.Status = turns.StepCompleted
	}
	switch {
	case !notify.ValidStep(c.Step):
		return turns.EndStepResult{}, turns.Invalid("step", turns.ReasonInvalid, "names no step")
	case !c.Status.Ended():
		return turns.EndStepResult{}, turns.Invalid("status", turns.ReasonUnknown, "must be completed, failed or interrupted")
	case c.Epoch < 0:
		return turns.EndStepResult{}, turns.Invalid("epoch", turns.ReasonRange, "must be 1 or more")
	}
	ended := func(epoch int) lateEvent {
		return lateEvent{c.Step, epoch, notify.StepEnded, &turns.StepEvent{Type: "ended", Status: c.Status}}
	}
	return withLease(ctx, ws, leaseCommand[turns.EndStepResult]{
		lease: c.Lease, key: c.Key,
		decide: func(d *decision) (turns.EndStepResult, error) {
			span, late, err := d.steps.findTry("", c.Step, c.Epoch)
			if late != nil {
				late.events = []lateEvent{ended(c.Epoch)}
				return turns.EndStepResult{}, late
			}
			if err != nil {
				return turns.EndStepResult{}, err
			}
			if row := d.change.tries().rows[c.Step]; row.Status.Ended() {
				return turns.EndStepResult{}, turns.Invalid("step", reasonEnded, "it has ended as %s", row.Status)
			}
			if err := d.steps.end(c.Step, c.Status); err != nil {
				return turns.EndStepResult{}, err
			}
			return turns.EndStepResult{Step: c.Step, Epoch: span.Epoch, Status: c.Status}, nil
		},
		lateEvents: func(d *decision) (list []lateEvent, err error) {
			if c.Epoch == 0 {
				c.Epoch, err = epochIn(d.rules.log, c.Lease.TurnID, c.Lease.Attempt, c.Step)
			}
			return []lateEvent{ended(c.Epoch)}, err
		},
	})
}

// findTry finds the try that a worker names by path and epoch; 0 is the live one.
// If the try was superseded, late says what is live now. field is the prefix of
// the names of members in errors.
func (w *stepWriter) findTry(field, path string, epoch int) (span *notify.Span, late *lateError, err error) {
	t := w.d.change.tries()
	span = t.live[path]
	switch {
	case epoch < 0 || epoch > t.paths[path].epoch:
		return nil, nil, turns.Invalid(field+"epoch", turns.ReasonUnknown, "step %q has had no epoch %d", path, epoch)
	case epoch > 0 && (span == nil || epoch < span.Epoch):
		late = w.supersededError(path)
		return nil, late, nil
	case span == nil:
		return nil, nil, turns.Invalid(field+"step", reasonNotStarted, "step %q has not been started in this attempt", path)
	}
	return span, nil, nil
}

// supersededError reports which try is live instead of a superseded one of the path.
func (w *stepWriter) supersededError(path string) *lateError {
	t := w.d.change.tries()
	s := turns.SupersededError{TurnID: t.turnID, Attempt: w.d.active().turn.Attempt, Step: path}
	if span := t.live[path]; span != nil {
		s.Epoch = span.Epoch
	}
	return &lateError{live: s}
}
