package overview

import (
	"cmp"
	"reflect"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// A close that interrupts work asks first: a letter of a sentence is no order.
func TestAThreadWithWorkIsClosedAfterAConfirmation(t *testing.T) {
	queued := quick("q", "idle", 0)
	queued.Summary.Queued = 1
	for title, threads := range map[string][]Thread{
		"Fix the flaky test of the stream": five()[:1], "Write the migration": five()[1:2], "q": {queued}, "Mend the build": {inReview()},
	} {
		does := map[string]string{"q": "What is queued never starts.", "Mend the build": "Its result is blocked, as nobody has reviewed it."}[title]
		does = cmp.Or(does, "It interrupts its turn.")
		m := loaded(threads...)
		press(m, noon, "x")
		if got := text(m, noon, 120, 24); !strings.Contains(got, "Close “"+title+"”? "+does+" y closes it, any other key keeps it.") || !strings.Contains(got, "y close  any other key keep") {
			t.Errorf("x does not ask:\n%s", got)
		}
		for _, key := range []string{"p", "x", "enter", "esc"} {
			want := say("“" + title + "” stays open.")
			if got := press(m, noon, key); !reflect.DeepEqual(got, want) || len(m.closing) > 0 {
				t.Errorf("%s gives %v and closes %v, want %v", key, got, m.closing, want)
			}
			press(m, noon, "x")
		}
		press(m, noon, "y")
		want := []screen.Action{screen.Close{Thread: threads[0].ID}}
		if got := m.Update(noon.Add(undoTime-1), screen.Tick{}); got != nil {
			t.Errorf("it is closed at once: %v", got)
		}
		if got := m.Update(noon.Add(undoTime), screen.Tick{}); !reflect.DeepEqual(got, want) {
			t.Errorf("after y the actions are %v, want %v", got, want)
		}
	}
}

// A thread at rest is closed without a question, since that can be undone.
func TestAThreadAtRestIsClosedAtOnce(t *testing.T) {
	for _, status := range []string{"idle", statusFailed} {
		m := loaded(quick("a", status, 0))
		if press(m, noon, "x"); len(m.closing) != 1 || m.sure != nil {
			t.Errorf("x on a thread that is %s closes %v, and asks %v", status, m.closing, m.sure)
		}
	}
}

// Each thread that is closing can be kept: the selected one first, else the newest.
func TestEachOfTwoClosesCanBeUndone(t *testing.T) {
	two := func() *Model {
		m := loaded(quick("a", "idle", 0), quick("b", "idle", 0), quick("c", "idle", 0))
		press(m, noon, "g", "x", "j", "x")
		if len(m.closing) != 2 {
			t.Fatalf("closing are %v", m.closing)
		}
		return m
	}
	first, second := say("“a” stays open."), say("“b” stays open.")
	for keys, want := range map[string][]screen.Action{
		"uu":   append(second, first...),
		"kuu":  append(first, second...),
		"juu":  append(second, first...),
		"uuu":  append(append(second, first...), say(screen.NothingToUndo)...),
		"ukxu": append(second, first...),
	} {
		m := two()
		if got := press(m, noon, strings.Split(keys, "")...); !reflect.DeepEqual(got, want) {
			t.Errorf("%s gives %v, want %v", keys, got, want)
		}
		if got := m.Pending(); got != nil {
			t.Errorf("after %s these are closed: %v", keys, got)
		}
	}
	m := two()
	press(m, noon, "j")
	if got := text(m, noon, 120, 24); strings.Count(got, "closes in 5 s: u keeps it") != 2 || !strings.Contains(got, "u keep it") {
		t.Errorf("two threads close, and u is not named:\n%s", got)
	}
	want := []screen.Action{screen.Close{Thread: "thread_a"}, screen.Close{Thread: "thread_b"}}
	if got := m.Pending(); !reflect.DeepEqual(got, want) {
		t.Errorf("at the end the actions are %v, want %v", got, want)
	}
}

// Esc says no to what is about to happen: it keeps open, and clears the filter only then.
func TestEscKeepsAllThreadsOpen(t *testing.T) {
	for keys, want := range map[string]string{"x": "“b1” stays open.", "xjx": "2 threads stay open.", "xyjxkkjjj": "2 threads stay open."} {
		m := loaded(quick("b1", "idle", 0), quick("b2", "idle", 0), quick("b3", "idle", 0), quick("other", "idle", 0))
		press(m, noon, "/", "b", "enter", "g")
		press(m, noon, strings.Split(keys, "")...)
		if got := press(m, noon, "esc"); !reflect.DeepEqual(got, say(want)) {
			t.Errorf("after %s Esc gives %v, want %q", keys, got, want)
		}
		if got := m.Pending(); got != nil || m.list.filter != "b" {
			t.Errorf("after %s and Esc these are closed: %v, and the filter is %q", keys, got, m.list.filter)
		}
		if press(m, noon, "esc"); m.list.filter != "" {
			t.Errorf("a second Esc leaves the filter %q", m.list.filter)
		}
	}
}
