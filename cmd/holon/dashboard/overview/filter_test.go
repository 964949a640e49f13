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
