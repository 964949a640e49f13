package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// LockedError says that another process has the data directory open. PID is
// 0 if it has not written it yet.
type LockedError struct {
	Dir string
	PID int
}

// Error implements error.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("the data directory %s is in use by another process", e.Dir)
	}
	return fmt.Sprintf("the data directory %s is in use by process %d", e.Dir, e.PID)
}

// lockDir takes the one lock of a data directory. The lock ends with the
// process, so a crash leaves none behind; the file stays.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		b, _ := io.ReadAll(io.LimitReader(f, 32)) // without a pid the error is still clear
		pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
		return nil, errors.Join(&LockedError{Dir: dir, PID: pid}, f.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), f.Close())
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), f.Close())
	}
	return f, nil
}
