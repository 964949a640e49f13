package turns

import (
	"context"

	"github.com/seed82539d15/holon/items"
)

// Respond answers a question; the first answer wins. Errors: *InvalidError,
// items.ErrNotFound, items.ErrAlreadyResolved, ErrKeyConflict,
// ledger.ErrStorageFull, ledger.ErrStorageFailed.
func (e *Engine) Respond(ctx context.Context, c Respond) (RespondResult, error) {
	threadID, err := e.store.ItemThread(ctx, c.ItemID)
	if err != nil {
		return RespondResult{}, err
	}
	if threadID == "" {
		return RespondResult{}, items.ErrNotFound
	}
	return call(ctx, e, threadID, func(a *actor) (RespondResult, error) {
		r, _, err := keyed(a, c.Key, func(b *builder) (RespondResult, error) { return a.respond(b, c) })
		return r, err
	})
}

func (a *actor) respond(b *builder, c Respond) (RespondResult, error) {
	var o *openItem
	if a.active != nil {
		o = a.active.open.get(c.ItemID)
	}
	if o == nil || o.row.Status != items.StatusPending {
		it, err := a.e.store.Item(context.Background(), c.ItemID)
		switch {
		case err != nil:
			return RespondResult{}, err
		case it == nil:
			return RespondResult{}, items.ErrNotFound
		case !it.Type.IsQuestion():
			return RespondResult{}, invalid("item_id", reasonInvalid, "is a %s, not a question", it.Type)
		}
		return RespondResult{}, items.ErrAlreadyResolved
	}
	ans, err := c.answer(o.content)
	if err != nil {
		return RespondResult{}, err
	}
	by := c.By
	if by == "" {
		by = "client"
	}
	b.resolve(o, ans, by)
	if a.active.pendingQuestions() == 1 {
		b.answered()
	}
	return RespondResult{ItemID: c.ItemID, Status: ans.Status, Outcome: ans.Outcome}, nil
}

func (act *activeTurn) pendingQuestions() int {
	n := 0
	for _, o := range act.open.list {
		if o.row.Status == items.StatusPending {
			n++
		}
	}
	return n
}

// byConfiguration is resolved_by of what nobody was asked.
const byConfiguration = "configuration"

// chosen is the answer to a permission request by the id of an option.
func chosen(question items.Content, optionID string) (Answer, bool) {
	p, ok := question.(items.PermissionRequest)
	if !ok || optionID == "" {
		return Answer{}, false
	}
	for _, o := range p.Options {
		if o.OptionID == optionID {
			return selected(o), true
		}
	}
	return Answer{}, false
}

func selected(o items.Option) Answer {
	return Answer{
		Status:  statusOfKind(o.Kind),
		Outcome: items.Outcome{Type: items.OutcomeSelected, OptionID: o.OptionID, Kind: o.Kind},
	}
}

// answer checks a response against what was asked.
func (c Respond) answer(question items.Content) (Answer, error) {
	given := 0
	for _, is := range []bool{c.OptionID != "", c.OptionKind != "", c.Outcome != "", c.Answer != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return Answer{}, invalid("option_id", reasonRequired, "give exactly one of option_id, kind, outcome and answer")
	}
	if c.Outcome != "" {
		if c.Outcome != items.OutcomeCancelled {
			return Answer{}, invalid("outcome", reasonUnknown, `must be "cancelled"; an option is chosen by option_id or kind`)
		}
		return Answer{Status: items.StatusCancelled, Outcome: items.Outcome{Type: items.OutcomeCancelled}}, nil
	}
	switch q := question.(type) {
	case items.PermissionRequest:
		if c.Answer != nil {
			return Answer{}, invalid("answer", reasonInvalid, "a permission request is answered with option_id or kind")
		}
		if c.OptionID != "" {
			if ans, ok := chosen(q, c.OptionID); ok {
				return ans, nil
			}
			return Answer{}, invalid("option_id", reasonUnknown, "is none of the options of this request")
		}
		if opt, ok := optionOfKind(q.Options, c.OptionKind); ok {
			return selected(opt), nil
		}
		return Answer{}, invalid("kind", reasonUnknown, "is none of the options of this request")
	default:
		if c.Answer == nil {
			return Answer{}, invalid("answer", reasonRequired, "a question is answered with answer")
		}
		return Answer{Status: items.StatusCompleted, Outcome: items.Outcome{Type: items.OutcomeAnswered}, Answer: c.Answer}, nil
	}
}
