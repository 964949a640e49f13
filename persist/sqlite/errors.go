package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	sqlite3 "github.com/mattn/go-sqlite3"

	"github.com/seed82539d15/holon/ledger"
)

// classify wraps the driver's error of a failed change. No space, also under a
// quota, is ErrStorageFull: nothing was written, and later changes are tried. Any
// other I/O error, above all a failed fsync, is ErrStorageFailed: the page cache
// can no longer be trusted, because the kernel may have dropped dirty pages and
// will report success next time.
func classify(op string, err error) error {
	if err == nil {
		return nil
	}
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", op, err)
	}
	switch {
	case e.Code == sqlite3.ErrFull, e.ExtendedCode == sqlite3.ErrIoErrSHMSize,
		e.ExtendedCode == sqlite3.ErrIoErrWrite && (e.SystemErrno == syscall.ENOSPC || e.SystemErrno == syscall.EDQUOT):
		return fmt.Errorf("%s: %w: %w", op, ledger.ErrStorageFull, err)
	case e.Code == sqlite3.ErrIoErr, e.Code == sqlite3.ErrCorrupt, e.Code == sqlite3.ErrNotADB,
		e.Code == sqlite3.ErrReadonly, e.Code == sqlite3.ErrCantOpen:
		return fmt.Errorf("%s: %w: %w", op, ledger.ErrStorageFailed, err)
	}
	return fmt.Errorf("%s: %w", op, err)
}

// endedUnwritten reports whether a COMMIT ended because there was no space for
// one of its frames. Its commit mark is in the last frame, so it is not in the
// log, and the log need not be touched. That matters on a full file system that
// copies what it overwrites.
func endedUnwritten(err error) bool {
	var e sqlite3.Error
	return errors.Is(err, ledger.ErrStorageFull) && errors.As(err, &e) && e.ExtendedCode != sqlite3.ErrIoErrSHMSize
}

// isUnique reports whether a row was refused because its id was used.
func isUnique(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.ExtendedCode == sqlite3.ErrConstraintUnique
}

// EmptyError says that the database is a file without content.
type EmptyError struct{ Path string }

// Error implements error.
func (e *EmptyError) Error() string {
	return fmt.Sprintf("%s is empty, and a server has run in this directory: its log is lost", e.Path)
}

// checkEmptied refuses an empty database where a log was. SQLite would take it for a new
// one, and remove the write-ahead log beside it. A crash in the first start may leave an
// empty file too, but nothing that comes after the schema.
func checkEmptied(path string, beside []string) error {
	file, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil || file.Size() > 0 {
		return err
	}
	if wal, err := os.Stat(path + "-wal"); err == nil && wal.Size() > 0 {
		return &EmptyError{path}
	}
	for _, name := range beside {
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), name)); err == nil {
			return &EmptyError{path}
		}
	}
	return nil
}

// Damaged reports whether an error says that the file is not a database or is
// damaged. The nil error does not.
func Damaged(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && (e.Code == sqlite3.ErrCorrupt || e.Code == sqlite3.ErrNotADB)
}
