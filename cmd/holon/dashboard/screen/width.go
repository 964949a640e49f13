package screen

import (
	"strings"
	"unicode/utf8"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

// Width returns the number of columns of a text of one line. Colours take none.
func Width(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if k := sgr(s[i:]); k > 0 {
			i += k
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		n += timeline.RuneWidth(r)
		i += size
	}
	return n
}

// Fit cuts a text of one line to at most width columns; … replaces what was cut, and a
// bracket that was opened just before. Colours that are on at the cut are switched off.
func Fit(s string, width int) string {
	if len(s) <= width || Width(s) <= width {
		return s
	}
	if width <= 0 {
		return ""
	}
	n, coloured := 0, false
	for i := 0; i < len(s); {
		if k := sgr(s[i:]); k > 0 {
			coloured = s[i:i+k] != reset && s[i:i+k] != "\x1b[0m"
			i += k
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if n += timeline.RuneWidth(r); n > width-1 {
			kept := s[:i]
			if end := strings.TrimRight(kept, " "); strings.TrimRight(end, opened) != end {
				kept = strings.TrimRight(end, opened+" ")
			}
			if kept += "…"; coloured {
				kept += reset
			}
			return kept
		}
		i += size
	}
	return s
}

// opened are brackets that no text ends with where it is cut.
const opened = "([{"

// FitLeft works like Fit, but cuts the beginning: for paths, whose end says most.
func FitLeft(s string, width int) string {
	over := Width(s) - width
	if over <= 0 {
		return s
	}
	if width <= 0 {
		return ""
	}
	n := 0
	for i, r := range s {
		if n > over {
			return "…" + s[i:]
		}
		n += timeline.RuneWidth(r)
	}
	return "…"
}

// Pad works like Fit, filled with blanks to exactly width columns.
func Pad(s string, width int) string {
	s = Fit(s, width)
	return s + blanks(width-Width(s))
}

// PadLeft works like Pad, with the blanks before the text: for numbers.
func PadLeft(s string, width int) string {
	s = Fit(s, width)
	return blanks(width-Width(s)) + s
}

// Sides puts one text at the left and one at the right of a line of exactly
// width columns. The left one is cut if there is no room for both; if the right
// one alone is too wide, it is left out.
func Sides(left, right string, width int) string {
	room := width - Width(right)
	if right == "" || room < 2 {
		return Pad(left, width)
	}
	return Pad(left, room-1) + " " + right
}

// Fill cuts or fills lines to exactly width columns and height lines.
func Fill(lines []string, width, height int) []string {
	filled := make([]string, max(height, 0))
	for i := range filled {
		if i < len(lines) {
			filled[i] = Pad(lines[i], width)
		} else {
			filled[i] = blanks(width)
		}
	}
	return filled
}

func blanks(n int) string { return strings.Repeat(" ", max(n, 0)) }
