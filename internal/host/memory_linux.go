package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
)

// PSS returns the proportional set size of a process in bytes: its own memory, and of the
// memory that it shares with others its share (proc_pid_smaps(5)). The kernel walks the
// process's page tables for it, some milliseconds for each gigabyte. The error is
// os.ErrNotExist or syscall.ESRCH if the process has ended, and os.ErrPermission if it may
// not be read.
func PSS(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	return kibibytes(b, "Pss")
}

// Memory returns how much memory this process and what it starts may use, in bytes: that of
// the machine, or less if a control group bounds it (memory.max of cgroup v2).
func Memory() (int64, error) { return memoryBelow("/proc", "/sys/fs/cgroup") }

func memoryBelow(proc, cgroups string) (int64, error) {
	b, err := os.ReadFile(path.Join(proc, "meminfo"))
	if err != nil {
		return 0, err
	}
	least, err := kibibytes(b, "MemTotal")
	if err != nil {
		return 0, err
	}
	own, err := os.ReadFile(path.Join(proc, "self/cgroup"))
	if err != nil {
		return least, nil // a kernel without control groups
	}
	for line := range strings.Lines(string(own)) {
		group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/")
		if !ok {
			continue
		}
		for dir := path.Join("/", group); ; dir = path.Dir(dir) { // a group is bounded by those above it, too
			if most, err := os.ReadFile(path.Join(cgroups, dir, "memory.max")); err == nil {
				if n, err := strconv.ParseInt(string(bytes.TrimSpace(most)), 10, 64); err == nil { // "max" is no bound
					least = min(least, n)
				}
			}
			if dir == "/" {
				break
			}
		}
	}
	return least, nil
}

// kibibytes finds a field such as "Pss:  1234 kB", and returns it in bytes.
func kibibytes(b []byte, field string) (int64, error) {
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return n << 10, err
		}
	}
	return 0, errors.New("the kernel does not say " + field)
}
