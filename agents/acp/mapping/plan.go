package mapping

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// maxPlans is how many plans of one prompt are mapped; further ones are kept as
// received.
const maxPlans = 16

// plans maps the plans of the running prompt.
type plans struct {
	out  *output
	byID map[string]*plan
}

type plan struct {
	item    string
	entries []items.PlanEntry
	raw     rawList
}

// set maps a plan that is a list of steps; id is "" in version 1. Each plan of
// a prompt is one item, which its later versions update.
func (l *plans) set(id string, f fields, raw jsontext.Value) bool {
	list, ok := f.list("entries")
	if !ok {
		return false
	}
	entries := make([]items.PlanEntry, 0, len(list))
	for _, e := range list {
		ef, err := fieldsOf(e)
		if err != nil || ef.text("content") == "" {
			return false
		}
		entry := items.PlanEntry{Content: ef.text("content"), Priority: ef.text("priority"), Status: cmp.Or(ef.text("status"), "pending")}
		entries = append(entries, entry)
	}
	p := l.byID[id]
	if p == nil && len(entries) == 0 {
		return true // there is still no plan
	}
	begins := p == nil
	if begins {
		if len(l.byID) >= maxPlans {
			return false
		}
		p = &plan{item: items.NewID()}
		l.byID[id] = p
	} else if slices.Equal(p.entries, entries) {
		return true
	}
	p.entries = entries
	if l.out.keepRaw {
		p.raw.add(raw)
	}
	if begins {
		l.out.emit(items.Create{ItemID: p.item, Content: p.content()})
	} else {
		l.out.emit(items.Update{ItemID: p.item, Content: p.content()})
	}
	return true
}

// update maps the draft in which plans have ids. A plan that is a text or a
// file has no steps: it is kept as received.
func (l *plans) update(f fields, raw jsontext.Value) bool {
	p := f.object("plan")
	id := p.text("planId", "id")
	if kind := p.text("type"); id == "" || kind != "items" {
		return false
	}
	return l.set(id, p, raw)
}

// remove ends a plan of the running prompt that the agent has removed.
func (l *plans) remove(f fields) bool {
	id := f.text("planId", "id")
	p := l.byID[id]
	if id == "" || p == nil {
		return false
	}
	l.out.emit(items.Update{ItemID: p.item, Status: items.StatusCancelled})
	delete(l.byID, id)
	return true
}

// end ends all plans.
func (l *plans) end(status items.Status) {
	ids := make([]string, 0, len(l.byID))
	for id := range l.byID {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		l.out.emit(items.Update{ItemID: l.byID[id].item, Status: status})
		delete(l.byID, id)
	}
}

func (p *plan) content() items.Content {
	return withRaw(items.Plan{Type: items.KindPlan, Entries: p.entries}, p.raw.list())
}
