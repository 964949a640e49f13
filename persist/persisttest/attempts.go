package persisttest

import (
	"bytes"
	"context"
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

// WorkedExample writes a turn like that of docs/rewind.md: a step is tried twice,
// then the whole turn. Event 1 is its thread's, 2 to 16 are its turn's.
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
	if it, err := h.Store.LastMessage(ctx, "turn_a"); err != nil || it == nil || it.ItemID != "item_c" {
		t.Errorf("last message %+v, %v", it, err)
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

// wholeRows writes rows in which every column has a value.
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

// loadTries loads a turn that is retried by its policy, and by request after its
// end, which puts it into the queue.
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

// markersInTail reads the same streams from the tail, which gets what markers
// supersede from the events, and from the log, which gets it from rows.
func markersInTail(t *testing.T, h Harness) {
	WorkedExample(t, h.Store)
	head := h.Tail.Head()
	for _, collapse := range []bool{false, true} {
		stream := func(tail *notify.Tail) (data []byte) {
			t.Helper()
			c := notify.NewCursor(tail, h.Store, notify.Filter{}, 0)
			if collapse {
				c.Collapse()
			}
			for c.After() < head {
				chunk, err := c.Next(context.Background(), 0)
				if err != nil {
					t.Fatal(err)
				}
				data = append(data, chunk.Data...)
			}
			return data
		}
		live, stored := stream(h.Tail), stream(notify.NewTail(0, head))
		if !bytes.Equal(live, stored) {
			t.Errorf("collapse %v: the tail sends\n%s, the log\n%s", collapse, live, stored)
		}
		want := map[bool]int{false: 16, true: 8}[collapse]
		if n := bytes.Count(live, []byte{'\n'}); n != want {
			t.Errorf("collapse %v: %d events, want %d", collapse, n, want)
		}
		view := fold.New(fold.Options{KeepEnded: -1})
		if err := feed(view, live); err != nil {
			t.Fatal(err)
		}
		if tn := view.Turn("turn_a"); tn == nil || tn.State != "completed" || tn.Attempt != 2 || len(tn.Items()) != 2 {
			t.Errorf("collapse %v: the view has %+v", collapse, tn)
		}
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
