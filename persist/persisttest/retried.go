package persisttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/notify/fold"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/turns"
)

// retriedSteps are the paths that random turns have.
var retriedSteps = []string{"a", "b", "a/x", "a/y", "a/x/z"}

// retried is a log of turns whose steps are retried in any order, and what
// package fold, which reads only the events, says about it.
type retried struct {
	h      Harness
	t      *testing.T
	makers []*retriedThread
	events []notify.Event
	folded []fold.Event
	marks  []fold.Marker
	next   int
}

// retriedThread has one turn at a time.
type retriedThread struct {
	*Maker
	turn       string
	waits      bool  // for its next attempt
	superseded []Try // of the turn; they may still write
	open       []string
	fresh      bool // no unit has been committed since a try began
}

// retriedLogs runs random histories with attempts and steps on one store, and
// compares pages, lists and rows with the fold of the same log.
func retriedLogs(t *testing.T, h Harness) {
	m := &retried{h: h, t: t}
	rapid.Check(t, func(r *rapid.T) {
		r.Repeat(map[string]func(*rapid.T){"unit": m.unit, "page": m.page, "": func(*rapid.T) {}})
	})
	// Twenty histories, the short form, had 14 to 43 in sixty runs.
	if len(m.marks) < 5 {
		t.Errorf("only %d markers in %d events", len(m.marks), len(m.events))
	}
	for _, e := range all(t, h.Store) {
		if m.events[e.Seq-1].Method != e.Method {
			t.Fatalf("event %d is %s", e.Seq, e.Method)
		}
	}
	view := fold.New(fold.Options{KeepEnded: -1, KeepTurns: -1})
	for i := range m.folded {
		view.Apply(&m.folded[i])
	}
	view.Turns(func(tn *fold.Turn) bool {
		m.checkTurn(tn)
		return true
	})
	out, err := persist.Refold(context.Background(), h.Store)
	if err != nil || len(out.Differences) > 0 {
		t.Errorf("refold %+v, %v", out, err)
	}
}

func (m *retried) id(kind string) string {
	m.next++
	return fmt.Sprintf("%s_%d", kind, m.next)
}

func (m *retried) unit(r *rapid.T) {
	var k *retriedThread
	if n := rapid.IntRange(-1, min(len(m.makers), 4)-1).Draw(r, "thread"); n < 0 {
		k = &retriedThread{Maker: NewMaker(m.t, m.h.Store, m.id("thread"))}
		k.Start()
		m.makers = append(m.makers, k)
	} else {
		k = m.makers[len(m.makers)-1-n]
	}
	k.fresh = false
	for range rapid.IntRange(1, 6).Draw(r, "events") {
		m.event(r, k)
	}
	u := k.Unit()
	receipt, err := m.h.Store.Append(u)
	if err != nil {
		m.t.Fatal(err)
	}
	for i := range u.Drafts {
		e := u.Drafts[i].Event(receipt.First+int64(i), u.Base+int64(i)+1)
		f, err := fold.Parse(e.Method, e.Params)
		if err != nil {
			m.t.Fatal(err)
		}
		if mark, ok := fold.MarkerOf(&f); ok {
			m.marks = append(m.marks, mark)
		}
		m.events, m.folded = append(m.events, e), append(m.folded, f)
	}
	k.Took(u, receipt)
}

// event adds something that an actor could do now.
func (m *retried) event(r *rapid.T, k *retriedThread) {
	if k.turn == "" {
		k.turn, k.waits, k.superseded, k.open = m.id("turn"), false, nil, nil
		if rapid.Bool().Draw(r, "queued") {
			k.QueueTurn(k.turn, int64(m.next))
			return
		}
	}
	livePaths := []string{}
	for _, path := range append([]string{""}, retriedSteps...) {
		if k.Standing(k.turn, path) != nil {
			livePaths = append(livePaths, path)
		}
	}
	if len(livePaths) == 0 || k.waits {
		if len(k.superseded) > 0 && rapid.Bool().Draw(r, "late first") {
			m.late(r, k)
		}
		k.Attempt(k.turn)
		k.waits, k.fresh = false, true
		return
	}
	step := rapid.SampledFrom(livePaths).Draw(r, "step")
	text := rapid.StringN(0, 20, 60).Draw(r, "text")
	switch what := rapid.IntRange(0, 11).Draw(r, "what"); {
	case what <= 2: // a step without a live try, below one that has one
		path := rapid.SampledFrom(retriedSteps).Draw(r, "path")
		if slices.Contains(livePaths, path) || !slices.Contains(livePaths, notify.StepAbove(path)) {
			return
		}
		k.Begin(k.turn, path)
		k.fresh = true
	case what == 3 && step != "":
		k.End(k.turn, step, turns.StepCompleted)
	case what == 4:
		k.Create(k.turn, m.id("item"), items.StatusCompleted, userMessage(text))
	case what <= 6 && !k.fresh:
		m.giveUp(r, k, step)
	case what == 7 && len(k.superseded) > 0:
		m.late(r, k)
	case what == 8 && len(k.open) == 0:
		k.EndTurn(k.turn)
		if again := rapid.IntRange(0, 2).Draw(r, "by hand"); again == 0 && !k.fresh {
			m.giveUp(r, k, "")
		} else {
			k.turn = ""
		}
	case what == 9 && len(k.open) > 0:
		k.Update(k.turn, k.open[0], items.StatusCompleted, items.NewAgentMessage(text))
		k.open = k.open[1:]
	case what == 10 && len(k.open) > 0:
		k.Delta(k.turn, k.open[len(k.open)-1], text, 0)
	default:
		id := m.id("item")
		k.In(k.turn, step)
		k.Create(k.turn, id, items.StatusInProgress, items.NewAgentMessage(text))
		k.open = append(k.open, id)
	}
}

// giveUp supersedes the try of a step, and perhaps begins the next at once.
func (m *retried) giveUp(r *rapid.T, k *retriedThread, step string) {
	k.Interrupt(k.turn, step)
	for _, s := range k.rows(k.turn) {
		if s.HiddenBy == 0 && slices.Contains(s.Lineage, notify.Ref{Step: step, Epoch: k.Standing(k.turn, step).Epoch}) {
			k.superseded = append(k.superseded, tryOf(s))
		}
	}
	k.Rewind(k.turn, step, turns.CauseTransient)
	k.open = slices.DeleteFunc(k.open, func(id string) bool {
		return !k.item(id).Status.Open()
	})
	switch ended := k.Maker.turn(k.turn).State == turns.Queued; {
	case step == "" && !ended:
		k.Wait(k.turn)
		k.waits, k.fresh = true, true
	case step != "" && rapid.Bool().Draw(r, "at once"):
		k.Begin(k.turn, step)
		k.fresh = true
	}
}

func (m *retried) late(r *rapid.T, k *retriedThread) {
	try := rapid.SampledFrom(k.superseded).Draw(r, "given up")
	of := k.rows(k.turn)
	s := of[slices.IndexFunc(of, func(s *turns.Step) bool { return tryOf(s) == try })]
	k.Late(k.turn, s.Lineage[0].Epoch, try.Step, try.Epoch)
}

// page reads one page with collapse and compares it with a collapser that
// knows all markers.
func (m *retried) page(r *rapid.T) {
	q := notify.Query{
		After:     int64(rapid.IntRange(0, len(m.events)).Draw(r, "after")),
		MaxEvents: rapid.IntRange(1, 60).Draw(r, "max events"),
		MaxBytes:  rapid.SampledFrom([]int{1, 3000, 1 << 20}).Draw(r, "max bytes"),
		Frames:    rapid.Bool().Draw(r, "frames"), Collapse: true,
	}
	for range rapid.IntRange(0, min(2, len(m.makers))).Draw(r, "threads") {
		q.Filter.ThreadIDs = append(q.Filter.ThreadIDs, m.makers[rapid.IntRange(0, len(m.makers)-1).Draw(r, "thread")].ID)
	}
	if rapid.Bool().Draw(r, "methods") {
		q.Filter.Methods = []string{rapid.SampledFrom([]string{"item/*", notify.TurnStarted, "turn/*", "step/*"}).Draw(r, "method")}
	}
	p, err := m.h.Store.Page(context.Background(), q)
	if err != nil {
		m.t.Fatal(err)
	}
	if p.AsOf != int64(len(m.events)) || p.Latest != p.AsOf || p.More != (p.Scanned < p.Latest) || p.Scanned < q.After || p.More && p.Scanned == q.After {
		m.t.Fatalf("page as of %d, scanned %d, latest %d, more %v of %+v", p.AsOf, p.Scanned, p.Latest, p.More, q)
	}
	c := fold.NewCollapser(p.AsOf, m.marks...)
	want := []notify.Event{}
	for i := q.After; i < p.Scanned; i++ {
		if e := &m.folded[i]; q.Filter.Match(e.ThreadID, e.Method) && !c.LeavesOut(e) {
			want = append(want, m.events[i])
		}
	}
	if len(p.Frames) > 0 {
		var frames []byte
		for i := range want {
			frames = want[i].AppendFrame(frames)
		}
		if string(frames) != string(p.Frames) || len(p.Events) > 0 {
			m.t.Fatalf("frames of %+v are\n%s, want\n%s", q, p.Frames, frames)
		}
		return
	}
	sameEvents(m.t, fmt.Sprintf("page of %+v", q), p.Events, want)
}

// checkTurn compares the rows of a turn with its view.
func (m *retried) checkTurn(tn *fold.Turn) {
	ctx := context.Background()
	row, err := m.h.Store.Turn(ctx, tn.TurnID)
	if err != nil || row == nil {
		m.t.Fatalf("turn %s: %v", tn.TurnID, err)
	}
	state := tn.State
	if state == "" { // a request retried it: no event of its earlier state is live
		state = string(turns.Queued)
	}
	if string(row.State) != state || row.Attempt != max(1, tn.Attempt) {
		m.t.Errorf("turn %s is %s in attempt %d, the view says %q, %d", tn.TurnID, row.State, row.Attempt, tn.State, tn.Attempt)
	}
	live, superseded, steps := "", "", ""
	for _, it := range tn.Items() {
		live += fmt.Sprintf("%s %s;", it.ItemID, it.Status)
	}
	for _, it := range tn.Superseded() {
		superseded += fmt.Sprintf("%s %s;", it.ItemID, it.Status)
	}
	for _, s := range tn.Steps {
		status := s.Status
		if status == "" {
			status = string(turns.StepInProgress)
		}
		steps += fmt.Sprintf("%s %d %s;", s.Path, s.Epoch, status)
	}
	snap, err := m.h.Store.ReadTurn(ctx, turns.TurnQuery{TurnID: tn.TurnID, Items: 1000})
	if err != nil {
		m.t.Fatal(err)
	}
	whole, err := m.h.Store.ReadTurn(ctx, turns.TurnQuery{TurnID: tn.TurnID, Items: 1000, IncludeSuperseded: true})
	if err != nil {
		m.t.Fatal(err)
	}
	var gotLive, gotWhole, gotSuperseded, gotSteps strings.Builder
	for _, it := range snap.Items {
		fmt.Fprintf(&gotLive, "%s %s;", it.ItemID, it.Status)
	}
	for _, it := range whole.Items {
		into := &gotWhole
		if it.Superseded {
			into = &gotSuperseded
		}
		fmt.Fprintf(into, "%s %s;", it.ItemID, it.Status)
	}
	for _, s := range snap.Steps {
		fmt.Fprintf(&gotSteps, "%s %d %s;", s.Step, s.Epoch, s.Status)
	}
	if gotLive.String() != live || gotWhole.String() != live || gotSuperseded.String() != superseded || gotSteps.String() != steps {
		m.t.Errorf("turn %s has\n%s\n%s\n%s\n%s, the view\n%s\n%s\n%s", tn.TurnID, gotLive.String(), gotWhole.String(), gotSuperseded.String(), gotSteps.String(), live, superseded, steps)
	}
	ends, _ := tn.Events()
	n := 0
	for _, e := range ends {
		if e.Method == notify.TurnCompleted {
			n++
		}
	}
	if row.State.Ended() != (n == 1) || n > 1 {
		m.t.Errorf("turn %s is %s, %d ends are live", tn.TurnID, row.State, n)
	}
}
