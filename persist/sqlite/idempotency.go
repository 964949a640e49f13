package sqlite

import (
	"context"
	"time"

	"github.com/seed82539d15/holon/turns"
)

// Keys are kept for 7 days and at most a million (CONTRACT, section 3). Each
// new key takes a few old ones with it, so that trimming never holds up a
// commit.
const (
	keyAge   = 7 * 24 * time.Hour
	keyCount = 1_000_000
	keyTrim  = 4
)

// storedKey looks a key up; an expired one counts as not used.
func storedKey(c *conn, key string, now time.Time) (*turns.Stored, error) {
	var s *turns.Stored
	_, err := c.queryOne("SELECT method, hash, result, seq FROM idempotency WHERE key = ? AND created_at > ?", func(r row) {
		s = &turns.Stored{Key: turns.Key{Key: key, Method: r.text(0)}, Result: r.blob(2), Seq: r.int(3)}
		copy(s.Key.Hash[:], r.blob(1))
	}, key, now.Add(-keyAge).UnixMilli())
	return s, err
}

// key writes the unit's idempotency row, if it has a key, and trims old ones.
func (b *batch) key(u *turns.Unit, seq int64) error {
	if u.Key == nil {
		return nil
	}
	c, now := b.w.conn, b.w.store.now()
	// An expired row of the same key may still be there.
	if _, err := c.exec("DELETE FROM idempotency WHERE key = ?", u.Key.Key); err != nil {
		return err
	}
	if _, err := c.exec("INSERT INTO idempotency (key, method, hash, result, seq, created_at) VALUES (?,?,?,?,?,?)",
		u.Key.Key, u.Key.Method, u.Key.Hash[:], u.Result, seq, now.UnixMilli()); err != nil {
		return err
	}
	b.bytes += len(u.Result)
	_, err := c.exec(`DELETE FROM idempotency WHERE id IN (SELECT id FROM idempotency ORDER BY id LIMIT ?)
		AND (created_at <= ? OR id <= (SELECT max(id) FROM idempotency) - ?)`,
		int64(keyTrim), now.Add(-keyAge).UnixMilli(), b.w.keys)
	return err
}

// Stored implements turns.Store.
func (s *View) Stored(ctx context.Context, key string) (stored *turns.Stored, err error) {
	err = s.read(ctx, func(c *conn) error {
		stored, err = storedKey(c, key, s.now())
		return err
	})
	return stored, err
}
