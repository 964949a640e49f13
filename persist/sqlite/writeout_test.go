//go:build linux

package sqlite

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/ledger"
)

// The fsync that follows may succeed after the kernel has lost pages and has
// said so once: here.
func TestFailedWriteOutStopsWritesPermanently(t *testing.T) {
	if dir := os.Getenv(faultVariable); dir != "" {
		writesBack(t, dir, true)
		return
	}
	rerunUnder(t, "EIO")
}

func TestSystemWithoutWriteOutWritesBack(t *testing.T) {
	if dir := os.Getenv(faultVariable); dir != "" {
		writesBack(t, dir, false)
		return
	}
	rerunUnder(t, "ENOSYS")
}

// rerunUnder runs this test once more under strace, where every
// sync_file_range fails.
func rerunUnder(t *testing.T, errno string) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		hosttest.Need(t, "strace is not installed")
	}
	rerun(t, exec.Command(strace, "-f", "-o", filepath.Join(t.TempDir(), "trace"), "-e", "trace=sync_file_range",
		"-e", "inject=sync_file_range:error="+errno,
		os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v"), nil, t.TempDir())
}

// writesBack writes the database back as a prune does after its steps.
func writesBack(t *testing.T, dir string, fails bool) {
	t.Helper()
	s := running(t, Options{Dir: dir})
	m := persisttest.NewMaker(t, s, "thread_a").Start()
	m.Messages("", 500, 100)
	m.Commit()
	back := writeBack{store: s}
	var err error
	for range writeBackSteps {
		err = errors.Join(err, back.after(t.Context()))
	}
	err = errors.Join(err, back.close())
	if failed := errors.Is(err, ledger.ErrStorageFailed); failed != fails || !fails && err != nil {
		t.Fatalf("written back: %v", err)
	}
	m.Messages("", 1, 100)
	_, err = s.Append(m.Unit())
	for _, err := range []error{err, s.Healthy()} {
		if failed := errors.Is(err, ledger.ErrStorageFailed); failed != fails {
			t.Errorf("after written back: %v", err)
		}
	}
}
