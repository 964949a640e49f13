package persist

import (
	"context"

	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// cursorOf works like cursors.Read, with the signature that listOf needs.
func cursorOf(v ledger.Values) (*cursors.Cursor, error) { return cursors.Read(v), nil }

// ReadCursor implements cursors.Reader.
func (r *Reads) ReadCursor(ctx context.Context, n cursors.Name) (c cursors.Cursor, at turns.Position, err error) {
	err = r.db.Snapshot(ctx, ForPoints, func(s Snapshot) error {
		if at.First, at.Latest, err = s.Ends(); err != nil {
			return err
		}
		c, err = cursors.Get(s, n)
		return err
	})
	return c, at, err
}

// ListCursors implements cursors.Reader. A consumer or a subject has few cursors. A
// stream may have nearly all of them, so it only filters.
func (r *Reads) ListCursors(ctx context.Context, q cursors.Query) (out turns.List[cursors.Cursor], err error) {
	l, err := newListing(cursors.InOrder, q.Cursor, q.Limit, q.Newest)
	if err != nil {
		return out, err
	}
	switch {
	case q.ConsumerID != nil:
		l.find(cursors.OfConsumer, *q.ConsumerID)
		if q.SubjectID != nil {
			l.only("subject_id", *q.SubjectID)
		}
	case q.SubjectID != nil:
		l.find(cursors.OfSubject, *q.SubjectID)
	}
	if q.StreamName != nil {
		l.only("stream_name", *q.StreamName)
	}
	return in(ctx, r, ForScans, func(s Snapshot) (turns.List[cursors.Cursor], error) { return listOf(s, l, cursorOf) })
}
