package process

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"

	"github.com/seed82539d15/holon/internal/host"
)

// maxEnviron is twice the default limit of Linux for the arguments and
// environment of a program (a quarter of an 8 MiB stack).
const maxEnviron = 4 << 20

// bootID returns an id that the kernel makes at each boot.
func bootID() (string, error) { return host.BootID() }

// readIdentity fills in boot, start time and command line of the leader of
// rec.Group.
func readIdentity(rec *record) (err error) {
	if rec.Boot, err = bootID(); err != nil {
		return err
	}
	m, _, err := readStat(rec.Group)
	if err != nil {
		return err
	}
	rec.Start = m.start
	if rec.CommandLine, err = commandLine(rec.Group); err != nil {
		return err
	}
	return nil
}

// readStat reads the start time and the group of a process.
func readStat(pid int) (m member, dead bool, err error) {
	k, dead, err := readKin(pid)
	return member{pid: pid, group: k.group, start: k.start}, dead, err
}

func readKin(pid int) (k kin, dead bool, err error) {
	s, err := host.ReadStat(pid)
	return kin{parent: s.Parent, group: s.Group, session: s.Session, start: s.StartTicks}, s.Dead, err
}

// commandLine returns the digest of the process's command line; "" if that is empty,
// as for dead processes.
func commandLine(pid int) (string, error) {
	b, err := readAtMost(fmt.Sprintf("/proc/%d/cmdline", pid), maxEnviron)
	if err != nil || len(b) == 0 {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// marked reports whether the process was started with this mark in its
// environment. A program does not lose it by changing its title or by starting
// another program. For another user's process the result is false.
func marked(pid int, mark string) bool {
	has, _ := readMark(pid, mark)
	return has
}

// readMark works like marked; bare reports that the process shows no environment at all.
func readMark(pid int, mark string) (has, bare bool) {
	b, err := readAtMost(fmt.Sprintf("/proc/%d/environ", pid), maxEnviron)
	if err != nil {
		return false, false
	}
	want := []byte(EnvGroup + "=" + mark)
	for variable := range bytes.SplitSeq(b, []byte{0}) {
		if bytes.Equal(variable, want) {
			return true, false
		}
	}
	return false, len(b) == 0
}

// groups returns the living processes by their groups.
func groups() (map[int][]member, error) {
	pids, err := allPIDs()
	if err != nil {
		return nil, err
	}
	all := map[int][]member{}
	for _, pid := range pids {
		m, dead, err := readStat(pid)
		if err == nil && !dead { // those that have ended meanwhile give an error
			all[m.group] = append(all[m.group], m)
		}
	}
	return all, nil
}

// allPIDs returns the pids of all processes, dead ones that are not reaped
// included.
func allPIDs() (pids []int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
