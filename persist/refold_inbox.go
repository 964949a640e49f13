package persist

import (
	"slices"
	"strconv"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
)

// foldedInbox is the inbox of a thread that is rebuilt: a ledger.State with its
// rows in memory, by their created_seq. Payloads are not among them.
type foldedInbox struct {
	row *inbox.Inbox // nil: nothing has ever arrived, or it was removed
	// removed says that it was removed, with its thread closed. Rows of it that are
	// left are removed later.
	removed bool
	tables  map[*ledger.Table]map[int64]ledger.Row
	// seqs are those of each table, as they were put: they rise. Rows that were
	// removed are among them.
	seqs map[*ledger.Table][]int64
	// live are the rows of a digest that were not acknowledged when they were last
	// asked for, in the order of their seqs.
	live  map[liveGroup][]int64
	named map[name]int64
}

// name is what finds a row besides its seq: an inbox.OpenKey, an inbox.AboutKey, or the key of
// a subscription or a timer, which may have the same id.
type name struct {
	table *ledger.Table
	key   any
}

type liveGroup struct {
	table *ledger.Table
	group string
}

func newFoldedInbox() *foldedInbox {
	f := &foldedInbox{
		tables: map[*ledger.Table]map[int64]ledger.Row{}, seqs: map[*ledger.Table][]int64{},
		live: map[liveGroup][]int64{}, named: map[name]int64{},
	}
	for _, t := range inboxTables {
		f.tables[t.index.Table] = map[int64]ledger.Row{}
	}
	return f
}

// Row implements ledger.State.
func (f *foldedInbox) Row(t *ledger.Table, id any) ledger.Row {
	if t == inbox.Table {
		if f.row == nil {
			return nil
		}
		return f.row
	}
	seq, ok := id.(int64)
	if !ok {
		seq = f.named[name{t, id}]
	}
	return f.tables[t][seq] // nil if there is none
}

// Rows implements ledger.State.
func (f *foldedInbox) Rows(t *ledger.Table, group string, visit func(ledger.Row) bool) {
	list := f.seqs[t]
	if last, ok := inbox.ThroughOf(group); ok {
		n, _ := slices.BinarySearch(list, last+1)
		list = list[:n]
	} else {
		key := liveGroup{t, group}
		list = slices.DeleteFunc(f.live[key], func(seq int64) bool { return isAcked(f.tables[t][seq]) })
		f.live[key] = list
	}
	for _, seq := range slices.Backward(list) {
		if row := f.tables[t][seq]; row != nil && !visit(row) {
			return
		}
	}
}

// isAcked reports whether nothing of a raw item or an entry is unacknowledged any
// more, or the row was removed.
func isAcked(row ledger.Row) bool {
	switch r := row.(type) {
	case *inbox.Raw:
		return r.AckedSeq != 0
	case *inbox.Entry:
		return !r.AckedAt.IsZero()
	}
	return row == nil
}

// Put implements ledger.State.
func (f *foldedInbox) Put(row ledger.Row) {
	switch r := row.(type) {
	case *inbox.Inbox:
		f.row = r
	case *inbox.Raw:
		f.keep(r.Seq, r, r.Group())
		if key := (name{r.Table(), r.AboutKey()}); r.About != "" {
			if old, ok := f.tables[r.Table()][f.named[key]].(*inbox.Raw); !ok || r.NewerThan(old) {
				f.named[key] = r.Seq
			}
		}
	case *inbox.Entry:
		f.keep(r.Seq, r, r.Group())
	case *inbox.Digest:
		f.keep(r.Seq, r, "")
		key := name{r.Table(), inbox.OpenKey{ThreadID: r.ThreadID, Source: r.Source, ResourceRef: r.ResourceRef, EventFamily: r.EventFamily}}
		if r.Open {
			f.named[key] = r.Seq
		} else if f.named[key] == r.Seq {
			delete(f.named, key)
		}
	case *inbox.Subscription:
		f.keep(r.CreatedSeq, r, "")
		f.named[name{r.Table(), r.ID()}] = r.CreatedSeq
	case *inbox.Timer:
		f.keep(r.CreatedSeq, r, "")
		f.named[name{r.Table(), r.ID()}] = r.CreatedSeq
	case *ledger.Removal:
		seq := r.Key[0].(int64)
		switch gone := f.tables[r.Of][seq].(type) {
		case *inbox.Subscription, *inbox.Timer:
			delete(f.named, name{r.Of, gone.ID()})
		}
		delete(f.tables[r.Of], seq)
	}
}

func (f *foldedInbox) keep(seq int64, row ledger.Row, group string) {
	t := row.Table()
	if f.tables[t][seq] == nil {
		f.seqs[t] = append(f.seqs[t], seq)
		if group != "" {
			key := liveGroup{t, group}
			f.live[key] = append(f.live[key], seq)
		}
	}
	f.tables[t][seq] = row
}

// schedule sets what is no fold of one event but follows from all rows: when the
// inbox has something to do by itself.
func (f *foldedInbox) schedule() {
	if f.row == nil {
		return
	}
	next := *f.row
	next.FlushAt, next.TimerAt = 0, 0
	for _, row := range f.tables[inbox.DigestTable] {
		if d := row.(*inbox.Digest); d.Pending > 0 && (next.FlushAt == 0 || d.FlushAt < next.FlushAt) {
			next.FlushAt = d.FlushAt
		}
	}
	for _, row := range f.tables[inbox.TimerTable] {
		if at := row.(*inbox.Timer).NextAt.Milli(); next.TimerAt == 0 || at < next.TimerAt {
			next.TimerAt = at
		}
	}
	f.row = &next
}

// inboxTables are the tables of inboxes that have several rows for a thread, each
// with the index that finds these.
var inboxTables = []struct {
	index *ledger.Index
	// mayMiss reports whether a row that the log gives may be missing; nil = none.
	mayMiss func(ledger.Row) bool
	// outlives says that rows may be left when the inbox was removed.
	outlives bool
}{
	// What has expired is remembered for a while, for its identity.
	{inbox.RawOfThread, func(r ledger.Row) bool { return r.(*inbox.Raw).Expired }, true},
	{inbox.DigestThread, nil, true},
	{inbox.EntryOfThread, nil, true},
	{inbox.SubscriptionByID, nil, false},
	{inbox.TimerOfThread, nil, false},
}

// compare compares the rows of a thread's inbox with the folded ones.
func (f *foldedInbox) compare(s ledger.Reader, thread string) (diffs []Difference, err error) {
	f.schedule()
	v, err := s.Get(inbox.ByThread, thread)
	if err != nil {
		return nil, err
	}
	var row ledger.Row
	if f.row != nil {
		if v != nil { // it depends on the policy in force, which is not in the log
			stored, err := inbox.ReadRow(v)
			if err != nil {
				return nil, err
			}
			f.row.LeaseAt = stored.LeaseAt
		}
		row = f.row
	}
	if diffs, err = compareColumns(inbox.Table, thread, v, row); err != nil {
		return nil, err
	}
	for _, t := range inboxTables {
		if f.removed && t.outlives {
			continue
		}
		table, seen := t.index.Table, map[int64]bool{}
		if err := s.Scan(ledger.Range{Index: t.index, Prefix: []any{thread}}, func(v ledger.Values) error {
			seq := v.Int(0)
			seen[seq] = true
			d, err := compareColumns(table, strconv.FormatInt(seq, 10), v, f.tables[table][seq])
			diffs = append(diffs, d...)
			return err
		}); err != nil {
			return nil, err
		}
		for seq, row := range f.tables[table] {
			if !seen[seq] && (t.mayMiss == nil || !t.mayMiss(row)) {
				diffs = append(diffs, Difference{Table: table.Name, ID: strconv.FormatInt(seq, 10), Column: "row", Row: "missing", Log: "there"})
			}
		}
	}
	return diffs, nil
}
