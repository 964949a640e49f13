package agenttest

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

// Processes returns the living processes whose arguments match. Each argument
// ends with a NUL. It finds none on systems without /proc.
func Processes(match func(arguments string) bool) (pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil || len(b) == 0 || !match(string(b)) { // empty for a zombie
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Descriptors counts the open file descriptors of this process. It returns 0
// except on Linux.
func Descriptors(t testing.TB) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
