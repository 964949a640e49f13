package main

import (
	"strings"
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

func TestTablesFitTheWidth(t *testing.T) {
	tb := newTable("ID", "KIND", "WHEN", "TEXT")
	tb.drop = []string{"WHEN", "KIND"}
	tb.add("id_0123456789", "kind_a", "12:00:00", "a text that is long\x1b[2J and 日本語 wide")
	tb.add("id_9876543210", "k", "12:00:01", "")
	cases := []struct {
		columns int
		head    string
	}{
		{0, "ID             KIND    WHEN      TEXT"},
		{60, "ID             KIND    WHEN      TEXT"},
		{46, "ID             KIND    WHEN      TEXT"},
		{40, "ID             KIND    TEXT"},
		{30, "ID             TEXT"},
	}
	for _, tc := range cases {
		lines := strings.Split(tb.layout(tc.columns, 3), "\n")
		if lines[0] != tc.head {
			t.Errorf("%d columns: head %q, want %q", tc.columns, lines[0], tc.head)
		}
		for _, line := range lines {
			if tc.columns > 0 && timeline.Width(line) > tc.columns {
				t.Errorf("%d columns: %q has %d", tc.columns, line, timeline.Width(line))
			}
			if strings.Contains(line, "\x1b") {
				t.Errorf("%q has an escape", line)
			}
		}
	}
	if whole := tb.layout(0, 3); !strings.Contains(whole, "a text that is long and 日本語 wide\n") {
		t.Errorf("without a bound something is lost:\n%s", whole)
	}
}

// Where nothing is cut, one long text does not push the columns of all rows apart.
func TestALongTextMovesItsOwnRowOnly(t *testing.T) {
	tb := newTable("ID", "NOW", "AGENT")
	long := strings.Repeat("word ", 60) + "end"
	tb.add("a", long, "echo")
	tb.add("b", "short", "claude")
	row := func(id, now, agent string) string {
		return id + strings.Repeat(" ", 4-len(id)) + now + strings.Repeat(" ", max(mostPadded-len(now), 0)+2) + agent + "\n"
	}
	want := row("ID", "NOW", "AGENT") + row("a", long, "echo") + row("b", "short", "claude")
	if got := tb.layout(0, 1); got != want {
		t.Errorf("%q", got)
	}
}

// Two blanks in a command are not one.
func TestTablesShowBlanksAsTheyAre(t *testing.T) {
	tb := newTable("ASKS")
	tb.add("rm -rf  'a  b'\tc\nd\u2028e ")
	if got := tb.layout(0); got != "ASKS\nrm -rf  'a  b' c d e\n" {
		t.Errorf("%q", got)
	}
}

func TestTwoColumnsShareThePlace(t *testing.T) {
	tb := newTable("ID", "TITLE", "DOING")
	tb.drop = []string{"DOING"}
	tb.add("id_0123456789", strings.Repeat("a", 40), strings.Repeat("b", 80))
	for _, tc := range []struct{ columns, title, doing int }{{0, 40, 80}, {100, 40, 43}, {61, 22, 22}, {41, 12, 12}, {40, 25, 0}} {
		row := strings.Split(tb.layout(tc.columns, 1, 2), "\n")[1]
		cells := append(strings.Fields(row), "")
		if title, doing := timeline.Width(cells[1]), timeline.Width(cells[2]); title != tc.title || doing != tc.doing {
			t.Errorf("%d columns: %d and %d, want %d and %d", tc.columns, title, doing, tc.title, tc.doing)
		}
	}
}
