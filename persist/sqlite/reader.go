package sqlite

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
)

// Reading connections are separated by how long a reader holds one, so that no
// read waits for a slower kind. Hundreds of streams that replay queue for the
// scans and delay no command.
const (
	engineConns = 2 // reads on which the engine decides
	pointConns  = 2 // single rows that clients read
	scanConns   = 4 // pages of the log, and lists: enough to keep a few cores busy, few enough that they queue instead of thrashing
)

// Reader reads a store. It is the reading half of a Store, or is used alone by a
// process beside the server (doctor, export, backup). It implements turns.Rows
// and turns.Reader. All methods may be called from many goroutines.
type Reader struct {
	*persist.Reads
	dir, path string

	engine, points, scans pool

	copies *notify.Copies

	head  func(context.Context) (*persist.Head, error) // in memory for a Store, else storedHead
	sizes atomic.Pointer[sizes]
}

func newReader(dir string, now func() time.Time) *Reader {
	s := &Reader{
		dir: dir, path: filepath.Join(dir, FileName),
		engine: make(pool, engineConns), points: make(pool, pointConns), scans: make(pool, scanConns),
	}
	s.copies = notify.NewCopies(copyBytes, s.event)
	s.Reads, s.head = persist.NewReads(s, now), s.storedHead
	return s
}

// OpenReader opens the store of a data directory for reading, also while a
// server has it open. The database must exist and be of this program's schema
// version. The caller must close the Reader.
func OpenReader(dir string) (*Reader, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	v := newReader(dir, time.Now)
	if _, err := os.Stat(v.path); err != nil {
		return nil, err
	}
	if err := v.dial(); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	if err := v.points.read(context.Background(), checkVersion); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", v.path, err), v.Close())
	}
	return v, nil
}

func checkVersion(c *conn) error {
	version, err := userVersion(c)
	if err != nil {
		return err
	}
	switch known := SchemaVersion(); {
	case version > known:
		return &NewerError{Database: version, Program: known}
	case version == 0:
		return errors.New("the database is empty, there is no log in it")
	case version < known:
		return fmt.Errorf("the database has schema version %d, this program %d: holon serve migrates it", version, known)
	}
	return nil
}

func (s *Reader) dial() error {
	for _, l := range s.pools() {
		for range cap(l) {
			c, err := dial(s.path, url.Values{"mode": {"rw"}, "_query_only": {"1"}, "_busy_timeout": {"5000"}, "_txlock": {"deferred"}})
			if err != nil {
				return fmt.Errorf("open %s for reading: %w", s.path, err)
			}
			l <- c
		}
	}
	return nil
}

// Dir returns the data directory.
func (s *Reader) Dir() string { return s.dir }

// Close closes the connections. No other method may be running. Closing twice
// is fine.
func (s *Reader) Close() error {
	var errs []error
	for _, l := range s.pools() {
		for len(l) > 0 {
			errs = append(errs, (<-l).close())
		}
	}
	return errors.Join(errs...)
}

// Read calls f with the rows of one snapshot, which ends when f returns.
func (s *Reader) Read(ctx context.Context, f func(ledger.Reader) error) error {
	return s.points.read(ctx, func(c *conn) error { return f(&tx{c}) })
}

// read calls f with a connection for pages and lists.
func (s *Reader) read(ctx context.Context, f func(*conn) error) error { return s.scans.read(ctx, f) }

// Snapshot implements persist.Snapshots.
func (s *Reader) Snapshot(ctx context.Context, l persist.ReadClass, f func(persist.Snapshot) error) error {
	return s.pools()[l].read(ctx, func(c *conn) error { return f(&tx{c}) })
}

// pools returns the connections in the order of persist.ReadClass.
func (s *Reader) pools() []pool { return []pool{s.engine, s.points, s.scans} }

// pool is a set of reading connections: those in the channel are idle.
type pool chan *conn

// read calls f with a connection in one transaction, which is one snapshot. Its
// queries end with ctx's error when ctx ends.
func (l pool) read(ctx context.Context, f func(*conn) error) error {
	return l.query(ctx, func(c *conn) (err error) {
		if _, err := c.exec("BEGIN"); err != nil {
			return err
		}
		defer func() {
			if _, e := c.exec("COMMIT"); err == nil {
				err = e
			}
		}()
		return f(c)
	})
}

// query does what read does, without a transaction: for one query, which is a snapshot by itself.
func (l pool) query(ctx context.Context, f func(*conn) error) error {
	var c *conn
	select {
	case c = <-l:
	case <-ctx.Done():
		return ctx.Err()
	}
	c.ctx = ctx
	defer func() {
		c.ctx = context.Background()
		l <- c
	}()
	return f(c)
}

// sizes is how large the files are.
type sizes struct {
	at            time.Time
	database, wal int64
}

// fileSizes returns sizes up to a second old: holon/status is asked thousands of times a
// second.
func (s *Reader) fileSizes() *sizes {
	if sz := s.sizes.Load(); sz != nil && time.Since(sz.at) <= time.Second {
		return sz
	}
	fresh := &sizes{at: time.Now(), database: fileSize(s.path), wal: fileSize(s.path + "-wal")}
	s.sizes.Store(fresh)
	return fresh
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0 // the write-ahead log need not exist
	}
	return info.Size()
}
