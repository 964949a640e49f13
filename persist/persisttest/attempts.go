package persisttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/notify/fold"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// WorkedExample writes a turn as that of docs/rewind.md: a step of it is tried
// twice, then the whole turn is. Its thread is 1, its turn 2 to 16.
func WorkedExample(t testing.TB, store turns.Store) *Maker {
	t.Helper()
	m := NewMaker(t, store, "thread_a").Start()
	m.Attempt("turn_a")                                                                // 2
	m.Create("turn_a", "item_ask", items.StatusCompleted, userMessage("do it"))        // 3
	m.Begin("turn_a", "setup")                                                         // 4
	m.Begin("turn_a", "setup/clone")                                                   // 5
	m.Create("turn_a", "item_a", items.StatusInProgress, items.NewAgentMessage("one")) // 6
	m.Commit()
	m.Interrupt("turn_a", "setup/clone")                                              // 7
	m.Rewind("turn_a", "setup/clone", turns.CauseTransient)                           // 8
	m.Begin("turn_a", "setup/clone")                                                  // 9
	m.Create("turn_a", "item_b", items.StatusCompleted, items.NewAgentMessage("two")) // 10
	m.Commit()
	m.Rewind("turn_a", "", turns.CauseCrash) // 11
	m.Commit()
	m.Late("turn_a", 1, "setup/clone", 2)                                               // 12
	m.Attempt("turn_a")                                                                 // 13
	m.Begin("turn_a", "setup")                                                          // 14
	m.Create("turn_a", "item_c", items.StatusCompleted, items.NewAgentMessage("three")) // 15
	m.EndTurn("turn_a")                                                                 // 16
	m.Commit()
	return m
}

func attempts(t *testing.T, h Harness) {
	ctx := context.Background()
	m := WorkedExample(t, h.Store)
	seqs := func(list []notify.Event) (s []int64) {
		for _, e := range list {
			s = append(s, e.Seq)
		}
		return s
	}
	for _, q := range []notify.Query{
		{MaxEvents: 3, MaxBytes: 1 << 20}, {MaxEvents: 1000, MaxBytes: 1 << 20},
		{MaxEvents: 3, MaxBytes: 1 << 20, Filter: notify.Filter{ThreadIDs: []string{"thread_a"}}},
	} {
		q.Collapse = true
		if got, want := seqs(paged(t, h.Store, q)), []int64{1, 3, 8, 11, 13, 14, 15, 16}; !slices.Equal(got, want) {
			t.Errorf("collapsed by %d: %v, want %v", q.MaxEvents, got, want)
		}
	}
	list := func(q items.Query) (s string) {
		t.Helper()
		l, err := h.Store.ListItems(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range l.Rows {
			s += fmt.Sprintf("%s %q %d %d;", it.ItemID, it.Step, it.Epoch, it.SupersededBySeq)
			if it.Superseded != (it.SupersededBySeq != 0) {
				t.Errorf("item %+v", it)
			}
		}
		return s
	}
	live := `item_ask "" 0 0;item_c "setup" 2 0;`
	whole := `item_ask "" 0 0;item_a "setup/clone" 1 8;item_b "setup/clone" 2 11;item_c "setup" 2 0;`
	for _, q := range []items.Query{{ThreadID: "thread_a"}, {TurnID: "turn_a"}} {
		if got := list(q); got != live {
			t.Errorf("items of %+v: %s", q, got)
		}
		q.IncludeSuperseded = true
		if got := list(q); got != whole {
			t.Errorf("items of %+v: %s", q, got)
		}
	}
	for id, want := range m.Items {
		got, err := h.Store.Item(ctx, id)
		if err != nil || got == nil {
			t.Fatalf("item %s: %v", id, err)
		}
		wantSuperseded := id == "item_a" || id == "item_b"
		if got.Superseded != wantSuperseded {
			t.Errorf("item %s is superseded: %v", id, got.Superseded)
		}
		got.Superseded, got.SupersededBySeq = false, 0
		if !reflect.DeepEqual(got, want) {
			t.Errorf("item %+v, want %+v", got, want)
		}
	}
	if list, err := h.Store.Transcript(ctx, "thread_a", 10, 1<<20); err != nil || len(list) != 2 || list[0].ItemID != "item_c" {
		t.Errorf("transcript %v, %v", list, err)
	}
	steps, err := h.Store.Steps(ctx, "turn_a")
	if err != nil || !reflect.DeepEqual(steps, m.rows("turn_a")) {
		t.Errorf("steps %+v, %v", steps, err)
	}
	snap, err := h.Store.ReadTurn(ctx, turns.TurnQuery{TurnID: "turn_a", Items: 10})
	if err != nil || !reflect.DeepEqual(snap.Turn, m.Turns["turn_a"]) || len(snap.Items) != 2 {
		t.Errorf("turn %+v, %v", snap, err)
	}
	said := func(list []turns.Step) (s string) {
		for _, r := range list {
			s += fmt.Sprintf("%q %d %s %d %d;", r.Step, r.Epoch, r.Status, r.HiddenBy, r.Late)
		}
		return s
	}
	if got, want := said(snap.Attempts), `"" 1 interrupted 11 1;"" 2 completed 0 0;`; got != want {
		t.Errorf("attempts %s, want %s", got, want)
	}
	if got, want := said(snap.Steps), `"setup" 2 in_progress 0 0;`; got != want {
		t.Errorf("steps %s, want %s", got, want)
	}
	snap, err = h.Store.ReadTurn(ctx, turns.TurnQuery{TurnID: "turn_a", Items: 10, IncludeSuperseded: true})
	if err != nil || len(snap.Items) != 4 {
		t.Errorf("the whole turn %+v, %v", snap, err)
	}
	if got, want := said(snap.Steps), `"setup" 1 interrupted 11 0;"setup/clone" 1 interrupted 8 0;"setup/clone" 2 interrupted 11 0;"setup" 2 in_progress 0 0;`; got != want {
		t.Errorf("all steps %s, want %s", got, want)
	}
	var read []turns.Step
	for cursor, more := "", true; more; more = cursor != "" {
		l, err := h.Store.ListSteps(ctx, turns.StepQuery{TurnID: "turn_a", Cursor: cursor, Limit: 2, IncludeSuperseded: true})
		if err != nil || len(l.Rows) > 2 {
			t.Fatal(l, err)
		}
		read, cursor = append(read, l.Rows...), l.Next
	}
	if len(read) != len(steps) || said(read) == "" {
		t.Errorf("listed %s", said(read))
	}
	if secret, err := h.Store.LeaseSecret(ctx); err != nil || len(secret) < 32 {
		t.Errorf("the secret has %d bytes, %v", len(secret), err)
	}
	if out, err := persist.Refold(ctx, h.Store); err != nil || len(out.Differences) > 0 {
		t.Errorf("refold %+v, %v", out, err)
	}
}

// wholeRows writes rows in which every column says something.
func wholeRows(t *testing.T, h Harness) {
	ctx := context.Background()
	m := NewMaker(t, h.Store, "thread_a")
	m.Add(notify.ThreadStarted, "", "", &threads.Changed{
		Type: "started", State: threads.Running, StartedAt: notify.TimeOf(m.clock), SessionID: m.ID, Agent: "echo",
		ForkedFrom: &threads.ForkedFrom{ThreadID: "thread_b", TurnID: "turn_b"},
	})
	policy := &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 4, BackoffSeconds: 0.5, BackoffMaxSeconds: 9}
	span := notify.NewSpan("turn_a", "", 1, nil)
	m.spans[Try{"turn_a", "", 1}] = span
	m.AddTo(span, notify.TurnStarted, "turn_a", "", &turns.StartedEvent{
		Type: "started", State: turns.Active, StartedAt: notify.TimeOf(m.clock), Origin: turns.OriginClient, Retry: policy,
	})
	check := func(what string) {
		t.Helper()
		m.Commit()
		got, err := h.Store.ReadThread(ctx, "thread_a", 5)
		if err != nil || !reflect.DeepEqual(got.Thread, m.Thread) {
			t.Errorf("%s: the thread is %+v, want %+v, %v", what, got.Thread, m.Thread, err)
		}
		if len(got.Turns) != 1 || !reflect.DeepEqual(&got.Turns[0], m.Turns["turn_a"]) {
			t.Errorf("%s: the turn is %+v, want %+v", what, got.Turns, m.Turns["turn_a"])
		}
		if out, err := persist.Refold(ctx, h.Store); err != nil || len(out.Differences) > 0 {
			t.Errorf("%s: refold %+v, %v", what, out, err)
		}
	}
	check("begun")
	m.Add(notify.TurnProgress, "turn_a", "", &turns.ProgressEvent{Type: "progress", State: turns.Running, Claimed: true, Worker: "w"})
	check("claimed")
	if row := m.Turns["turn_a"]; row.Worker != "w" || row.ClaimedSeq != 3 || row.Retry == nil {
		t.Errorf("the claimed turn is %+v", row)
	}
	m.Add(notify.StreamRewind, "turn_a", "", &turns.RewindEvent{
		Type: "rewind", NewEpoch: 2, SupersededAfterSeq: 1, Reason: turns.CauseLease, UsedMs: 1234, Usage: &items.Usage{TotalTokens: 5},
	})
	m.Wait("turn_a")
	check("waiting")
	if row := m.Turns["turn_a"]; row.RetryAt.IsZero() || row.UsedMs != 1234 || row.FirstStartedAt.IsZero() || row.Worker != "" {
		t.Errorf("the waiting turn is %+v", row)
	}
}

// loadTries loads a turn that is tried again: by itself, and by hand after its
// end, which makes it wait in the queue.
func loadTries(t *testing.T, h Harness) {
	ctx := context.Background()
	m := NewMaker(t, h.Store, "thread_a").Start()
	m.Attempt("turn_a")
	m.Create("turn_a", "item_ask", items.StatusCompleted, userMessage("do it"))
	m.Create("turn_a", "item_steer", items.StatusInProgress, userMessage("and that"))
	m.Begin("turn_a", "setup")
	m.Create("turn_a", "item_a", items.StatusInProgress, items.NewAgentMessage("one"))
	m.Commit()
	m.Interrupt("turn_a", "")
	m.Rewind("turn_a", "", turns.CauseCrash)
	m.Commit()
	m.Attempt("turn_a")
	m.Create("turn_a", "item_b", items.StatusInProgress, items.NewAgentMessage("two"))
	m.Commit()
	check := func(state turns.State, open ...string) {
		t.Helper()
		l, err := h.Store.Load(ctx, "thread_a")
		if err != nil || len(l.Turns) != 1 || l.Turns[0].State != state || !reflect.DeepEqual(l.Turns[0], m.Turns["turn_a"]) {
			t.Fatalf("loaded %+v, %v", l, err)
		}
		if !reflect.DeepEqual(l.Steps, m.rows("turn_a")) {
			t.Errorf("steps %+v, want %+v", l.Steps, m.rows("turn_a"))
		}
		var got []string
		for _, it := range l.Items {
			got = append(got, it.ItemID)
			if !reflect.DeepEqual(it, m.Items[it.ItemID]) {
				t.Errorf("item %+v, want %+v", it, m.Items[it.ItemID])
			}
		}
		if !slices.Equal(got, open) {
			t.Errorf("items %v, want %v", got, open)
		}
		input, err := h.Store.Input(ctx, "turn_a")
		if err != nil || len(input) != 2 || input[0].ItemID != "item_ask" || input[1].ItemID != "item_steer" {
			t.Errorf("input %v, %v", input, err)
		}
	}
	check(turns.Active, "item_steer", "item_b")
	m.Update("turn_a", "item_b", items.StatusInterrupted, items.NewAgentMessage("two"))
	m.Update("turn_a", "item_steer", items.StatusInterrupted, userMessage("and that"))
	m.EndTurn("turn_a")
	m.Commit()
	m.Rewind("turn_a", "", turns.CauseRequest)
	m.Commit()
	check(turns.Queued, "item_ask", "item_steer")
	if c, err := h.Store.Counts(ctx); err != nil || c.TurnsQueued != 1 || c.TurnsActive != 0 {
		t.Errorf("counts %+v, %v", c, err)
	}
	if list, err := h.Store.Input(ctx, "turn_none"); err != nil || len(list) != 0 {
		t.Errorf("input of no turn: %v, %v", list, err)
	}
}

// triesFence has two actors that know as much write to one turn.
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
		{"something of its own before that", turns.ErrSuperseded, func(old *Maker, turn, item string) {
			old.Create(turn, items.NewID(), items.StatusCompleted, userMessage("x"))
			old.Delta(turn, item, "b", 1)
		}},
		{"a marker of the same epoch", turns.ErrSuperseded, func(old *Maker, turn, _ string) { old.Rewind(turn, "", turns.CauseLease) }},
		{"a late event", nil, func(old *Maker, turn, _ string) { old.Late(turn, 1, "setup", 1) }},
		{"what belongs to the turn", nil, func(old *Maker, turn, _ string) {
			old.Create(turn, items.NewID(), items.StatusCompleted, userMessage("x"))
		}},
	} {
		for _, newTry := range []bool{false, true} { // the fence stands with the marker, not with the next try
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
			u.BaseThreadSeq = m.Thread.LatestThreadSeq // as if it knew: only the fence stands
			if u.Thread != nil {
				t.Fatal("the unit changes the thread's row")
			}
			u.Turns, u.Items = nil, slices.DeleteFunc(u.Items, func(it *items.Item) bool { return it.CreatedSeq > 0 })
			if c.name == "a late event" {
				for _, s := range u.Steps { // its row has been taken back meanwhile
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

// wrongTries are units that no actor makes.
func wrongTries(t *testing.T, h Harness) {
	m := NewMaker(t, h.Store, "thread_a").Start()
	m.Attempt("turn_a")
	m.Begin("turn_a", "setup")
	m.Create("turn_a", "item_a", items.StatusInProgress, items.NewAgentMessage("a"))
	m.Commit()
	for name, make := range map[string]func(c *Maker) *turns.Unit{
		"an event after the marker that takes its try back": func(c *Maker) *turns.Unit {
			span := c.Standing("turn_a", "setup")
			c.Rewind("turn_a", "setup", turns.CauseCrash)
			c.AddTo(span, notify.ItemDelta, "turn_a", "item_a", &items.Delta{ItemID: "item_a", Type: "delta"})
			return c.Unit()
		},
		"a try that begins and is given up in one unit": func(c *Maker) *turns.Unit {
			c.Begin("turn_a", "other")
			u := c.open()
			row := *u.Steps[0]
			row.HiddenBy, row.HiddenAfter = notify.Provisional(1), 3
			c.Create("turn_a", "item_b", items.StatusCompleted, items.NewAgentMessage("a"))
			u.Steps[0] = &row
			return c.Unit()
		},
		"a marker without the rows that it takes back": func(c *Maker) *turns.Unit {
			c.Rewind("turn_a", "", turns.CauseCrash)
			u := c.Unit()
			u.Steps = u.Steps[:1]
			return u
		},
		"a marker with a row that it does not take back": func(c *Maker) *turns.Unit {
			c.Rewind("turn_a", "setup", turns.CauseCrash)
			u := c.Unit()
			row := *m.Steps[Try{"turn_a", "", 1}]
			row.HiddenBy, row.HiddenAfter = notify.Provisional(0), 1
			u.Steps = append(u.Steps, &row)
			return u
		},
		"a marker with a bound inside of a try": func(c *Maker) *turns.Unit {
			h := notify.Header{Seq: notify.Provisional(0), ThreadID: "thread_a", TurnID: "turn_a"}
			b := &turns.RewindEvent{Type: "rewind", NewEpoch: 2, SupersededAfterSeq: 2}
			c.Add(notify.StreamRewind, "turn_a", "", b)
			u := c.Unit()
			u.Steps = nil
			for _, s := range m.rows("turn_a") {
				u.Steps = append(u.Steps, turns.ApplyStep(s, h, b))
			}
			return u
		},
		"two tries of a step at once": func(c *Maker) *turns.Unit {
			c.Begin("turn_a", "setup")
			return c.Unit()
		},
		"a try without a row": func(c *Maker) *turns.Unit {
			c.Begin("turn_a", "other")
			u := c.Unit()
			u.Steps = nil
			return u
		},
		"a step of a try that is not there": func(c *Maker) *turns.Unit {
			above := notify.NewSpan("turn_a", "none", 1, c.Standing("turn_a", ""))
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
		if events := all(t, h.Store); len(events) != 4 {
			t.Fatalf("%s left %d events", name, len(events)-4)
		}
	}
	m.Delta("turn_a", "item_a", "b", 1)
	m.Commit()
}

// markersInTail looks at what the tail is told: what a marker takes back.
func markersInTail(t *testing.T, h Harness) {
	m := WorkedExample(t, h.Store)
	c := notify.NewCursor(h.Tail, h.Store, notify.Filter{}, 0)
	var live []byte
	for c.After() < h.Tail.Head() {
		chunk, err := c.Next(context.Background(), 0)
		if err != nil {
			t.Fatal(err)
		}
		live = append(live, chunk.Data...)
	}
	view := fold.New(fold.Options{KeepEnded: -1})
	if err := feed(view, live); err != nil {
		t.Fatal(err)
	}
	if tn := view.Turn("turn_a"); tn == nil || tn.State != "completed" || tn.Attempt != m.Turns["turn_a"].Attempt {
		t.Errorf("the view has %+v", tn)
	}
}

// feed gives a view the events of an NDJSON stream.
func feed(view *fold.View, frames []byte) error {
	for line := range bytes.Lines(frames) {
		var n struct {
			Method string         `json:"method"`
			Params jsontext.Value `json:"params"`
		}
		if err := json.Unmarshal(line, &n); err != nil {
			return err
		}
		e, err := fold.Parse(n.Method, n.Params)
		if err != nil {
			return err
		}
		view.Apply(&e)
	}
	return nil
}
