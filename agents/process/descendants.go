package process

import (
	"os"
	"syscall"
	"time"
)

// Moment is a time in the unit in which the system keeps the start of each
// process: clock ticks since the boot. 0 says that it is not known, as on
// systems without /proc.
type Moment uint64

// Descendant is a living process below the leader of a group.
type Descendant struct {
	PID     int
	Command string // its command line, shortened
	// Began is when the process began, or the first of its ancestors that began
	// since the moment that was asked for: who had that one started had this
	// one started.
	Began Moment
	// Apart says that it is in another session than the leader. Agents run
	// commands so, and their own helpers (servers of tools or of languages) not.
	Apart bool

	kin kin
}

// The time between two looks at processes that are being ended.
const descendantPoll = 10 * time.Millisecond

// EndSince ends the descendants that began since m and for which which holds,
// with what they start meanwhile: TERM, after term KILL. It returns when they
// have ended, or the leader has, at the latest kill after the KILL; left are
// those that are still there. On systems without /proc it ends nothing.
func (g *Group) EndSince(m Moment, which func(Descendant) bool, term, kill time.Duration) (left []Descendant) {
	e := &ending{g: g, since: m, which: which}
	poll := time.NewTicker(descendantPoll)
	defer poll.Stop()
	for _, step := range []struct {
		sig  os.Signal
		wait time.Duration
	}{{syscall.SIGTERM, term}, {syscall.SIGKILL, kill}} {
		limit := time.NewTimer(step.wait)
		for waiting := true; waiting; {
			if left = e.signal(step.sig); len(left) == 0 {
				limit.Stop()
				return nil
			}
			select {
			case <-poll.C:
			case <-limit.C:
				waiting = false
			case <-g.exited: // End kills what is left
				limit.Stop()
				return nil
			}
		}
	}
	return left
}
