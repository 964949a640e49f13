package persisttest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// epoch is the time of the first event that a maker makes.
var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Maker makes units of one thread the way an actor does: it applies each
// event to a copy of its rows, and takes the rows as its own when the commit
// has returned. It belongs to one goroutine.
type Maker struct {
	t     testing.TB
	Store turns.Store
	ID    string

	Thread *threads.Thread
	Turns  map[string]*turns.Turn
	Items  map[string]*items.Item
	Steps  map[Try]*turns.Step // rows of tries, those that were taken back too

	spans map[Try]*notify.Span
	in    map[string]string // of a turn: the step that new items are of
	unit  *turns.Unit
	clock time.Time
}

// NewMaker makes a maker for a thread that does not exist yet.
func NewMaker(t testing.TB, store turns.Store, id string) *Maker {
	return &Maker{
		t: t, Store: store, ID: id, Turns: map[string]*turns.Turn{}, Items: map[string]*items.Item{},
		Steps: map[Try]*turns.Step{}, spans: map[Try]*notify.Span{}, in: map[string]string{}, clock: epoch,
	}
}

// open returns the unit that the next Commit commits.
func (m *Maker) open() *turns.Unit {
	if m.unit == nil {
		m.unit = &turns.Unit{}
		if m.Thread != nil {
			m.unit.BaseThreadSeq = m.Thread.LatestThreadSeq
		}
	}
	return m.unit
}

// Add adds one event and the rows it leaves to the unit. In a turn that has
// tries (see Begin) it is of the try that it belongs to.
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
		if row := find(m.open().Turns, m.Turns, turnID, turnKey); row != nil {
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
	if err := d.Encode(); err != nil {
		m.t.Fatal(err)
	}
	u.Drafts = append(u.Drafts, d)
	prev := u.Thread
	if prev == nil {
		prev = m.Thread
	}
	if th := threads.Apply(prev, h, body); th != nil {
		u.Thread = th
	}
	if turnID != "" && itemID == "" {
		put(&u.Turns, turns.Apply(find(u.Turns, m.Turns, turnID, turnKey), h, body), turnKey)
	}
	if itemID != "" {
		put(&u.Items, items.Apply(find(u.Items, m.Items, itemID, itemKey), h, body), itemKey)
	}
	m.steps(h, body)
}

func turnKey(t *turns.Turn) string  { return t.TurnID }
func itemKey(it *items.Item) string { return it.ItemID }

func find[T any, K comparable](unit []*T, known map[K]*T, id K, key func(*T) K) *T {
	for _, v := range unit {
		if key(v) == id {
			return v
		}
	}
	return known[id]
}

func put[T any, K comparable](unit *[]*T, v *T, key func(*T) K) {
	if v == nil {
		return
	}
	for i, old := range *unit {
		if key(old) == key(v) {
			(*unit)[i] = v
			return
		}
	}
	*unit = append(*unit, v)
}

// Unit takes the unit out without committing it.
func (m *Maker) Unit() *turns.Unit {
	u := m.open()
	m.unit = nil
	return u
}

// Took takes a committed unit's rows as the maker's memory.
func (m *Maker) Took(u *turns.Unit, r turns.Receipt) {
	if u.Thread != nil {
		m.Thread = u.Thread
	} else if m.Thread != nil && len(u.Drafts) > 0 {
		next := *m.Thread
		next.LatestSeq, next.LatestThreadSeq = r.Last, u.BaseThreadSeq+int64(len(u.Drafts))
		m.Thread = &next
	}
	for _, t := range u.Turns {
		m.Turns[t.TurnID] = t
	}
	for _, it := range u.Items {
		m.Items[it.ItemID] = it
	}
	for _, s := range u.Steps {
		m.Steps[tryOf(s)] = s
	}
}

// Commit commits the unit and takes its rows.
func (m *Maker) Commit() turns.Receipt {
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
		Type: "completed", State: turns.Completed, CompletedAt: notify.TimeOf(m.clock), StopReason: "end_turn",
		Usage: &items.Usage{Type: items.KindUsage, TotalTokens: 3}, UndeliveredItemIDs: []string{"item_x"},
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

// RuntimeUnit is holon/paused or holon/resumed.
func RuntimeUnit(t testing.TB, prev turns.Runtime, paused bool) *turns.Unit {
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
	return &turns.Unit{Drafts: []notify.Draft{d}, Runtime: turns.ApplyRuntime(prev, h, body)}
}

// KeyOf is an idempotency key whose hash stands for its params.
func KeyOf(key, method, params string) *turns.Key {
	k := &turns.Key{Key: key, Method: method}
	copy(k.Hash[:], fmt.Sprintf("%-32s", params))
	return k
}
