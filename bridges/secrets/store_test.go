package secrets

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func open(t *testing.T, dataDir string) *Store {
	t.Helper()
	s, err := Open(dataDir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func names(t *testing.T, dataDir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dataDir, Dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSecretsAreReadBackByGeneration(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	must(t, s.Write("phone", 1, []byte("first")))
	must(t, s.Write("phone", 2, []byte("sec\nond\x00")))
	must(t, s.Write("Phone", 1, []byte("other")))
	must(t, s.Close())
	s = open(t, dir)
	for _, c := range []struct {
		bridge     string
		generation int64
		want       string
	}{{"phone", 1, "first"}, {"phone", 2, "sec\nond\x00"}, {"Phone", 1, "other"}} {
		if got, err := s.Read(c.bridge, c.generation); err != nil || string(got) != c.want {
			t.Errorf("Read(%s, %d) = %q, %v; want %q", c.bridge, c.generation, got, err, c.want)
		}
	}
	must(t, s.Remove("phone", 1))
	must(t, s.Remove("phone", 1))
	if _, err := s.Read("phone", 1); !errors.Is(err, ErrNotFound) {
		t.Errorf("a removed generation is read: %v", err)
	}
	must(t, s.Write("phone", 2, []byte("again")))
	if got, err := s.Read("phone", 2); err != nil || string(got) != "again" {
		t.Errorf("a generation that was written twice: %q, %v", got, err)
	}
}

func TestOnlyTheServersUserCanReadSecrets(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, Dir), 0o755))
	s := open(t, dir)
	must(t, s.Write("phone", 1, []byte("x")))
	for path, want := range map[string]fs.FileMode{Dir: 0o700, filepath.Join(Dir, names(t, dir)[0]): 0o600} {
		info, err := os.Stat(filepath.Join(dir, path))
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
	}
}

// crash is what a test throws between two steps: nothing of the store runs after
// it, as after kill -9.
type crash struct{}

// crashAfter runs change until the step of this number, and reports whether there
// is such a step.
func crashAfter(t *testing.T, s *Store, step int, change func()) (crashed bool) {
	t.Helper()
	n := 0
	s.step = func(string) {
		if n++; n == step {
			panic(crash{})
		}
	}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(crash); !ok {
				panic(r)
			}
			crashed = true
		}
	}()
	change()
	return false
}

// After a crash at any step of a write the earlier secret of the generation or the
// new one is there, whole, and Keep removes everything else.
func TestCrashBetweenAnyTwoStepsOfAWrite(t *testing.T) {
	steps := 0
	for step := 1; ; step++ {
		dir := t.TempDir()
		s := open(t, dir)
		must(t, s.Write("phone", 1, []byte("committed")))
		if !crashAfter(t, s, step, func() { _ = s.Write("phone", 2, []byte("not committed")) }) {
			break
		}
		steps++
		s = open(t, dir)
		if got, err := s.Read("phone", 2); err == nil && string(got) != "not committed" || err != nil && !errors.Is(err, ErrNotFound) {
			t.Errorf("step %d: a part of a secret is read: %q, %v", step, got, err)
		}
		removed, err := s.Keep(func(bridge string, generation int64) bool { return bridge == "phone" && generation == 1 })
		if err != nil || removed != 1 {
			t.Errorf("step %d: Keep removed %d: %v", step, removed, err)
		}
		if list := names(t, dir); len(list) != 1 {
			t.Errorf("step %d: left are %v", step, list)
		}
		must(t, s.Write("phone", 2, []byte("second try")))
		if got, err := s.Read("phone", 2); err != nil || string(got) != "second try" {
			t.Errorf("step %d: the next write: %q, %v", step, got, err)
		}
		if got, err := s.Read("phone", 1); err != nil || string(got) != "committed" {
			t.Errorf("step %d: the committed generation: %q, %v", step, got, err)
		}
	}
	if steps != 4 {
		t.Errorf("%d steps of a write were tried, want 4", steps)
	}
}

func TestCrashWhileOrphansAreRemoved(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for generation := range int64(4) {
		must(t, s.Write("phone", generation+1, []byte("x")))
	}
	keep := func(_ string, generation int64) bool { return generation == 4 }
	if !crashAfter(t, s, 2, func() { _, _ = s.Keep(keep) }) {
		t.Fatal("it did not crash")
	}
	s = open(t, dir)
	if removed, err := s.Keep(keep); err != nil || removed != 1 {
		t.Errorf("Keep removed %d: %v", removed, err)
	}
	if _, err := s.Read("phone", 4); err != nil || len(names(t, dir)) != 1 {
		t.Errorf("left are %v: %v", names(t, dir), err)
	}
}

// What is left in the directory by a crash, a damaged disk or a person never
// becomes a secret.
func TestGarbageIsNeverASecret(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	must(t, s.Write("phone", 1, []byte("whole")))
	path := func(name string) string { return filepath.Join(dir, Dir, name) }
	good := names(t, dir)[0]
	whole, err := os.ReadFile(path(good))
	must(t, err)
	outside := filepath.Join(dir, "outside")
	must(t, os.WriteFile(outside, whole, 0o600))

	for what, content := range map[string][]byte{
		"empty": nil, "cut": whole[:len(whole)-1], "longer": append(slices.Clone(whole), 'x'), "zeros": make([]byte, len(whole)),
		"without its first line": []byte("whole"), "huge": bytes.Repeat([]byte("x"), 2*MaxBytes),
	} {
		must(t, os.WriteFile(path(good), content, 0o600))
		if got, err := s.Read("phone", 1); !errors.Is(err, ErrDamaged) {
			t.Errorf("a file that is %s: %q, %v", what, got, err)
		}
	}
	must(t, os.Remove(path(good)))
	must(t, os.Symlink(outside, path(good)))
	if got, err := s.Read("phone", 1); !errors.Is(err, ErrDamaged) {
		t.Errorf("a link: %q, %v", got, err)
	}
	must(t, s.Write("phone", 1, []byte("new")))
	if b, err := os.ReadFile(outside); err != nil || !bytes.Equal(b, whole) {
		t.Errorf("a write went through a link: %q, %v", b, err)
	}

	must(t, os.WriteFile(path(good+tempSuffix), []byte("half"), 0o666))
	must(t, os.WriteFile(path("README"), []byte("a person's"), 0o600))
	must(t, os.WriteFile(path(strings.ToUpper(good)), nil, 0o600))
	must(t, os.Mkdir(path("61.7"), 0o700))
	must(t, s.Write("phone", 1, []byte("newer")))
	removed, err := s.Keep(func(string, int64) bool { return true })
	if err != nil || removed != 0 {
		t.Errorf("Keep removed %d, %v: the write had replaced the half file", removed, err)
	}
	if got, err := s.Read("phone", 1); err != nil || string(got) != "newer" {
		t.Errorf("%q, %v", got, err)
	}
	must(t, os.WriteFile(path(good+tempSuffix), []byte("half"), 0o600))
	if removed, err := s.Keep(func(string, int64) bool { return true }); err != nil || removed != 1 {
		t.Errorf("Keep removed %d, %v: a half file of a generation that is kept is still a half file", removed, err)
	}
	if _, err := os.Stat(path("README")); err != nil {
		t.Errorf("a person's file is gone: %v", err)
	}
}

// Whatever the id of a bridge is, its files are in the directory and its own.
func TestNamesCannotEscape(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for _, id := range []string{"..", "../x", "/etc/passwd", "a/b", "a\x00b", ".", "a.1", ".tmp", strings.Repeat("ü", 32), "CON", "a\\b"} {
		must(t, s.Write(id, 1, []byte(id)))
		if got, err := s.Read(id, 1); err != nil || string(got) != id {
			t.Errorf("%q: %q, %v", id, got, err)
		}
	}
	for _, bad := range []struct {
		id         string
		generation int64
	}{{"", 1}, {strings.Repeat("x", 65), 1}, {"a", 0}, {"a", -1}} {
		if err := s.Write(bad.id, bad.generation, nil); err == nil {
			t.Errorf("%q, %d is accepted", bad.id, bad.generation)
		}
	}
	if err := s.Write("a", 1, make([]byte, MaxBytes+1)); err == nil {
		t.Error("a secret of any size is accepted")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the data directory has %v: %v", entries, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringN(1, 16, 64).Draw(t, "id")
		generation := rapid.Int64Min(1).Draw(t, "generation")
		name, err := fileName(id, generation)
		if err != nil {
			t.Fatal(err)
		}
		if b, g, ok := parseName(name); !ok || b != id || g != generation || strings.ContainsAny(name, "/\\") {
			t.Fatalf("%q: %q, %d, %v", name, b, g, ok)
		}
	})
}

func TestErrorsHaveNoSecret(t *testing.T) {
	s := open(t, t.TempDir())
	must(t, s.Close())
	err := s.Write("phone", 1, []byte("hunter2"))
	if err == nil || strings.Contains(fmt.Sprint(err), "hunter2") {
		t.Errorf("%v", err)
	}
}

func TestAViewReadsAndChangesNothing(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenReadOnly(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before the first start: %v", err)
	}
	s := open(t, dir)
	must(t, s.Write("phone", 1, []byte("first")))
	v, err := OpenReadOnly(dir)
	must(t, err)
	defer v.Close()
	if got, err := v.Read("phone", 1); err != nil || string(got) != "first" {
		t.Errorf("read %q, %v", got, err)
	}
	must(t, v.Check("phone", 1))
	if err := v.Check("phone", 2); !errors.Is(err, ErrNotFound) {
		t.Errorf("another generation: %v", err)
	}
	file := filepath.Join(dir, Dir, names(t, dir)[0])
	must(t, os.Chmod(file, 0o640))
	if err := v.Check("phone", 1); !errors.Is(err, ErrExposed) {
		t.Errorf("a file that others may read: %v", err)
	}
	must(t, os.Chmod(file, 0o600))
	must(t, os.Chmod(filepath.Join(dir, Dir), 0o755))
	if err := v.Check("phone", 1); !errors.Is(err, ErrExposed) {
		t.Errorf("a directory that others may list: %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, Dir)); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("opening it has changed the rights: %v, %v", info.Mode(), err)
	}
	must(t, os.WriteFile(file, []byte("holon-secret-1 x\n"), 0o600))
	if err := v.Check("phone", 1); !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged file: %v", err)
	}
}
