//go:build unix

package admission

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ReadSecretFile reads a file that holds a secret, such as a token. It refuses
// a symlink, anything but a regular file, an owner other than the user that this
// process acts as, permissions for group or others, and more than limit bytes.
// The error says what to do and never quotes the content.
func ReadSecretFile(path string, limit int) ([]byte, error) {
	// O_NONBLOCK: a FIFO in the file's place must not hang the start.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s is a symbolic link; name the file itself", path)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file; put one in its place", path)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int64(st.Uid) != int64(os.Geteuid()) {
		return nil, fmt.Errorf("%s belongs to another user; run as its owner, or remove it", path)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("%s has mode %04o, so other users may have read it; if nobody could: chmod 600 %s; else put another secret there (a server makes a new token once the file is removed)", path, mode, path)
	}
	return readAtMost(f, path, limit)
}

// syncDir makes new names in a directory survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
