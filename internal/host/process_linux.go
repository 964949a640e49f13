package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// BootID returns the id that the kernel makes at each boot.
func BootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b)), err
}

// ReadStat reads the needed fields of /proc/PID/stat (proc_pid_stat(5)).
func ReadStat(pid int) (s Stat, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Stat{}, err
	}
	// The name of the program, field 2, may contain anything, also parentheses.
	i := bytes.LastIndexByte(b, ')')
	fields := strings.Fields(string(b[i+1:])) // the first is field 3
	if i < 0 || len(fields) < 20 {
		return Stat{}, fmt.Errorf("/proc/%d/stat: %q", pid, b)
	}
	if s.Parent, err = strconv.Atoi(fields[1]); err != nil {
		return Stat{}, err
	}
	if s.Group, err = strconv.Atoi(fields[2]); err != nil {
		return Stat{}, err
	}
	if s.Session, err = strconv.Atoi(fields[3]); err != nil {
		return Stat{}, err
	}
	// A process whose first thread has ended looks dead, but has more threads.
	s.Dead = fields[0] == "X" || fields[0] == "Z" && (fields[17] == "0" || fields[17] == "1")
	s.StartTicks, err = strconv.ParseUint(fields[19], 10, 64)
	return s, err
}

// ProcessUID returns the effective user of a process (proc_pid_status(5)).
func ProcessUID(pid int) (uint32, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if ids, ok := strings.CutPrefix(line, "Uid:"); ok {
			if fields := strings.Fields(ids); len(fields) == 4 { // real, effective, saved, of the file system
				uid, err := strconv.ParseUint(fields[1], 10, 32)
				return uint32(uid), err
			}
		}
	}
	return 0, fmt.Errorf("/proc/%d/status names no user", pid)
}
