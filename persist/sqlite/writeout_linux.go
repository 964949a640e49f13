package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// writeOut gives a file to the disk in small pieces, each written before the
// next: another file's fsync then waits for one piece, not for everything that
// an fsync of this file would write. It makes nothing durable: that needs an
// fsync, which then has little to do. A disk that fails is reported here, because
// the fsync may not report it again (sync_file_range(2), fsync(2)). A kernel or
// sandbox without the call is no error.
func writeOut(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	for at := int64(0); at < info.Size(); at += writeOutPiece {
		err := syscall.SyncFileRange(int(f.Fd()), at, writeOutPiece, waitBefore|startWrite|waitAfter)
		switch {
		case err == nil || errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
			return err
		default:
			return nil
		}
	}
	return nil
}

const writeOutPiece = 1 << 20

// The flags of sync_file_range(2).
const (
	waitBefore = 1 << iota
	startWrite
	waitAfter
)
