package host

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestMemoryIsTheLeastOfTheMachineAndItsControlGroups(t *testing.T) {
	const meminfo = "MemTotal:        8000 kB\nMemFree:          100 kB\n"
	for _, c := range []struct {
		name   string
		group  string            // of this process; "" = the kernel has none
		bounds map[string]string // memory.max by group
		want   int64
	}{
		{"no control groups", "", nil, 8000 << 10},
		{"none that bounds", "0::/a/b\n", map[string]string{"/a/b": "max\n", "/a": "max\n"}, 8000 << 10},
		{"its own", "0::/a/b\n", map[string]string{"/a/b": "4096\n", "/a": "max\n"}, 4096},
		{"one above it", "0::/a/b\n", map[string]string{"/a/b": "8192\n", "/a": "4096\n"}, 4096},
		{"that of a container", "0::/\n", map[string]string{"/": "4096\n"}, 4096},
		{"more than the machine has", "0::/a\n", map[string]string{"/a": "99999999999\n"}, 8000 << 10},
		{"beside groups of version 1", "4:memory:/x\n0::/a\n", map[string]string{"/a": "4096\n", "/x": "1\n"}, 4096},
	} {
		t.Run(c.name, func(t *testing.T) {
			proc, groups := t.TempDir(), t.TempDir()
			write(t, filepath.Join(proc, "meminfo"), meminfo)
			if c.group != "" {
				write(t, filepath.Join(proc, "self", "cgroup"), c.group)
			}
			for dir, most := range c.bounds {
				write(t, filepath.Join(groups, dir, "memory.max"), most)
			}
			if got, err := memoryBelow(proc, groups); got != c.want || err != nil {
				t.Errorf("%d, %v; want %d", got, err, c.want)
			}
		})
	}
	if got, err := Memory(); got < 1<<20 || err != nil {
		t.Errorf("this machine: %d, %v", got, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPSSIsThatOfTheProcess(t *testing.T) {
	before, err := PSS(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	const size = 64 << 20
	held, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(held)
	for i := 0; i < size; i += 4096 {
		held[i] = 1
	}
	after, err := PSS(os.Getpid())
	if err != nil || after-before < size/2 {
		t.Errorf("%d bytes before, %d with %d more: %v", before, after, size, err)
	}
	if _, err := PSS(1 << 30); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a process that does not exist: %v", err)
	}
}
