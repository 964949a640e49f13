package engine

import (
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// maxNotices is how many refused ops of a turn become notices: a broken agent
// must not fill the log with them.
const maxNotices = 20

// takeOutput commits the output that waits, as much as fits into one unit. It
// reports whether there was any.
func (a *actor) takeOutput() bool {
	switch {
	case a.held != nil:
		return false
	case a.dead != nil:
		return a.dropOutput()
	}
	if !a.loaded { // the first output for a thread that was not busy
		if a.in.noOutput() || !a.startRetryAt.IsZero() { // the thread is read again then
			return false
		}
		if err := a.load(); err != nil {
			a.startRetryAt = a.retryTime("a thread with agent output cannot be read now", err)
			return false
		}
	}
	var d *decision
	for d == nil || !d.change.full() {
		if a.work != nil && a.work.starting > 0 && a.in.endsNext() {
			break // a child turn is about to start: the release of its permit looks again
		}
		o, ok := a.in.takeOutput()
		if !ok || a.in.isStopped() { // it may be from after Leave: the next server decides without it
			break
		}
		if d == nil {
			d = a.observe()
		}
		rest, more := a.add(d, o)
		if rest != nil {
			a.in.putBack(*rest)
		}
		if !more {
			break
		}
	}
	if d == nil {
		return false
	}
	a.commitOutput(d)
	return true
}

// dropOutput counts an output of a thread about which nothing can be decided any more. An
// agent that waited here would block the other threads of its process.
func (a *actor) dropOutput() bool {
	_, ok := a.in.takeOutput()
	if ok {
		a.e.lateOutput.Add(1)
	}
	return ok
}

// add adds one output to the decision. rest has to wait until the decision is
// committed. more reports whether the decision takes further output.
func (a *actor) add(d *decision, o output) (rest *output, more bool) {
	act := d.active()
	switch {
	case o.run != nil && o.run.left:
	case o.run != nil && o.run.superseded && d.next().isActive(o.run.turnID):
		a.e.lateOutput.Add(d.late.keepOutput(o))
	case o.run == nil || act == nil || act.work.exec != o.run:
		a.outside(d, o)
	case o.end != nil && (o.end.Cause != "" && d.change.beginsTry || d.items.readsLogForMessage()): // it may supersede what is not committed yet
		return &o, false
	case o.end != nil:
		d.turn.promptEnded(*o.end)
		return nil, false // nothing of this prompt follows
	case o.question != nil:
		d.items.ask(o.question)
	case o.delivered != "":
		d.items.completeSteer(o.delivered)
	case o.sync != nil:
		d.addEffect(confirmSync{o.sync})
	default:
		for i, op := range o.ops {
			if d.change.mustCommitFirst(op) {
				o.ops = o.ops[i:]
				return &o, false
			}
			d.applyOp(op)
		}
	}
	return nil, true
}

// applyOp applies one op of the agent to the active turn. It changes the actor's
// state at once; commitOutput makes the change durable.
func (d *decision) applyOp(op items.Op) {
	var err error
	switch op := op.(type) {
	case items.Create:
		err = d.items.create(op)
	case items.Append:
		err = d.items.appendText(op)
	case items.Update:
		err = d.items.update(op)
	case items.Delete:
		err = d.items.delete(op)
	case items.Progress:
		err = d.turn.reportProgress(op)
	case items.SetThread:
		err = d.setThread(op, "")
	case items.StepStart:
		_, err = d.steps.start(op.Step, op.Reason)
	case items.StepEnd:
		err = d.steps.end(op.Step, turns.StepStatus(op.Status))
	case items.SetUsage:
		op.Usage.Type = items.KindUsage
		d.active().usage = &op.Usage
	}
	if err != nil {
		d.reportRefused(err)
	}
}

// reportRefused adds a notice about an op that was refused.
func (d *decision) reportRefused(err error) {
	act := d.active()
	if act.notices++; act.notices > maxNotices {
		return
	}
	text := "the agent sent something that cannot be: " + err.Error()
	if act.notices == maxNotices {
		text += " (further ones are not shown)"
	}
	_ = d.items.create(items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: items.NewNotice("warning", text)})
}
