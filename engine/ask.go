package engine

import (
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// ask makes a question; the turn waits, unless the answer is there already.
func (w *itemWriter) ask(q *pendingQuestion) {
	act, cfg := w.d.active(), w.d.rules.cfg
	ans, answered := chosen(q.content, q.options.OptionID)
	if act.stop != nil || act.cut || (!answered && len(act.open.list) >= cfg.MaxOpenItems) {
		w.d.addEffect(deliverAnswer{q, cancelled}) // nobody is to be asked any more
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
		ItemID: q.itemID, Type: "created", Status: items.StatusPending, Content: raw, Truncated: cut, TotalBytes: total, Kind: q.content.Kind(),
	})
	o := &openItem{row: row, span: at.span, content: q.content, question: q}
	if answered {
		w.resolve(o, ans, byConfiguration)
		return
	}
	act.open.add(o)
	if act.turn.Progress != turns.Waiting {
		w.d.turn.addProgress(turns.Waiting, "")
	}
	act.clock.wait(true)
	if w.d.rules.draining() {
		w.d.addEffect(interruptWaiting{})
	}
}
