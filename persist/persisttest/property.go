package persisttest

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
)

// model is the store as a list of events and the makers' rows.
type model struct {
	h      Harness
	t      *testing.T
	events []notify.Event
	makers []*Maker
	turns  map[string][]string // of a thread, active
	items  map[string][]string // of a turn, open
	next   int
}

// property runs random histories of threads on one store and compares it with
// the model. All histories add to one log, so that it is as long as real ones.
func property(t *testing.T, h Harness) {
	m := &model{h: h, t: t, turns: map[string][]string{}, items: map[string][]string{}}
	rapid.Check(t, func(r *rapid.T) {
		r.Repeat(map[string]func(*rapid.T){
			"unit": m.unit,
			"page": m.page,
			"":     func(*rapid.T) {},
		})
	})
	sameEvents(t, "the whole log", all(t, h.Store), m.events)
	for _, k := range m.makers {
		for id, want := range k.Items {
			got, err := h.Store.Item(context.Background(), id)
			if err != nil || got == nil || got.Status != want.Status || !got.Status.Open() && !reflect.DeepEqual(got, want) {
				t.Fatalf("item %+v, %v; want %+v", got, err, want)
			}
		}
		for id, want := range k.Turns {
			if got, err := h.Store.Turn(context.Background(), id); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("turn %+v, %v; want %+v", got, err, want)
			}
		}
	}
	out, err := persist.Refold(context.Background(), h.Store)
	if err != nil || len(out.Differences) > 0 {
		t.Errorf("refold %+v, %v", out, err)
	}
}

func (m *model) id(kind string) string {
	m.next++
	return fmt.Sprintf("%s_%d", kind, m.next)
}

// unit makes a unit of a few random events, commits it and records it.
func (m *model) unit(r *rapid.T) {
	var k *Maker
	if n := rapid.IntRange(-1, min(len(m.makers), 8)-1).Draw(r, "thread"); n < 0 {
		k = NewMaker(m.t, m.h.Store, m.id("thread"))
		k.Start()
		m.makers = append(m.makers, k)
	} else {
		k = m.makers[len(m.makers)-1-n]
	}
	for range rapid.IntRange(1, 6).Draw(r, "events") {
		m.event(r, k)
	}
	u := k.Unit()
	receipt, err := m.h.Store.Append(u)
	if err != nil {
		m.t.Fatal(err)
	}
	if receipt.First != int64(len(m.events))+1 || receipt.Last != receipt.First+int64(len(u.Drafts))-1 {
		m.t.Fatalf("receipt %+v after %d events", receipt, len(m.events))
	}
	for i := range u.Drafts {
		m.events = append(m.events, u.Drafts[i].Event(receipt.First+int64(i), u.Base+int64(i)+1))
	}
	k.Took(u, receipt)
}

func (m *model) event(r *rapid.T, k *Maker) {
	active := m.turns[k.ID]
	if len(active) == 0 {
		id := m.id("turn")
		k.StartTurn(id)
		m.turns[k.ID] = append(active, id)
		return
	}
	turn := active[0]
	open := m.items[turn]
	text := rapid.StringN(0, 20, 60).Draw(r, "text")
	switch what := rapid.IntRange(0, 5).Draw(r, "what"); {
	case what == 0:
		k.QueueTurn(m.id("turn"), int64(m.next))
	case what == 1 && len(open) == 0:
		k.EndTurn(turn)
		m.turns[k.ID] = nil
	case what <= 2 || len(open) == 0:
		id := m.id("item")
		k.Create(turn, id, items.StatusInProgress, items.NewAgentMessage(text))
		m.items[turn] = append(open, id)
	case what == 3:
		k.Update(turn, open[0], items.StatusCompleted, items.NewAgentMessage(text))
		m.items[turn] = open[1:]
	default:
		k.Delta(turn, open[len(open)-1], text, 0)
	}
}

// page reads one random page and compares it with the model's events.
func (m *model) page(r *rapid.T) {
	q := notify.Query{
		After:     int64(rapid.IntRange(0, len(m.events)).Draw(r, "after")),
		MaxEvents: rapid.IntRange(1, 50).Draw(r, "max events"),
		MaxBytes:  rapid.IntRange(1, 20_000).Draw(r, "max bytes"),
	}
	for range rapid.IntRange(0, min(3, len(m.makers))).Draw(r, "threads") {
		q.Filter.ThreadIDs = append(q.Filter.ThreadIDs, m.makers[rapid.IntRange(0, len(m.makers)-1).Draw(r, "thread")].ID)
	}
	if rapid.Bool().Draw(r, "methods") {
		q.Filter.Methods = []string{rapid.SampledFrom([]string{"item/*", notify.TurnStarted, notify.ItemDelta, "holon/*"}).Draw(r, "method")}
	}
	p, err := m.h.Store.Page(context.Background(), q)
	if err != nil {
		m.t.Fatal(err)
	}
	if p.Latest != int64(len(m.events)) || p.First != 1 || p.More != (p.Scanned < p.Latest) || p.Scanned < q.After {
		m.t.Fatalf("page %+v of %+v", p, q)
	}
	sameEvents(m.t, fmt.Sprintf("page of %+v", q), p.Events, matching(m.t, m.events[q.After:p.Scanned], q.Filter))
}
