//go:build linux

package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The sweep kills the server at one operation on its files after the other
// (I6): in the migration, in commits, in the stop with its checkpoint.
func TestKillAtEveryWriteLosesNothingAcknowledged(t *testing.T) {
	sweep(t, func() *session { return newSession("") }, func(ops []string) []int { return killPoints(ops, either(20, len(ops))) })
}

// A checkpoint under load writes the database while commits continue: the turn
// is large enough to make one due.
func TestKillInACheckpointLosesNothingAcknowledged(t *testing.T) {
	sweep(t, func() *session { return newSession("/items 12 400000") }, func(ops []string) []int {
		var inside []int
		for i, op := range ops {
			if i > len(ops)/4 && strings.HasSuffix(op, " holon.db") {
				inside = append(inside, i+1)
			}
		}
		return spread(inside, either(6, 200))
	})
}

// sweep learns the operations of a run, chooses some, and kills at each.
func sweep(t *testing.T, fresh func() *session, choose func(ops []string) []int) {
	need(t, "ptrace")
	c := fresh()
	p := newTestbed(t)
	ops := c.killedAt(t, p, 0).Ops
	c.recovered(t, p)
	if t.Failed() {
		return // it does not even work without a kill
	}
	points := choose(ops)
	t.Logf("the run has %d operations, %d of them syncs; killing at %d", len(ops), count(ops, "sync"), len(points))
	if len(points) == 0 {
		t.Error("there is nothing to kill at")
	}
	for _, n := range points {
		t.Run(fmt.Sprintf("%d_%s", n, ops[n-1]), func(t *testing.T) {
			t.Parallel()
			c := fresh()
			p := newTestbed(t)
			report := c.killedAt(t, p, n)
			if report.Killed == "" && n < len(ops)*3/4 {
				t.Errorf("no kill at %d: the run had %d operations only", n, len(report.Ops))
			}
			c.recovered(t, p)
		})
	}
}

// killedAt plays the script on a traced server that is killed at an
// operation, 0 for none: then it is stopped in order.
func (c *session) killedAt(t testing.TB, p *testbed, n int) traceReport {
	t.Helper()
	tr := newTrace(p)
	tr.KillAt = n
	s := p.launch(t, launch{trace: tr, args: c.args})
	if err := s.ready(startWithin); err == nil {
		followed := make(chan error, 2)
		go func() { followed <- c.view.follow(s) }()
		go func() { followed <- c.folded.follow(s) }()
		err := c.play(s)
		switch {
		case err == nil:
			_ = s.signal(syscall.SIGTERM) // it may be dead already
		case kindOf(err) != "broken" || !s.wait(startWithin):
			t.Fatalf("the script: %v\n%s", err, s.stderr.tail())
		}
		report := tr.report(t, s)
		<-followed
		<-followed
		return report
	} else if !s.wait(startWithin) {
		t.Fatalf("the server does not start: %v\n%s", err, s.stderr.tail())
	}
	return tr.report(t, s)
}

// killPoints chooses the first, a middle and the last operation of each kind
// (a write of the database is not one of the write-ahead log), and n spread
// over all.
func killPoints(ops []string, n int) (points []int) {
	kinds := map[string][]int{}
	all := make([]int, len(ops))
	for i, op := range ops {
		kind := strings.TrimRight(op, "0123456789") // temporary files
		kinds[kind] = append(kinds[kind], i+1)
		all[i] = i + 1
	}
	for _, at := range kinds {
		points = append(points, at[0], at[len(at)/2], at[len(at)-1])
	}
	points = append(points, spread(all, n)...)
	slices.Sort(points)
	return slices.Compact(points)
}

// numbers are 1 to n.
func numbers(n int) (all []int) {
	for i := range n {
		all = append(all, i+1)
	}
	return all
}

// spread chooses n of all, evenly, at a different offset each time.
func spread(all []int, n int) (chosen []int) {
	if n >= len(all) {
		return all
	}
	for i := range n {
		chosen = append(chosen, all[(i*len(all)+rand.IntN(len(all)))/n])
	}
	return chosen
}

func count(ops []string, prefix string) (n int) {
	for _, op := range ops {
		if strings.HasPrefix(op, prefix) {
			n++
		}
	}
	return n
}
