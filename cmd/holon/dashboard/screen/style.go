package screen

import "strings"

// Style is how a text stands out. The zero value changes nothing. Every style
// also has a form without colour, and no meaning is in the colour alone.
type Style struct{ on string }

const reset = "\x1b[m"

// Paint switches a style on for a text of one line. Colours within the text end
// the style, so paint pieces that have none.
func (s Style) Paint(text string) string {
	if s.on == "" || text == "" {
		return text
	}
	return s.on + text + reset
}

// Row paints a line that already has colours: the style continues after each of
// them. For the selected row.
func (s Style) Row(line string) string {
	if s.on == "" || line == "" {
		return line
	}
	line = strings.ReplaceAll(line, "\x1b[0m", reset)
	return s.on + strings.ReplaceAll(line, reset, reset+s.on) + reset
}

// Styles are the styles of the dashboard, named for what they mean. The zero
// value paints nothing: tests read plain text.
type Styles struct {
	Title    Style // names of pages and groups
	Strong   Style // what is read first in a line
	Dim      Style // what may be overlooked
	Selected Style // the row that keys act on
	Waiting  Style // it needs the person
	Working  Style
	Failed   Style
	Done     Style
	Added    Style // lines of a diff
	Removed  Style
	Key      Style // a key in a help line
	Notice   Style // a line that reports something
}

// NewStyles returns the styles for a terminal, with or without colour (NO_COLOR).
// Colours are the terminal's own sixteen, which its user has chosen to be
// readable.
func NewStyles(colour bool) Styles {
	sgr := func(weight, hue string) Style {
		if colour && hue != "" {
			weight = strings.Trim(weight+";"+hue, ";")
		}
		if weight == "" {
			return Style{}
		}
		return Style{on: "\x1b[" + weight + "m"}
	}
	return Styles{
		Title:    sgr("1", ""),
		Strong:   sgr("1", ""),
		Dim:      sgr("2", ""),
		Selected: sgr("7", ""),
		Waiting:  sgr("1", "33"),
		Working:  sgr("", "36"),
		Failed:   sgr("1", "31"),
		Done:     sgr("", "32"),
		Added:    sgr("", "32"),
		Removed:  sgr("", "31"),
		Key:      sgr("1", ""),
		Notice:   sgr("1", "35"),
	}
}
