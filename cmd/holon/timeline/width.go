package timeline

import "github.com/mattn/go-runewidth"

// widths is the library's rule without the influence of the environment, so
// that widths are the same everywhere. Ambiguous characters take one column.
var widths = &runewidth.Condition{}

// RuneWidth returns the number of columns a rune takes: 0, 1 or 2. Runes are counted
// one by one, also in a sequence that some terminals draw as one emoji: a row
// that is counted too wide only has a gap, but one that is counted too narrow
// wraps.
func RuneWidth(r rune) int {
	if r >= 0x1160 && r <= 0x11ff {
		return 0 // vowels and finals of Hangul join the consonant before them
	}
	return widths.RuneWidth(r)
}

// Width returns the number of columns of a text of one line.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += RuneWidth(r)
	}
	return n
}

// Fit cuts a text of one line to a number of columns; … replaces the cut part.
func Fit(s string, columns int) string {
	if Width(s) <= columns {
		return s
	}
	if columns <= 0 {
		return ""
	}
	n := 0
	for i, r := range s {
		if n += RuneWidth(r); n > columns-1 {
			return s[:i] + "…"
		}
	}
	return s
}
