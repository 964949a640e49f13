package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/ledger"
)

// TestChangeThatWasRefusedAtItsCommitNeverComesBack has the disk full when the
// index of the write-ahead log has to grow: at a commit whose frames, mark
// included, are in the log and synced.
func TestChangeThatWasRefusedAtItsCommitNeverComesBack(t *testing.T) {
	if dir := os.Getenv(faultVariable); dir != "" {
		fullIndex(t, dir)
		return
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		hosttest.Need(t, "strace is not installed")
	}
	for _, more := range []int{0, 1} {
		t.Run(fmt.Sprintf("killed after %d further commits", more), func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("HOLON_TEST_MORE", strconv.Itoa(more))
			// The first page of the index takes 8 writes, the next one fails twice.
			rerun(t, exec.Command(strace, "-f", "-o", filepath.Join(t.TempDir(), "trace"), "-P", filepath.Join(dir, FileName+"-shm"),
				"-e", "trace=pwrite64", "-e", "inject=pwrite64:error=ENOSPC:when=9..10",
				os.Args[0], "-test.run=^TestChangeThatWasRefusedAtItsCommitNeverComesBack$", "-test.v"), nil, dir)
			last := acknowledged(t, dir)
			s := running(t, Options{Dir: dir})
			if at, err := s.reader.Position(context.Background()); err != nil || at.Latest != last {
				t.Errorf("after a kill the log ends at %d, acknowledged was %d, %v", at.Latest, last, err)
			}
		})
	}
}

// fullIndex runs under strace, which counts the writes of each thread apart.
func fullIndex(t *testing.T, dir string) {
	opened := make(chan *Store)
	go func() {
		runtime.LockOSThread()
		s, err := Open(Options{Dir: dir})
		if err != nil {
			t.Error(err)
		}
		opened <- s
		if err := s.Run(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	s := <-opened
	m := persisttest.NewMaker(t, s, "thread_a")
	m.Start()
	last := int64(0)
	commit := func() error {
		m.Messages("", 4, 250_000)
		u := m.Unit()
		r, err := s.Append(u)
		if err == nil {
			m.Took(u, r)
			last = r.Last
		}
		return err
	}
	// A reader keeps the log from starting again, so that it grows past the
	// 4,062 pages that the first page of its index has room for.
	_ = s.reader.read(context.Background(), func(c *conn) error {
		if _, err := c.exec("SELECT count(*) FROM events"); err != nil {
			t.Error(err)
		}
		refused := 0
		for n := 0; refused < 2; n++ {
			err := commit()
			if err != nil && !errors.Is(err, ledger.ErrStorageFull) || n == 100 {
				t.Fatalf("commit %d: %v", n, err)
			}
			if err != nil {
				refused++
			}
		}
		more, _ := strconv.Atoi(os.Getenv("HOLON_TEST_MORE"))
		for range more {
			if err := commit(); err != nil {
				t.Errorf("there is space: %v", err)
			}
		}
		return nil
	})
	acknowledge(t, dir, last)
	if t.Failed() {
		return
	}
	fmt.Println("--- PASS") // the process ends as by a kill: nothing is closed
	os.Exit(0)
}
