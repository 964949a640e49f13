package sqlite

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/persist"
)

func TestSecondServerOnADirectoryIsRefused(t *testing.T) {
	dir := t.TempDir()
	running(t, Options{Dir: dir})
	_, err := Open(Options{Dir: dir})
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() || !strings.Contains(err.Error(), "process") {
		t.Errorf("the second open: %v", err)
	}
}

func TestLockIsCheckedWithoutBeingTaken(t *testing.T) {
	dir := t.TempDir()
	if err := CheckLock(dir); err != nil {
		t.Errorf("an empty directory: %v", err)
	}
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var locked *LockedError
	if err := CheckLock(dir); !errors.As(err, &locked) || locked.PID != os.Getpid() || locked.Dir != dir {
		t.Errorf("while it is open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := CheckLock(dir); err != nil {
			t.Errorf("after its end: %v", err)
		}
	}
	running(t, Options{Dir: dir})
}

// A child that is being forked holds the lock's file a moment longer.
func TestLockEndsWithTheStoreWhileItsFileIsStillHeld(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	held, err := syscall.Dup(int(s.lock.file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(held) }()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	running(t, Options{Dir: dir})
}

func TestFilesAreTheirOwnersOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := running(t, Options{Dir: dir})
	persisttest.NewMaker(t, s, "thread_a").Start().Commit()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestWriterIsDurable(t *testing.T) {
	for normal, want := range map[bool]string{false: "2", true: "1"} {
		s := running(t, Options{Dir: t.TempDir(), Normal: normal})
		for name, want := range map[string]string{"synchronous": want, "journal_mode": "wal", "wal_autocheckpoint": "0"} {
			if got, err := s.w.conn.pragma(name); err != nil || got != want {
				t.Errorf("normal %v: %s is %s, %v", normal, name, got, err)
			}
		}
	}
	c, err := dial(filepath.Join(t.TempDir(), "x.db"), settings(true))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := assertDurable(c, false); err == nil {
		t.Error("a connection with synchronous=NORMAL passed for durable")
	}
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	dir := t.TempDir()
	closed(t, dir, func(s *Store) {
		if err := s.w.conn.run("PRAGMA user_version = 99"); err != nil {
			t.Fatal(err)
		}
	})
	var newer *NewerError
	if _, err := Open(Options{Dir: dir}); !errors.As(err, &newer) || newer.Database != 99 {
		t.Errorf("open: %v", err)
	}
	if _, err := OpenReader(dir); !errors.As(err, &newer) {
		t.Errorf("open a reader: %v", err)
	}
}

// closed opens a store that is not run, and closes it.
func closed(t *testing.T, dir string, f func(*Store)) {
	t.Helper()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	f(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

func TestMigrationKeepsACopy(t *testing.T) {
	dir := t.TempDir()
	c, err := dial(filepath.Join(dir, FileName), settings(false))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := c.run("CREATE TABLE old (x); PRAGMA user_version = 1"); err != nil {
		t.Fatal(err)
	}
	if err := copyBefore(c, copyName(dir, 1, time.UnixMilli(1e12))); err != nil {
		t.Fatal(err)
	}
	copies, err := filepath.Glob(filepath.Join(dir, "backups", "*.db"))
	if err != nil || len(copies) != 1 {
		t.Fatalf("copies: %v, %v", copies, err)
	}
	k, err := dial(copies[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	defer k.close()
	if found, err := k.queryOne("SELECT name FROM sqlite_schema WHERE name = 'old'", func(row) {}); !found || err != nil {
		t.Errorf("the copy lacks what was there: %v", err)
	}
}

func TestFailedMigrationChangesNothing(t *testing.T) {
	c, err := dial(filepath.Join(t.TempDir(), FileName), settings(false))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := c.run("CREATE TABLE items (x)"); err != nil { // in the way of the first step
		t.Fatal(err)
	}
	if err := migrate(c, t.TempDir(), Options{Now: time.Now}); err == nil {
		t.Fatal("migrated over a table in the way")
	}
	if version, err := c.pragma("user_version"); version != "0" || err != nil {
		t.Errorf("version is %s, %v", version, err)
	}
	if found, _ := c.queryOne("SELECT 1 FROM sqlite_schema WHERE name = 'events'", func(row) {}); found {
		t.Error("half a migration stayed")
	}
}

func TestBackupUnderLoadRestoresWhole(t *testing.T) {
	ctx := context.Background()
	s := running(t, Options{Dir: t.TempDir()})
	var wg sync.WaitGroup
	stop := make(chan struct{})
	m := persisttest.NewMaker(t, s, "thread_a")
	m.Start()
	m.StartTurn("turn_a")
	m.Commit()
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				m.Messages("turn_a", 5, 100)
				m.Commit()
			}
		}
	})
	for n := range 3 {
		acknowledged, err := s.reader.Position(ctx)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "b.db")
		if err := s.reader.Backup(ctx, file); err != nil {
			t.Fatal(err)
		}
		if err := s.reader.Backup(ctx, file); err == nil {
			t.Error("a backup replaced a file")
		}
		dir := filepath.Join(t.TempDir(), "restored")
		restored, err := Restore(file, dir)
		if err != nil {
			t.Fatal(err)
		}
		v, err := OpenReader(dir)
		if err != nil {
			t.Fatal(err)
		}
		if bad := worst(t, v); len(bad) > 0 {
			t.Errorf("doctor on what was restored: %v", bad)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
		r := running(t, Options{Dir: dir})
		at, err := r.reader.Position(ctx)
		if err != nil || at.Latest < acknowledged.Latest || at.LogID == acknowledged.LogID || at != restored {
			t.Errorf("restored %+v, %v, which returned %+v; acknowledged before the backup %+v", at, err, restored, acknowledged)
		}
		if theirs, err := s.reader.LeaseSecret(ctx); err != nil {
			t.Error(err)
		} else if ours, err := r.reader.LeaseSecret(ctx); err != nil || len(ours) != secretBytes || bytes.Equal(ours, theirs) {
			t.Errorf("the restored log signs leases with %x, the original with %x, %v", ours, theirs, err)
		}
		var log bytes.Buffer
		if last, err := persist.Export(ctx, r.reader, &log, 0); err != nil || last != at.Latest || bytes.Count(log.Bytes(), []byte("\n")) != int(last) {
			t.Errorf("restored log up to %d, %v", last, err)
		}
		if out, err := persist.Refold(ctx, r.reader); err != nil || len(out.Differences) > 0 || out.Threads != 1 {
			t.Errorf("refold of backup %d: %+v, %v", n, out, err)
		}
		if _, err := Restore(file, dir); !errors.Is(err, ErrNotEmpty) {
			t.Errorf("restore over a log: %v", err)
		}
	}
	close(stop)
	wg.Wait()
}

func TestRestoreRefusesWhatIsNoBackup(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other.db")
	c, err := dial(other, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.run("CREATE TABLE t (x)"), c.close()); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{text, other, filepath.Join(dir, "none")} {
		target := filepath.Join(dir, "target")
		if _, err := Restore(file, target); err == nil {
			t.Errorf("restored %s", file)
		}
		if entries, err := os.ReadDir(target); err == nil {
			t.Errorf("%s left %v", file, entries)
		}
	}
}

func TestLogIsNotBegunWhereARestoreWasCutShort(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, restoring), []byte("SQLite format 3"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(Options{Dir: dir}); !errors.Is(err, errCutShort) {
		t.Errorf("opened %v, %v", s, err)
	}
	if _, err := os.Stat(filepath.Join(dir, FileName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the log: %v", err)
	}
}

func TestDoctorSeesDamage(t *testing.T) {
	ctx := context.Background()
	for name, damage := range map[string]string{
		"a gap in the log":   "DELETE FROM events WHERE seq = 3",
		"a lost beginning":   "DELETE FROM events WHERE seq = 1",
		"a row from nowhere": "UPDATE items SET updated_seq = 1000",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := running(t, Options{Dir: dir})
			m := persisttest.NewMaker(t, s, "thread_a")
			m.Start()
			m.Messages("", 5, 5)
			m.Commit()
			v, err := OpenReader(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			if bad := worst(t, v); len(bad) > 0 {
				t.Errorf("of a sound log: %v", bad)
			}
			if err := s.Do(ctx, func() error { return s.w.conn.run(damage) }); err != nil {
				t.Fatal(err)
			}
			if bad := worst(t, v); len(bad) == 0 {
				t.Error("nothing found")
			}
		})
	}
}

// Each kind of damage to attempts and steps has its own finding.
func TestDoctorSeesDamagedAttempts(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct{ want, damage string }{
		{"tries", "DELETE FROM steps WHERE seq = 9"},
		{"tries", "UPDATE items SET span = 77 WHERE item_id = 'item_c'"},
		{"markers", "UPDATE steps SET hidden_by = 10 WHERE hidden_by = 11"},
		{"markers", "UPDATE steps SET hidden_by = NULL WHERE seq = 4"},
		{"markers", "UPDATE steps SET hidden_after = 5 WHERE seq = 5"},
		{"fence", "UPDATE steps SET hidden_by = 11, hidden_after = 1 WHERE seq = 14"},
		{"ends", "UPDATE steps SET hidden_by = 11, hidden_after = 1 WHERE seq = 13"},
		{"ends", "UPDATE turns SET state = 'active'"},
		{"rows", "UPDATE steps SET updated_seq = 100 WHERE seq = 13"},
	} {
		t.Run(c.damage, func(t *testing.T) {
			s := running(t, Options{Dir: t.TempDir()})
			persisttest.WorkedExample(t, s)
			if bad := worst(t, s.reader); len(bad) > 0 {
				t.Errorf("of a sound log: %v", bad)
			}
			if err := s.Do(ctx, func() error { return s.w.conn.run(c.damage) }); err != nil {
				t.Fatal(err)
			}
			if bad := worst(t, s.reader); !slices.ContainsFunc(bad, func(f Finding) bool { return f.Name == c.want }) {
				t.Errorf("found %v, want %s", bad, c.want)
			}
		})
	}
}

func worst(t *testing.T, v *Reader) (bad []Finding) {
	t.Helper()
	list, err := v.Check(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if f.Level == Error && f.Name != "permissions" { // a test's directory is open
			bad = append(bad, f)
		}
	}
	return bad
}

type tampering struct{ damage, want string }

func TestRefoldSeesEveryTamperedColumn(t *testing.T) {
	s := running(t, Options{Dir: t.TempDir()})
	m := persisttest.NewMaker(t, s, "thread_a")
	m.Start()
	m.StartTurn("turn_a")
	m.Messages("turn_a", 2, 5)
	m.EndTurn("turn_a")
	m.Commit()
	refoldSees(t, s, []tampering{
		{"UPDATE threads SET title = 'x'", "title"},
		{"UPDATE threads SET latest_thread_seq = 99", "latest_thread_seq"},
		{"UPDATE turns SET state = 'failed'", "state"},
		{"UPDATE turns SET usage = NULL", "usage"},
		{"UPDATE items SET status = 'failed' WHERE created_seq = 3", "status"},
		{"UPDATE items SET content = CAST('{}' AS BLOB) WHERE created_seq = 4", "content"},
		{"DELETE FROM items WHERE created_seq = 3", "row"},
		{"DELETE FROM turns", "row"},
		{`UPDATE meta SET runtime = CAST('{"paused":true}' AS BLOB)`, "paused"},
	})
	s = running(t, Options{Dir: t.TempDir()})
	persisttest.WorkedExample(t, s)
	refoldSees(t, s, []tampering{
		{`UPDATE threads SET forked_from = CAST('{"thread_id":"x"}' AS BLOB)`, "forked_from"},
		{`UPDATE turns SET retry = CAST('{"max_attempts":3}' AS BLOB)`, "retry"},
		{"UPDATE turns SET retry_at = 1", "retry_at"},
		{"UPDATE turns SET used_ms = 1", "used_ms"},
		{"UPDATE turns SET worker = 'x'", "worker"},
		{"UPDATE turns SET claimed_seq = 1", "claimed_seq"},
		{"UPDATE turns SET first_started_at = 1", "first_started_at"},
		{"UPDATE items SET span = 4 WHERE item_id = 'item_c'", "lineage"},
		{"UPDATE items SET span = 0 WHERE item_id = 'item_c'", "span"},
		{"UPDATE steps SET status = 'failed' WHERE seq = 14", "status"},
		{"UPDATE steps SET late = 9 WHERE seq = 2", "late"},
		{"UPDATE steps SET epoch = 9 WHERE seq = 14", "epoch"},
		{"UPDATE steps SET hidden_after = 0 WHERE seq = 9", "hiddenafter"},
		{"UPDATE steps SET hidden_by = 11 WHERE seq = 5", "superseded_by_seq"},
		{"UPDATE steps SET hidden_by = NULL, hidden_after = NULL WHERE seq = 4", "superseded"},
		{"DELETE FROM steps WHERE seq = 14", "row"},
	})
}

// refoldSees tampers with rows, one after the other.
func refoldSees(t *testing.T, s *Store, list []tampering) {
	t.Helper()
	ctx := context.Background()
	for _, c := range list {
		if err := s.Do(ctx, func() error { return s.w.conn.run("SAVEPOINT t; " + c.damage + "; RELEASE t") }); err != nil {
			t.Fatal(err)
		}
		v, err := OpenReader(s.reader.Dir())
		if err != nil {
			t.Fatal(err)
		}
		out, err := persist.Refold(ctx, v)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, d := range out.Differences {
			found = found || d.Column == c.want
		}
		if !found {
			t.Errorf("%s: found %v", c.damage, out.Differences)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
}
