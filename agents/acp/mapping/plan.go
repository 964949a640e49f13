package mapping

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// maxPlans is how many plans of one prompt are told apart; further ones are
// kept as they come.
const maxPlans = 16

// plan is a plan of the running prompt.
type plan struct {
	item    string
	entries []items.PlanEntry
	raw     rawList
}

// entriesPlan maps a plan that is a list of steps. Each plan of a prompt is
// one item, which later versions of it change.
func (s *Session) entriesPlan(id string, f fields, raw jsontext.Value) bool {
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
		entry := items.PlanEntry{Content: ef.text("content"), Priority: ef.text("priority"), Status: ef.text("status")}
		if entry.Status == "" {
			entry.Status = "pending"
		}
		entries = append(entries, entry)
	}
	p := s.plans[id]
	if p == nil && len(entries) == 0 {
		return true // there is no plan, as before
	}
	begins := p == nil
	if begins {
		if len(s.plans) >= maxPlans {
			return false
		}
		p = &plan{item: items.NewID()}
		s.plans[id] = p
	} else if slices.Equal(p.entries, entries) {
		return true
	}
	p.entries = entries
	if s.o.KeepRaw {
		p.raw.add(raw)
	}
	if begins {
		s.emit(items.Create{ItemID: p.item, Content: p.content()})
	} else {
		s.emit(items.Update{ItemID: p.item, Content: p.content()})
	}
	return true
}

// planUpdate maps the draft that gives plans ids. A plan that is a text or a
// file has no steps: it is kept as it came.
func (s *Session) planUpdate(f fields, raw jsontext.Value) bool {
	p := f.object("plan")
	id := p.text("planId", "id")
	if kind := p.text("type"); id == "" || kind != "items" {
		return false
	}
	return s.entriesPlan(id, p, raw)
}

// planRemoved ends a plan of the running prompt that the agent has given up.
func (s *Session) planRemoved(f fields) bool {
	id := f.text("planId", "id")
	p := s.plans[id]
	if id == "" || p == nil {
		return false
	}
	s.emit(items.Update{ItemID: p.item, Status: items.StatusCancelled})
	delete(s.plans, id)
	return true
}

func (s *Session) endPlans(status items.Status) {
	ids := make([]string, 0, len(s.plans))
	for id := range s.plans {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		s.emit(items.Update{ItemID: s.plans[id].item, Status: status})
		delete(s.plans, id)
	}
}

func (p *plan) content() items.Content {
	return withRaw(items.Plan{Type: items.KindPlan, Entries: p.entries}, p.raw.list())
}
