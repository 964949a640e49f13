package persisttest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// triesFence lets two actors with the same knowledge write to one turn.
func triesFence(t *testing.T, h Harness) {
	ctx := context.Background()
	begin := func(id string) *Maker {
		m := NewMaker(t, h.Store, "thread_"+id).Start()
		m.Attempt("turn_" + id)
		m.Begin("turn_"+id, "setup")
		m.Begin("turn_"+id, "setup/clone")
		m.Create("turn_"+id, "item_"+id, items.StatusInProgress, items.NewAgentMessage("a"))
		m.Commit()
		return m
	}
	for _, c := range []struct {
		name string
		want error
		do   func(old *Maker, turn, item string)
	}{
		{"its item", turns.ErrSuperseded, func(old *Maker, turn, item string) { old.Delta(turn, item, "b", 1) }},
		{"its step", turns.ErrSuperseded, func(old *Maker, turn, _ string) { old.End(turn, "setup/clone", turns.StepCompleted) }},
		{"its end", turns.ErrSuperseded, func(old *Maker, turn, _ string) { old.EndTurn(turn) }},
		{"a step below it", turns.ErrSuperseded, func(old *Maker, turn, _ string) { old.Begin(turn, "setup/clone/deep") }},
		{"a step beside it", turns.ErrSuperseded, func(old *Maker, turn, _ string) { old.Begin(turn, "other") }},
		{"a user message before that", turns.ErrSuperseded, func(old *Maker, turn, item string) {
			old.Create(turn, items.NewID(), items.StatusCompleted, userMessage("x"))
			old.Delta(turn, item, "b", 1)
		}},
		{"a marker of the same epoch", turns.ErrSuperseded, func(old *Maker, turn, _ string) { old.Rewind(turn, "", turns.CauseLease) }},
		{"a late event", nil, func(old *Maker, turn, _ string) { old.Late(turn, 1, "setup", 1) }},
		{"what belongs to the turn", nil, func(old *Maker, turn, _ string) {
			old.Create(turn, items.NewID(), items.StatusCompleted, userMessage("x"))
		}},
	} {
		for _, newTry := range []bool{false, true} { // the fence begins with the marker, not with the next try
			id := items.NewID()
			m := begin(id)
			old := m.Clone()
			m.Interrupt("turn_"+id, "")
			m.Rewind("turn_"+id, "", turns.CauseCrash)
			m.Commit()
			if newTry {
				m.Attempt("turn_" + id)
				m.Commit()
			}
			before := h.Tail.Head()
			c.do(old, "turn_"+id, "item_"+id)
			u := old.Unit()
			if RowsOf[*threads.Thread](u) != nil {
				t.Fatal("the unit changes the thread's row")
			}
			rebase(u, m.Thread) // as if the actor knew the thread: only the fence can refuse it
			SetRows[*turns.Turn](u)
			SetRows(u, slices.DeleteFunc(RowsOf[*items.Item](u), func(it *items.Item) bool { return it.CreatedSeq > 0 })...)
			if c.name == "a late event" {
				for _, s := range RowsOf[*turns.Step](u) { // its row has been superseded meanwhile
					late, updated := s.Late, s.UpdatedSeq
					*s = *m.Steps[tryOf(s)]
					s.Late, s.UpdatedSeq = late, updated
				}
			}
			_, err := h.Store.Append(u)
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%s: %v, want %v", c.name, err, c.want)
			}
			if moved := h.Tail.Head() != before; moved != (err == nil) {
				t.Errorf("%s: the log has moved: %v", c.name, moved)
			}
		}
	}
	if out, err := persist.Refold(ctx, h.Store); err != nil || len(out.Differences) > 0 {
		t.Errorf("refold %+v, %v", out, err)
	}
}

// wrongTries appends units that no actor makes.
func wrongTries(t *testing.T, h Harness) {
	m := NewMaker(t, h.Store, "thread_a").Start()
	m.Attempt("turn_a")
	m.Begin("turn_a", "setup")
	m.Create("turn_a", "item_a", items.StatusInProgress, items.NewAgentMessage("a"))
	m.Begin("turn_a", "gone")
	m.Commit()
	m.Rewind("turn_a", "gone", turns.CauseCrash)
	m.Commit()
	for name, make := range map[string]func(c *Maker) *ledger.Unit{
		"an event after the marker that supersedes its try": func(c *Maker) *ledger.Unit {
			span := c.Live("turn_a", "setup")
			c.Rewind("turn_a", "setup", turns.CauseCrash)
			c.AddTo(span, notify.ItemDelta, "turn_a", "item_a", &items.Delta{ItemID: "item_a", Type: "delta"})
			return c.Unit()
		},
		"a try that begins and is given up in one unit": func(c *Maker) *ledger.Unit {
			c.Begin("turn_a", "other")
			u := c.open()
			row := *RowsOf[*turns.Step](u)[0]
			row.HiddenBy, row.HiddenAfter = notify.Provisional(1), 3
			c.Create("turn_a", "item_b", items.StatusCompleted, items.NewAgentMessage("a"))
			SetRows(u, &row)
			return c.Unit()
		},
		"a marker without the rows that it supersedes": func(c *Maker) *ledger.Unit {
			c.Rewind("turn_a", "", turns.CauseCrash)
			u := c.Unit()
			SetRows(u, RowsOf[*turns.Step](u)[0])
			return u
		},
		"a marker with a row that it does not supersede": func(c *Maker) *ledger.Unit {
			c.Rewind("turn_a", "setup", turns.CauseCrash)
			u := c.Unit()
			row := *m.Steps[Try{"turn_a", "", 1}]
			row.HiddenBy, row.HiddenAfter = notify.Provisional(0), 1
			u.Rows = append(u.Rows, &row)
			return u
		},
		"a row that says superseded, and no marker": func(c *Maker) *ledger.Unit {
			c.Create("turn_a", "item_b", items.StatusCompleted, items.NewAgentMessage("b"))
			u := c.Unit()
			row := *m.Steps[Try{"turn_a", "setup", 1}]
			row.HiddenBy, row.HiddenAfter = notify.Provisional(0), 1
			u.Rows = append(u.Rows, &row)
			return u
		},
		"a marker with a bound inside of a try": func(c *Maker) *ledger.Unit {
			h := notify.Header{Seq: notify.Provisional(0), ThreadID: "thread_a", TurnID: "turn_a"}
			b := &turns.RewindEvent{Type: "rewind", NewEpoch: 2, SupersededAfterSeq: 2}
			c.Add(notify.StreamRewind, "turn_a", "", b)
			u := c.Unit()
			SetRows[*turns.Step](u)
			for _, s := range m.rows("turn_a") {
				if next := turns.ApplyStep(s, h, b); next != nil {
					u.Rows = append(u.Rows, next)
				}
			}
			return u
		},
		"two tries of a step at once": func(c *Maker) *ledger.Unit {
			c.Begin("turn_a", "setup")
			return c.Unit()
		},
		"two tries of a new step in one unit": func(c *Maker) *ledger.Unit {
			c.Begin("turn_a", "other")
			span := notify.NewSpan("turn_a", "other", 2, c.Live("turn_a", ""))
			c.AddTo(span, notify.StepStarted, "turn_a", "", &turns.StepEvent{Type: "started", Status: turns.StepInProgress})
			return c.Unit()
		},
		"a try with an epoch that has been used": func(c *Maker) *ledger.Unit {
			c.AddTo(notify.NewSpan("turn_a", "gone", 1, c.Live("turn_a", "")), notify.StepStarted, "turn_a", "", &turns.StepEvent{Type: "started"})
			u := c.Unit()
			row := *m.Steps[Try{"turn_a", "gone", 1}]
			row.Seq, row.UpdatedSeq, row.HiddenBy, row.HiddenAfter = notify.Provisional(0), notify.Provisional(0), 0, 0
			SetRows(u, &row)
			return u
		},
		"a marker with an epoch that has been used": func(c *Maker) *ledger.Unit {
			c.Add(notify.StreamRewind, "turn_a", "", &turns.RewindEvent{Type: "rewind", Step: "setup", NewEpoch: 1, SupersededAfterSeq: 2})
			return c.Unit()
		},
		"a try without a row": func(c *Maker) *ledger.Unit {
			c.Begin("turn_a", "other")
			u := c.Unit()
			SetRows[*turns.Step](u)
			return u
		},
		"a step of a try that is not there": func(c *Maker) *ledger.Unit {
			above := notify.NewSpan("turn_a", "none", 1, c.Live("turn_a", ""))
			c.spans[Try{"turn_a", "none/x", 1}] = notify.NewSpan("turn_a", "none/x", 1, above)
			c.AddTo(c.spans[Try{"turn_a", "none/x", 1}], notify.StepStarted, "turn_a", "", &turns.StepEvent{Type: "started", Status: turns.StepInProgress})
			return c.Unit()
		},
	} {
		u := make(m.Clone())
		r, err := h.Store.Append(u)
		if err == nil {
			t.Fatalf("%s was committed: %+v", name, r)
		}
		if used := strings.Contains(name, "has been used"); used && !errors.Is(err, turns.ErrSuperseded) {
			t.Errorf("%s: %v", name, err)
		}
		if events := all(t, h.Store); len(events) != 6 {
			t.Fatalf("%s left %d events", name, len(events)-6)
		}
	}
	m.Delta("turn_a", "item_a", "b", 1)
	m.Commit()
}
