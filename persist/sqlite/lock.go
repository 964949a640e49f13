package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
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

// lockPatience is how long the lock of an ended process may still be held: a
// child that the process was just forking keeps every open file until its exec.
const lockPatience = 500 * time.Millisecond

// dirLock is the lock of a data directory. It ends with the process, so a crash
// leaves no lock behind; the file stays.
type dirLock struct{ file *os.File }

func lockDir(dir string) (*dirLock, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	// No event comes when a lock is released, and a start has no caller that could cancel it.
	for until := time.Now().Add(lockPatience); ; time.Sleep(10 * time.Millisecond) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || time.Now().After(until) {
			break
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(&LockedError{Dir: dir, PID: lockedBy(f)}, f.Close())
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
	return &dirLock{f}, nil
}

// lockedBy reads which process has written into the file of a lock; 0 if none has.
func lockedBy(f *os.File) int {
	b, _ := io.ReadAll(io.LimitReader(f, 32)) // without a pid an error is still clear
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return pid
}

// CheckLock returns a *LockedError if a process has the data directory open, and nil if
// none has. It changes nothing.
func CheckLock(dir string) error {
	f, err := os.Open(filepath.Join(dir, "lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() // and with it this lock, which a server that starts waits for
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return &LockedError{Dir: dir, PID: lockedBy(f)}
	}
	return err
}

// release releases the lock at once: closing alone would leave it with a child
// between fork and exec.
func (l *dirLock) release() error {
	return errors.Join(syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close())
}

func (l *dirLock) path() string { return l.file.Name() }
