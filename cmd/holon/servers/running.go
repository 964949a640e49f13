package servers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/seed82539d15/holon/host"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/rpc/client"
)

// Running is the process of the server that runs on a data directory.
type Running struct {
	client.ServerRecord
	Data string // absolute
}

// Find returns the server of this user on a data directory. What server.json says is not
// enough to send a signal: the process must be the one that has the lock of the directory,
// be the same one as then, and run as this user, also if this user is root.
//
// The error is a *client.NoServerError if no process has the directory, a *NotServingError
// if one has it that cannot be identified, or an *OtherUserError.
func Find(data string) (*Running, error) {
	data, err := filepath.Abs(data)
	if err != nil {
		return nil, err
	}
	record, unread := client.ReadServerFile(data)
	var locked *sqlite.LockedError
	switch err := sqlite.CheckLock(data); {
	case err == nil:
		return nil, &client.NoServerError{DataDir: data, GonePID: record.PID}
	case !errors.As(err, &locked):
		return nil, err
	case unread != nil && !errors.Is(unread, fs.ErrNotExist):
		return nil, unread
	case unread != nil, record.PID != locked.PID, !record.Alive():
		return nil, &NotServingError{Data: data, PID: locked.PID}
	}
	uid, err := owner(record.PID, client.ServerFile(data))
	if err != nil {
		return nil, fmt.Errorf("find out whose process %d is: %w", record.PID, err)
	}
	if uid != uint32(os.Geteuid()) {
		return nil, &OtherUserError{Data: data, PID: record.PID, UID: uid}
	}
	return &Running{ServerRecord: record, Data: data}, nil
}

// owner returns the user of a process or, where the system does not say, of a file that the
// process has written.
func owner(pid int, file string) (uint32, error) {
	uid, err := host.ProcessUID(pid)
	if !errors.Is(err, errors.ErrUnsupported) {
		return uid, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return stat.Uid, nil
}

// NotServingError says that a process has a data directory open and is no server that can
// be identified: it is just starting or ending, another command works on the log, or it
// runs in another container. PID is its number where it runs, 0 if it is not known.
type NotServingError struct {
	Data string
	PID  int
}

// Error implements error.
func (e *NotServingError) Error() string {
	return fmt.Sprintf("%s, and it is not known to be a server", (&sqlite.LockedError{Dir: e.Data, PID: e.PID}).Error())
}

// OtherUserError says that the server on a data directory runs as another user.
type OtherUserError struct {
	Data string
	PID  int
	UID  uint32
}

// Error implements error.
func (e *OtherUserError) Error() string {
	return fmt.Sprintf("the server on %s, process %d, belongs to another user (uid %d)", e.Data, e.PID, e.UID)
}
