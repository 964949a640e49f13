package engine

import (
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// ask makes a question; the turn waits, unless the answer is there already.
func (b *builder) ask(q *ask) {
	act, cfg := b.a.active, b.a.e.cfg
	cancelled := turns.Answer{Status: items.StatusCancelled, Outcome: items.Outcome{Type: items.OutcomeCancelled}}
	answer, answered := chosen(q.content, q.options.OptionID)
	if act.stop != nil || act.cut || (!answered && len(act.open.list) >= cfg.MaxOpenItems) {
		q.answer <- cancelled // nobody is to be asked any more
		return
	}
	if q.options.ExpiresAfter > 0 && !answered {
		at := notify.TimeOf(b.change.now.Add(q.options.ExpiresAfter))
		q.expires = at.Milli()
		if p, ok := q.content.(items.PermissionRequest); ok {
			text, _ := at.MarshalText()
			p.ExpiresAt = string(text)
			q.content = p
		}
	}
	err := b.mustBeNew(q.itemID)
	var (
		raw   items.Raw
		cut   bool
		total int64
	)
	if err == nil {
		raw, cut, total, err = items.Fit(q.content, cfg.MaxItemBytes)
	}
	if err != nil {
		b.refused(err)
		q.answer <- cancelled
		return
	}
	at := b.here() // a question is asked by the turn, not by one of its steps
	row := b.change.item(nil, act.turn.TurnID, notify.ItemCreated, q.itemID, at, &items.Created{
		ItemID: q.itemID, Type: "created", Status: items.StatusPending, Content: raw, Truncated: cut, TotalBytes: total, Kind: q.content.Kind(),
	})
	o := &openItem{row: row, span: at.span, content: q.content, ask: q}
	if answered {
		b.resolve(o, answer, byConfiguration)
		return
	}
	act.open.add(o)
	if b.activeRow().Progress != turns.Waiting {
		b.progress(turns.Waiting, "")
	}
	act.setWaiting(b.a.e, true)
	if b.a.e.pause.isDraining() {
		b.after = append(b.after, func(ledger.Receipt) { _ = b.a.in.command((*actor).stopWaiting, true) }) // forced: never refused
	}
}
