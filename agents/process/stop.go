package process

import (
	"os"
	"syscall"
	"time"
)

// Ladder is how much time a group gets to end. The zero value gives none.
type Ladder struct {
	// EOF is the time between the end of stdin and TERM.
	EOF time.Duration
	// Term is the time between TERM and KILL.
	Term time.Duration
	// Now, once closed, means KILL at once. nil = never.
	Now <-chan struct{}
}

// Stop ends the group: it closes Stdin, sends TERM to the group if the leader
// still runs after l.EOF, KILL after another l.Term, and returns what End does.
// When the leader has exited, the rest of its group is killed. The caller must
// read the outputs meanwhile, or the process may hang in a write until it is
// killed.
func (g *Group) Stop(l Ladder) *os.ProcessState {
	g.Stdin.Close() // a second close fails harmlessly
	for _, step := range []struct {
		wait time.Duration
		sig  syscall.Signal
	}{{l.EOF, syscall.SIGTERM}, {l.Term, syscall.SIGKILL}} {
		select {
		case <-g.exited:
		case <-time.After(step.wait):
			g.Signal(step.sig)
		case <-l.Now:
			g.Kill()
		}
	}
	return g.End()
}

// Discard kills and reaps an unused group, and closes its pipes.
func (g *Group) Discard() {
	g.Kill()
	g.End()
	g.closePipes()
}
