package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// wakeRetry is the retry policy of wakes: no client waits for a wake and could retry it.
var wakeRetry = turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 5}

// judgeWake judges from what the actor knows whether the thread's new entries may wake it. The
// time at which a bound ends is kept in wakeAt.
func (k *inboxKeeper) judgeWake() inbox.WakeVerdict {
	s := k.a.state
	k.wakeAt = time.Time{}
	if s.inbox == nil || s.inbox.NewEntries == 0 || s.thread == nil || s.active != nil || len(s.queue) > 0 || k.a.stopped || k.a.dead != nil {
		return inbox.WakeVerdict{}
	}
	v := inbox.MayWake(s.inbox, s.thread, k.a.e.rules.settingsOf(s), time.Now(), 0)
	k.wakeAt = v.At
	return v
}

// judgeEntries judges from rows whether they do now: they may wait for more. The time at which they
// wait no longer is kept in wakeAt. inLine says that the thread has waited for a slot.
func (k *inboxKeeper) judgeEntries(r ledger.Reader, inLine bool) (ok bool, err error) {
	box, settings, awaits := k.a.state.inbox, k.a.e.rules.settingsOf(k.a.state), k.a.e.rules.awaits
	if inLine { // the window is over: what comes while the thread waits for a slot is told with the rest
		settings.WakeWindow = 0
	}
	v, err := inbox.EntriesWait(r, box, settings, time.Now(), func(turnID string) bool { return awaits.reserves(k.a.id, turnID) })
	k.wakeAt = v.At
	return v.OK, err
}

// startWake starts a turn for everything that is new in the inbox, if it may. The turn is
// never queued: without a slot the thread waits for one, and judges everything again when
// it gets it.
func (k *inboxKeeper) startWake() {
	inLine := k.inLine // also if it is decided anew with the slot
	for {
		switch v := k.judgeWake(); {
		case v.Stall != "":
			k.a.e.gate.decline(k.a.id)
			d := k.a.decide()
			d.inbox.book().Stall(v)
			if _, err := k.a.commit(d); err != nil {
				k.wakeAt = k.a.retryTime("a thread with new entries cannot be judged now", err)
			}
			return
		case !v.OK:
			k.leaveLine()
			return
		}
		d := k.a.decide()
		due, started := false, false
		err := d.inbox.inSnapshot(func(b *inbox.Book) (err error) { // judged and told from one snapshot
			if due, err = k.judgeEntries(inbox.ReaderOf(b), inLine); err != nil || !due {
				return err
			}
			ok, _ := k.a.slot.reserve()
			if k.inLine = !ok; ok {
				started, err = d.wake(b)
			}
			return err
		})
		if err == nil && !d.change.empty() {
			_, err = k.a.commit(d)
		}
		if err == nil && started {
			return
		}
		k.a.slot.unreserve()
		switch {
		case errors.Is(err, turns.ErrRuntimePaused), errors.Is(err, turns.ErrChildrenMoved):
			continue // a pause has closed the gate: the next round waits in line
		case err != nil:
			k.wakeAt = k.a.retryTime("a thread cannot be woken now", err)
		}
		if !due {
			k.leaveLine()
		}
		return // it waits for a slot, a bound was reached, or nothing was left to tell
	}
}

// leaveLine follows the verdict that nothing wakes the thread now.
func (k *inboxKeeper) leaveLine() {
	k.inLine = false
	k.a.e.gate.decline(k.a.id)
}

// wake adds a turn that tells the agent what is new: its start, its input and
// inbox/told are one unit. started is false if a bound was reached, or if nothing
// was new.
func (d *decision) wake(b *inbox.Book) (started bool, err error) {
	if d.rules.draining() {
		return false, turns.ErrDraining
	}
	fresh, err := d.child.freshEntries(b)
	if err != nil || len(fresh.entries) == 0 {
		return false, err
	}
	msg, told, err := d.child.message(inbox.ReaderOf(b), fresh)
	if err != nil {
		return false, err
	}
	chain := inbox.Chain(b, told)
	if v := inbox.MayWake(b.Inbox(), d.next().thread, d.inbox.settings(), d.change.now.Time, chain); !v.OK {
		if v.Stall != "" {
			b.Stall(v)
		}
		return false, b.Err()
	}
	turnID := turns.NewID()
	msgs := []items.UserMessage{msg}
	d.change.selectTries(newTries(turnID))
	d.turn.addStarted(nil, turnID, turns.OriginWake, request{
		Start: turns.Start{Retry: &wakeRetry, Review: d.review.policyOf("")}, chain: chain,
	})
	d.items.addInput(turnID, 1, msgs, items.StatusCompleted, "")
	b.Tell(told, turnID)
	if len(fresh.live) > 0 {
		d.fence(fresh.live)
	}
	b.Stats().Woken++
	d.turn.addPrompt(msgs)
	return len(told) > 0, b.Err()
}

// freshEntries lists the fresh entries that a wake can tell. It withdraws superseded ends, and
// leaves out those that an answer under way tells.
func (w *childWriter) freshEntries(b *inbox.Book) (t toldEnds, err error) {
	var reserved func(e *inbox.Entry) bool
	if w.d.rules.awaits.any() {
		reserved = func(e *inbox.Entry) bool {
			ends, err := inbox.EndsAmong(b, []*inbox.Entry{e}) // the book keeps the error
			return err == nil && len(ends) == 1 && w.d.rules.awaits.reserves(w.d.change.threadID, ends[0].TurnID)
		}
	}
	list, err := b.Fresh(reserved)
	if err != nil {
		return t, err
	}
	ends, err := inbox.EndsAmong(b, list)
	if err != nil || len(ends) == 0 {
		return toldEnds{entries: list}, err
	}
	var c children
	if err := w.sortEnds(inbox.ReaderOf(b), ends, &c, func(*turns.Turn) (mine, holds bool) { return true, false }); err != nil {
		return t, err
	}
	for _, e := range c.gone {
		inbox.Withdraw(b, e)
	}
	t = c.toTell()
	t.entries = slices.DeleteFunc(list, func(e *inbox.Entry) bool {
		return e.Source == inbox.SourceTurns && !slices.ContainsFunc(c.untold, func(end inbox.End) bool { return end.Entry == e })
	})
	return t, b.Err()
}

// turnEnds follows the end of the active turn, which decides about every entry that it was
// told: those told before its agent's last word are acknowledged if it has completed, those
// told after it are new again.
func (w *inboxWriter) turnEnds(end turns.State) {
	act, box := w.d.active(), w.d.next().inbox
	if box == nil || box.UnackedEntries == 0 {
		return
	}
	var err error
	if !act.spoke {
		var word int64
		if word, err = w.d.rules.lastWord(act.turn); err == nil {
			err = w.book().Untell(act.turn.TurnID, act.turn.Wake, word)
		}
	}
	if err == nil && end == turns.Completed && w.settings().Ack == inbox.AckTurnEnd {
		if err = w.book().AckTold(act.turn.TurnID); err == nil {
			err = w.book().PostLags()
		}
	}
	if err != nil && w.d.change.err == nil {
		w.d.change.err = err
	}
}

// threadCloses follows the end of the thread: everything that waits is posted, and
// nothing arrives any more.
func (w *inboxWriter) threadCloses() {
	if w.d.next().inbox == nil && w.d.change.committed == nil {
		return // it is new
	}
	if err := w.book().Close(); err != nil && w.d.change.err == nil {
		w.d.change.err = err
	}
}
