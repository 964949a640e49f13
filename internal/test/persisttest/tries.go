package persisttest

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// Try names one try of a step.
type Try struct {
	TurnID string
	Step   string
	Epoch  int
}

func tryOf(s *turns.Step) Try { return Try{s.TurnID, s.Step, s.Epoch} }

// Clone returns a second actor of the thread, which knows what the first one does.
func (m *Maker) Clone() *Maker {
	c := *m
	c.unit = nil
	c.Turns, c.Items, c.Steps = maps.Clone(m.Turns), maps.Clone(m.Items), maps.Clone(m.Steps)
	c.in = maps.Clone(m.in)
	c.spans = make(map[Try]*notify.Span, len(m.spans))
	for k, s := range m.spans {
		own := *s
		c.spans[k] = &own
	}
	return &c
}

// rows returns all tries of the turn as the unit leaves them, in the order in
// which they began.
func (m *Maker) rows(turnID string) (list []*turns.Step) {
	changed := map[Try]*turns.Step{}
	for _, s := range RowsOf[*turns.Step](m.open()) {
		changed[tryOf(s)] = s
	}
	for k, s := range m.Steps {
		if c := changed[k]; c != nil {
			s = c
		}
		if k.TurnID == turnID {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b *turns.Step) int { return int(a.Seq - b.Seq) })
	for _, s := range RowsOf[*turns.Step](m.open()) {
		if s.TurnID == turnID && s.New() {
			list = append(list, s)
		}
	}
	return list
}

// Live returns the live try of the step, nil if none is live.
func (m *Maker) Live(turnID, step string) *notify.Span {
	for _, s := range m.rows(turnID) {
		if s.Step == step && s.HiddenBy == 0 {
			return m.spans[tryOf(s)]
		}
	}
	return nil
}

// highest returns the highest epoch of the step so far.
func (m *Maker) highest(turnID, step string) (epoch int) {
	for _, s := range m.rows(turnID) {
		if s.Step == step {
			epoch = max(epoch, s.Epoch)
		}
	}
	return epoch
}

// spanOf returns the try that an event belongs to.
func (m *Maker) spanOf(method, turnID, itemID string, body any) *notify.Span {
	switch body.(type) {
	case *turns.RewindEvent, *turns.LateEvent:
		return nil
	}
	if turnID == "" || method == notify.TurnQueued {
		return nil
	}
	if it := m.item(itemID); it != nil {
		return m.spans[Try{turnID, it.Step, it.Epoch}]
	}
	if itemID == "" {
		return m.Live(turnID, "")
	}
	if c, ok := body.(*items.Created); ok && kindOf(c.Content) == items.KindUserMessage {
		return nil
	}
	return m.Live(turnID, m.in[turnID])
}

func kindOf(content items.Raw) items.Kind {
	c, err := items.Decode(content)
	if err != nil {
		return ""
	}
	return c.Kind()
}

// item and turn return rows as the unit leaves them; nil if there is none.
func (m *Maker) item(id string) *items.Item { r, _ := m.Row(items.Table, id).(*items.Item); return r }
func (m *Maker) turn(id string) *turns.Turn { r, _ := m.Row(turns.Table, id).(*turns.Turn); return r }

// try makes a new try of the step, below the live try above it.
func (m *Maker) try(turnID, step string) *notify.Span {
	m.t.Helper()
	var above *notify.Span
	if step != "" {
		if above = m.Live(turnID, notify.StepAbove(step)); above == nil {
			m.t.Fatalf("%q of %s begins below a step without a live try", step, turnID)
		}
	}
	s := notify.NewSpan(turnID, step, 1+m.highest(turnID, step), above)
	m.spans[Try{turnID, step, s.Epoch}] = s
	return s
}

// Wait begins an attempt with its wait: adds turn/progress.
func (m *Maker) Wait(turnID string) {
	m.t.Helper()
	m.AddTo(m.try(turnID, ""), notify.TurnProgress, turnID, "", &turns.ProgressEvent{
		Type: "progress", State: turns.Waiting, RetryAt: notify.TimeOf(m.clock.Add(time.Second)),
	})
}

// Attempt begins an attempt of a turn, or ends its wait: adds turn/started
// with a lineage.
func (m *Maker) Attempt(turnID string) *notify.Span {
	m.t.Helper()
	s := m.Live(turnID, "")
	if s == nil {
		s = m.try(turnID, "")
	}
	m.in[turnID] = ""
	started := &turns.StartedEvent{
		Type: "started", State: turns.Active, StartedAt: notify.TimeOf(m.clock), Origin: turns.OriginClient, Metadata: items.Raw(`{"n":1}`),
		Retry: &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 4, BackoffSeconds: 0.5, BackoffMaxSeconds: 9},
	}
	if s.Epoch > 1 {
		started.Origin, started.FirstStartedAt = turns.OriginRetry, m.turn(turnID).FirstStartedAt
	}
	m.AddTo(s, notify.TurnStarted, turnID, "", started)
	return s
}

// Begin begins a try of a step below the turn: adds step/started. Items created
// from here on belong to it.
func (m *Maker) Begin(turnID, step string) *notify.Span {
	m.t.Helper()
	s := m.try(turnID, step)
	m.in[turnID] = step
	m.AddTo(s, notify.StepStarted, turnID, "", &turns.StepEvent{Type: "started", Status: turns.StepInProgress})
	return s
}

// In makes further items belong to a step, which must be live.
func (m *Maker) In(turnID, step string) { m.in[turnID] = step }

// End ends the live try of a step: adds step/ended.
func (m *Maker) End(turnID, step string, status turns.StepStatus) {
	m.t.Helper()
	m.AddTo(m.Live(turnID, step), notify.StepEnded, turnID, "", &turns.StepEvent{Type: "ended", Status: status})
}

// Rewind gives up the step's try: adds the marker. It does not change open
// items: see Interrupt.
func (m *Maker) Rewind(turnID, step string, reason turns.Cause) {
	m.t.Helper()
	first := int64(0)
	for _, s := range m.rows(turnID) {
		if s.Step == step {
			first = s.Seq
			break
		}
	}
	if first <= 0 {
		m.t.Fatalf("%q of %s has not begun before this unit", step, turnID)
	}
	m.Add(notify.StreamRewind, turnID, "", &turns.RewindEvent{
		Type: "rewind", Step: step, NewEpoch: 1 + m.highest(turnID, step), SupersededAfterSeq: first - 1, Reason: reason, Rank: first,
		UsedMs: 1234, Usage: &items.Usage{TotalTokens: 5},
	})
	if in := m.in[turnID]; m.Live(turnID, in) == nil {
		m.in[turnID] = ""
	}
}

// Interrupt ends the open items of the step and of all below it.
func (m *Maker) Interrupt(turnID, step string) {
	m.t.Helper()
	live := m.Live(turnID, step)
	if live == nil {
		return
	}
	var open []*items.Item
	for id := range m.Items {
		it := m.item(id)
		if it.TurnID == turnID && it.Status.Open() && slices.Contains(it.Lineage, notify.Ref{Step: step, Epoch: live.Epoch}) {
			open = append(open, it)
		}
	}
	for _, it := range RowsOf[*items.Item](m.open()) {
		if it.New() && it.TurnID == turnID && it.Status.Open() && slices.Contains(it.Lineage, notify.Ref{Step: step, Epoch: live.Epoch}) {
			open = append(open, it)
		}
	}
	slices.SortFunc(open, func(a, b *items.Item) int { return int(a.CreatedSeq - b.CreatedSeq) })
	for _, it := range open {
		m.Add(notify.ItemUpdated, turnID, it.ItemID, &items.Updated{ItemID: it.ItemID, Type: "updated", Status: items.StatusInterrupted, Content: it.Content})
	}
}

// Late adds a turn/late of a superseded try.
func (m *Maker) Late(turnID string, attempt int, step string, epoch int) {
	m.t.Helper()
	m.add(nil, attempt, notify.TurnLate, turnID, "", &turns.LateEvent{
		Type: "late", Step: step, Epoch: epoch,
		Event: turns.LateInner{Method: notify.ItemDelta, Params: jsontext.Value(`{"delta":{"text":"x"}}`)},
	})
}

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
