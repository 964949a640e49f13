package sqlite

import (
	"fmt"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/turns"
)

// writer is the one connection that changes the database. It belongs to the
// goroutine that runs the appender, and before Run to the one that opens. It
// implements persist.Committer; the embedded Writer defines what a commit means.
type writer struct {
	*persist.Writer
	conn  *conn
	store *Store
	// synchronous is what commits survive: with FULL a power cut, with NORMAL
	// only a crash of the process.
	synchronous string
	since       wal   // written since the last checkpoint
	limit       int64 // bytes of write-ahead log above which a checkpoint waits for readers
	shm         *int  // descriptor of the index of the write-ahead log: see disown
}

// open reads the head of the log.
func (w *writer) open() error {
	var keys persist.Keys
	// The smallest index: the table has results, which are large.
	if _, err := w.conn.queryOne("SELECT max(id), (SELECT count(*) FROM idempotency INDEXED BY idempotency_requester) FROM idempotency", func(r row) {
		keys = persist.Keys{Newest: r.Int(0), Stored: r.Int(1)}
	}); err != nil {
		return err
	}
	return headOf(w.conn, func(head persist.Head, unfinished []*turns.Turn) {
		w.Writer = persist.NewWriter(w, w.store.now, head, unfinished, keys)
	})
}

// Transaction implements persist.Database.
func (w *writer) Transaction(f func(persist.Tx) error) error {
	return w.transaction(func() error { return f(&tx{w.conn}) })
}

// Wrote implements persist.Database.
func (w *writer) Wrote(bytes int) { w.since.add(bytes) }

// transaction executes f between BEGIN and COMMIT. After a failure nothing of it
// remains, or the store has failed permanently.
func (w *writer) transaction(f func() error) error {
	if _, err := w.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return classify("begin", err)
	}
	err := persist.Guard(f) // a panic is rolled back like any other failure
	op := "append"
	if err == nil {
		op = "commit"
		_, err = w.conn.exec("COMMIT")
	}
	if err == nil {
		return nil
	}
	err = classify(op, err)
	// SQLite rolls back by itself after some errors. If it has not and cannot,
	// later changes might become part of this transaction.
	if !w.conn.c.AutoCommit() {
		if _, e := w.conn.exec("ROLLBACK"); e != nil && !w.conn.c.AutoCommit() {
			return fmt.Errorf("roll back after %w: %w: %w", err, ledger.ErrStorageFailed, e)
		}
	}
	if op == "commit" && !endedUnwritten(err) {
		if e := w.disown(); e != nil {
			return fmt.Errorf("%w; it may come back after a crash: %w: %w", err, ledger.ErrStorageFailed, e)
		}
	}
	return err
}

// Probe implements persist.Committer.
func (w *writer) Probe() error {
	return w.transaction(func() error {
		_, err := w.conn.exec("UPDATE meta SET probed_at = ?", w.store.now().UnixMilli())
		return err
	})
}
