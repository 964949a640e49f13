package persisttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/events"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// epoch is the time of the first event that a maker makes.
var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Maker makes units of one thread as an actor does: it applies each event to a
// copy of its rows, and keeps the rows when the commit has returned. It belongs
// to one goroutine.
type Maker struct {
	t     testing.TB
	Store turns.Store
	ID    string

	Thread *threads.Thread
	Inbox  *inbox.Inbox // nil: it has no row
	Turns  map[string]*turns.Turn
	Items  map[string]*items.Item
	Steps  map[Try]*turns.Step // rows of tries, also superseded ones

	spans map[Try]*notify.Span
	in    map[string]string // by turn: the step of new items
	unit  *ledger.Unit
	rowAt map[rowID]int   // index of a row in the unit
	next  *threads.Thread // as the unit leaves it; nil = unchanged
	clock time.Time
}

type rowID struct {
	table *ledger.Table
	id    any
}

// NewMaker makes a maker for a thread that does not exist yet.
func NewMaker(t testing.TB, store turns.Store, id string) *Maker {
	return &Maker{
		t: t, Store: store, ID: id, Turns: map[string]*turns.Turn{}, Items: map[string]*items.Item{},
		Steps: map[Try]*turns.Step{}, spans: map[Try]*notify.Span{}, in: map[string]string{}, clock: epoch,
	}
}

// open returns the unit that the next Commit commits.
func (m *Maker) open() *ledger.Unit {
	if m.unit == nil {
		m.unit, m.rowAt = &ledger.Unit{}, map[rowID]int{}
	}
	return m.unit
}

// Add adds one event and the rows it leaves to the unit. In a turn with tries
// (see Begin) it gets the span of its try.
func (m *Maker) Add(method, turnID, itemID string, body any) {
	m.t.Helper()
	m.AddTo(m.spanOf(method, turnID, itemID, body), method, turnID, itemID, body)
}

// AddTo adds an event of this try; nil for none.
func (m *Maker) AddTo(span *notify.Span, method, turnID, itemID string, body any) {
	m.t.Helper()
	attempt := 0
	if _, marker := body.(*turns.RewindEvent); span != nil {
		attempt = span.Root()
	} else if turnID != "" && !marker {
		attempt = 1
		if row := m.turn(turnID); row != nil {
			attempt = row.Attempt
		}
	}
	m.add(span, attempt, method, turnID, itemID, body)
}

func (m *Maker) add(span *notify.Span, attempt int, method, turnID, itemID string, body any) {
	m.t.Helper()
	u := m.open()
	m.clock = m.clock.Add(time.Millisecond)
	h := notify.Header{
		Seq: notify.Provisional(len(u.Drafts)), ThreadID: m.ID, TurnID: turnID, Attempt: attempt,
		Timestamp: notify.TimeOf(m.clock),
	}
	d := notify.Draft{Method: method, Header: h, ItemID: itemID, Body: body}
	if span != nil {
		d.In(span)
		h = d.Header
	}
	m.draft(d)
	events.Fold(m, method, &h, body)
}

// draft adds an encoded event to the unit.
func (m *Maker) draft(d notify.Draft) {
	m.t.Helper()
	if err := d.Encode(); err != nil {
		m.t.Fatal(err)
	}
	u := m.open()
	u.Drafts = append(u.Drafts, d)
}

// Row implements ledger.State: the rows of the unit, then those committed.
func (m *Maker) Row(t *ledger.Table, id any) ledger.Row {
	if i, ok := m.rowAt[rowID{t, id}]; ok && m.unit != nil {
		return m.unit.Rows[i]
	}
	switch t {
	case threads.Table:
		if m.next != nil {
			return m.next
		}
		if m.Thread != nil {
			return m.Thread
		}
	case turns.Table:
		if r := m.Turns[id.(string)]; r != nil {
			return r
		}
	case items.Table:
		if r := m.Items[id.(string)]; r != nil {
			return r
		}
	case inbox.Table:
		if m.Inbox != nil {
			return m.Inbox
		}
	}
	return nil
}

// Rows implements ledger.State, for the tries of a turn.
func (m *Maker) Rows(_ *ledger.Table, turnID string, visit func(ledger.Row) bool) {
	list := m.rows(turnID)
	slices.Reverse(list)
	for _, s := range list {
		if !visit(s) {
			return
		}
	}
}

// Put implements ledger.State.
func (m *Maker) Put(row ledger.Row) {
	if t, ok := row.(*threads.Thread); ok {
		m.next = t
		return
	}
	u, key := m.open(), rowID{row.Table(), row.ID()}
	if i, ok := m.rowAt[key]; ok {
		u.Rows[i] = row
		return
	}
	m.rowAt[key] = len(u.Rows)
	u.Rows = append(u.Rows, row)
}

// Unit takes the unit out without committing it.
func (m *Maker) Unit() *ledger.Unit {
	u := m.open()
	threads.Advance(u, m.Thread, m.next)
	m.unit, m.next = nil, nil
	return u
}

// Took keeps a committed unit's rows in the maker's memory.
func (m *Maker) Took(u *ledger.Unit, r ledger.Receipt) {
	if m.Thread != nil && len(u.Drafts) > 0 {
		next := *m.Thread
		next.LatestSeq, next.LatestThreadSeq = r.Last, u.Base+int64(len(u.Drafts))
		m.Thread = &next
	}
	for _, row := range u.Rows {
		switch row := row.(type) {
		case *threads.Thread:
			m.Thread = row
		case *threads.Spending:
			m.Thread = row.Thread
		case *turns.Turn:
			m.Turns[row.TurnID] = row
		case *items.Item:
			m.Items[row.ItemID] = row
		case *turns.Step:
			m.Steps[tryOf(row)] = row
		case *inbox.Inbox:
			m.Inbox = row
		}
	}
}

// RowsOf returns the rows of one kind in a unit.
func RowsOf[R ledger.Row](u *ledger.Unit) (list []R) {
	for _, row := range u.Rows {
		if r, ok := row.(R); ok {
			list = append(list, r)
		}
	}
	return list
}

// SetRows replaces the rows of one kind.
func SetRows[R ledger.Row](u *ledger.Unit, list ...R) {
	u.Rows = slices.DeleteFunc(u.Rows, func(row ledger.Row) bool { _, ok := row.(R); return ok })
	for _, r := range list {
		u.Rows = append(u.Rows, r)
	}
}

// rebase makes the unit follow the thread's present state.
func rebase(u *ledger.Unit, t *threads.Thread) {
	u.Rows = slices.DeleteFunc(u.Rows, func(row ledger.Row) bool { return row.Table().Name == threads.Table.Name })
	threads.Advance(u, t, nil)
}

// Commit commits the unit and takes its rows.
func (m *Maker) Commit() ledger.Receipt {
	m.t.Helper()
	u := m.Unit()
	r, err := m.Store.Append(u)
	if err != nil {
		m.t.Fatalf("append to %s: %v", m.ID, err)
	}
	m.Took(u, r)
	return r
}

// Start adds thread/started.
func (m *Maker) Start() *Maker {
	m.Add(notify.ThreadStarted, "", "", &threads.Changed{
		Type: "started", State: threads.Running, StartedAt: notify.TimeOf(m.clock), SessionID: m.ID, Agent: "echo",
		Title: "title of " + m.ID, Metadata: items.Raw(`{"a":[1,2,"ü"]}`), Parent: &threads.Parent{ThreadID: "p", TurnID: "q"},
		ForkedFrom: &threads.ForkedFrom{ThreadID: "p", TurnID: "q"},
	})
	return m
}

// StartTurn adds turn/started.
func (m *Maker) StartTurn(id string) {
	m.Add(notify.TurnStarted, id, "", &turns.StartedEvent{
		Type: "started", State: turns.Active, StartedAt: notify.TimeOf(m.clock), Origin: turns.OriginClient,
		Metadata: items.Raw(`{"n":1}`), TimeoutSeconds: 1.5,
	})
}

// QueueTurn adds turn/queued.
func (m *Maker) QueueTurn(id string, rank int64) {
	m.Add(notify.TurnQueued, id, "", &turns.QueuedEvent{
		Type: "queued", State: turns.Queued, Position: 1, Rank: rank, QueuedAt: notify.TimeOf(m.clock), Reason: turns.QueuedBusy,
	})
}

// EndTurn adds turn/completed.
func (m *Maker) EndTurn(id string) {
	m.Add(notify.TurnCompleted, id, "", &turns.EndedEvent{
		Type: "completed", State: turns.Completed, CompletedAt: notify.TimeOf(m.clock), Message: "…", MessageTruncated: true, Format: items.FormatPlain, StopReason: "end_turn",
		Usage: &items.Usage{Type: items.KindUsage, TotalTokens: 3}, UndeliveredItemIDs: []string{"item_x"},
	})
}

// FailTurn ends an active turn as failed.
func (m *Maker) FailTurn(id string) {
	m.Add(notify.TurnFailed, id, "", &turns.EndedEvent{
		Type: "failed", State: turns.Failed, CompletedAt: notify.TimeOf(m.clock), Error: &turns.Failure{Kind: "agent_failed", Message: "no way"},
	})
}

// Lose adds the turn/interrupted of a turn that a stop or a start of the server ends.
func (m *Maker) Lose(id, reason string) {
	m.Add(notify.TurnInterrupted, id, "", &turns.EndedEvent{
		Type: "interrupted", State: turns.Interrupted, CompletedAt: notify.TimeOf(m.clock), Reason: reason, By: turns.ByServer,
	})
}

// EndInReview adds turn/completed of a turn whose end waits for a review.
func (m *Maker) EndInReview(id string) {
	m.Add(notify.TurnCompleted, id, "", &turns.EndedEvent{
		Type: "completed", State: turns.Completed, CompletedAt: notify.TimeOf(m.clock),
		Review: &turns.ReviewAsked{Policy: turns.ReviewOnSuccess, State: turns.ReviewPending, DueAt: notify.TimeOf(m.clock.Add(time.Hour))},
	})
}

// Review adds turn/reviewed. by is the turn that continues this one; "" = none.
func (m *Maker) Review(id string, verdict turns.ReviewState, by string) {
	m.Add(notify.TurnReviewed, id, "", &turns.ReviewedEvent{
		Type: "reviewed", State: turns.Completed, Verdict: verdict, Policy: turns.ReviewOnSuccess, Note: "the note", By: turns.ByServer,
		Reason: turns.ReviewTimeout, ContinuedBy: by, ReviewedAt: notify.TimeOf(m.clock),
	})
}

// Create adds item/created.
func (m *Maker) Create(turnID, itemID string, status items.Status, c items.Content) {
	m.t.Helper()
	raw, err := items.Encode(c)
	if err != nil {
		m.t.Fatal(err)
	}
	m.Add(notify.ItemCreated, turnID, itemID, &items.Created{ItemID: itemID, Type: "created", Status: status, Content: raw})
}

// Delta adds item/delta.
func (m *Maker) Delta(turnID, itemID, text string, offset int) {
	m.Add(notify.ItemDelta, turnID, itemID, &items.Delta{
		ItemID: itemID, Type: "delta", Delta: items.DeltaText{Text: text}, Offset: int64(offset),
	})
}

// Update adds item/updated.
func (m *Maker) Update(turnID, itemID string, status items.Status, c items.Content) {
	m.t.Helper()
	raw, err := items.Encode(c)
	if err != nil {
		m.t.Fatal(err)
	}
	m.Add(notify.ItemUpdated, turnID, itemID, &items.Updated{ItemID: itemID, Type: "updated", Status: status, Content: raw})
}

// Messages adds n finished agent messages of about size bytes.
func (m *Maker) Messages(turnID string, n, size int) {
	m.t.Helper()
	for range n {
		m.Create(turnID, items.NewID(), items.StatusCompleted, items.NewAgentMessage(strings.Repeat("x", size)))
	}
}

// RuntimeUnit returns a unit with holon/paused or holon/resumed.
func RuntimeUnit(t testing.TB, prev turns.Runtime, paused bool) *ledger.Unit {
	t.Helper()
	method, kind := notify.HolonResumed, "resumed"
	if paused {
		method, kind = notify.HolonPaused, "paused"
	}
	h := notify.Header{Seq: notify.Provisional(0), Timestamp: notify.TimeOf(epoch)}
	body := &turns.RuntimeEvent{Type: kind, Reason: "test"}
	d := notify.Draft{Method: method, Header: h, Body: body}
	if err := d.Encode(); err != nil {
		t.Fatal(err)
	}
	return &ledger.Unit{Drafts: []notify.Draft{d}, Rows: []ledger.Row{turns.ApplyRuntime(prev, h, body)}}
}

// KeyOf returns an idempotency key whose hash is made of its params.
func KeyOf(key, method, params string) *ledger.Key {
	k := &ledger.Key{Key: key, Method: method}
	copy(k.Hash[:], fmt.Sprintf("%-32s", params))
	return k
}

func userMessage(text string) items.UserMessage {
	return items.UserMessage{
		Type: items.KindUserMessage, Role: "user", Origin: items.OriginClient, Content: []items.Part{{Type: items.PartText, Text: text}},
	}
}

func textOf(t testing.TB, it *items.Item) string {
	t.Helper()
	if it == nil {
		t.Fatal("the item is not there")
	}
	c, err := items.Decode(it.Content)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := items.TextOf(c)
	return text
}
