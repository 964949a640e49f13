//go:build unix

package admission

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seed82539d15/holon/internal/test/hosttest"
)

func TestTokenThatOthersMayKnowIsRefused(t *testing.T) {
	const text = "chosen-by-the-user-0123456789abcdef"
	for _, mode := range []os.FileMode{0o644, 0o640, 0o604, 0o660, 0o606, 0o601, 0o610, 0o777} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, TokenFile), text, mode)
		_, err := LoadOrCreateToken(dir)
		if err == nil || !strings.Contains(err.Error(), "chmod 600") || strings.Contains(err.Error(), text) {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, TokenFile), text, 0o400)
	if _, err := LoadOrCreateToken(dir); err != nil {
		t.Errorf("mode 400: %v", err)
	}
}

func TestTokenThatIsNoPlainFileIsRefused(t *testing.T) {
	real := filepath.Join(t.TempDir(), "real")
	write(t, real, "chosen-by-the-user-0123456789abcdef", 0o600)
	for name, make := range map[string]func(path string) error{
		"symlink":   func(path string) error { return os.Symlink(real, path) },
		"dangling":  func(path string) error { return os.Symlink("nowhere", path) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"FIFO":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		dir := t.TempDir()
		if err := make(filepath.Join(dir, TokenFile)); err != nil {
			t.Fatal(err)
		}
		if tok, err := LoadOrCreateToken(dir); err == nil || !tok.IsZero() {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestTokenOfAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		hosttest.Need(t, "only root can make a file of another user")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, TokenFile)
	write(t, path, "planted-by-another-0123456789abcdef", 0o600)
	if err := os.Chown(path, 54321, 54321); err != nil {
		t.Fatal(err)
	}
	_, err := LoadOrCreateToken(dir)
	if err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("%v", err)
	}
}

func TestTokenIsPrivateUnderAnyUmask(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o777} {
		dir := t.TempDir()
		old := syscall.Umask(mask)
		_, err := LoadOrCreateToken(dir)
		syscall.Umask(old)
		if err != nil {
			t.Errorf("umask %o: %v", mask, err)
		}
		for _, name := range []string{TokenFile, CurlHeaderFile} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("umask %o: %s %v, %v", mask, name, info, err)
			}
		}
	}
}
