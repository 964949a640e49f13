package overview

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// quick is a thread with little in it.
func quick(name, status string, since time.Duration) Thread {
	return Thread{ID: "thread_" + name, LatestSeq: 1, Summary: Summary{Title: name, Status: status, Since: ago(since), TurnID: "turn_" + name}}
}

// titles are the titles of the rows, in their order on the screen.
func titles(m *Model) (list []string) {
	for _, t := range m.list.rows {
		list = append(list, t.title())
	}
	return list
}

// What waits longest and what began first come first, what ended last comes first.
func TestEachGroupHasItsOrder(t *testing.T) {
	asks := func(name string, since, asked time.Duration) Thread {
		th := quick(name, statusWaiting, since)
		th.Summary.Waiting, th.Summary.WaitingCount = []Waiting{{ItemID: "item_" + name, Since: ago(asked)}}, 1
		return th
	}
	m := loaded(
		quick("works since 1", statusWorking, time.Minute), quick("works since 3", statusWorking, 3*time.Minute), quick("works since 2", statusWorking, 2*time.Minute),
		quick("ended before 3", "idle", 3*time.Minute), quick("ended before 1", "idle", time.Minute), quick("failed before 2", statusFailed, 2*time.Minute),
		asks("asks since 2", 50*time.Minute, 2*time.Minute), asks("asks since 3", time.Minute, 3*time.Minute), quick("in review since 1", statusWaiting, time.Minute),
	)
	want := []string{
		"asks since 3", "asks since 2", "in review since 1", "works since 3", "works since 2", "works since 1",
		"failed before 2", "ended before 1", "ended before 3",
	}
	if got := titles(m); !reflect.DeepEqual(got, want) {
		t.Errorf("the order is %q, want %q", got, want)
	}
	if got := text(m, noon, 120, 30); !strings.HasPrefix(got, "3 need you · 3 working · 1 failed · $4.10 today · oldest wait 3 min\n") {
		t.Errorf("the top line is\n%s", got)
	}
}

// A child is counted if it waits: otherwise it is a number in the row of its parent.
func TestTheTopLineCountsChildrenThatWait(t *testing.T) {
	threads := []Thread{quick("a", statusWaiting, time.Minute), quick("b", statusWorking, time.Minute), quick("c", statusFailed, time.Minute)}
	for _, th := range threads {
		th.ID, th.Level = th.ID+"_child", 1
		threads = append(threads, th)
	}
	if got := text(loaded(threads...), noon, 120, 30); !strings.HasPrefix(got, "2 need you · 1 working · 1 failed · ") {
		t.Errorf("the top line is\n%s", got)
	}
}

// Only threads that may be writing now are marked, however their directory is written.
func TestThreadsThatRestShareTheirDirectory(t *testing.T) {
	in := func(name, status, cwd string) Thread {
		th := quick(name, status, time.Minute)
		th.Summary.Cwd = cwd
		return th
	}
	marked := func(threads ...Thread) (names []string) {
		m := loaded(threads...)
		for _, th := range m.list.rows {
			if strings.HasPrefix(m.list.where(th, 100), "!! ") {
				names = append(names, th.title())
			}
		}
		return names
	}
	for _, status := range []string{"idle", statusFailed, statusClosed, statusWaiting} {
		if got := marked(in("works", statusWorking, "/src"), in("rests", status, "/src")); got != nil {
			t.Errorf("beside a thread that is %s these are marked: %q", status, got)
		}
	}
	if got := marked(in("works", statusWorking, "/src"), in("below", statusWorking, "/src/x"), in("nowhere", statusWorking, ""), in("nowhere too", statusWorking, "")); got != nil {
		t.Errorf("threads of other directories are marked: %q", got)
	}
	if got := marked(in("a", statusWorking, "/src"), in("b", statusWorking, "/src/")); len(got) != 2 {
		t.Errorf("marked are %q", got)
	}
}

// Where a thread without a cwd of its own works is in its summary.
func TestThreadsWithoutACwdShareTheServersDirectory(t *testing.T) {
	var rows []Thread
	if err := json.Unmarshal([]byte(`[
		{"thread_id":"a","agent":"claude","summary":{"status":"working","title":"a","cwd":"/home/me/src","git":{"branch":"main","added":3,"removed":1},"changed":{"added":2,"removed":0}}},
		{"thread_id":"b","agent":"claude","cwd":"/home/me/src","summary":{"status":"working","title":"b","cwd":"/home/me/src"}},
		{"thread_id":"c","agent":"echo","summary":{"status":"working","title":"c"}},
		{"thread_id":"d","agent":"echo","summary":{"status":"working","title":"d"}}]`), &rows); err != nil {
		t.Fatal(err)
	}
	m := loaded(rows...)
	var got []string
	for _, id := range []string{"a", "b", "c", "d"} {
		got = append(got, m.list.where(m.list.threads[id], 100))
	}
	if want := []string{"!! src main +2 −0", "!! src", "", ""}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if details := strings.Join(m.list.details(screen.Styles{}, m.list.threads["a"], noon, 100), "\n"); !strings.Contains(details, "/home/me/src on main (uncommitted: +3 −1)") {
		t.Errorf("the directory's own lines are not in the details:\n%s", details)
	}
}

// The times that people are told: two seconds of rest, half a second of dead keys, five
// seconds to undo.
func TestTimesOfTheOverview(t *testing.T) {
	m := loaded(five()...)
	press(m, noon, "down")
	ended := five()[1]
	ended.Summary.Status, ended.Summary.Since, ended.LatestSeq = "idle", ago(time.Hour), 61
	m.Update(noon, Listed{Threads: []Thread{ended}})
	before := titles(m)
	for _, c := range []struct {
		at    time.Duration
		moved bool
	}{{1999 * time.Millisecond, false}, {2 * time.Second, true}} {
		if m.Update(noon.Add(c.at), screen.Tick{}); reflect.DeepEqual(titles(m), before) == c.moved {
			t.Errorf("%s after a key the rows have moved: %v", c.at, !c.moved)
		}
	}

	m = loaded(five()...)
	asks(m, noon)
	if got := press(m, noon.Add(499*time.Millisecond), "1"); !reflect.DeepEqual(got, say("One moment: the question is new.")) {
		t.Errorf("after 499 ms a key gives %v", got)
	}
	if got := press(m, noon.Add(500*time.Millisecond), "1"); len(got) != 1 {
		t.Errorf("after 500 ms a key gives %v", got)
	}

	m = loaded(five()...)
	press(m, noon, "x", "y")
	if got := m.Update(noon.Add(4999*time.Millisecond), screen.Tick{}); got != nil {
		t.Errorf("after 4.999 s the actions are %v", got)
	}
	if got := m.Update(noon.Add(5*time.Second), screen.Tick{}); len(got) != 1 {
		t.Errorf("after 5 s the actions are %v", got)
	}
}

// Nothing moves for 2 s after a key: also not if there is more to say of the selected
// thread.
func TestRowsStayWhenTheDetailsGrow(t *testing.T) {
	var threads []Thread
	for i := range 40 {
		threads = append(threads, quick(fmt.Sprintf("number %02d", i), "idle", time.Duration(i)*time.Minute))
	}
	for _, size := range [][2]int{{80, 24}, {80, 18}, {80, 14}, {40, 10}} {
		m := loaded(threads...)
		text(m, noon, size[0], size[1])
		press(m, noon, "G")
		row := func() (y int) {
			for i, line := range m.Lines(noon.Add(time.Second), size[0], size[1]) {
				if strings.HasPrefix(line, "✓ number 38") {
					y = i
				}
			}
			return y
		}
		before := row()
		more := threads[39]
		more.Summary.Git, more.LatestSeq, more.Summary.Text = &GitStatus{Branch: "main", Lines: Lines{1, 2}}, 2, "All is well."
		m.Update(noon.Add(time.Second), Listed{Threads: []Thread{more}})
		if after := row(); before == 0 || after != before {
			t.Errorf("in %v the row goes from line %d to %d", size, before, after)
		}
	}
}

// What a person does while a thread starts, or pastes, keeps the rows in their place, too.
func TestRowsStayAfterAPasteAndAfterAStart(t *testing.T) {
	ended := five()[1]
	ended.Summary.Status, ended.Summary.Since, ended.LatestSeq = "idle", ago(time.Hour), 61
	moves := func(m *Model, at time.Time) bool {
		before := titles(m)
		m.Update(at, Listed{Threads: []Thread{ended}})
		return !reflect.DeepEqual(titles(m), before)
	}
	m := loaded(five()...)
	if m.Update(noon, tea.PasteMsg{Content: "x"}); moves(m, noon.Add(orderStays-1)) {
		t.Error("rows move right after a paste")
	}
	for _, pressed := range []bool{true, false} {
		m = loaded(five()...)
		start := press(m, noon, "n", "h", "enter")[1]
		if pressed {
			press(m, noon.Add(time.Second), "i")
		}
		m.Update(noon.Add(time.Second), screen.Done{Action: start, Result: []byte(`{"thread_id":"thread_0000bbbbbbbb"}`)})
		if moves(m, noon.Add(3*time.Second-1)) == pressed {
			t.Errorf("with a key since then (%v) the rows move when a thread has started: %v", pressed, !pressed)
		}
	}
}

// A paste is a text wherever one is typed, and nothing elsewhere.
func TestAPasteIsNoCommand(t *testing.T) {
	for _, keys := range [][]string{nil, {"n"}, {"n", "tab"}, {"/"}, {"i"}, {"?"}} {
		m := loaded(five()...)
		press(m, noon, "down")
		press(m, noon, keys...)
		var want []screen.Action
		if keys == nil { // a paste that goes nowhere is not lost in silence
			want = say("Nothing is typed here: n starts a thread, Enter opens one to write in it.")
		}
		if got := m.Update(noon, tea.PasteMsg{Content: "y\nqx\r\n1\n"}); !reflect.DeepEqual(got, want) {
			t.Errorf("after %q a paste gives %v", keys, got)
		}
		if len(m.closing) > 0 {
			t.Errorf("after %q a paste closes a thread", keys)
		}
	}
}
