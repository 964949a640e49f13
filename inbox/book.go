package inbox

import (
	"cmp"
	"errors"
	"slices"
	"strconv"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// Errors of commands. api maps them to the wire.
var (
	ErrEntryNotFound        = errors.New("no such entry in this inbox")
	ErrEntryExpired         = errors.New("the entry has been removed, because it was acknowledged long ago")
	ErrDigestNotFound       = errors.New("no such digest in this inbox")
	ErrTimerNotFound        = errors.New("no such timer in this inbox")
	ErrSubscriptionNotFound = errors.New("no such subscription in this inbox")
	ErrConflict             = errors.New("it exists with other members")
	ErrFull                 = errors.New("the inbox is full: acknowledge what is in it")
	ErrTooManyTimers        = errors.New("the inbox has as many timers as it may have")
	ErrTooManySubscriptions = errors.New("the inbox has as many subscriptions as it may have")
)

// Bounds are the bounds of one inbox.
type Bounds struct {
	MaxPendingItems  int
	MaxUnackedItems  int // pending ones included
	MaxUnackedBytes  int64
	MaxTimers        int
	MaxSubscriptions int
}

// Unit is where a Book adds its events: the unit of a thread that is being made.
type Unit interface {
	// NextSeq is the provisional seq of the next event.
	NextSeq() int64
	// AddEvent adds an event of the thread and returns its header.
	AddEvent(method string, body any) notify.Header
	// Thread is the thread as the unit leaves it so far, and SetThread replaces it.
	Thread() *threads.Thread
	SetThread(*threads.Thread)
}

// Book is an inbox while one unit of its thread is made. Its methods decide: they
// read rows, add events, and fold each into copies of the rows. An error leaves
// the unit without a part of what was asked for. It implements ledger.State, and
// belongs to one goroutine.
type Book struct {
	ThreadID string
	Now      notify.Time
	Settings Settings
	Bounds   Bounds

	unit      Unit
	committed ledger.Reader
	box       *Inbox // nil: the inbox has no row
	boxNew    bool
	overlay   map[*ledger.Table]map[any]ledger.Row // what the unit has changed
	gone      map[*ledger.Table]map[int64]bool     // rows that the unit has removed, by created_seq
	changed   []ledger.Row                         // in the order of the first change; superseded by overlay
	natives   map[nativeKey]int64                  // raw items of this unit
	acked     int                                  // entries that became fully acknowledged
	err       error                                // the first error of reading
	stats     Stats
}

// NewBook begins a unit. box is the row as committed, nil if there is none; it is
// not changed. committed reads the rows of the store.
func NewBook(threadID string, now notify.Time, settings Settings, bounds Bounds, box *Inbox, unit Unit, committed ledger.Reader) *Book {
	return &Book{
		ThreadID: threadID, Now: now, Settings: settings, Bounds: bounds, unit: unit, committed: committed, box: box,
		overlay: map[*ledger.Table]map[any]ledger.Row{}, gone: map[*ledger.Table]map[int64]bool{},
		natives: map[nativeKey]int64{},
	}
}

// Inbox is the row as the unit leaves it so far; nil if there is none.
func (b *Book) Inbox() *Inbox { return b.box }

// Err is the first error of reading rows: the unit must not be committed then.
func (b *Book) Err() error { return b.err }

// ReadFrom makes the Book read from here, such as one snapshot for a decision that
// reads much.
func (b *Book) ReadFrom(r ledger.Reader) { b.committed = r }

// Changed reports whether the unit changes rows of the inbox.
func (b *Book) Changed() bool { return b.boxNew || len(b.changed) > 0 }

// Finish returns the rows that the unit changes, in the order in which they must
// be written.
func (b *Book) Finish() []ledger.Row {
	if b.boxNew {
		b.schedule()
	}
	list := make([]ledger.Row, 0, len(b.changed)+1)
	for _, r := range b.changed {
		if _, removal := r.(*ledger.Removal); removal {
			list = append(list, r)
			continue
		}
		if b.gone[r.Table()][createdSeq(r)] {
			continue // removed after it was changed; one that is new never is
		}
		list = append(list, b.overlay[r.Table()][r.ID()])
	}
	if b.boxNew {
		list = append(list, b.box)
	}
	return list
}

// add adds an event and folds it.
func (b *Book) add(method string, body any) notify.Header {
	h := b.unit.AddEvent(method, body)
	Fold(b, &h, body)
	return h
}

// inbox is the row for reading; never nil.
func (b *Book) inbox() *Inbox {
	if b.box == nil {
		return &Inbox{ThreadID: b.ThreadID}
	}
	return b.box
}

// reads says how the rows of a table are read.
type reads struct {
	bySeq *ledger.Index
	read  func(ledger.Values) (ledger.Row, error)
}

var tables = map[*ledger.Table]reads{
	RawTable:          {RawBySeq, func(v ledger.Values) (ledger.Row, error) { return ReadRaw(v), nil }},
	DigestTable:       {DigestBySeq, func(v ledger.Values) (ledger.Row, error) { return ReadDigest(v) }},
	EntryTable:        {EntryBySeq, func(v ledger.Values) (ledger.Row, error) { return ReadEntry(v), nil }},
	SubscriptionTable: {SubscriptionByID, func(v ledger.Values) (ledger.Row, error) { return ReadSubscription(v) }},
	TimerTable:        {TimerByID, func(v ledger.Values) (ledger.Row, error) { return ReadTimer(v), nil }},
}

// createdSeq is the seq of a row's first event.
func createdSeq(r ledger.Row) int64 {
	switch r := r.(type) {
	case *Raw:
		return r.Seq
	case *Digest:
		return r.Seq
	case *Entry:
		return r.Seq
	case *Subscription:
		return r.CreatedSeq
	case *Timer:
		return r.CreatedSeq
	}
	return 0
}

// Row implements ledger.State.
func (b *Book) Row(t *ledger.Table, id any) ledger.Row {
	switch t {
	case threads.Table:
		if th := b.unit.Thread(); th != nil {
			return th
		}
		return nil
	case Table:
		if b.box == nil {
			return nil
		}
		return b.box
	}
	if row := b.overlay[t][id]; row != nil {
		return row
	}
	switch key := id.(type) {
	case OpenKey:
		return b.openDigest(key)
	case rowKey:
		return b.get(t, tables[t].bySeq, key.threadID, key.id)
	case int64:
		if key <= 0 {
			return nil
		}
		return b.get(t, tables[t].bySeq, key)
	}
	return nil
}

// get reads a committed row. It returns nil for one that the unit has removed.
func (b *Book) get(t *ledger.Table, ix *ledger.Index, key ...any) ledger.Row {
	v, err := b.committed.Get(ix, key...)
	if err != nil || v == nil {
		b.failed(err)
		return nil
	}
	row, err := tables[t].read(v)
	if b.failed(err) || b.gone[t][createdSeq(row)] {
		return nil
	}
	if changed := b.overlay[t][row.ID()]; changed != nil {
		return changed
	}
	return row
}

func (b *Book) failed(err error) bool {
	if b.err == nil {
		b.err = err
	}
	return err != nil
}

// openDigest finds the digest that takes items of a key.
func (b *Book) openDigest(key OpenKey) ledger.Row {
	for _, row := range b.overlay[DigestTable] {
		if d := row.(*Digest); d.Open && key == (OpenKey{d.ThreadID, d.Source, d.ResourceRef, d.EventFamily}) {
			return d
		}
	}
	d, ok := b.get(DigestTable, DigestOpen, key.ThreadID, key.Source, key.ResourceRef, key.EventFamily).(*Digest)
	if !ok || !d.Open { // the unit has closed it
		return nil
	}
	return d
}

// Rows implements ledger.State. Of raw items and entries of a digest it has only
// those that are not acknowledged.
func (b *Book) Rows(t *ledger.Table, group string, visit func(ledger.Row) bool) {
	if last, ok := ThroughOf(group); ok {
		b.scan(t, ledger.Range{Index: ofThread[t], Prefix: []any{b.ThreadID}, Newest: true, After: last + 1}, visit)
		return
	}
	var added []ledger.Row // newer than all that is committed
	for _, row := range b.overlay[t] {
		if row.New() && row.(interface{ Group() string }).Group() == group {
			added = append(added, row)
		}
	}
	// Provisional seqs fall.
	slices.SortFunc(added, func(x, y ledger.Row) int { return cmp.Compare(createdSeq(x), createdSeq(y)) })
	for _, row := range added {
		if !visit(row) {
			return
		}
	}
	digest, _ := strconv.ParseInt(group, 10, 64)
	if digest <= 0 { // it is new: nothing of it is committed
		return
	}
	r := ledger.Range{Index: ofDigest[t], Prefix: []any{digest}, Newest: true}
	if t == RawTable {
		r.Only = where("acked_seq", 0)
	}
	b.scan(t, r, visit)
}

var (
	ofThread = map[*ledger.Table]*ledger.Index{RawTable: RawOfThread, EntryTable: EntryOfThread, DigestTable: DigestThread}
	ofDigest = map[*ledger.Table]*ledger.Index{RawTable: RawOfDigest, EntryTable: EntryOfDigest}
)

// scan visits committed rows as the unit leaves them, without those that it has
// removed. visit may read more.
func (b *Book) scan(t *ledger.Table, r ledger.Range, visit func(ledger.Row) bool) {
	b.failed(b.committed.Scan(r, func(v ledger.Values) error {
		row, err := tables[t].read(slices.Clone(v))
		if err != nil || b.gone[t][createdSeq(row)] {
			return err
		}
		if changed := b.overlay[t][row.ID()]; changed != nil {
			row = changed
		}
		if !visit(row) {
			return ledger.ErrEnough
		}
		return nil
	}))
}

// Put implements ledger.State.
func (b *Book) Put(row ledger.Row) {
	switch r := row.(type) {
	case *threads.Thread:
		b.unit.SetThread(r)
		return
	case *Inbox:
		b.box, b.boxNew = r, true
		return
	case *ledger.Removal:
		if b.gone[r.Of] == nil {
			b.gone[r.Of] = map[int64]bool{}
		}
		b.gone[r.Of][r.Key[0].(int64)] = true
		b.changed = append(b.changed, r)
		for id, row := range b.overlay[r.Of] {
			if createdSeq(row) == r.Key[0].(int64) {
				delete(b.overlay[r.Of], id)
			}
		}
		return
	case *Entry:
		if old, ok := b.Row(EntryTable, r.Seq).(*Entry); ok && old.AckedAt.IsZero() && !r.AckedAt.IsZero() {
			b.acked++
		}
	}
	t := row.Table()
	if b.overlay[t] == nil {
		b.overlay[t] = map[any]ledger.Row{}
	}
	if b.overlay[t][row.ID()] == nil {
		b.changed = append(b.changed, row)
	}
	b.overlay[t][row.ID()] = row
}

// schedule sets when the inbox has something to do by itself: at the earliest
// flush of a digest, and at the earliest timer.
func (b *Book) schedule() {
	b.box.FlushAt, b.box.TimerAt = b.nextFlush(), b.nextTimer()
}

// nextFlush is the earliest flush of a digest, in milliseconds; 0 = none.
func (b *Book) nextFlush() (at int64) {
	least := func(d *Digest) {
		if d.Pending > 0 && (at == 0 || d.FlushAt < at) {
			at = d.FlushAt
		}
	}
	for _, row := range b.overlay[DigestTable] {
		least(row.(*Digest))
	}
	if b.box.PendingItems > 0 {
		b.first(DigestTable, DigestFlush, func(row ledger.Row) { least(row.(*Digest)) })
	}
	return at
}

// nextTimer is the earliest planned time of a timer, in milliseconds; 0 = none.
func (b *Book) nextTimer() (at int64) {
	least := func(t *Timer) {
		if at == 0 || t.NextAt.Milli() < at {
			at = t.NextAt.Milli()
		}
	}
	for _, row := range b.overlay[TimerTable] {
		least(row.(*Timer))
	}
	if b.box.Timers > 0 {
		b.first(TimerTable, TimerNext, func(row ledger.Row) { least(row.(*Timer)) })
	}
	return at
}

// first visits the first row of an index of the thread that the unit has not
// touched.
func (b *Book) first(t *ledger.Table, ix *ledger.Index, visit func(ledger.Row)) {
	b.failed(b.committed.Scan(ledger.Range{Index: ix, Prefix: []any{b.ThreadID}}, func(v ledger.Values) error {
		row, err := tables[t].read(slices.Clone(v))
		if err != nil || b.gone[t][createdSeq(row)] || b.overlay[t][row.ID()] != nil {
			return err
		}
		visit(row)
		return ledger.ErrEnough
	}))
}

// Reschedule makes the unit write when the inbox is due next, if that differs.
func (b *Book) Reschedule() {
	if b.box == nil || b.boxNew || b.box.FlushAt == b.nextFlush() && b.box.TimerAt == b.nextTimer() {
		return
	}
	b.Put(b.box.clone())
}
