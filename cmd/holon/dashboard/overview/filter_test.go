package overview

import (
	"strings"
	"testing"
)

// A filter that is kept is on the screen as long as it hides threads.
func TestAFilterThatIsKeptIsShown(t *testing.T) {
	m := loaded(five()...)
	press(m, noon, "/", "c", "o", "d", "e")
	shows := func(width, height int, want string) {
		t.Helper()
		if got := strings.Split(text(m, noon, width, height), "\n")[1]; got != want {
			t.Errorf("at %d × %d the second line is %q, want %q", width, height, got, want)
		}
	}
	if got := text(m, noon, 80, 24); strings.Count(got, "Filter: ") != 1 {
		t.Errorf("a filter that is typed is shown twice:\n%s", got)
	}
	press(m, noon, "enter")
	shows(80, 24, "Filter: code · 2 of 5 threads · Esc shows all")
	shows(40, 10, "Filter: code · 2 of 5 · Esc shows all")
	press(m, noon, "/")
	press(m, noon, strings.Split("x and more than fits", "")...)
	press(m, noon, "enter")
	shows(40, 10, "Filter: codex … · 0 of 5 · Esc shows all")
	press(m, noon, "esc")
	if got := text(m, noon, 80, 24); strings.Contains(got, "Filter: ") {
		t.Errorf("after Esc the filter is shown:\n%s", got)
	}
}

// The filter line counts what the top line and the headings count; what only a filter lists is
// named beside that.
func TestTheFilterLineCountsWhatTheHeadCounts(t *testing.T) {
	child, box := quick("child of code", "idle", 1), quick("box of code", "idle", 1)
	child.Level, child.Parent.ID, box.Agent = 1, "thread_0000dddddddd", mailbox
	m := loaded(append(five(), child, box)...)
	press(m, noon, "/", "c", "o", "d", "e", "enter")
	for _, c := range []struct {
		width int
		want  string
	}{
		{100, "Filter: code · 2 of 5 threads + 1 child thread + 1 inbox · Esc shows all"},
		{50, "Filter: code · 2 of 5 + 2 · Esc shows all"},
	} {
		if got := strings.Split(text(m, noon, c.width, 24), "\n")[1]; got != c.want {
			t.Errorf("the filter line is %q, want %q", got, c.want)
		}
	}
}

// The digits of a title are in the ids of other threads too, which are not meant.
func TestAShortWordIsNotLookedForInIDs(t *testing.T) {
	all := five()
	all[0].ID, all[0].Summary.Title = "thread_01a21cd5-2ff2-7e16-bf93-8f4618952026", "part 11"
	all[1].ID, all[1].Summary.Title = "thread_01a21cd5-2ff2-7e16-bf93-8f4618952027", "part 12"
	m := loaded(all...)
	for text, want := range map[string]string{"part 12": all[1].ID, "18952026": all[0].ID} {
		m.setFilter(text)
		if len(m.list.rows) != 1 || m.list.rows[0].ID != want {
			t.Errorf("%q finds %d threads, want %s", text, len(m.list.rows), want)
		}
	}
}
