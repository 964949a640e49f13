package overview

import (
	"strings"
	"testing"
	"time"
)

// What is not in the list has not happened: an inbox, a thread without a turn, and child threads
// that need nobody.
func TestOnlyWhatIsListedHasHappened(t *testing.T) {
	box, empty, child, review := quick("box", "idle", 1), quick("empty", "idle", 1), quick("child", "idle", 1), inReview()
	box.Agent, child.Level, child.Summary.TurnID = mailbox, 1, "turn_c"
	m := loaded(append(five(), box, empty, child, review)...)
	got := text(m, noon, 100, 40)
	away, _, _ := strings.Cut(got, "\n\n")
	if strings.Contains(away, "box") || strings.Contains(away, "empty") || strings.Contains(away, "child") || !strings.Contains(away, "? Mend the build: waits for your review 9 min ago\n") {
		t.Errorf("what happened is\n%s", away)
	}
	m.Select(review.ID)
	if got := text(m, noon, 100, 40); !strings.Contains(got, "\nWaits for your review for 9 min: a shows what the agent said\n") {
		t.Errorf("a thread in review is shown as\n%s", got)
	}
}

// The panel of what happened meanwhile says what a thread does now: one that was given
// more to do has not finished.
func TestWhatHappenedFollowsTheThread(t *testing.T) {
	m := loaded(five()...)
	next := five()[2]
	for _, c := range []struct{ status, want string }{
		{statusWorking, ": works again, busy again"},
		{statusClosed, ": closed 5 s ago, busy again"},
		{"idle", ": finished 5 s ago, busy again"},
	} {
		next.LatestSeq++
		next.Summary.Status, next.Summary.Since, next.Summary.Text = c.status, ago(5*time.Second), "busy again"
		m.Update(noon, Listed{Threads: []Thread{next}})
		away, _, _ := strings.Cut(text(m, noon, 100, 24), "\n\n")
		if !strings.Contains(away, c.want) {
			t.Errorf("of a thread that is %s it does not say %q:\n%s", c.status, c.want, away)
		}
	}
}
