package overview

import (
	"strings"
	"testing"
	"time"
)

// While the rows stay where they are after a key, the headings say what the top line says.
func TestHeadingsAgreeWithTheTopLineWhileRowsStay(t *testing.T) {
	m := loaded(five()...)
	press(m, noon, "down")
	shows := func(at time.Time, parts ...string) {
		t.Helper()
		got := text(m, at, 80, 24)
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%q is missing in\n%s", part, got)
			}
		}
	}
	shows(noon, "1 needs you · 1 working", "Needs you (1)", "Working (1)", "Idle (1), failed (1)")
	answered := five()[0]
	answered.Summary.Status, answered.Summary.Waiting, answered.Summary.WaitingCount, answered.LatestSeq = "idle", nil, 0, 51
	m.Update(noon.Add(time.Second), Listed{Threads: []Thread{answered}})
	shows(noon.Add(time.Second), "nothing needs you · 1 working", "Needs you (0)", "✓ Fix the flaky test", "Idle (2), failed (1)")
	m.Update(noon.Add(orderStays), Listed{})
	shows(noon.Add(orderStays), "nothing needs you", "Idle (2), failed (1)")
}

func TestAThreadWhoseReviewRefusesItIsNotDone(t *testing.T) {
	m := loaded(five()...)
	blocked := five()[3]
	blocked.Summary.Status, blocked.Summary.Review, blocked.Summary.Text = "failed", "blocked", "blocked: not good; last: Found 4 words."
	m.Update(noon, Listed{Threads: []Thread{blocked}})
	for range 10 {
		if m.Selected() != blocked.ID {
			press(m, noon, "down")
		}
	}
	got := text(m, noon, 120, 24)
	for _, part := range []string{"⊘ Spell-check the documents", "blocked: not good", "Idle (0), failed (2)", "Blocked 20 min ago: not good; last: Found 4 words."} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing in\n%s", part, got)
		}
	}
}
