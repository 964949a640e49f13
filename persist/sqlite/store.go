package sqlite

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/turns"
)

// FileName is the database's name in its data directory.
const FileName = "holon.db"

// Options says how to open a store. Only Dir is needed.
type Options struct {
	Dir string // the data directory; made with mode 0700 if absent

	// Normal trades durability against power loss for speed: an acknowledged
	// commit may be lost after a power cut, but not after a crash of the
	// process. The default is synchronous=FULL.
	Normal bool

	TailBytes int              // bound of the tail in memory; 0 = 16 MiB
	Now       func() time.Time // nil = time.Now
	Observer  persist.Observer

	// Beside are names of files and directories that a server makes in Dir once it has a
	// log. An empty database beside one of them has lost its log, and is refused.
	Beside []string

	// Migrating is called before a database with data is migrated, and again when that
	// is committed; nil = nobody is told.
	Migrating func(Migration)
}

// Migration is the change of a database to a newer schema.
type Migration struct {
	From, To int
	Copy     string        // where the database is copied to before
	Took     time.Duration // 0 = it begins
}

// Store is the log in one SQLite database. It changes the log, its Reader reads it.
// It implements turns.Store and persist.Pruner. All methods may be called from
// many goroutines, Run once.
type Store struct {
	*persist.Appender
	reader *Reader
	tail   *notify.Tail
	lock   *dirLock
	// file is the database, for syncing it. It is closed after the connections,
	// because closing it drops the locks that SQLite has on the file.
	file *os.File

	floor func() int64 // see KeepFrom

	w   *writer
	now func() time.Time

	runEvents int // const runEvents; less in tests
}

// Open locks the data directory, migrates the database and checks that it is
// durable. It starts nothing: see Run. Errors are a *LockedError if another
// process has the directory open, a *NewerError if a later version of the program
// wrote the database, an *EmptyError if something has emptied it, or the system's.
func Open(o Options) (_ *Store, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &Store{reader: newReader(dir, o.Now), now: o.Now, floor: noFloor, runEvents: runEvents}
	if s.lock, err = lockDir(dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := checkRestored(dir); err != nil {
		return nil, err
	}
	if err := checkEmptied(s.reader.path, o.Beside); err != nil {
		return nil, err
	}
	if s.file, err = openUserOnly(s.reader.path); err != nil {
		return nil, err
	}
	// The directory entries of the database must survive a power cut too.
	if err := errors.Join(syncPath(dir), syncPath(filepath.Dir(dir))); err != nil {
		return nil, err
	}
	c, err := dial(s.reader.path, settings(o.Normal))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", s.reader.path, err)
	}
	s.w = &writer{conn: c, store: s, limit: walMax, synchronous: synchronous(o.Normal)}
	if err := assertDurable(c, o.Normal); err != nil {
		return nil, err
	}
	if err := migrate(c, dir, o); err != nil {
		return nil, fmt.Errorf("open %s: %w", s.reader.path, err)
	}
	if err := s.w.open(); err != nil {
		return nil, fmt.Errorf("open %s: %w", s.reader.path, err)
	}
	if err := s.reader.dial(); err != nil {
		return nil, err
	}
	w := s.w
	s.reader.head = func(context.Context) (*persist.Head, error) { return w.Head(), nil }
	s.tail = notify.NewTail(o.TailBytes, s.w.Head().Latest)
	s.Appender = persist.NewAppender(s.w, s.tail, o.Observer)
	return s, nil
}

// openUserOnly opens the database file. If there is none, it makes one that only
// its owner can read. SQLite gives its other files the same mode.
func openUserOnly(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}

func synchronous(normal bool) string {
	if normal {
		return "NORMAL"
	}
	return "FULL"
}

func settings(normal bool) url.Values {
	return url.Values{
		"_journal_mode": {"WAL"}, "_synchronous": {synchronous(normal)}, "_txlock": {"immediate"},
		"_busy_timeout": {"5000"}, "_foreign_keys": {"1"},
	}
}

// assertDurable refuses a database that would lose what it acknowledged, because
// of a build default or a file system without WAL.
func assertDurable(c *conn, normal bool) error {
	want := map[string]string{"journal_mode": "wal", "synchronous": "2"}
	if normal {
		want["synchronous"] = "1"
	}
	for name, value := range want {
		got, err := c.pragma(name)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if !strings.EqualFold(got, value) {
			return fmt.Errorf("the database has %s=%s, it must be %s", name, got, value)
		}
	}
	// The writer runs checkpoints and checks their errors: a failed fsync in an
	// automatic checkpoint would go unnoticed.
	return c.run("PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY")
}

// Reader returns the reading half of the store. It has in memory where the log begins and ends, its counts
// and the pause. Only the Store closes it.
func (s *Store) Reader() *Reader { return s.reader }

// Stored implements turns.Store.
func (s *Store) Stored(ctx context.Context, key string) (*ledger.Stored, error) {
	return s.reader.Stored(ctx, key)
}

// Tail returns the tail to which committed events are published.
func (s *Store) Tail() *notify.Tail { return s.tail }

// Close writes the log back into the database and closes everything. Run must
// have returned, and no other method may be running. Closing twice is fine.
func (s *Store) Close() error {
	errs := []error{s.reader.Close()}
	if s.w != nil {
		if s.Appender == nil || s.Healthy() == nil {
			errs = append(errs, s.w.checkpoint("TRUNCATE"))
		}
		errs = append(errs, s.w.conn.close())
		s.w = nil
	}
	if s.file != nil {
		errs = append(errs, s.file.Close())
		s.file = nil
	}
	if s.lock != nil {
		errs = append(errs, s.lock.release())
		s.lock = nil
	}
	return errors.Join(errs...)
}

var (
	_ turns.Store       = (*Store)(nil)
	_ turns.Rows        = (*Reader)(nil)
	_ turns.Reader      = (*Reader)(nil)
	_ inbox.Reader      = (*Reader)(nil)
	_ cursors.Reader    = (*Reader)(nil)
	_ persist.Committer = (*writer)(nil)
	_ persist.Pruner    = (*Store)(nil)
)
