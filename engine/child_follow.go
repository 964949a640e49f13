package engine

import (
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// tellFamily follows a commit that may concern the owner of the thread's turn, or its child
// turns. It only says that rows have changed. owns says that the turn that was active may
// have child turns.
func (k *childKeeper) tellFamily(d *decision, owns bool) {
	drafts := d.change.unit.Drafts
	for i := range drafts {
		turnID := drafts[i].Header.TurnID
		switch drafts[i].Method {
		case notify.TurnCompleted, notify.TurnFailed, notify.TurnInterrupted, notify.TurnReviewed:
			said := d.said
			if turnID != d.saidBy {
				said = nil
			}
			k.endTold(d.change.turnRow(turnID), said, owns)
		case notify.StreamRewind:
			if b, ok := drafts[i].Body.(*turns.RewindEvent); ok && b.Step == "" {
				k.endTold(d.change.turnRow(turnID), nil, owns)
			}
		case notify.TurnDetached:
			owner := d.change.turnRow(turnID).Parent.ThreadID
			_ = k.a.e.actors.submit(owner, look, true) // fails only when the engine has stopped
		case notify.TurnQueued:
			k.a.e.awaits.ownerChanged(k.a.id)
		case notify.TurnProgress:
			if b, ok := drafts[i].Body.(*turns.ProgressEvent); ok && b.State == turns.Interrupting && owns {
				k.a.e.family.look(k.a.id)
			}
		case notify.ThreadClosed, notify.ThreadUpdated:
			if !k.a.state.thread.Open() {
				k.a.e.awaits.ownerChanged(k.a.id) // no end arrives there any more
				k.a.e.family.look(k.a.id)
			}
		}
	}
}

// endTold follows the end of a turn, or a retry of a turn that had ended. One that is tried again,
// and ends in the queue, has the jobs of its earlier attempts.
func (k *childKeeper) endTold(t *turns.Turn, said *items.Said, owns bool) {
	k.a.e.awaits.changed(t.TurnID)
	if t.IsChild() {
		var news []childEnd
		if t.AcceptedSeq != 0 && t.ContinuedBy == "" {
			news = []childEnd{{t, said}}
		}
		k.a.e.family.look(t.Parent.ThreadID, news...)
		if t.InReview() { // the ends of its siblings need not wait for it
			_ = k.a.e.actors.submit(t.Parent.ThreadID, look, true) // fails only when the engine has stopped
		}
	}
	if owns || t.Attempt > 1 {
		k.a.e.family.look(k.a.id)
	}
}
