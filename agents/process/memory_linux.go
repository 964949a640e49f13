package process

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/seed82539d15/holon/internal/host"
)

// Memory returns the memory of each group in bytes (host.PSS): of its leader, of what this
// has started, and of the other members of the group; 0 if the group has ended, -1 if a
// process of it may not be read. It looks at all processes of the machine.
func Memory(groups []*Group) []int64 {
	sums, leaders := make([]int64, len(groups)), map[int]int{}
	for i, g := range groups {
		g.mu.Lock()
		if !g.ended {
			leaders[g.PID()] = i
		}
		g.mu.Unlock()
	}
	living, unknown := livingProcesses(), map[int]bool{}
	for pid := range living {
		i, ok := treeOf(living, pid, leaders)
		if !ok {
			continue
		}
		n, err := host.PSS(pid)
		switch {
		case err == nil:
			sums[i] += n
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH): // it has ended meanwhile
		default:
			unknown[i] = true
		}
	}
	for i := range unknown {
		sums[i] = -1
	}
	return sums
}

// treeOf finds the group of a process: that of the nearest of its ancestors, or of itself,
// that leads one or is a member of one.
func treeOf(living map[int]kin, pid int, leaders map[int]int) (i int, ok bool) {
	for range living { // no chain of parents is longer
		if i, ok = leaders[pid]; ok {
			return i, true
		}
		k, lives := living[pid]
		if !lives {
			return 0, false
		}
		if i, ok = leaders[k.group]; ok {
			return i, true
		}
		pid = k.parent
	}
	return 0, false
}
