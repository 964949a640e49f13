package overview

import (
	"strings"
	"testing"
	"time"
)

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
