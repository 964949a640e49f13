package engine

import (
	"cmp"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// pendingQuestion takes a question from the agent to the actor, and its answer
// back.
type pendingQuestion struct {
	itemID  string
	content items.Content
	options turns.AskOptions
	answer  chan turns.Answer // capacity 1
	expires int64             // Unix milliseconds, 0 = never; set by the actor
}

// ask adds a question. The turn waits, unless the question is answered already: then
// it is created with its answer, so that no client shows it as one that waits.
func (w *itemWriter) ask(q *pendingQuestion) {
	act, cfg := w.d.active(), w.d.rules.cfg
	ans, answered := chosen(q.content, q.options.OptionID)
	if act.stop != nil || act.cut || (!answered && len(act.open.list) >= cfg.MaxOpenItems) {
		w.d.addEffect(deliverAnswer{q, cancelled}) // nobody is asked any more
		return
	}
	if q.options.ExpiresAfter > 0 && !answered {
		at := notify.TimeOf(w.d.change.now.Add(q.options.ExpiresAfter))
		q.expires = at.Milli()
		if p, ok := q.content.(items.PermissionRequest); ok {
			text, _ := at.MarshalText()
			p.ExpiresAt = string(text)
			q.content = p
		}
	}
	status := items.StatusPending
	if answered {
		status, q.content = ans.Status, withOutcome(q.content, ans.Outcome, ans.Answer, cmp.Or(q.options.By, byConfiguration))
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
	act.open.add(&openItem{row: row, span: at.span, content: q.content, question: q})
	if act.turn.Progress != turns.Waiting {
		w.d.turn.addProgress(turns.Waiting, "")
	}
	act.clock.wait(true)
	if w.d.rules.draining() {
		w.d.addEffect(interruptWaiting{})
	}
}

// resolve ends a question. The agent gets the answer after the commit.
func (w *itemWriter) resolve(o *openItem, ans items.Answer, by string) {
	content := withOutcome(o.content, ans.Outcome, ans.Answer, by)
	raw, truncated, total, err := items.Fit(content, w.d.rules.cfg.MaxItemBytes)
	if err != nil && w.d.change.err == nil {
		w.d.change.err = err
	}
	row := o.row
	w.d.change.item(row, row.TurnID, notify.ItemUpdated, row.ItemID, o.scope(), &items.Updated{
		ItemID: row.ItemID, Type: "updated", Status: ans.Status, Content: raw, Truncated: truncated, TotalBytes: total,
	})
	w.d.active().open.remove(row.ItemID)
	if o.question != nil {
		w.d.addEffect(deliverAnswer{o.question, ans})
	}
}

func (w *itemWriter) cancelQuestions() {
	for _, o := range w.d.active().open.list {
		if o.row.Type.IsQuestion() {
			w.resolve(o, cancelled, "")
		}
	}
	w.d.active().clock.wait(false)
}

// expireQuestions ends the expired questions with their configured outcome.
func (w *turnWriter) expireQuestions(now time.Time) {
	act := w.d.active()
	left := 0
	for _, o := range act.open.list {
		if o.question == nil {
			continue
		}
		if o.question.expires == 0 || now.Before(time.UnixMilli(o.question.expires)) {
			left++
			continue
		}
		ans := turns.Answer{Status: items.StatusCancelled, Outcome: items.Outcome{Type: items.OutcomeExpired}}
		if p, ok := o.content.(items.PermissionRequest); ok {
			if opt, ok := optionOfKind(p.Options, o.question.options.OnExpiry); ok {
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

// resumeAfterAnswer lets the turn continue after the last answer it waited for.
func (w *turnWriter) resumeAfterAnswer() {
	act := w.d.active()
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

// cancelled is the answer to a question that nobody is asked any more.
var cancelled = turns.Answer{Status: items.StatusCancelled, Outcome: items.Outcome{Type: items.OutcomeCancelled}}

// byConfiguration is resolved_by of a question that the configuration answered, if
// the agent's adapter does not say more.
const byConfiguration = "configuration"

// chosen is the answer of a permission request by the id of an option.
func chosen(question items.Content, optionID string) (turns.Answer, bool) {
	p, ok := question.(items.PermissionRequest)
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

// statusOfKind is the status of a permission request by the kind of its option.
func statusOfKind(kind string) items.Status {
	if kind == items.AllowOnce || kind == items.AllowAlways {
		return items.StatusCompleted
	}
	return items.StatusDeclined
}
