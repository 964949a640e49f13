package sqlite

import (
	"context"
	"errors"

	"github.com/seed82539d15/holon/ledger"
)

// When the write-ahead log is written back. A commit of one small event
// touches about ten pages, so 200 commits leave it at 8 MiB, and 4 MiB of
// events with their rows and indexes at some 20. Often enough that the file
// soon stops to grow: an fsync of overwritten blocks is the faster one. Past
// walMax readers are waited for, so that it starts again from its beginning.
const (
	walCommits = 200
	walBytes   = 4 << 20
	walMax     = 64 << 20
)

// wal counts what was written since the last checkpoint.
type wal struct {
	commits int
	bytes   int
	floor   int64 // size of the file when a reader was last in the way
}

func (s *wal) add(bytes int) {
	s.commits++
	s.bytes += bytes
}

// Maintain implements persist.Committer: it writes the write-ahead log back
// when that is due.
func (w *writer) Maintain() error {
	if w.since.commits < walCommits && w.since.bytes < walBytes {
		return nil
	}
	w.since.commits, w.since.bytes = 0, 0
	mode := "PASSIVE"
	if size := fileSize(w.store.path + "-wal"); size > w.limit+w.since.floor {
		mode, w.since.floor = "TRUNCATE", size // a long reader is asked again only after as much again
	}
	return lost(w.checkpoint(mode))
}

// lost is the error of a checkpoint after which the disk cannot be trusted. A
// full disk is none: the write-ahead log stays where it is.
func lost(err error) error {
	if err = classify("write the log back", err); errors.Is(err, ledger.ErrStorageFailed) {
		return err
	}
	return nil
}

// failIfLost ends all writing if err says that the disk cannot be trusted.
func (w *writer) failIfLost(err error) {
	if errors.Is(err, ledger.ErrStorageFailed) {
		w.store.Fail(err)
	}
}

// checkpoint writes the write-ahead log back into the database. Readers in
// the way are no error: the next checkpoint goes on. Nor is a full disk: the
// log then stays where it is.
func (w *writer) checkpoint(mode string) error {
	whole := false
	if mode != "PASSIVE" {
		if err := w.conn.run("PRAGMA busy_timeout = 100"); err != nil {
			return err
		}
		defer func() { _ = w.conn.run("PRAGMA busy_timeout = 5000") }() // it only sets a number
	}
	_, err := w.conn.queryOne("PRAGMA wal_checkpoint("+mode+")", func(r row) {
		whole = r.Int(0) == 0 && r.Int(1) == r.Int(2) // not busy, and every page of it written back
	})
	if whole {
		w.since.floor = 0
	}
	return err
}

// writeBackSteps is after how many steps of a prune the write-ahead log is
// written back: they leave some 10 MiB there. Pages that many steps change are
// then written back once.
const writeBackSteps = 64

// writeBack writes the write-ahead log back beside the appender, which a prune
// would otherwise hold up with it. The zero value with a store is ready. It
// belongs to one goroutine.
type writeBack struct {
	store *Store
	conn  *conn // nil until it is first needed
	steps int
}

// after follows a step of a prune, and writes back when that is due.
func (b *writeBack) after(ctx context.Context) (err error) {
	if b.steps++; b.steps < writeBackSteps {
		return nil
	}
	b.steps = 0
	if b.conn == nil {
		if b.conn, err = dial(b.store.path, settings(false)); err != nil {
			return err
		}
		if err := b.conn.run("PRAGMA wal_autocheckpoint = 0"); err != nil {
			return err
		}
	}
	if err := lost(b.conn.run("PRAGMA wal_checkpoint(PASSIVE)")); err != nil {
		b.store.Fail(err)
		return err
	}
	if fileSize(b.store.path+"-wal") <= walMax {
		return nil
	}
	// What was committed meanwhile keeps the log from beginning anew. It is
	// little, and nobody commits more while the appender writes it back.
	return b.store.Do(ctx, func() error {
		b.store.w.since.commits = walCommits
		err := b.store.w.Maintain()
		b.store.w.failIfLost(err)
		return err
	})
}

func (b *writeBack) close() error {
	if b.conn == nil {
		return nil
	}
	return b.conn.close()
}
