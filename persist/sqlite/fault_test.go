package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"

	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
)

// The faults need a separate process: the test starts itself again with this
// variable, in a mount namespace or under strace.
const faultVariable = "HOLON_TEST_FAULT_DIR"

func TestErrorsAreClassified(t *testing.T) {
	for _, c := range []struct {
		err  error
		want error
	}{
		{sqlite3.Error{Code: sqlite3.ErrFull}, ledger.ErrStorageFull},
		{sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrSHMSize}, ledger.ErrStorageFull},
		{sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrWrite, SystemErrno: syscall.EDQUOT}, ledger.ErrStorageFull},
		{sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrWrite, SystemErrno: syscall.EIO}, ledger.ErrStorageFailed},
		{sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrFsync, SystemErrno: syscall.ENOSPC}, ledger.ErrStorageFailed},
		{sqlite3.Error{Code: sqlite3.ErrCorrupt}, ledger.ErrStorageFailed},
		{sqlite3.Error{Code: sqlite3.ErrConstraint}, nil},
		{sqlite3.Error{Code: sqlite3.ErrBusy}, nil},
		{errors.New("other"), nil},
	} {
		got := classify("op", c.err)
		for _, class := range []error{ledger.ErrStorageFull, ledger.ErrStorageFailed} {
			if errors.Is(got, class) != (class == c.want) {
				t.Errorf("%#v is %v", c.err, got)
			}
		}
	}
	for _, c := range []struct {
		err  sqlite3.Error
		want bool
	}{
		{sqlite3.Error{Code: sqlite3.ErrFull}, true},
		{sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrWrite, SystemErrno: syscall.EDQUOT}, true},
		{sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrSHMSize}, false}, // the frames are there
		{sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrWrite, SystemErrno: syscall.EIO}, false},
		{sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrFsync}, false},
		{sqlite3.Error{Code: sqlite3.ErrNomem}, false},
	} {
		if got := endedUnwritten(classify("commit", c.err)); got != c.want {
			t.Errorf("%#v ended before its mark was written: %v", c.err, got)
		}
	}
}

// fill appends until the store says that it is full, and checks that what
// was acknowledged is there and nothing else.
func fill(t testing.TB, s *Store) *persisttest.Maker {
	t.Helper()
	m := persisttest.NewMaker(t, s, "thread_a")
	m.Start().Commit()
	last := int64(1)
	for range 20_000 {
		m.Messages("", 3, 2000)
		u := m.Unit()
		r, err := s.Append(u)
		if err == nil {
			m.Took(u, r)
			last = r.Last
			continue
		}
		if !errors.Is(err, ledger.ErrStorageFull) {
			t.Fatalf("the disk is full: %v", err)
		}
		if rows := persisttest.RowsOf[*items.Item](u); rows[0].CreatedSeq != notify.Provisional(0) || rows[2].UpdatedSeq != notify.Provisional(2) {
			t.Error("a failed commit gave its rows real seqs")
		}
		if err := s.Healthy(); !errors.Is(err, ledger.ErrStorageFull) {
			t.Errorf("healthy says %v", err)
		}
		checkLogEnd(t, s, last)
		return m
	}
	t.Fatal("the disk never was full")
	return nil
}

// checkLogEnd reads the whole log and compares it with what was acknowledged.
func checkLogEnd(t testing.TB, s *Store, last int64) {
	t.Helper()
	p, err := s.reader.Page(context.Background(), notify.Query{After: last - 1, MaxEvents: 10, MaxBytes: 1 << 20})
	if err != nil || p.Latest != last || len(p.Events) != 1 || s.Tail().Head() != last {
		t.Errorf("acknowledged up to %d, the log has %d, the tail %d, %v", last, p.Latest, s.Tail().Head(), err)
	}
	if out, err := persist.Refold(context.Background(), s.reader); err != nil || len(out.Differences) > 0 {
		t.Errorf("refold %+v, %v", out, err)
	}
}

func TestFullDatabaseRecoversWithoutRestart(t *testing.T) {
	s := running(t, Options{Dir: t.TempDir()})
	limit := func(pages int) {
		t.Helper()
		if err := s.Do(context.Background(), func() error { return s.w.conn.run(fmt.Sprintf("PRAGMA max_page_count = %d", pages)) }); err != nil {
			t.Fatal(err)
		}
	}
	limit(300)
	m := fill(t, s)
	limit(1 << 30)
	m.Messages("", 3, 2000)
	r := m.Commit()
	if err := s.Healthy(); err != nil {
		t.Errorf("there is space again: %v", err)
	}
	checkLogEnd(t, s, r.Last)
}

func TestFullDiskRecoversWithoutRestart(t *testing.T) {
	if dir := os.Getenv(faultVariable); dir != "" {
		fullDisk(t, dir)
		return
	}
	if os.Getuid() != 0 {
		hosttest.Need(t, "a small tmpfs needs root")
	}
	rerun(t, exec.Command(os.Args[0], "-test.run=^TestFullDiskRecoversWithoutRestart$", "-test.v"), &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}, t.TempDir())
}

// fullDisk runs in a separate mount namespace.
func fullDisk(t *testing.T, dir string) {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Fatal(err)
	}
	s := running(t, Options{Dir: filepath.Join(dir, "data")})
	m := fill(t, s)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	for range 50 { // the probe comes every second
		if s.Healthy() == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err := s.Healthy(); err != nil {
		t.Errorf("there is space, without an append: %v", err)
	}
	m.Messages("", 3, 2000)
	r := m.Commit()
	checkLogEnd(t, s, r.Last)
}

func TestFailedFsyncStopsWritesPermanently(t *testing.T) {
	if dir := os.Getenv(faultVariable); dir != "" {
		failedFsync(t, dir)
		return
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		hosttest.Need(t, "strace is not installed")
	}
	for _, when := range []int{12, 13, 20} {
		t.Run(fmt.Sprint(when), func(t *testing.T) {
			dir := t.TempDir()
			s, err := Open(Options{Dir: dir}) // here, or the fsync that fails might be one of a migration
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			rerun(t, exec.Command(strace, "-f", "-o", filepath.Join(t.TempDir(), "trace"), "-e", "trace=fsync,fdatasync",
				"-e", fmt.Sprintf("inject=fsync,fdatasync:error=EIO:when=%d", when),
				os.Args[0], "-test.run=^TestFailedFsyncStopsWritesPermanently$", "-test.v"), nil, dir)
			// The restart is here, where no fsync fails: strace counts per thread.
			last := acknowledged(t, dir)
			r := running(t, Options{Dir: dir})
			if at, err := r.reader.Position(context.Background()); err != nil || at.Latest < last {
				t.Errorf("after a restart the log ends at %d, acknowledged was %d, %v", at.Latest, last, err)
			}
		})
	}
}

// failedFsync runs under strace: one fsync of many fails, all others succeed.
func failedFsync(t *testing.T, dir string) {
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	m := persisttest.NewMaker(t, s, "thread_a")
	m.Start()
	last := int64(0)
	for n := 0; ; n++ {
		if n == 100 {
			t.Fatal("no fsync failed: FULL does not sync every commit?")
		}
		m.Messages("", 1, 100)
		u := m.Unit()
		r, err := s.Append(u)
		if err == nil {
			m.Took(u, r)
			last = r.Last
			continue
		}
		if !errors.Is(err, ledger.ErrStorageFailed) {
			t.Fatalf("fsync failed: %v", err)
		}
		break
	}
	for range 3 {
		m.Messages("", 1, 100)
		if _, err := s.Append(m.Unit()); !errors.Is(err, ledger.ErrStorageFailed) {
			t.Errorf("later: %v", err)
		}
	}
	if err := s.Healthy(); !errors.Is(err, ledger.ErrStorageFailed) {
		t.Errorf("healthy says %v", err)
	}
	p, err := s.reader.Page(ctx, notify.Query{MaxEvents: 1000, MaxBytes: 1 << 20})
	if err != nil || p.Latest != last || int64(len(p.Events)) != last || s.Tail().Head() != last {
		t.Errorf("acknowledged up to %d, read up to %d, the tail %d, %v", last, p.Latest, s.Tail().Head(), err)
	}
	cancel()
	if err := errors.Join(<-done, s.Close()); err != nil {
		t.Error(err)
	}
	acknowledge(t, dir, last)
}

// acknowledgedFile is where the process with the failure writes the last seq that
// it acknowledged.
func acknowledgedFile(dir string) string { return filepath.Join(dir, "acknowledged") }

func acknowledge(t *testing.T, dir string, last int64) {
	t.Helper()
	if err := os.WriteFile(acknowledgedFile(dir), fmt.Append(nil, last), 0o600); err != nil {
		t.Error(err)
	}
}

func acknowledged(t *testing.T, dir string) int64 {
	t.Helper()
	text, err := os.ReadFile(acknowledgedFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	last, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return last
}

// rerun runs this test again in a separate process.
func rerun(t *testing.T, cmd *exec.Cmd, attr *syscall.SysProcAttr, dir string) {
	t.Helper()
	cmd.Env = append(os.Environ(), faultVariable+"="+dir)
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if attr != nil && errors.Is(err, syscall.EPERM) {
		hosttest.Need(t, "mount namespaces are not allowed here")
	}
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}
