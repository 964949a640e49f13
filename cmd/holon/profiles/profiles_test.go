package profiles

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const token = "s3cret-0123456789-0123456789-abcd"

func profileOf(url string) Profile {
	return Profile{URL: url, Token: token, CA: "a certificate", SavedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func save(t *testing.T, s *Store, p Profile) {
	t.Helper()
	if err := s.Save(p); err != nil {
		t.Fatal(err)
	}
}

// same compares the members: Format hides them.
func same(a, b Profile) bool { return a == b }

func TestAProfileIsOfItsURLAlone(t *testing.T) {
	s := In(t.TempDir())
	a, b := profileOf("https://a"), profileOf("https://b")
	b.Token = "another-" + token
	if _, err := s.Load(a.URL); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none yet: %v", err)
	}
	save(t, s, b)
	save(t, s, profileOf("https://c"))
	save(t, s, a)
	for _, want := range []Profile{a, b} {
		if got, err := s.Load(want.URL); err != nil || !same(got, want) {
			t.Errorf("%s: %v", want.URL, err)
		}
	}
	for _, other := range []string{"https://A", "https://a/", "http://a", "https://a:443", ""} {
		if _, err := s.Load(other); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", other, err)
		}
	}
	a.Token = "the-next-" + token
	save(t, s, a)
	all, unusable, err := s.List()
	if err != nil || len(unusable) != 0 || len(all) != 3 || !same(all[0], a) || !same(all[1], b) {
		t.Errorf("%v, %v, %v", all, unusable, err)
	}
	for _, want := range []bool{true, false} {
		if removed, err := s.Remove(a.URL); err != nil || removed != want {
			t.Errorf("removed: %v, %v, want %v", removed, err, want)
		}
	}
	if _, err := s.Load(a.URL); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after it was removed: %v", err)
	}
	if _, err := s.Load(b.URL); err != nil {
		t.Errorf("the other one: %v", err)
	}
}

func TestProfilesAreForTheirOwnerAlone(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o277} {
		dir := filepath.Join(t.TempDir(), "holon")
		s, p := In(dir), profileOf("https://a")
		if err := os.MkdirAll(filepath.Join(dir, "profiles"), 0o755); err != nil {
			t.Fatal(err)
		}
		old := syscall.Umask(mask)
		err := s.Save(p)
		syscall.Umask(old)
		if err != nil {
			t.Fatalf("umask %o: %v", mask, err)
		}
		for path, want := range map[string]fs.FileMode{s.dir: 0o700, s.path(p.URL): 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("umask %o: %s: %v, %v", mask, path, info, err)
			}
		}
	}
}

func TestAFileThatOthersMayHaveWrittenIsNotUsed(t *testing.T) {
	p := profileOf("https://a")
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	other, err := json.Marshal(profileOf("https://other"))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		spoil func(path string) error
		want  string
	}{
		"others can read it": {func(path string) error { return os.Chmod(path, 0o640) }, "chmod 600"},
		"it is a link": {func(path string) error {
			return errors.Join(os.Rename(path, path+".away"), os.Symlink(path+".away", path))
		}, "symbolic link"},
		"it is of another user": {func(path string) error { return os.Chown(path, 54321, 54321) }, "another user"},
		"it is a FIFO":          {func(path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) }, "regular file"},
		"it is cut":             {func(path string) error { return os.WriteFile(path, text[:len(text)/2], 0o600) }, "damaged"},
		"it is empty":           {func(path string) error { return os.WriteFile(path, nil, 0o600) }, "damaged"},
		"it has no token":       {func(path string) error { return os.WriteFile(path, []byte(`{"url":"https://a"}`), 0o600) }, "damaged"},
		"it is of another URL":  {func(path string) error { return os.WriteFile(path, other, 0o600) }, "damaged"},
		"it is endless":         {func(path string) error { return os.WriteFile(path, make([]byte, maxFile+1), 0o600) }, "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, "user") && os.Geteuid() != 0 {
				t.Skip("NOT TESTED: only root can make a file of another user")
			}
			s := In(t.TempDir())
			save(t, s, p)
			save(t, s, profileOf("https://good"))
			if err := tc.spoil(s.path(p.URL)); err != nil {
				t.Fatal(err)
			}
			_, err := s.Load(p.URL)
			if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), token) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			all, unusable, err := s.List()
			if err != nil || len(all) != 1 || len(unusable) != 1 || strings.Contains(unusable[0].Error(), token) {
				t.Errorf("listed %v, unusable %v, %v", all, unusable, err)
			}
			// A login or a logout ends that.
			if strings.Contains(name, "cut") {
				save(t, s, p)
				if _, err := s.Load(p.URL); err != nil {
					t.Error(err)
				}
			}
			if removed, err := s.Remove(p.URL); !removed || err != nil {
				t.Errorf("%v, %v", removed, err)
			}
		})
	}
}

func TestWhatACrashHasLeftIsReplacedAndRemoved(t *testing.T) {
	s, p := In(t.TempDir()), profileOf("https://a")
	save(t, s, p)
	left := s.path(p.URL) + tempSuffix
	leave := func() {
		if err := os.WriteFile(left, []byte(token), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	leave()
	save(t, s, p)
	if info, err := os.Stat(s.path(p.URL)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	leave()
	if all, unusable, err := s.List(); len(all) != 1 || len(unusable) != 0 || err != nil {
		t.Errorf("%v, %v, %v", all, unusable, err)
	}
	if _, err := s.Remove(p.URL); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(s.dir); err != nil || len(entries) != 0 {
		t.Errorf("%v are left, %v", entries, err)
	}
}

func TestTheNumberOfProfilesIsBounded(t *testing.T) {
	s := In(t.TempDir())
	save(t, s, profileOf("https://a"))
	for i := 1; i < Most; i++ {
		if err := os.WriteFile(filepath.Join(s.dir, fmt.Sprint(i)+suffix), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Save(profileOf("https://b")); err == nil || !strings.Contains(err.Error(), "holon logout") {
		t.Errorf("one more: %v", err)
	}
	save(t, s, profileOf("https://a"))
	big := profileOf("https://a")
	big.CA = strings.Repeat("x", MaxCA+1)
	if err := s.Save(big); err == nil {
		t.Error("certificates without a bound")
	}
}

func TestNoFormatOfAProfileHasTheToken(t *testing.T) {
	p := profileOf("https://a")
	for _, text := range []string{fmt.Sprint(p), fmt.Sprintf("%v %+v %#v %s %q %d %x", p, p, p, p, p, p, p), fmt.Sprintf("%+v", []any{&p, struct{ P Profile }{p}})} {
		if strings.Contains(text, token) || strings.Contains(text, fmt.Sprintf("%x", token)) {
			t.Error(text)
		}
	}
	if end := p.TokenEnd(); end != "abcd" {
		t.Errorf("the end is %q", end)
	}
	p.Token = "short-token"
	if end := p.TokenEnd(); end != "" {
		t.Errorf("the end of a short one is %q", end)
	}
}
