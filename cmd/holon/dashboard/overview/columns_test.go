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
