package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed82539d15/holon/ledger"
)

// When the write-ahead log is written back. A commit of one small event touches
// about ten pages, so 400 commits leave the file at 16 MiB. 4 MiB of events, with
// their rows and indexes, leave it at about 20 MiB. This is often enough that
// the file soon stops growing: an fsync of overwritten blocks is faster. It is also
// seldom enough: what comes next waits some milliseconds, and a turn has four commits
// or more, so that less than one turn in a hundred begins or ends later by it. Above
// walMax the checkpoint waits for readers, so that the file is used again from
// its beginning.
const (
	walCommits = 400
	walBytes   = 4 << 20
	walMax     = 64 << 20
)

// wal counts what was written since the last checkpoint.
type wal struct {
	commits int
	bytes   int
	floor   int64 // size of the file when a reader last prevented a checkpoint
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
	return w.writeBack()
}

// writeBack writes the write-ahead log back. Its error wraps
// ledger.ErrStorageFailed.
func (w *writer) writeBack() error {
	w.since.commits, w.since.bytes = 0, 0
	mode := "PASSIVE"
	if size := fileSize(w.store.reader.path + "-wal"); size > w.limit+w.since.floor {
		mode, w.since.floor = "TRUNCATE", size // waits for a long reader again only after another w.limit
	}
	return onlyFailed(w.checkpoint(mode))
}

// onlyFailed returns the error of a checkpoint if the disk cannot be trusted
// after it, else nil. After a full disk it can: the write-ahead log stays as it
// is.
func onlyFailed(err error) error {
	if err = classify("write the log back", err); errors.Is(err, ledger.ErrStorageFailed) {
		return err
	}
	return nil
}

// failIfLost stops all writing if err says that the disk cannot be trusted.
func (w *writer) failIfLost(err error) {
	if errors.Is(err, ledger.ErrStorageFailed) {
		w.store.Fail(err)
	}
}

// checkpoint writes the write-ahead log back into the database. Readers that
// prevent it are no error: the next checkpoint continues. Nor is a full disk: the
// log then stays as it is.
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
// written back. They leave about 10 MiB in it, and pages that many steps change
// are written back only once.
const writeBackSteps = 16

// writeBack writes the write-ahead log back outside the appender's goroutine, so
// that a prune does not delay the appender. The zero value with a store is
// ready. It belongs to one goroutine.
type writeBack struct {
	store *Store
	conn  *conn // nil until it is first needed
	steps int
}

// after runs after a step of a prune, and writes back when that is due.
func (b *writeBack) after(ctx context.Context) (err error) {
	if b.steps++; b.steps < writeBackSteps {
		return nil
	}
	b.steps = 0
	if b.conn == nil {
		if b.conn, err = dial(b.store.reader.path, settings(false)); err != nil {
			return err
		}
		if err := b.conn.run("PRAGMA wal_autocheckpoint = 0"); err != nil {
			return err
		}
	}
	if err := b.write(); err != nil {
		b.store.Fail(err)
		return err
	}
	// Commits made meanwhile keep the write-ahead log from being used from its
	// beginning. They are few, and no others come while the appender writes them
	// back.
	return b.store.Do(ctx, func() error {
		err := b.store.w.writeBack()
		b.store.w.failIfLost(err)
		return err
	})
}

// write writes back what is committed, and syncs it: SQLite does not when commits
// were made meanwhile, and would leave the fsync of everything to the appender.
func (b *writeBack) write() error {
	if err := onlyFailed(b.conn.run("PRAGMA wal_checkpoint(PASSIVE)")); err != nil {
		return err
	}
	if err := errors.Join(writeOut(b.store.file), b.store.file.Sync()); err != nil {
		return fmt.Errorf("sync the database: %w: %w", ledger.ErrStorageFailed, err)
	}
	return nil
}

func (b *writeBack) close() error {
	if b.conn == nil {
		return nil
	}
	return b.conn.close()
}
