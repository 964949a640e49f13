package overview

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// most is a list of which the server has more.
func most(counts Counts, cut bool) *Model {
	m := New(screen.Styles{}, "/src")
	m.Update(noon, Listed{Threads: five(), Whole: true, Counts: &counts, Cut: cut})
	return m
}

// Badge, headline and headings count the same, also what is not held.
func TestWhatIsNotHeldIsCounted(t *testing.T) {
	shows := func(m *Model, at time.Time, parts ...string) {
		t.Helper()
		got := text(m, at, 100, 24)
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%q is missing in\n%s", part, got)
			}
		}
	}
	m := most(Counts{NeedsYou: 1, Working: 1, Failed: 1, Done: 301, Closed: 4000}, false)
	m.away = nil
	shows(m, noon, "1 needs you · 1 working · 1 failed", "Needs you (1)", "Working (1)", "Idle (301), failed (1)", "\n  and 300 more: / finds them", "Closed (4000): c shows them")
	press(m, noon, "c")
	shows(m, noon, "Closed (4000)", "\n  and 3999 more: / finds them")

	// Rows that change are counted at once, without the server.
	ended := five()[1]
	ended.Summary.Status, ended.LatestSeq = statusFailed, 61
	m.Update(noon.Add(time.Minute), Listed{Threads: []Thread{ended}})
	shows(m, noon.Add(time.Minute), "1 needs you · 0 working · 2 failed", "Idle (301), failed (2)")
	// What the server knows already and the list does not yet changes neither.
	m.Update(noon.Add(time.Minute), Listed{Counts: &Counts{NeedsYou: 2, Failed: 2, Done: 301, Closed: 4001}})
	shows(m, noon.Add(time.Minute), "1 needs you · 0 working · 2 failed", "Needs you (1)", "Idle (301), failed (2)", "Closed (4001)")
	if m.NeedYou() != 1 {
		t.Errorf("the badge says %d", m.NeedYou())
	}

	m = most(Counts{NeedsYou: 20, Working: 30, Failed: 40, Done: 1, Closed: 1, AtLeast: true}, true)
	m.away = nil
	shows(m, noon, "20+ need you · 30+ working · 40+ failed", "Needs you (20+)", "  and 19+ more", "Working (30+)", "Idle (1), failed (40+)", "\nClosed (1): ")
	if m.NeedYou() != 20 {
		t.Errorf("the badge says %d", m.NeedYou())
	}
	m = New(screen.Styles{}, "/src")
	failing := five()[2:3]
	m.Update(noon, Listed{Threads: failing, Whole: true, Counts: &Counts{Failed: 1, AtLeast: true}, Cut: true})
	if got := text(m, noon, 100, 24); !strings.HasPrefix(got, "nothing here needs you · 1 failed\n") {
		t.Errorf("what is not known is shown as none:\n%s", got)
	}
	box := Thread{ID: "thread_box", Agent: "mailbox", Summary: Summary{Title: "me", Status: "idle"}}
	m = loaded(append(five(), box)...)
	m.away = nil
	shows(m, noon, "Idle (1), failed (1)")
	press(m, noon, "/", "m", "e")
	shows(m, noon, "· me") // a mailbox has no turns
}

func TestTheFilterAsksTheServerForWhatIsNotHeld(t *testing.T) {
	m := most(Counts{NeedsYou: 1, Working: 1, Failed: 1, Done: 301, Closed: 1}, false)
	if got := press(m, noon, "/", "o", "l"); got != nil {
		t.Errorf("while a person types the server is asked: %v", got)
	}
	if at := m.Changes(noon); !at.Equal(noon.Add(filterAfter)) {
		t.Errorf("it changes at %s", at.Sub(noon))
	}
	ask := screen.Call{Name: callFilter, Method: "thread/list", Params: map[string]any{"view": "summary", "order": "desc", "limit": filterRows, "text": "ol"}}
	if got := m.Update(noon.Add(filterAfter), screen.Tick{}); !reflect.DeepEqual(got, []screen.Action{ask}) {
		t.Fatalf("after the last key the server is asked %v", got)
	}
	if got := m.Update(noon.Add(2*filterAfter), screen.Tick{}); got != nil {
		t.Errorf("it is asked again: %v", got)
	}
	m.Update(noon, screen.Done{Action: ask, Result: json.RawMessage(`{"threads":[{"thread_id":"thread_old","latest_seq":3,"summary":{"title":"old work","status":"idle","turn_id":"turn_old"}}],"next_cursor":"x"}`)})
	if got := text(m, noon, 80, 24); !strings.Contains(got, "✓ old work") || !strings.Contains(got, "More match than are shown") {
		t.Errorf("what was found is missing:\n%s", got)
	}
	press(m, noon, "esc")
	m.away = nil
	if got := text(m, noon.Add(time.Minute), 80, 24); !strings.Contains(got, "Idle (301), failed (1)") || !strings.Contains(got, "and 299 more") {
		t.Errorf("what was found is counted twice:\n%s", got)
	}
	if got := m.Update(noon.Add(time.Hour), screen.Tick{}); got != nil {
		t.Errorf("without a filter the server is asked: %v", got)
	}

	m = loaded(five()...) // all are held
	press(m, noon, "/", "o")
	if got := m.Update(noon.Add(time.Second), screen.Tick{}); got != nil {
		t.Errorf("although all are held the server is asked: %v", got)
	}
}

// What is said below the last row is in sight with it.
func TestWhatIsSaidBelowTheLastRowIsSeen(t *testing.T) {
	var threads []Thread
	for i := range 60 {
		threads = append(threads, quick(string(rune('a'+i%26))+string(rune('a'+i/26)), "idle", time.Hour))
	}
	for _, height := range []int{8, 10, 24, 60} {
		m := New(screen.Styles{}, "/src")
		m.Update(noon, Listed{Threads: threads, Whole: true, Counts: &Counts{Done: 100, Closed: 7}})
		text(m, noon, 80, height)
		press(m, noon, "G")
		if got := text(m, noon, 80, height); !strings.Contains(got, "and 40 more: / finds them") || !strings.Contains(got, "Closed (7): c shows them") {
			t.Errorf("in %d lines it is not seen:\n%s", height, got)
		}
	}
}
