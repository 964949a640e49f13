package timeline

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// strike rewrites rows on the screen. Rows that have scrolled out of the window
// cannot be reached.
func (t *terminal) strike(stale func(*source) bool, mark bool) (above bool) {
	t.erase()
	t.endLine()
	t.block = ""
	t.rows.look(t.width(), t.height())
	up, rewritten, above := t.rows.strike(stale, mark)
	if up == 0 {
		return above
	}
	fmt.Fprintf(&t.out, "\x1b[%dA\x1b[J", up)
	for _, line := range rewritten {
		for i, u := range line.runs {
			t.rewrite(u, i == 0)
		}
		t.out.WriteByte('\n')
	}
	return above
}

// rewrite writes a run of a row that is already on the screen. Without colours,
// a sign at the row's start says that it is struck out.
func (t *terminal) rewrite(u run, first bool) {
	switch {
	case u.struck && t.color:
		text := strings.TrimLeft(u.text, " ")
		t.out.WriteString(u.text[:len(u.text)-len(text)])
		if text != "" {
			t.paint(styleStruck, text)
		}
	case u.struck && first:
		_, size := utf8.DecodeRuneInString(u.text)
		t.out.WriteString(struckSign + u.text[size:])
	case u.style == "":
		t.out.WriteString(u.text)
	default:
		t.paint(u.style, u.text)
	}
}

// lose forgets where the rows are: other output has been written to the
// terminal.
func (t *terminal) lose() { t.rows.reach = 0 }
