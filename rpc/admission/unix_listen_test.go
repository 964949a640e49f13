//go:build unix

package admission

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/seed82539d15/holon/internal/test/hosttest"
)

func mustListenUnix(t *testing.T, path string) net.Listener {
	t.Helper()
	l, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// deadSocket leaves a socket behind, as a killed server does.
func deadSocket(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestUnixSocketIsPrivateUnderAnyUmaskAndLeavesNothing(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o077} {
		dir := t.TempDir()
		path := filepath.Join(dir, "s")
		old := syscall.Umask(mask)
		l, err := ListenUnix(path)
		now := syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		if now != mask {
			t.Errorf("the umask of the process is %o, was %o", now, mask)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeSocket|0o600 {
			t.Errorf("umask %o: %v, %v", mask, info.Mode(), err)
		}
		if got := entries(t, dir); len(got) != 1 {
			t.Errorf("beside the socket: %v", got)
		}
		if l.Addr().String() != path {
			t.Errorf("address %s", l.Addr())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if got := entries(t, dir); len(got) != 0 {
			t.Errorf("after close: %v", got)
		}
	}
}

func TestUnixSocketServesItsOwnUser(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: only Linux tells the peer")
	}
	path := filepath.Join(t.TempDir(), "s")
	g := serveGuarded(t, mustListenUnix(t, path), Policy{Mode: Auto, Kind: Unix})
	runAttacks(t, g, []attack{
		{"direct", "GET /rpc HTTP/1.1\nHost: x\n\n", 200, ""},
		{"any Host", "GET /rpc HTTP/1.1\nHost: evil.example\n\n", 200, ""},
		{"foreign page", "GET /rpc HTTP/1.1\nHost: x\nOrigin: https://evil.example\n\n", 403, ReasonOrigin},
		{"forwarded", "GET /rpc HTTP/1.1\nHost: x\nX-Forwarded-For: 1.2.3.4\n\n", 401, ReasonTokenMissing},
		{"wrong token", "GET /rpc HTTP/1.1\nHost: x\nAuthorization: Bearer wrong\n\n", 401, ReasonTokenWrong},
	})
	strict := serveGuarded(t, mustListenUnix(t, filepath.Join(t.TempDir(), "s")), Policy{Mode: RequireToken, Kind: Unix})
	runAttacks(t, strict, []attack{
		{"no token where all need it", "GET /rpc HTTP/1.1\nHost: x\n\n", 401, ReasonTokenMissing},
		{"the token", get("Host: x"), 200, ""},
	})
}

func TestDeadSocketIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	deadSocket(t, path)
	l := mustListenUnix(t, path)
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if got, err := l.Accept(); err != nil {
		t.Error(err)
	} else {
		_ = got.Close()
	}
}

func TestWhatIsNotOursToReplaceIsRefused(t *testing.T) {
	cases := []struct {
		name  string
		place func(t *testing.T, path string)
		want  string
	}{
		{"live socket", func(t *testing.T, path string) { mustListenUnix(t, path) }, "already listens"},
		{"file", func(t *testing.T, path string) { write(t, path, "x", 0o600) }, "no socket"},
		{"directory", func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }, "no socket"},
		{"FIFO", func(t *testing.T, path string) { must(t, syscall.Mkfifo(path, 0o600)) }, "no socket"},
		{"symlink to nothing", func(t *testing.T, path string) { must(t, os.Symlink(path+".x", path)) }, "symbolic link"},
		{"symlink to a dead socket", func(t *testing.T, path string) {
			deadSocket(t, path+".x")
			must(t, os.Symlink(path+".x", path))
		}, "symbolic link"},
		{"datagram socket", func(t *testing.T, path string) {
			c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
			must(t, err)
			t.Cleanup(func() { _ = c.Close() })
		}, "cannot be told"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "s")
			c.place(t, path)
			before, err := os.Lstat(path)
			must(t, err)
			l, err := ListenUnix(path)
			if err == nil {
				_ = l.Close()
				t.Fatal("replaced")
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%q does not say %q", err, c.want)
			}
			if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
				t.Errorf("it was touched: %v", err)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSocketOfAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		hosttest.Need(t, "only root can make a socket of another user")
	}
	path := filepath.Join(t.TempDir(), "s")
	deadSocket(t, path)
	must(t, os.Chown(path, 54321, 54321))
	if _, err := ListenUnix(path); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("%v", err)
	}
}

func TestBadPlacesForASocketAreRefused(t *testing.T) {
	open := t.TempDir()
	must(t, os.Chmod(open, 0o777))
	cases := map[string]string{
		"":                                "path of a file",
		"@abstract":                       "abstract",
		"a\x00b":                          "path of a file",
		filepath.Join(open, "s"):          "others may replace",
		filepath.Join(open, "no/where/s"): "no such",
		filepath.Join(t.TempDir(), strings.Repeat("x", 120)): "too long",
	}
	for path, want := range cases {
		if _, err := ListenUnix(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", path, err, want)
		}
	}
	must(t, os.Chmod(open, 0o777|os.ModeSticky)) // as /tmp is
	mustListenUnix(t, filepath.Join(open, "s"))
}

func TestClosingLeavesAnotherServersSocketAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := mustListenUnix(t, path)
	must(t, os.Remove(path))
	deadSocket(t, path)
	must(t, l.Close())
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("removed: %v", err)
	}
}
