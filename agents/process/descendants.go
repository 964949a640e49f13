package process

import (
	"os"
	"syscall"
	"time"
)

// Moment is a time in the unit of the system's start times of processes: clock
// ticks since the boot. 0 means unknown, as on systems without /proc.
type Moment uint64

// Descendant is a living process below the leader of a group.
type Descendant struct {
	PID     int
	Command string // its command line, shortened
	// Began is the start of the process, or of its first ancestor that began
	// since the given moment: the work that started that ancestor also started
	// this process.
	Began Moment
	// Apart says that it is in another session than the leader. Agents run
	// commands in other sessions, and their own helpers (tool and language
	// servers) in their own.
	Apart bool

	kin kin
}

// The interval at which processes that are being ended are checked.
const descendantPoll = 10 * time.Millisecond

// EndSince ends the descendants that began since m and for which which is true,
// with the processes they start meanwhile: it sends TERM, and KILL after term.
// It returns when they or the leader have ended, at the latest kill after the
// KILL; left are those still alive. On systems without /proc it ends nothing.
func (g *Group) EndSince(m Moment, which func(Descendant) bool, term, kill time.Duration) (left []Descendant) {
	e := &ending{g: g, since: m, which: which}
	poll := time.Tick(descendantPoll)
	for _, step := range []struct {
		sig  os.Signal
		wait time.Duration
	}{{syscall.SIGTERM, term}, {syscall.SIGKILL, kill}} {
		limit := time.After(step.wait)
		for waiting := true; waiting; {
			if left = e.signal(step.sig); len(left) == 0 {
				return nil
			}
			select {
			case <-poll:
			case <-limit:
				waiting = false
			case <-g.exited: // End kills what is left
				return nil
			}
		}
	}
	return left
}
