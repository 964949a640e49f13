package engine

import (
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// builder gathers one ledger.Unit: each event it adds is encoded, and folded into a
// copy of its row by the same Apply that a rebuild uses (I2).
//
// Rows it returns are the actor's once the commit has returned, not before.
type builder struct {
	a      *actor
	unit   ledger.Unit
	rows   rows
	now    notify.Time
	bytes  int
	turnAt map[string]int // of a row in rows.turns, so that the last one per id is stored
	itemAt map[string]int
	stepAt map[int64]int // by the seq of the try
	delta  pendingDelta
	after  []func(ledger.Receipt) // what to do once committed: tell agents, answer waiters
	err    error                  // the first encoding error: a bug, the unit is not handed in

	usage *items.Usage // what the command that ends the turn says it has used; nil = what is known

	tries *tries     // as this unit leaves them, nil = as they are: see steps
	begun bool       // a try begins in this unit, which can therefore take none back
	open  *openItems // open items as this unit leaves them, nil = they are changed at once: see private
}

// rows are the rows that a unit leaves, the last of each.
type rows struct {
	thread *threads.Thread // nil = no event has changed it
	turns  []*turns.Turn
	items  []*items.Item
	steps  []*turns.Step
}

func (r *rows) none() bool {
	return r.thread == nil && len(r.turns) == 0 && len(r.items) == 0 && len(r.steps) == 0
}

// empty reports whether there is nothing to commit.
func (b *builder) empty() bool {
	return len(b.unit.Drafts) == 0 && b.delta.open == nil && b.rows.none()
}

// finish makes the unit whole: it may be handed in afterwards, also again
// after it was refused.
func (b *builder) finish(thread *threads.Thread) *ledger.Unit {
	r := &b.rows
	list := make([]ledger.Row, 0, len(r.turns)+len(r.items)+len(r.steps)+1)
	for _, t := range r.turns {
		list = append(list, t)
	}
	for _, it := range r.items {
		list = append(list, it)
	}
	for _, s := range r.steps {
		list = append(list, s)
	}
	b.unit.Rows = list
	threads.Advance(&b.unit, thread, r.thread)
	return &b.unit
}

// place is where an event belongs: to a try, or just to an attempt if nothing
// is ever to supersede it, or to neither.
type place struct {
	span    *notify.Span // nil = no lineage
	attempt int          // 0 = none
}

// in is the place of the events of a try.
func in(span *notify.Span) place { return place{span, span.Root()} }

// here is the place of what the active turn itself says.
func (b *builder) here() place {
	if root := b.root(); root != nil {
		return in(root)
	}
	return place{attempt: b.activeRow().Attempt}
}

func (a *actor) build() *builder {
	return &builder{a: a, now: nowTime()}
}

// add appends an event and returns the header it is folded with.
func (b *builder) add(method, turnID string, at place, itemID string, body any) notify.Header {
	b.flushDelta()
	d := notify.Draft{
		Method: method, ItemID: itemID, Body: body,
		Header: notify.Header{
			Seq:      notify.Provisional(len(b.unit.Drafts)),
			ThreadID: b.a.id, TurnID: turnID, Attempt: at.attempt, Timestamp: b.now,
		},
	}
	first := false
	if at.span != nil {
		first = at.span.Seq == 0
		d.In(at.span)
	}
	if err := d.Encode(); err != nil && b.err == nil {
		b.err = err
	}
	b.bytes += len(d.Rest)
	b.unit.Drafts = append(b.unit.Drafts, d)
	if at.span != nil {
		b.foldStep(at.span, first, d.Header, body)
	}
	return d.Header
}

// thread adds an event of the thread itself.
func (b *builder) thread(method string, body any) {
	h := b.add(method, "", place{}, "", body)
	prev := b.rows.thread
	if prev == nil {
		prev = b.a.thread
	}
	b.rows.thread = applyThread(prev, h, body)
}

// turn adds an event of a turn and returns the row it leaves. prev is nil for
// the turn's first event.
func (b *builder) turn(prev *turns.Turn, turnID, method string, at place, body any) *turns.Turn {
	return b.foldTurn(prev, b.add(method, turnID, at, "", body), body)
}

// foldTurn makes of an event that was added what it changes of a turn's row.
func (b *builder) foldTurn(prev *turns.Turn, h notify.Header, body any) *turns.Turn {
	next := turns.Apply(prev, h, body)
	if next == nil {
		return prev
	}
	turnID := h.TurnID
	if b.turnAt == nil {
		b.turnAt = map[string]int{}
	}
	if i, ok := b.turnAt[turnID]; ok {
		b.rows.turns[i] = next
	} else {
		b.turnAt[turnID] = len(b.rows.turns)
		b.rows.turns = append(b.rows.turns, next)
	}
	return next
}

// item adds an event of an item and returns the row it leaves.
func (b *builder) item(prev *items.Item, turnID, method, itemID string, at place, body any) *items.Item {
	next := items.Apply(prev, b.add(method, turnID, at, itemID, body), body)
	if next == nil {
		return prev
	}
	if prev == nil && itemID > b.a.newest && items.Made(itemID) {
		b.a.newest = itemID
	}
	if i, ok := b.rowOf(prev); ok {
		b.rows.items[i] = next
		return next
	}
	if next.Status.Open() || prev != nil { // what begins ended comes again only to be deleted: see rowOf
		if b.itemAt == nil {
			b.itemAt = map[string]int{}
		}
		b.itemAt[itemID] = len(b.rows.items)
	}
	b.rows.items = append(b.rows.items, next)
	return next
}

// rowOf says where in the unit the item's row is, if it is there already.
func (b *builder) rowOf(row *items.Item) (int, bool) {
	if row == nil {
		return 0, false
	}
	if i, ok := b.itemAt[row.ItemID]; ok {
		return i, true
	}
	if row.CreatedSeq < 0 { // made in this unit, ended: not in itemAt
		for i := len(b.rows.items) - 1; i >= 0; i-- {
			if b.rows.items[i] == row {
				return i, true
			}
		}
	}
	return 0, false
}

// pendingDelta is text of one item that waits for more of it: deltas that go
// into the same commit are merged, up to deltaBytes.
type pendingDelta struct {
	open   *openItem
	offset int64
	text   []byte
}

// addDelta takes text that has been added to the item at offset.
func (b *builder) addDelta(o *openItem, offset int64, text string) {
	if b.delta.open != o || len(b.delta.text)+len(text) > deltaBytes {
		b.flushDelta()
		b.delta.open, b.delta.offset = o, offset
	}
	b.delta.text = append(b.delta.text, text...)
}

func (b *builder) flushDelta() {
	d := b.delta
	if d.open == nil {
		return
	}
	b.delta = pendingDelta{}
	row := d.open.row
	b.add(notify.ItemDelta, row.TurnID, d.open.place(), row.ItemID, &items.Delta{
		ItemID: row.ItemID, Type: "delta", Delta: items.DeltaText{Text: string(d.text)}, Offset: d.offset,
	})
}

// events is how many events the unit will have.
func (b *builder) events() int {
	n := len(b.unit.Drafts)
	if b.delta.open != nil {
		n++
	}
	return n
}

func (b *builder) full() bool {
	return b.events() >= unitEvents || b.bytes+len(b.delta.text) >= unitBytes
}

// nowTime is the time that events of one unit share.
func nowTime() notify.Time { return notify.TimeOf(time.Now()) }
