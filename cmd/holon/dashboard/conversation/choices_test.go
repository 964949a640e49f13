package conversation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// choicesOf is a question with a field of n choices, whose titles have a length.
func choicesOf(n, length int) object {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("name%d ", i+1)+strings.Repeat("x", length))
	}
	return object{"type": "question", "message": "Which one?", "schema": object{"type": "string", "title": "Place", "description": strings.Repeat("far away ", length/20), "enum": names}}
}

// numbers are how many choices rows show, and how many rows they say are hidden.
func numbers(rows []string) (shown, hidden int) {
	for _, row := range rows {
		row = strings.TrimSpace(ansi.Strip(row))
		var n int
		if _, err := fmt.Sscanf(row, fmt.Sprintf("%d name%d", shown+1, shown+1)); err == nil {
			shown++
		}
		if before, _, found := strings.Cut(row, " more line"); found {
			if _, err := fmt.Sscan(before[strings.LastIndex(before, " ")+1:], &n); err == nil {
				hidden += n
			}
		}
	}
	return shown, hidden
}

func TestChoicesWithLongTitlesTakeARowEachWhereThereIsLittleRoom(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.item("q1", "t1", "pending", choicesOf(3, 500))
	p.later(time.Second)
	for _, keys := range [][]string{{"<esc>"}, {"a"}} {
		p.keys(keys...)
		p.shows("? Which one?", "  Place: far away", "    1 name1 xxx", "    2 name2 xxx", "    3 name3 xxx", "x…", "  » ")
		p.hides("more line")
	}
	p.keys("1", "<enter>")
	if did := p.did(); len(did) != 1 || !strings.Contains(string(did[0].(screen.Respond).Answer), "name1 ") {
		t.Errorf("%#v", did)
	}
	p = newPage(t, 80, 60).open()
	p.item("q1", "t1", "pending", choicesOf(3, 500))
	p.keys("<esc>", "a")
	p.shows("    3 name3 ", strings.Repeat("x", 40)+" ")
	p.hides("x…")
}

// Every choice is in sight or counted, in the thread and in the overview, and the title
// and the line in which one types stay as long as there are rows for them.
func TestChoicesThatAreHiddenAreCounted(t *testing.T) {
	for _, n := range []int{3, 40} {
		for _, width := range []int{40, 80} {
			for height := 6; height < 24; height += 1 + height/12*3 {
				p := newPage(t, width, height).open()
				p.item("q1", "t1", "pending", choicesOf(n, 500))
				p.later(time.Second)
				for _, keys := range [][]string{{"<esc>"}, {"a"}} {
					p.keys(keys...)
					rows := strings.Split(p.text(), "\n")
					if !strings.Contains(p.text(), "The agent asks") {
						continue // the window has no room for a question
					}
					shown, hidden := numbers(rows)
					titled := strings.Contains(p.text(), "Place")
					if !titled {
						hidden-- // the title is counted, too
					}
					if shown+hidden != n || !titled && shown > 0 {
						t.Errorf("%d×%d: %d choices in sight and %d counted, of %d:\n%s", width, height, shown, hidden, n, p.text())
					}
				}
				a := &Ask{q: p.m.asks.front(), open: true}
				for _, why := range []string{"", "That is none of the choices."} {
					a.q.why = why
					lines, _, y := a.Lines(p.now, screen.Styles{}, "/", width, height)
					text := strings.Join(lines, "\n")
					if shown, hidden := numbers(lines); len(lines) > height || shown+hidden != n || !strings.Contains(text, "Place") || !strings.Contains(text, why) || y >= 0 && !strings.Contains(lines[y], "»") {
						t.Errorf("%d×%d: %d choices in sight and %d counted, of %d:\n%s", width, height, shown, hidden, n, text)
					}
				}
			}
		}
	}
}

// The overview has no way to scroll: options that it does not show are counted.
func TestOptionsThatAreHiddenAreCountedInTheOverview(t *testing.T) {
	var options []object
	for i := range 9 {
		options = append(options, object{"option_id": fmt.Sprint(i), "name": fmt.Sprintf("name%d", i+1), "kind": "allow_once"})
	}
	p := newPage(t, 80, 24).open()
	p.item("q1", "t1", "pending", permission("Run", object{"options": options}))
	a := &Ask{q: p.m.asks.front(), open: true}
	for height := 2; height < 14; height++ {
		lines, _, _ := a.Lines(p.now, screen.Styles{}, "/", 80, height)
		if shown, hidden := numbers(lines); len(lines) > height || shown+hidden < 9 || shown == 0 && height > 2 || !strings.Contains(lines[0], "Run") {
			t.Errorf("%d rows: %d options in sight and %d counted:\n%s", height, shown, hidden, strings.Join(lines, "\n"))
		}
	}
}
