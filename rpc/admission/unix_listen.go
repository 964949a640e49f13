//go:build unix

package admission

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// maxSocketPath is the longest path that fits into sun_path everywhere (104
// bytes on the BSDs, 108 on Linux), without its final zero.
const maxSocketPath = 103

// ListenUnix listens on a unix socket that no other user can connect to, not
// even for a moment. It replaces a socket that no server answers on. It refuses
// a live one, a symlink, a file of any other type and another user's socket;
// the error says which. Closing the listener removes the socket, unless another
// server has replaced it.
//
// The socket has mode 0600, as if made under umask 0177. The umask itself stays
// as it is: it belongs to the whole process, so a directory that another
// goroutine makes, or a child that starts in that moment, would get it too.
// Instead the socket is made inside a new directory of mode 0700, restricted
// there and then moved to its path.
func ListenUnix(path string) (net.Listener, error) {
	if path == "" || strings.HasPrefix(path, "@") || strings.ContainsRune(path, 0) {
		return nil, fmt.Errorf("unix socket %q: want the path of a file; abstract sockets have no permissions", path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("unix socket %s: %w", path, err)
	}
	if err := checkSocketDir(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("unix socket %s: %w", path, err)
	}
	if err := checkSocketPath(path); err != nil {
		return nil, fmt.Errorf("unix socket %s: %w", path, err)
	}
	l, err := bindUnix(path)
	if err != nil {
		return nil, fmt.Errorf("unix socket %s: %w", path, err)
	}
	return l, nil
}

// checkSocketDir refuses a directory in which other users could replace the
// socket with their own.
func checkSocketDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("others may replace files in %s (mode %04o); use a directory of your own, such as $XDG_RUNTIME_DIR", dir, info.Mode().Perm())
	}
	return nil
}

// checkSocketPath returns nil if there is nothing at path, or a socket of this
// user that no server answers on any more.
func checkSocketPath(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return errors.New("there is a symbolic link in its place; remove it or choose another path")
	case mode&fs.ModeSocket == 0:
		return errors.New("there is a file in its place that is no socket; remove it or choose another path")
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int64(st.Uid) != int64(os.Geteuid()) {
		return errors.New("the socket in its place belongs to another user; choose another path")
	}
	c, err := net.DialTimeout("unix", path, 2*time.Second)
	switch {
	case err == nil:
		_ = c.Close()
		return errors.New("a server already listens on it; stop that one or choose another path")
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return fmt.Errorf("it cannot be told whether a server still listens on it: %w", err)
}

// bindUnix makes the socket where no other user can reach it and moves it to
// path.
func bindUnix(path string) (*unixListener, error) {
	dir, err := os.MkdirTemp(filepath.Dir(path), ".h") // mode 0700
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	temp := filepath.Join(dir, "s")
	if over := max(len(temp), len(path)) - maxSocketPath; over > 0 {
		return nil, fmt.Errorf("the path is %d bytes too long for a unix socket", over)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: temp, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // it would remove what is at temp
	info, err := moveSocket(temp, path)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &unixListener{UnixListener: l, path: path, info: info}, nil
}

// moveSocket sets the mode of the socket and moves it to path.
func moveSocket(temp, path string) (fs.FileInfo, error) {
	if err := os.Chmod(temp, 0o600); err != nil {
		return nil, err
	}
	info, err := os.Lstat(temp)
	if err != nil {
		return nil, err
	}
	return info, os.Rename(temp, path)
}

// unixListener reports the path that the socket was moved to, not the one it
// was made at.
type unixListener struct {
	*net.UnixListener
	path string
	info fs.FileInfo
}

// Addr returns the path that clients use.
func (l *unixListener) Addr() net.Addr {
	return &net.UnixAddr{Name: l.path, Net: "unix"}
}

// Close stops listening and removes the socket if it is still this one. It
// removes the file first: otherwise the next server could replace a dead socket
// just before its file is removed.
func (l *unixListener) Close() error {
	if info, err := os.Lstat(l.path); err == nil && os.SameFile(info, l.info) {
		_ = os.Remove(l.path)
	}
	return l.UnixListener.Close()
}
