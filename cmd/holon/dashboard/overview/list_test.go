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
	shows(noon, "1 needs you · 1 working", "Needs you (1)", "Working (1)", "Done (1), failed (1)")
	answered := five()[0]
	answered.Summary.Status, answered.Summary.Waiting, answered.Summary.WaitingCount, answered.LatestSeq = "idle", nil, 0, 51
	m.Update(noon.Add(time.Second), Listed{Threads: []Thread{answered}})
	shows(noon.Add(time.Second), "nothing needs you · 1 working", "Needs you (0)", "✓ Fix the flaky test", "Done (2), failed (1)")
	m.Update(noon.Add(settle), Listed{})
	shows(noon.Add(settle), "nothing needs you", "Done (2), failed (1)")
}
