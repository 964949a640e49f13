package process

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// kin is a process and who started it.
type kin struct {
	parent, group, session int
	start                  uint64 // clock ticks since the boot
}

// killAll kills a group, and with it what its members have started outside of
// it and are still the parents of: an agent that puts its commands into
// sessions of their own ends them when it is told to stop, and cannot when it
// is killed. Who has parted from its parents (a daemon) is not touched. The
// caller knows that the group is ours.
func killAll(group int) {
	outside := offspring(everybody(), func(_ int, k kin) bool { return k.group == group })
	_ = syscall.Kill(-group, syscall.SIGKILL) // ESRCH: nobody is left, which is what we want
	killHeld(outside)
}

// endOrphans kills the processes that bear the mark, have lost their parents
// and still speak to a pipe or socket, which was their agent's, with all that
// they have started: an agent that is killed leaves the commands that it ran
// in sessions of their own so. A daemon speaks to nobody. It returns how many
// there were, and touches nothing if this process is one of them: a server
// that an agent has started.
func endOrphans(mark string) (n int) {
	if mark == "" || marked(os.Getpid(), mark) {
		return 0
	}
	all := everybody()
	orphans := map[int]bool{}
	for pid, k := range all {
		if speaks(pid) && marked(pid, mark) && !marked(k.parent, mark) {
			orphans[pid] = true
		}
	}
	if len(orphans) == 0 {
		return 0
	}
	is := func(pid int, _ kin) bool { return orphans[pid] }
	outside := offspring(all, is)
	for pid := range orphans {
		if p := hold(pid, all[pid]); p != nil {
			outside = append(outside, p)
		}
	}
	killHeld(outside)
	return len(orphans)
}

// speaks reports whether what the process prints goes to another.
func speaks(pid int) bool {
	for fd := 1; fd <= 2; fd++ {
		to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
		if err == nil && (strings.HasPrefix(to, "pipe:") || strings.HasPrefix(to, "socket:")) {
			return true
		}
	}
	return false
}

// everybody is the living processes; none if they cannot be listed.
func everybody() map[int]kin {
	pids, _ := numbers() // without them only groups are killed
	living := map[int]kin{}
	for _, pid := range pids {
		if k, dead, err := readKin(pid); err == nil && !dead { // those that have ended meanwhile give an error
			living[pid] = k
		}
	}
	return living
}

// offspring returns the descendants of the processes that is names, without
// those.
func offspring(living map[int]kin, is func(int, kin) bool) (all []*os.Process) {
	for pid, k := range living {
		if is(pid, k) || pid == os.Getpid() || !descends(living, pid, is) {
			continue
		}
		if p := hold(pid, k); p != nil {
			all = append(all, p)
		}
	}
	return all
}

// descends reports whether a process has an ancestor that is names.
func descends(living map[int]kin, pid int, is func(int, kin) bool) bool {
	for range living { // no path is longer
		parent := living[pid].parent
		k, ok := living[parent]
		if !ok {
			return false
		}
		if is(parent, k) {
			return true
		}
		pid = parent
	}
	return false
}

// hold returns a handle on a process, which does not follow a number that is
// given away; nil if that has happened already.
func hold(pid int, k kin) *os.Process {
	p, err := os.FindProcess(pid)
	if err != nil {
		return nil
	}
	if now, _, err := readKin(pid); err != nil || now.start != k.start {
		_ = p.Release()
		return nil
	}
	return p
}

func killHeld(all []*os.Process) {
	for _, p := range all {
		_ = p.Kill() // it may have ended meanwhile
		_ = p.Release()
	}
}
