package engine

import (
	"context"
	"errors"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// load reads the thread from the log, once.
func (a *actor) load() error {
	if a.loaded {
		return nil
	}
	if errors.Is(a.dead, turns.ErrInternal) {
		return a.dead
	}
	l, err := a.e.rows.Load(context.Background(), a.id)
	if err != nil {
		return err
	}
	s, err := stateFromRows(l, a.e.rules.cfg)
	if err != nil {
		return err
	}
	if s.inbox, err = a.e.rules.inboxes.LoadInbox(context.Background(), a.id); err != nil {
		return err
	}
	if act := s.active; act != nil {
		word, err := a.e.rules.lastWord(act.turn)
		if err != nil {
			return err
		}
		told := int64(0)
		if s.inbox != nil && s.inbox.ToldTurn == act.turn.TurnID {
			told = s.inbox.ToldSeq
		}
		act.spoke, act.hasOutput = word > told, word > 0
		if !act.hasOutput {
			if act.hasOutput, err = a.e.rules.hasJobs(act.turn.TurnID); err != nil {
				return err
			}
		}
	}
	a.state, a.work, a.loaded = s, nil, true
	if s.active != nil {
		a.work = s.active.work
		a.work.hasChildren = true // as far as is known: the rows say
		if s.active.turn.WaitsForPerson() {
			s.active.clock.wait(true)
		}
		if act := s.active; act.betweenPrompts() {
			act.clock.wait(true)
			if !a.recovering {
				a.slot.hold() // Recover has taken the slot
				a.in.post(look)
			}
			return nil
		}
		if !a.recovering && s.active.resumesAfterRestart(a.agent()) {
			a.resumeWorker()
			a.slot.hold() // Recover has taken the slot
		}
	}
	return nil
}

// stateFromRows makes the state from the rows of the log.
func stateFromRows(l turns.Loaded, cfg Config) (*state, error) {
	s := &state{thread: l.Thread, newestItemID: items.NewID()}
	for _, t := range l.Turns {
		switch t.State {
		case turns.Queued:
			s.enqueue(&queuedTurn{turn: t, tries: triesFromRows(t.TurnID, l.Steps)})
		case turns.Active:
			s.active = newActive(t, triesFromRows(t.TurnID, l.Steps), cfg.DefaultTimeout)
			s.active.retryAt = t.RetryAt.Time
		}
	}
	for _, it := range l.Items {
		content, err := items.Decode(it.Content)
		if err != nil {
			return nil, err
		}
		_, isUser := content.(items.UserMessage)
		switch {
		case s.isActive(it.TurnID):
			if it.Status.Open() {
				s.active.addLoaded(it, content, cfg.MaxItemBytes)
			}
		case isUser && it.Status != items.StatusDeleted && s.queued(it.TurnID) != nil && !ofItsAttempt(content):
			s.setInput(it.TurnID, append(s.queued(it.TurnID).input, &openItem{row: it, content: content}))
		}
	}
	if s.active != nil {
		s.active.open.resumeFromLog()
	}
	return s, nil
}

// addLoaded adds an open item of the turn that was read from the log.
func (act *activeTurn) addLoaded(it *items.Item, content items.Content, maxBytes int) {
	var span *notify.Span
	if len(it.Lineage) > 0 {
		span = act.tries.live[it.Step]
	}
	o := newOpenItem(it, span, content, maxBytes)
	if it.Truncated && o.text == nil { // a text counts itself what was cut
		o.cut = it.TotalBytes
	}
	act.open.add(o)
	if o.isInput() {
		act.steers = append(act.steers, it.ItemID)
	}
}

// newActive returns a turn that has just started. otherwise is its timeout if the turn
// names none.
func newActive(t *turns.Turn, tries *tries, otherwise time.Duration) *activeTurn {
	act := &activeTurn{turn: t, tries: tries, usage: t.Usage, open: &openItems{}, clock: clock{timeout: timeoutOf(t, otherwise), since: time.Now()}}
	// Child turns of earlier attempts may not have ended yet.
	act.work = &work{turnID: t.TurnID, hasChildren: t.Attempt > 1, calls: new(int)}
	if act.clock.timeout > 0 {
		act.clock.timeout = max(1, act.clock.timeout-time.Duration(t.UsedMs)*time.Millisecond)
	}
	return act
}

// timeoutOf returns the timeout of all attempts of a turn together; 0 = none.
func timeoutOf(t *turns.Turn, otherwise time.Duration) time.Duration {
	if t.TimeoutSeconds > 0 {
		return time.Duration(t.TimeoutSeconds * float64(time.Second))
	}
	return otherwise
}
