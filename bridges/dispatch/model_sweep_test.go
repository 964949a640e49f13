package dispatch

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/notify"
)

// richProgram has a bit of everything, and no crash: that is what the sweep adds.
func richProgram() *modelProgram {
	const settle = time.Nanosecond
	return &modelProgram{
		Seed: 3, Bad: 25, Drops: []string{modelChat}, Threads: []string{"a"},
		Subs: []modelSub{
			{ID: "s0", Bridge: modelHook, On: []bridges.On{bridges.OnFinal, bridges.OnQuestions}, Methods: []string{notify.DeliveryDead}, Order: bridges.OrderTurn, Text: true},
			{ID: "s1", Bridge: modelChat, On: []bridges.On{bridges.OnFinal, bridges.OnProgress, bridges.OnQuestions}, Order: bridges.OrderTurn},
			{ID: "s2", Bridge: modelHook, Thread: "a", On: []bridges.On{bridges.OnFinal}, Order: bridges.OrderStrict},
		},
		Moves: []modelMove{
			{"work", 0, 0, false, 0},                  // a turn begins
			{"work", 0, 0, false, settle},             // a step
			{"ask", 0, 0, false, time.Second},         // a question
			{"work", 0, 5, false, settle},             // the step is tried again, the question is withdrawn
			{"work", 0, 0, false, 0},                  // its next try
			{"ask", 0, 0, false, settle},              // another question
			{"answer", 0, 2, false, 0},                // and its answer
			{"end", 0, 0, false, time.Minute},         // an accepted end
			{"retry", 0, 3, false, settle},            // which is taken back
			{"end", 0, 4, false, 0},                   // an end in review
			{"verdict", 0, 0, false, settle},          // approved
			{"bridge pause", 1, 0, false, settle},     // drops what comes
			{"work", 0, 1, false, 0},                  // another turn
			{"end", 0, 0, false, time.Second},         //
			{"bridge resume", 1, 0, false, 0},         //
			{"pause", 0, 0, false, settle},            // a subscription waits
			{"work", 0, 1, false, 0},                  // a turn
			{"ask", 0, 0, false, settle},              // a question
			{"answer", 0, 2, false, settle},           // that is answered before anybody was asked
			{"end", 0, 4, false, settle},              // in review
			{"verdict", 0, 3, false, settle},          // which another one continues
			{"reset", 0, 300, false, settle},          //
			{"resume", 0, 0, false, time.Second},      //
			{"redeliver", 0, 1, false, 0},             //
			{"damage", 0, 0, false, time.Second},      // an end whose row disagrees
			{"update", 2, 0, false, settle},           // another order
			{"renew", 1, 0, false, 0},                 // deleted, and created again
			{"repair", 0, 0, false, time.Minute},      //
			{"work", 0, 1, false, 0},                  //
			{"end", 0, 0, false, 0},                   //
			{"retry", 0, 0, false, 20 * time.Minute},  //
			{"end", 0, 5, false, settle},              // a failure
			{"pause", 2, 0, false, 0},                 //
			{"work", 0, 1, false, 0},                  //
			{"end", 0, 6, false, settle},              // an interruption
			{"skip", 2, 0, false, 0},                  // which is not sent
			{"resume", 2, 0, false, 40 * time.Second}, //
		},
	}
}

// TestKillAtEveryCommitAndAnswer: the program dies once, at each commit and at each
// answer of a target, and the run ends as it must. An ordinary test run tries some of
// them, DELIVERIES all.
func TestKillAtEveryCommitAndAnswer(t *testing.T) {
	step := 11
	if os.Getenv("DELIVERIES") != "" {
		step = 1
	}
	whole := runModel(t, richProgram(), &modelBuild{})
	if len(whole.failures()) > 0 {
		t.Fatalf("without a crash: %s", strings.Join(whole.failures(), "\n"))
	}
	for _, what := range []string{"delivered", "dead", "superseded", "mismatch", "suppressed: paused", "suppressed: skipped", "suppressed: answered", "taken back", "approved", "rejected"} {
		if whole.a.counts[what]+whole.counts[what] == 0 {
			t.Errorf("the program has no %s", what)
		}
	}
	t.Logf("%d commits, %d answers", whole.commits, whole.r.sends)
	for _, at := range []struct {
		name string
		n    int
		set  func(p *modelProgram, n int)
	}{
		{"commit", whole.commits, func(p *modelProgram, n int) { p.killCommit = n }},
		{"answer", whole.r.sends, func(p *modelProgram, n int) { p.killAnswer = n }},
	} {
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			died := 0
			for n := 1; n <= at.n; n += step {
				p := richProgram()
				at.set(p, n)
				run := runModel(t, p, &modelBuild{})
				died += run.counts["died"]
				if len(run.failures()) > 0 {
					t.Fatalf("killed at %s %d:\n%s", at.name, n, strings.Join(run.failures(), "\n"))
				}
			}
			if died < at.n/step*7/10 { // the last ones come when all is healed, or not in every run
				t.Errorf("the program died %d times in %d runs", died, (at.n+step-1)/step)
			}
		})
	}
}
