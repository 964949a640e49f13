package engine

import (
	"cmp"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/question"
	"github.com/seed82539d15/holon/turns"
)

// pendingQuestion takes a question from the agent to the actor, and its answer
// back.
type pendingQuestion struct {
	itemID  string
	content items.Content
	options turns.AskOptions
	answer  chan turns.Answer // capacity 1
}

// ask adds a question. The turn waits, unless the question is answered already: then
// it is created with its answer, so that no client shows it as one that waits.
func (w *itemWriter) ask(q *pendingQuestion) {
	act, cfg := w.d.active(), w.d.rules.cfg
	ans, by, answered := w.answerOf(q)
	if act.stop != nil || act.cut || (!answered && len(act.open.list) >= cfg.MaxOpenItems) {
		w.d.addEffect(deliverAnswer{q, cancelled}) // nobody is asked any more
		return
	}
	if q.options.ExpiresAfter > 0 && !answered {
		q.content = items.WithExpiry(q.content, notify.TimeOf(w.d.change.now.Add(q.options.ExpiresAfter)), q.options.OnExpiry)
	}
	status := items.StatusPending
	if answered {
		status, q.content = ans.Status, withOutcome(q.content, ans.Outcome, ans.Answer, by)
	}
	err := w.mustBeNew(q.itemID)
	var (
		raw   items.Raw
		cut   bool
		total int64
	)
	if err == nil {
		raw, cut, total, err = items.Fit(q.content, cfg.MaxItemBytes)
	}
	if err != nil {
		w.d.reportRefused(err)
		w.d.addEffect(deliverAnswer{q, cancelled})
		return
	}
	at := w.d.turnScope() // a question is asked by the turn, not by one of its steps
	row := w.d.change.item(nil, act.turn.TurnID, notify.ItemCreated, q.itemID, at, &items.Created{
		ItemID: q.itemID, Type: "created", Status: status, Content: raw, Truncated: cut, TotalBytes: total, Kind: q.content.Kind(),
	})
	if answered {
		w.d.addEffect(deliverAnswer{q, ans})
		return
	}
	o := newOpenItem(row, at.span, q.content, cfg.MaxItemBytes)
	o.question = q
	act.open.add(o)
	if act.turn.Progress != turns.Waiting {
		w.d.turn.addProgressEvent(turns.ProgressEvent{State: turns.Waiting, UsedMs: w.d.turn.usedMs(), Resumable: q.options.Resumes})
	}
	act.clock.wait(true)
	if w.d.rules.draining() {
		w.d.addEffect(leaveWaiting{})
	}
}

// answerOf returns the answer of a question for which no person is asked, and who has given it:
// the configuration, or the person who has answered the same before a restart.
func (w *itemWriter) answerOf(q *pendingQuestion) (ans turns.Answer, by string, ok bool) {
	if ans, ok = chosen(q.content, q.options.OptionID); ok {
		return ans, cmp.Or(q.options.By, byConfiguration), true
	}
	ans, ok = w.answeredBefore(q.content)
	return ans, byRestart, ok
}

// resolve ends a question. The agent gets the answer after the commit.
func (w *itemWriter) resolve(o *openItem, ans items.Answer, by string) {
	content := withOutcome(o.content, ans.Outcome, ans.Answer, by)
	e, err := o.fit(content, w.d.rules.cfg.MaxItemBytes)
	if err != nil && w.d.change.err == nil {
		w.d.change.err = err
	}
	row := o.row
	w.d.change.item(row, row.TurnID, notify.ItemUpdated, row.ItemID, o.scope(), &items.Updated{
		ItemID: row.ItemID, Type: "updated", Status: ans.Status, Content: e.raw, Truncated: e.truncated, TotalBytes: e.total,
	})
	w.d.active().open.remove(row.ItemID)
	if o.question != nil {
		w.d.addEffect(deliverAnswer{o.question, ans})
	}
}

func (w *itemWriter) cancelQuestions() {
	for _, o := range w.d.active().open.list {
		if o.row.Type.IsQuestion() {
			w.resolve(o, w.cancelled(), "")
		}
	}
	if !w.d.active().suspended() { // otherwise it waits for its next prompt
		w.d.active().clock.wait(false)
	}
}

// expireQuestions ends the expired questions with their configured outcome.
func (w *turnWriter) expireQuestions(now time.Time) {
	act := w.d.active()
	left := 0
	for _, o := range act.open.list {
		if !o.row.Type.IsQuestion() {
			continue
		}
		if o.expires.IsZero() || now.Before(o.expires) {
			left++
			continue
		}
		ans := turns.Answer{Status: items.StatusCancelled, Outcome: items.Outcome{Type: items.OutcomeExpired}}
		if p, ok := o.content.(items.PermissionRequest); ok {
			if opt, ok := optionOfKind(p.Options, p.OnExpiry); ok {
				ans.Outcome.OptionID, ans.Outcome.Kind = opt.OptionID, opt.Kind
				ans.Status = statusOfKind(opt.Kind)
			}
		}
		w.d.items.resolve(o, ans, "expiry")
	}
	if left == 0 && act.waitsForPerson() {
		w.resumeAfterAnswer()
	}
}

// resumeAfterAnswer lets the turn continue after the last answer it waited for. One that
// no agent works on any more continues with a prompt of its own.
func (w *turnWriter) resumeAfterAnswer() {
	act := w.d.active()
	if act.suspended() {
		w.d.addEffect(lookAgain{})
		return
	}
	if act.stop == nil {
		w.addProgress(turns.Running, "")
	}
	act.clock.wait(false)
}

// withOutcome returns the content of a question with its outcome.
func withOutcome(c items.Content, out items.Outcome, answer items.Raw, by string) items.Content {
	switch c := c.(type) {
	case items.PermissionRequest:
		c.Outcome, c.ResolvedBy = &out, by
		return c
	case items.Question:
		c.Outcome, c.Answer, c.ResolvedBy = &out, answer, by
		return c
	}
	return c
}

// cancelled returns the answer to a question that ends with its turn, its attempt or its prompt.
func (w *itemWriter) cancelled() turns.Answer {
	ans := cancelled
	ans.Outcome.Reason = w.cancelReason
	return ans
}

// cancelled is the answer to a question that nobody is asked any more.
var cancelled = turns.Answer{Status: items.StatusCancelled, Outcome: items.Outcome{Type: items.OutcomeCancelled}}

// byConfiguration is resolved_by of a question that the configuration answered, if
// the agent's adapter does not say more.
const byConfiguration = "configuration"

// chosen returns the answer of a permission request by the id of an option.
func chosen(asked items.Content, optionID string) (turns.Answer, bool) {
	p, ok := asked.(items.PermissionRequest)
	if !ok || optionID == "" {
		return turns.Answer{}, false
	}
	for _, o := range p.Options {
		if o.OptionID == optionID {
			return selected(o), true
		}
	}
	return turns.Answer{}, false
}

func selected(o items.Option) turns.Answer {
	return turns.Answer{
		Status:  statusOfKind(o.Kind),
		Outcome: items.Outcome{Type: items.OutcomeSelected, OptionID: o.OptionID, Kind: o.Kind},
	}
}

func optionOfKind(options []items.Option, kind string) (items.Option, bool) {
	for _, o := range options {
		if kind != "" && o.Kind == kind {
			return o, true
		}
	}
	return items.Option{}, false
}

// statusOfKind returns the status of a permission request by the kind of the option that was
// chosen: only one that rejects keeps the agent from what it asks for.
func statusOfKind(kind string) items.Status {
	if question.Allows(kind) {
		return items.StatusCompleted
	}
	return items.StatusDeclined
}
