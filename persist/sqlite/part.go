package sqlite

import (
	"context"

	"github.com/seed82539d15/holon/notify"
)

// copyBytes bounds the large events of which streams read parts.
const copyBytes = 8 << 20

// Part implements notify.Log.
func (s *Reader) Part(ctx context.Context, seq int64, offset int, summary bool, b []byte) (n, size int, err error) {
	return s.copies.Part(ctx, seq, offset, summary, b)
}

// CopyBytes returns the memory of the large events of which streams read parts, for metrics.
func (s *Reader) CopyBytes() int { return s.copies.Bytes() }

// event reads one event: its method and its params.
func (s *Reader) event(ctx context.Context, seq int64) (e notify.Event, err error) {
	err = s.scans.query(ctx, func(c *conn) error {
		found, err := c.queryOne("SELECT method, params FROM events WHERE seq = ?", func(r row) {
			e = notify.Event{Seq: seq, Method: r.Text(0), Params: r.Blob(1)}
		}, seq)
		if err != nil || found {
			return err
		}
		gone := &notify.ExpiredError{After: seq - 1}
		var latest int64
		if err := ends(c, &gone.First, &latest); err != nil {
			return err
		}
		return gone
	})
	return e, err
}
