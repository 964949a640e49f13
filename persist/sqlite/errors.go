package sqlite

import (
	"errors"
	"fmt"
	"syscall"

	sqlite3 "github.com/mattn/go-sqlite3"

	"github.com/seed82539d15/holon/ledger"
)

// classify wraps what the driver says when a change fails. No space (also
// under a quota) is ErrStorageFull: nothing was written, later changes try
// again. Any other I/O error, a failed fsync above all, is ErrStorageFailed:
// what the page cache holds can no longer be trusted, because the kernel may
// have dropped the dirty pages and will report success next time.
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
// one of its frames: its mark, which is in the last one, is then not in the
// log. A log that is left alone asks nothing more of a file system that is full
// and copies what it writes over.
func endedUnwritten(err error) bool {
	var e sqlite3.Error
	return errors.Is(err, ledger.ErrStorageFull) && errors.As(err, &e) && e.ExtendedCode != sqlite3.ErrIoErrSHMSize
}

// isUnique reports whether a row was refused because what names it was used.
func isUnique(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.ExtendedCode == sqlite3.ErrConstraintUnique
}

// Damaged reports whether an error says that the file is no database, or no
// sound one. The nil error does not.
func Damaged(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && (e.Code == sqlite3.ErrCorrupt || e.Code == sqlite3.ErrNotADB)
}
