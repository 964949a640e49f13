package process

import (
	"os"
	"syscall"
)

// kin is a process and who started it.
type kin struct {
	parent, group int
	start         uint64
}

// killAll kills a group, and with it what its members have started outside of
// it and are still the parents of: an agent that puts its commands into
// sessions of their own ends them when it is told to stop, and cannot when it
// is killed. Who has parted from its parents (a daemon) is not touched. The
// caller knows that the group is ours.
func killAll(group int) {
	outside := offspring(group)
	_ = syscall.Kill(-group, syscall.SIGKILL) // ESRCH: nobody is left, which is what we want
	for _, p := range outside {
		_ = p.Kill() // it may have ended meanwhile
		_ = p.Release()
	}
}

// offspring returns the descendants of a group's members that have left it. A
// handle holds on to its process: a number that is given away meanwhile is not
// followed.
func offspring(group int) (all []*os.Process) {
	pids, err := numbers()
	if err != nil {
		return nil // the group is killed all the same
	}
	living := map[int]kin{}
	for _, pid := range pids {
		if k, dead, err := readKin(pid); err == nil && !dead { // those that have ended meanwhile give an error
			living[pid] = k
		}
	}
	for pid, k := range living {
		if k.group == group || pid == os.Getpid() || !descends(living, pid, group) {
			continue
		}
		p, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if now, _, err := readKin(pid); err != nil || now.start != k.start {
			_ = p.Release() // it is another
			continue
		}
		all = append(all, p)
	}
	return all
}

// descends reports whether a process has an ancestor in the group.
func descends(living map[int]kin, pid, group int) bool {
	for range living { // no path is longer
		k, ok := living[living[pid].parent]
		if !ok {
			return false
		}
		if k.group == group {
			return true
		}
		pid = living[pid].parent
	}
	return false
}
