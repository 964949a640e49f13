package process

import (
	"syscall"
	"testing"
)

// led is a group whose leader has the family that kind says.
func led(t *testing.T, mark, kind string) *Group {
	t.Helper()
	g, err := Start(self("leader", mark, kind))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Discard)
	awaitUp(g)
	return g
}

func TestKillReachesChildrenThatHaveLeftTheGroup(t *testing.T) {
	for _, kind := range []string{"left", "between"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			mark := newMark(t)
			g := led(t, mark, kind)
			g.Kill()
			g.End()
			gone(t, mark)
		})
	}
}

// The leader was killed by somebody else; who is left of its group would have
// ended its own children.
func TestEndReachesChildrenThatHaveLeftTheGroup(t *testing.T) {
	mark := newMark(t)
	g := led(t, mark, "between")
	if err := syscall.Kill(g.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	g.End()
	gone(t, mark)
}

func TestNextStartReachesChildrenThatHaveLeftTheGroup(t *testing.T) {
	mark, dir := newMark(t), t.TempDir()
	killedServer(t, mark, dir, "between", "running")
	if ended, logged := endSurvivors(t, dir); ended != 1 {
		t.Errorf("%d ended; logged %s", ended, logged)
	}
	gone(t, mark)
}

// A daemon is on its own: others may use it by now.
func TestKillSparesWhoHasPartedFromItsParents(t *testing.T) {
	mark := newMark(t)
	g := led(t, mark, "daemon")
	g.Kill()
	g.End()
	until(t, "the leader is gone", func() bool { return len(alive(mark, "leader")) == 0 })
	if n := len(alive(mark, "stubborn")); n != 1 {
		t.Errorf("%d daemons are left, want 1", n)
	}
}
