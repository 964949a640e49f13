package screen

import (
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

// Wrap breaks a cleaned text without colours into lines of at most width
// columns: at blanks where possible, within a word that is longer than a line.
// Line feeds stay, and so do blanks at the start of a line. The result has at
// least one line.
func Wrap(s string, width int) []string {
	width = max(width, 2) // a wide character takes two columns
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		lines = wrapLine(lines, line, width)
	}
	return lines
}

// wrapLine appends the rows of one line.
func wrapLine(rows []string, line string, width int) []string {
	for {
		n, blank := 0, -1
		cut := len(line)
		for i, r := range line {
			if n += timeline.RuneWidth(r); n > width {
				cut = i
				break
			}
			if r == ' ' {
				blank = i
			}
		}
		if cut == len(line) {
			return append(rows, line)
		}
		if line[cut] == ' ' {
			blank = cut
		}
		if blank > 0 && strings.TrimLeft(line[:blank], " ") != "" {
			cut = blank
		}
		rows = append(rows, strings.TrimRight(line[:cut], " "))
		line = strings.TrimLeft(line[cut:], " ")
		if line == "" {
			return rows
		}
	}
}

// Chop breaks a cleaned line without colours into rows of at most width columns, wherever
// they are full: every blank stays. The result has at least one row.
func Chop(line string, width int) (rows []string) {
	width = max(width, 2) // a wide character takes two columns
	start, n := 0, 0
	for i, r := range line {
		w := timeline.RuneWidth(r)
		if n+w > width {
			rows = append(rows, line[start:i])
			start, n = i, 0
		}
		n += w
	}
	return append(rows, line[start:])
}
