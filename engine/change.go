package engine

import (
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// change builds one unit of a thread: its events, and the rows that they leave.
// Each event is encoded when it is added, and folded into a copy of its row by
// the same Apply that a rebuild uses (I2). The row is in next from then on. It
// knows nothing of the engine.
type change struct {
	threadID  string
	committed *threads.Thread // the thread as committed; nil = it does not exist
	next      *state          // as the unit leaves it
	timeout   time.Duration   // of turns without one of their own
	unit      ledger.Unit
	rows      rows
	now       notify.Time
	bytes     int
	turnIndex map[string]int // index in rows.turns by id, so that only the last row of an id is stored
	itemIndex map[string]int
	stepIndex map[int64]int // by the seq of the try
	delta     pendingDelta
	inbox     *inboxChange // what the unit does to the inbox
	stats     turns.Stats  // what it does to turns, for metrics
	err       error        // the first encoding error: a bug; the unit is not committed then

	committedTries *tries // of the active turn, as committed; nil without one
	nextTries      *tries // as this unit leaves them; nil = unchanged: see tries
	beginsTry      bool   // a try begins in this unit, so that the unit cannot supersede one
}

// newChange begins a unit that changes next, which is the committed state so far.
// timeout is that of turns without one of their own.
func newChange(threadID string, next *state, timeout time.Duration) *change {
	c := &change{threadID: threadID, committed: next.thread, next: next, timeout: timeout, now: nowTime()}
	c.inbox = &inboxChange{c: c}
	if next.active != nil {
		c.committedTries = next.active.tries
	}
	return c
}

// rows are the rows that a unit leaves, the last of each.
type rows struct {
	thread *threads.Thread // nil = no event has changed it
	turns  []*turns.Turn
	items  []*items.Item
	steps  []*turns.Step
}

func (r *rows) empty() bool {
	return r.thread == nil && len(r.turns) == 0 && len(r.items) == 0 && len(r.steps) == 0
}

// empty reports whether there is nothing to commit.
func (c *change) empty() bool {
	return len(c.unit.Drafts) == 0 && c.delta.open == nil && c.rows.empty() && !c.inbox.changed()
}

// finish completes the unit. It can be committed then, and again after it was
// refused.
func (c *change) finish() *ledger.Unit {
	r := &c.rows
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
	c.unit.Rows = append(list, c.inbox.finish()...)
	threads.Advance(&c.unit, c.committed, r.thread)
	return &c.unit
}

// assignSeqs replaces provisional seqs by those of the commit.
func (c *change) assignSeqs(rc ledger.Receipt) {
	if c.nextTries != nil {
		c.nextTries.assignSeqs(rc.First)
	}
	if n := len(c.unit.Drafts); n > 0 && c.next.thread != nil {
		t := *c.next.thread
		t.LatestSeq, t.LatestThreadSeq = rc.Last, c.unit.Base+int64(n)
		c.next.thread = &t
	}
}

// scope is where an event belongs: to a try, to an attempt only if nothing may
// ever supersede it, or to neither.
type scope struct {
	span    *notify.Span // nil = no lineage
	attempt int          // 0 = none
}

// inTry returns the scope of the events of a try.
func inTry(span *notify.Span) scope { return scope{span, span.Root()} }

// add adds an event and returns the header for folding it.
func (c *change) add(method, turnID string, at scope, itemID string, body any) notify.Header {
	c.flushDelta()
	d := notify.Draft{
		Method: method, ItemID: itemID, Body: body,
		Header: notify.Header{
			Seq:      notify.Provisional(len(c.unit.Drafts)),
			ThreadID: c.threadID, TurnID: turnID, Attempt: at.attempt, Timestamp: c.now,
		},
	}
	first := false
	if at.span != nil {
		first = at.span.Seq == 0
		d.In(at.span)
	}
	if err := d.Encode(); err != nil && c.err == nil {
		c.err = err
	}
	c.bytes += len(d.Rest)
	c.unit.Drafts = append(c.unit.Drafts, d)
	if at.span != nil {
		c.foldStep(at.span, first, d.Header, body)
	}
	return d.Header
}

// thread adds an event of the thread itself.
func (c *change) thread(method string, body any) {
	h := c.add(method, "", scope{}, "", body)
	row := threads.Apply(c.next.thread, h, body)
	c.rows.thread, c.next.thread = row, row
	inbox.FoldTurn(c.inbox, &h, body)
}

// turn adds an event of a turn and returns the row it leaves. prev is nil for
// the turn's first event.
func (c *change) turn(prev *turns.Turn, turnID, method string, at scope, body any) *turns.Turn {
	return c.foldTurn(prev, c.add(method, turnID, at, "", body), body)
}

// foldTurn folds an event that was added into the row of its turn.
func (c *change) foldTurn(prev *turns.Turn, h notify.Header, body any) *turns.Turn {
	next := turns.Apply(prev, h, body)
	if u := turns.Used(prev, body); u != nil && c.next.thread != nil {
		row := c.next.thread.Spend(u)
		c.rows.thread, c.next.thread = row, row
	}
	inbox.FoldTurn(c.inbox, &h, body)
	if next == nil {
		return prev
	}
	c.stats.Turn(prev, next, body)
	turnID := h.TurnID
	if c.turnIndex == nil {
		c.turnIndex = map[string]int{}
	}
	if i, ok := c.turnIndex[turnID]; ok {
		c.rows.turns[i] = next
	} else {
		c.turnIndex[turnID] = len(c.rows.turns)
		c.rows.turns = append(c.rows.turns, next)
	}
	c.setTurn(next)
	return next
}

// setTurn puts the row of a turn into the next state: as the active turn or in
// the queue. A turn that has ended is removed from the state.
func (c *change) setTurn(row *turns.Turn) {
	s := c.next
	switch {
	case s.isActive(row.TurnID) && row.State.Ended():
		s.active = nil
	case s.isActive(row.TurnID):
		if row.Attempt != s.active.turn.Attempt {
			s.active.spoke, s.active.hasOutput = false, false
		}
		s.active.turn = row
	case row.State == turns.Queued:
		q := queuedTurn{tries: newTries(row.TurnID)}
		if was := s.queued(row.TurnID); was != nil {
			q = *was
		}
		if c.nextTries != nil && c.nextTries.turnID == row.TurnID {
			q.tries = c.nextTries
		}
		q.turn = row
		s.enqueue(&q)
	case row.State == turns.Active:
		s.dequeue(row.TurnID)
		s.active = newActive(row, c.tries(), c.timeout)
	default:
		s.dequeue(row.TurnID)
	}
}

// turnRow returns the row of a turn as the unit leaves it. The unit must change it.
func (c *change) turnRow(turnID string) *turns.Turn { return c.rows.turns[c.turnIndex[turnID]] }

// item adds an event of an item and returns the row it leaves.
func (c *change) item(prev *items.Item, turnID, method, itemID string, at scope, body any) *items.Item {
	next := items.Apply(prev, c.add(method, turnID, at, itemID, body), body)
	if next == nil {
		return prev
	}
	if l := items.ChangedBy(body); l != nil && c.next.thread != nil {
		row := c.next.thread.CountLines(l)
		c.rows.thread, c.next.thread = row, row
	}
	c.stats.Item(prev, next, c.now)
	if prev == nil && itemID > c.next.newestItemID && items.Made(itemID) {
		c.next.newestItemID = itemID
	}
	if prev == nil && speaks(next.Type) && c.next.isActive(turnID) {
		act := c.next.active
		act.spoke, act.hasOutput = true, true
		if next.Type == items.KindAgentMessage || next.Type == items.KindReasoning {
			act.work.read = act.work.steered // a tool may have been chosen before
		}
	}
	if i, ok := c.itemRowIndex(prev); ok {
		c.rows.items[i] = next
		return next
	}
	if next.Status.Open() || prev != nil { // an item created as ended can only be deleted: see itemRowIndex
		if c.itemIndex == nil {
			c.itemIndex = map[string]int{}
		}
		c.itemIndex[itemID] = len(c.rows.items)
	}
	c.rows.items = append(c.rows.items, next)
	return next
}

// speaks reports whether an item of this kind shows that the agent has said something.
// Notices do not: the server may have written them.
func speaks(k items.Kind) bool { return k != items.KindUserMessage && k != items.KindNotice }

// itemRowIndex returns the index of the item's row in the unit; false if the
// unit has none.
func (c *change) itemRowIndex(row *items.Item) (int, bool) {
	if row == nil {
		return 0, false
	}
	if i, ok := c.itemIndex[row.ItemID]; ok {
		return i, true
	}
	if row.CreatedSeq < 0 { // created as ended in this unit: not in itemIndex
		for i := len(c.rows.items) - 1; i >= 0; i-- {
			if c.rows.items[i] == row {
				return i, true
			}
		}
	}
	return 0, false
}

// pendingDelta is text of one item that may still grow: deltas of the same commit
// are merged, up to deltaBytes.
type pendingDelta struct {
	open   *openItem
	offset int64
	text   []byte
}

// addDelta adds text that the item has received at offset.
func (c *change) addDelta(o *openItem, offset int64, text string) {
	if c.delta.open != o || len(c.delta.text)+len(text) > deltaBytes {
		c.flushDelta()
		c.delta.open, c.delta.offset = o, offset
	}
	c.delta.text = append(c.delta.text, text...)
}

func (c *change) flushDelta() {
	d := c.delta
	if d.open == nil {
		return
	}
	c.delta = pendingDelta{}
	row := d.open.row
	c.add(notify.ItemDelta, row.TurnID, d.open.scope(), row.ItemID, &items.Delta{
		ItemID: row.ItemID, Type: "delta", Delta: items.DeltaText{Text: string(d.text)}, Offset: d.offset,
	})
}

// events returns how many events the unit will have.
func (c *change) events() int {
	n := len(c.unit.Drafts)
	if c.delta.open != nil {
		n++
	}
	return n
}

func (c *change) full() bool {
	return c.events() >= unitEvents || c.bytes+len(c.delta.text) >= unitBytes
}

// nowTime returns the time that events of one unit share.
func nowTime() notify.Time { return notify.TimeOf(time.Now()) }
