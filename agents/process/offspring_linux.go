package process

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// kin is how a process is related to others: parent, group, session, start time.
type kin struct {
	parent, group, session int
	start                  uint64 // clock ticks since the boot
}

// killAll kills a group and the descendants of its members outside of it: an
// agent that runs commands in other sessions ends them when it is stopped, but
// cannot when it is killed. A process that has lost its parents (a daemon) is
// not killed. The caller has checked that the group is the one it started.
func killAll(group int) {
	outside := offspring(livingProcesses(), func(_ int, k kin) bool { return k.group == group })
	_ = syscall.Kill(-group, syscall.SIGKILL) // ESRCH: no process is left, as wanted
	killHeld(outside)
}

// endOrphans kills the processes that have the mark, have lost their parents
// and still write to a pipe or socket, with all their descendants. A killed
// agent leaves commands that it ran in other sessions in this state; the pipe
// was the agent's. A daemon writes to no pipe: it is killed too if daemons is
// true. It returns how many there were. It kills nothing if this process has the
// mark too: then an agent has started this server. No process with the mark began
// before since.
func endOrphans(mark string, since Moment, daemons bool) (n int) {
	if mark == "" || marked(os.Getpid(), mark) {
		return 0
	}
	all, orphans := findOrphans(mark, since, daemons)
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

// execPatience is how long findOrphans waits for processes that show no environment. A
// program begins within milliseconds; one that was started without any variable has none
// for as long as it runs.
const execPatience = 200 * time.Millisecond

// findOrphans finds what endOrphans kills, among all living processes. In the middle of an
// exec a process shows no environment, and so no mark: it looks again until no process that
// began at since or later is in this state.
func findOrphans(mark string, since Moment, daemons bool) (all map[int]kin, orphans map[int]bool) {
	limit, poll := time.After(execPatience), time.Tick(descendantPoll)
	for {
		between := false
		all, orphans = livingProcesses(), map[int]bool{}
		for pid, k := range all {
			if Moment(k.start) < since || k.group == 0 { // a thread of the kernel
				continue
			}
			has, bare := readMark(pid, mark)
			between = between || bare
			if has && (daemons || writesToPipe(pid)) && !marked(k.parent, mark) {
				orphans[pid] = true
			}
		}
		if !between {
			return all, orphans
		}
		select {
		case <-poll:
		case <-limit:
			return all, orphans
		}
	}
}

// writesToPipe reports whether the output of the process is a pipe or a socket.
func writesToPipe(pid int) bool {
	for fd := 1; fd <= 2; fd++ {
		to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
		if err == nil && (strings.HasPrefix(to, "pipe:") || strings.HasPrefix(to, "socket:")) {
			return true
		}
	}
	return false
}

// livingProcesses lists the living processes; none if they cannot be listed.
func livingProcesses() map[int]kin {
	pids, _ := allPIDs() // without them only groups are killed
	living := map[int]kin{}
	for _, pid := range pids {
		if k, dead, err := readKin(pid); err == nil && !dead { // processes that have ended meanwhile give an error
			living[pid] = k
		}
	}
	return living
}

// offspring returns handles of the descendants of the processes for which is is
// true, without these themselves.
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

// descends reports whether a process has an ancestor for which is is true.
func descends(living map[int]kin, pid int, is func(int, kin) bool) bool {
	for range living { // no chain of parents is longer
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

// hold returns a handle on a process, which stays valid if the pid is reused;
// nil if it has been reused already.
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
