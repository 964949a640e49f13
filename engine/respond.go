package engine

import (
	"cmp"
	"context"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/question"
	"github.com/seed82539d15/holon/turns"
)

// Respond answers a question; the first answer wins. Errors: *InvalidError,
// items.ErrNotFound, items.ErrAlreadyResolved, turns.ErrOnlyOnce, turns.ErrDraining,
// ledger.ErrKeyConflict, ledger.ErrStorageFull, ledger.ErrStorageFailed.
func (e *Engine) Respond(ctx context.Context, c turns.Respond) (turns.RespondResult, error) {
	threadID, err := e.rows.ItemThread(ctx, c.ItemID)
	if err != nil {
		return turns.RespondResult{}, err
	}
	if threadID == "" {
		return turns.RespondResult{}, items.ErrNotFound
	}
	return call(ctx, e, threadID, func(a *actor) (turns.RespondResult, error) {
		r, _, err := keyed(a, c.Key, func(d *decision) (turns.RespondResult, error) { return d.respond(c) })
		return r, err
	})
}

func (d *decision) respond(c turns.Respond) (turns.RespondResult, error) {
	if d.rules.draining() { // its turn is left to the next server, which takes the answer
		return turns.RespondResult{}, turns.ErrDraining
	}
	var o *openItem
	if act := d.active(); act != nil {
		o = act.open.get(c.ItemID)
	}
	if o == nil || o.row.Status != items.StatusPending {
		it, err := d.rules.log.Item(context.Background(), c.ItemID)
		switch {
		case err != nil:
			return turns.RespondResult{}, err
		case it == nil:
			return turns.RespondResult{}, items.ErrNotFound
		case !it.Type.IsQuestion():
			return turns.RespondResult{}, turns.Invalid("item_id", turns.ReasonInvalid, "is a %s, not a question", it.Type)
		}
		return turns.RespondResult{}, items.ErrAlreadyResolved
	}
	ans, err := answerOf(c, o.content)
	if err != nil {
		return turns.RespondResult{}, err
	}
	if c.Once && ans.Outcome.OptionID != "" && !question.Once(ans.Outcome.Kind) {
		return turns.RespondResult{}, turns.ErrOnlyOnce
	}
	d.items.resolve(o, ans, string(cmp.Or(c.By, turns.ByClient)))
	if d.active().pendingQuestions() == 0 {
		d.turn.resumeAfterAnswer()
	}
	return turns.RespondResult{ItemID: c.ItemID, Status: ans.Status, Outcome: ans.Outcome}, nil
}

// answerOf checks a response against what was asked.
func answerOf(c turns.Respond, asked items.Content) (turns.Answer, error) {
	given := 0
	for _, is := range []bool{c.OptionID != "", c.OptionKind != "", c.Outcome != "", c.Answer != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return turns.Answer{}, turns.Invalid("option_id", turns.ReasonRequired, "give exactly one of option_id, kind, outcome and answer")
	}
	if c.Outcome != "" {
		if c.Outcome != items.OutcomeCancelled {
			return turns.Answer{}, turns.Invalid("outcome", turns.ReasonUnknown, `must be "cancelled"; an option is chosen by option_id or kind`)
		}
		return cancelled, nil
	}
	switch q := asked.(type) {
	case items.PermissionRequest:
		if c.Answer != nil {
			return turns.Answer{}, turns.Invalid("answer", turns.ReasonInvalid, "a permission request is answered with option_id or kind")
		}
		if c.OptionID != "" {
			if ans, ok := chosen(q, c.OptionID); ok {
				return ans, nil
			}
			return turns.Answer{}, turns.Invalid("option_id", turns.ReasonUnknown, "is none of the options of this request")
		}
		if opt, ok := optionOfKind(q.Options, c.OptionKind); ok {
			return selected(opt), nil
		}
		return turns.Answer{}, turns.Invalid("kind", turns.ReasonUnknown, "is none of the options of this request")
	default:
		if c.Answer == nil {
			return turns.Answer{}, turns.Invalid("answer", turns.ReasonRequired, "a question is answered with answer")
		}
		return turns.Answer{Status: items.StatusCompleted, Outcome: items.Outcome{Type: items.OutcomeAnswered}, Answer: c.Answer}, nil
	}
}
