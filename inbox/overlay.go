package inbox

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
)

// overlay is the rows of an inbox as an unfinished unit leaves them: the changes of the
// unit, and below them the committed rows. It implements ledger.State, so that events
// can be folded into it.
type overlay struct {
	threadID  string
	unit      Unit
	committed ledger.Reader
	box       *Inbox                               // nil: the inbox has no row
	boxNew    bool                                 // the unit changes it
	overlay   map[*ledger.Table]map[any]ledger.Row // what the unit has changed
	gone      map[*ledger.Table]map[int64]bool     // rows that the unit has removed, by created_seq
	changed   []ledger.Row                         // in the order of the first change; superseded by overlay
	natives   map[nativeKey]int64                  // raw items of this unit; 0 = looked up, and there was none
	abouts    map[AboutKey]int64                   // the newest raw items of this unit that are about something
	acked     int                                  // entries that became fully acknowledged
	err       error                                // the first error of reading
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

// createdSeq returns the seq of a row's first event.
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

var (
	ofThread = map[*ledger.Table]*ledger.Index{RawTable: RawOfThread, EntryTable: EntryOfThread, DigestTable: DigestThread}
	ofDigest = map[*ledger.Table]*ledger.Index{RawTable: RawOfDigest, EntryTable: EntryOfDigest}
)

// inbox returns the row for reading; never nil.
func (v *overlay) inbox() *Inbox {
	if v.box == nil {
		return &Inbox{ThreadID: v.threadID}
	}
	return v.box
}

// Row implements ledger.State.
func (v *overlay) Row(t *ledger.Table, id any) ledger.Row {
	switch t {
	case threads.Table:
		if th := v.unit.Thread(); th != nil {
			return th
		}
		return nil
	case Table:
		if v.box == nil {
			return nil
		}
		return v.box
	}
	if row := v.overlay[t][id]; row != nil {
		return row
	}
	switch key := id.(type) {
	case OpenKey:
		return v.openDigest(key)
	case rowKey:
		return v.get(t, tables[t].bySeq, key.threadID, key.id)
	case AboutKey:
		return v.newestAbout(key)
	case int64:
		if key <= 0 {
			return nil
		}
		return v.get(t, tables[t].bySeq, key)
	}
	return nil
}

// get reads a committed row. It returns nil for one that the unit has removed.
func (v *overlay) get(t *ledger.Table, ix *ledger.Index, key ...any) ledger.Row {
	c, err := v.committed.Get(ix, key...)
	if err != nil || c == nil {
		v.failed(err)
		return nil
	}
	row, err := tables[t].read(c)
	if v.failed(err) || v.gone[t][createdSeq(row)] {
		return nil
	}
	if changed := v.overlay[t][row.ID()]; changed != nil {
		return changed
	}
	return row
}

func (v *overlay) failed(err error) bool {
	if v.err == nil {
		v.err = err
	}
	return err != nil
}

// openDigest finds the digest that takes items of a key.
func (v *overlay) openDigest(key OpenKey) ledger.Row {
	for _, row := range v.overlay[DigestTable] {
		if d := row.(*Digest); d.Open && key == (OpenKey{d.ThreadID, d.Source, d.ResourceRef, d.EventFamily}) {
			return d
		}
	}
	d, ok := v.get(DigestTable, DigestOpen, key.ThreadID, key.Source, key.ResourceRef, key.EventFamily).(*Digest)
	if !ok || !d.Open { // the unit has closed it
		return nil
	}
	return d
}

// Rows implements ledger.State. Of raw items and entries of a digest it has only
// those that are not acknowledged.
func (v *overlay) Rows(t *ledger.Table, group string, visit func(ledger.Row) bool) {
	if last, ok := ThroughOf(group); ok {
		v.scan(t, ledger.Range{Index: ofThread[t], Prefix: []any{v.threadID}, Newest: true, After: last + 1}, visit)
		return
	}
	var added []ledger.Row // newer than all that is committed
	for _, row := range v.overlay[t] {
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
	v.scan(t, r, visit)
}

// scan visits committed rows as the unit leaves them, without those that it has
// removed. visit may read more.
func (v *overlay) scan(t *ledger.Table, r ledger.Range, visit func(ledger.Row) bool) {
	v.failed(v.committed.Scan(r, func(c ledger.Values) error {
		row, err := tables[t].read(slices.Clone(c))
		if err != nil || v.gone[t][createdSeq(row)] {
			return err
		}
		if changed := v.overlay[t][row.ID()]; changed != nil {
			row = changed
		}
		if !visit(row) {
			return ledger.ErrEnough
		}
		return nil
	}))
}

// first visits the first row of an index of the thread that the unit has not
// touched.
func (v *overlay) first(t *ledger.Table, ix *ledger.Index, visit func(ledger.Row)) {
	v.failed(v.committed.Scan(ledger.Range{Index: ix, Prefix: []any{v.threadID}}, func(c ledger.Values) error {
		row, err := tables[t].read(slices.Clone(c))
		if err != nil || v.gone[t][createdSeq(row)] || v.overlay[t][row.ID()] != nil {
			return err
		}
		visit(row)
		return ledger.ErrEnough
	}))
}

// Put implements ledger.State.
func (v *overlay) Put(row ledger.Row) {
	switch r := row.(type) {
	case *threads.Thread:
		v.unit.SetThread(r)
		return
	case *Inbox:
		v.box, v.boxNew = r, true
		return
	case *ledger.Removal:
		if v.gone[r.Of] == nil {
			v.gone[r.Of] = map[int64]bool{}
		}
		v.gone[r.Of][r.Key[0].(int64)] = true
		v.changed = append(v.changed, r)
		for id, row := range v.overlay[r.Of] {
			if createdSeq(row) == r.Key[0].(int64) {
				delete(v.overlay[r.Of], id)
			}
		}
		return
	case *Raw:
		if r.About != "" && r.Seq < 0 {
			if old, ok := v.overlay[RawTable][v.abouts[r.AboutKey()]].(*Raw); !ok || r.NewerThan(old) {
				v.abouts[r.AboutKey()] = r.Seq
			}
		}
	case *Entry:
		if old, ok := v.Row(EntryTable, r.Seq).(*Entry); ok && old.AckedAt.IsZero() && !r.AckedAt.IsZero() {
			v.acked++
		}
	}
	t := row.Table()
	if v.overlay[t] == nil {
		v.overlay[t] = map[any]ledger.Row{}
	}
	if v.overlay[t][row.ID()] == nil {
		v.changed = append(v.changed, row)
	}
	v.overlay[t][row.ID()] = row
}
