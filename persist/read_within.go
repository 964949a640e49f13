package persist

import (
	"context"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// threadFilter leaves only rows of some threads in a listing.
type threadFilter struct {
	has   func(threadID string) (bool, error)
	names int // how many columns are read to know the thread of a row, which is the last of them
}

// within keeps only rows of m's threads; nil keeps all. names is how many columns of a
// row there are up to its thread. m may read, on connections of another class than
// that of lists, and nothing there waits for a list.
func (l *listing) within(ctx context.Context, m notify.Members, names int) {
	if m != nil {
		l.threads = &threadFilter{func(id string) (bool, error) { return m.Has(ctx, id) }, names}
	}
}

// scan calls take with the rows of the listing until full reports that there are enough.
// With a filter of threads it reads only the names of rows first, and the whole row
// of those that pass: a row that is left out costs the same however large it is.
func (l *listing) scan(s Snapshot, take func(ledger.Values) error, full func() bool) error {
	if l.threads == nil {
		return s.Scan(l.between(), take)
	}
	names := l.between()
	names.First = max(l.threads.names, l.position+1)
	return s.Scan(names, func(v ledger.Values) error {
		seq := v.Int(l.position)
		ok, err := l.threads.has(v.Text(l.threads.names - 1))
		if err != nil || !ok {
			return err
		}
		if err := s.Scan(l.row(seq), take); err != nil {
			return err
		}
		if full() {
			return ledger.ErrEnough
		}
		return nil
	})
}

// only returns those ids that are m's threads. It must be called outside of a snapshot,
// because m may read.
func only(ctx context.Context, ids []string, m notify.Members) ([]string, error) {
	if ids == nil || m == nil {
		return ids, nil
	}
	kept := []string{}
	for _, id := range ids {
		ok, err := m.Has(ctx, id)
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, id)
		}
	}
	return kept, nil
}

// row returns the range of the row with this seq.
func (l *listing) row(seq int64) ledger.Range {
	at := *l
	at.after, at.before = seq-1, seq+1
	return at.between()
}
