package process

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// starter is a leader that starts descendants on demand.
type starter struct {
	*Group
	t   *testing.T
	out *bufio.Reader
}

func newStarter(t *testing.T, mark string) *starter {
	t.Helper()
	g := led(t, mark, "starts")
	return &starter{Group: g, t: t, out: bufio.NewReader(g.Stdout)}
}

// start returns the pid of a new child once it is up.
func (s *starter) start(what string) int {
	s.t.Helper()
	if _, err := fmt.Fprintln(s.Stdin, what); err != nil {
		s.t.Fatal(err)
	}
	line, err := s.out.ReadString('\n')
	pid, wrong := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || wrong != nil {
		s.t.Fatalf("the leader said %q: %v", line, err)
	}
	return pid
}

// later returns a moment after the start of all processes so far.
func later(t *testing.T) Moment {
	t.Helper()
	m := Now() + 1
	until(t, "the clock goes on", func() bool { return Now() >= m })
	return m
}

func numbersOf(list []Descendant) (pids []int) {
	for _, d := range list {
		pids = append(pids, d.PID)
	}
	slices.Sort(pids)
	return pids
}

func TestSinceTellsWhatBeganAndWhere(t *testing.T) {
	mark := newMark(t)
	s := newStarter(t, mark)
	s.start("stubborn apart") // before
	m := later(t)
	apart := s.start("stubborn apart")
	inside := s.start("stubborn")
	found := map[int]Descendant{}
	for _, d := range s.Since(m) {
		found[d.PID] = d
	}
	if len(found) != 2 || !found[apart].Apart || found[inside].Apart {
		t.Errorf("%+v: want %d apart and %d not", found, apart, inside)
	}
	for pid, d := range found {
		if !slices.Contains(d.Environment(), EnvGroup+"="+s.mark) {
			t.Errorf("%d: the environment is %q", pid, d.Environment())
		}
		if d.Began < m || d.Began > Now() || !strings.Contains(d.Command, "be:stubborn "+mark) {
			t.Errorf("%d: %+v, asked for %d", pid, d, m)
		}
	}
	if n := len(s.Since(0)); n != 0 {
		t.Errorf("%d since an unknown moment", n)
	}
}

// A child belongs to the work that started its parent.
func TestDescendantBeganWithItsFirstNewAncestor(t *testing.T) {
	mark := newMark(t)
	s := newStarter(t, mark)
	m := later(t)
	parent := s.start("parent apart")
	list := s.Since(m)
	if len(list) != 2 || list[0].Began != list[1].Began || !list[0].Apart || !list[1].Apart {
		t.Errorf("%+v, want %d and its child, both of one moment and apart", list, parent)
	}
}

func TestEndSinceEndsWhatIsChosen(t *testing.T) {
	mark := newMark(t)
	s := newStarter(t, mark)
	before := s.start("stubborn apart")
	m := later(t)
	s.start("polite apart")   // by TERM
	s.start("stubborn apart") // by KILL
	s.start("parent apart")   // by TERM, and its child, an orphan by then, by KILL
	inside := s.start("stubborn")
	left := s.EndSince(m, func(d Descendant) bool { return d.Apart }, 100*time.Millisecond, patience)
	if len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
	spared := []int{before, inside}
	slices.Sort(spared)
	got := alive(mark, "stubborn")
	slices.Sort(got)
	if !slices.Equal(got, spared) || len(alive(mark, "polite"))+len(alive(mark, "parent")) != 0 {
		t.Errorf("alive are %v, want %v", got, spared)
	}
	if got := numbersOf(s.Since(m)); !slices.Equal(got, []int{inside}) {
		t.Errorf("%v are left below the leader, want %d", got, inside)
	}
}

func TestNothingIsBelowAGroupThatHasEnded(t *testing.T) {
	mark := newMark(t)
	s := newStarter(t, mark)
	m := later(t)
	s.start("stubborn apart")
	s.Kill()
	s.End()
	if list := s.Since(m); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	if left := s.EndSince(m, func(Descendant) bool { return true }, time.Hour, time.Hour); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
}
