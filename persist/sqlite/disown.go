package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// The layout of the write-ahead log and its index, as far as disown needs it
// (https://www.sqlite.org/walformat.html). The index
// is in the byte order of the machine.
const (
	walHeader      = 32 // bytes before the first frame
	walFrameHeader = 24
	indexPageSize  = 14 // u16; 1 stands for 65,536
	indexMaxFrame  = 16 // u32, the last frame that is committed
)

// disown makes sure that a change whose COMMIT failed does not come back. The
// client has received an error. But the frames of the change may be in the
// write-ahead log with their commit mark: the sync failed, or the index could not
// grow on a full disk. After a kill SQLite's recovery would take them for
// committed. So disown overwrites the header of the first of them with zeros,
// where recovery then ends; a later commit overwrites it. The disk has just
// failed, so this may fail too. Then nothing more may be written.
func (w *writer) disown() (err error) {
	index := make([]byte, indexMaxFrame+4)
	if w.shm == nil {
		// The descriptor stays open until the process ends: closing it would
		// drop SQLite's locks on the file.
		shm, err := syscall.Open(w.store.reader.path+"-shm", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open the index of the write-ahead log: %w", err)
		}
		w.shm = &shm
	}
	if n, err := syscall.Pread(*w.shm, index, 0); err != nil || n < len(index) {
		return fmt.Errorf("read %d bytes of the index of the write-ahead log: %w", n, err)
	}
	page := int64(binary.NativeEndian.Uint16(index[indexPageSize:]))
	if page == 1 {
		page = 1 << 16
	}
	committed := int64(binary.NativeEndian.Uint32(index[indexMaxFrame:]))
	at := walHeader + committed*(walFrameHeader+page)

	wal, err := os.OpenFile(w.store.reader.path+"-wal", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, wal.Close()) }()
	info, err := wal.Stat()
	if err != nil || info.Size() <= at {
		return err // no frame of the change was written
	}
	if _, err := wal.WriteAt(make([]byte, walFrameHeader), at); err != nil {
		return err
	}
	return wal.Sync()
}
