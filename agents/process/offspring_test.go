package process

import (
	"fmt"
	"syscall"
	"testing"
)

// led is a group whose leader starts descendants as kind says.
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

// Another process has killed the leader; the remaining members of its group
// would have ended their own children.
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

// A daemon is left alone: others may use it.
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

// An agent runs a command in another session and is killed: the command has no
// parent any more.
func TestEndOfAKilledLeaderReachesItsOrphans(t *testing.T) {
	for _, c := range []struct {
		kind    string
		orphans bool
		daemons bool
		left    int
	}{
		{"left", true, false, 0},
		{"left", false, false, 1}, // was not asked for
		{"quiet", true, false, 1}, // a daemon
		{"quiet", false, true, 0},
		{"left", false, true, 0},
	} {
		t.Run(fmt.Sprint(c.kind, c.orphans, c.daemons), func(t *testing.T) {
			t.Parallel()
			mark := newMark(t)
			g := led(t, mark, c.kind)
			g.Orphans, g.Daemons = c.orphans, c.daemons
			if err := syscall.Kill(g.PID(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			g.End()
			until(t, "the leader is gone", func() bool { return len(alive(mark, "leader")) == 0 })
			if c.left == 0 {
				gone(t, mark)
			} else if n := len(alive(mark, "")); n != c.left {
				t.Errorf("%d are left, want %d", n, c.left)
			}
		})
	}
}

func TestNextStartReachesOrphans(t *testing.T) {
	for kind, want := range map[string]struct{ ended, left int }{"left": {1, 0}, "quiet": {0, 1}, "quiet too": {1, 0}} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			mark, dir := newMark(t), t.TempDir()
			killedServer(t, mark, dir, kind, "running")
			until(t, "the leader has died with the server", func() bool { return len(alive(mark, "leader")) == 0 })
			ended, logged := endSurvivors(t, dir)
			if ended != want.ended || len(names(t, dir)) != 0 {
				t.Errorf("%d ended, %v left; logged %s", ended, names(t, dir), logged)
			}
			if want.left == 0 {
				gone(t, mark)
			} else if n := len(alive(mark, "")); n != want.left {
				t.Errorf("%d are left, want %d", n, want.left)
			}
		})
	}
}
