package overview

import (
	"strings"
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// Columns take no more than what is in them, so that a wide window shows whole titles.
func TestAWideWindowShowsWholeTitles(t *testing.T) {
	threads := five()
	title := "Measure the latency of the new endpoint, and write a table"
	threads[1].Summary.Title = title
	if got := text(loaded(threads...), noon, 200, 60); !strings.Contains(got, "> "+title+"  codex ") {
		t.Errorf("a title of %d columns is cut in a window of 200:\n%s", len(title), got)
	}
	for width := 60; width < 250; width++ {
		m := loaded(threads...)
		w := widths(width, m.list.used)
		sum := 2 - gap
		for _, n := range w {
			if n > 0 {
				sum += n + gap
			}
		}
		if sum != width || w[colTitle] < 16 || w[colTitle] > max(screen.Width(title), 16) || w[colNow] < w[colTitle]-gap-1 {
			t.Errorf("at %d the columns are %v, together %d", width, w, sum)
		}
	}
}

func TestTheLinesOfAThreadAreNotCut(t *testing.T) {
	m := loaded(five()...)
	thread := m.list.threads[five()[0].ID]
	thread.Summary.Changed = Lines{12, 3}
	for width, want := range map[int]string{100: "holon fix-flake +12 −3", 18: "holon fix-… +12 −3", 14: "holon … +12 −3"} {
		if got := m.list.where(thread, width); got != want {
			t.Errorf("in %d: %q, want %q", width, got, want)
		}
	}
	thread.Summary.Git.New = 2
	if got := text(m, noon, 100, 24); !strings.Contains(got, " on fix-flake (uncommitted: +12 −3, 2 new files)") {
		t.Errorf("the details are\n%s", got)
	}
}
