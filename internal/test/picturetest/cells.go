package picturetest

import (
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"
)

// style is how a cell is drawn. Colours are "" for the terminal's own, or #rrggbb.
type style struct {
	fore, back                           string
	bold, dim, italic, underline, strike bool
	reverse                              bool
}

// run is a piece of a line in one style.
type run struct {
	at    int // its first column
	width int // in columns
	text  string
	style style
}

// palette are the 16 colours of the terminal that is drawn.
var palette = [16]string{
	"#1d1f21", "#cc6666", "#8fb573", "#e0b060", "#6c9ac3", "#b294bb", "#70b5af", "#c5c8c6",
	"#6b7075", "#e08080", "#a8cc8c", "#f0c674", "#81b2dd", "#c9aed4", "#8cd0ca", "#ffffff",
}

// linesOf reads a capture: for each line the runs of text in one style.
func linesOf(capture string) [][]run {
	var all [][]run
	var st style
	for _, line := range strings.Split(strings.TrimRight(capture, "\n"), "\n") {
		var runs []run
		column := 0
		for line != "" {
			if rest, ok := strings.CutPrefix(line, "\x1b["); ok {
				end := strings.IndexFunc(rest, func(r rune) bool { return r >= '@' && r <= '~' })
				if end < 0 {
					break
				}
				if rest[end] == 'm' {
					st = st.change(rest[:end])
				}
				line = rest[end+1:]
				continue
			}
			text := line
			if i := strings.IndexByte(text, 0x1b); i > 0 {
				text = text[:i]
			} else if i == 0 { // another escape sequence than CSI: nothing that is drawn
				line = line[1:]
				continue
			}
			line = line[len(text):]
			width := runewidth.StringWidth(text)
			runs = append(runs, run{column, width, text, st})
			column += width
		}
		all = append(all, runs)
	}
	return all
}

// change applies the parameters of a select graphic rendition (ECMA-48, 8.3.117).
func (s style) change(params string) style {
	list := strings.FieldsFunc(params, func(r rune) bool { return r == ';' || r == ':' })
	if len(list) == 0 {
		return style{}
	}
	for i := 0; i < len(list); i++ {
		n, err := strconv.Atoi(list[i])
		switch {
		case err != nil:
			return s
		case n == 0:
			s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.dim = true
		case n == 3:
			s.italic = true
		case n == 4:
			s.underline = true
		case n == 7:
			s.reverse = true
		case n == 9:
			s.strike = true
		case n == 22:
			s.bold, s.dim = false, false
		case n == 23:
			s.italic = false
		case n == 24:
			s.underline = false
		case n == 27:
			s.reverse = false
		case n == 29:
			s.strike = false
		case n >= 30 && n <= 37:
			s.fore = palette[n-30]
		case n == 39:
			s.fore = ""
		case n >= 40 && n <= 47:
			s.back = palette[n-40]
		case n == 49:
			s.back = ""
		case n >= 90 && n <= 97:
			s.fore = palette[n-90+8]
		case n >= 100 && n <= 107:
			s.back = palette[n-100+8]
		case n == 38 || n == 48:
			colour, used := colourOf(list[i+1:])
			if i += used; n == 38 {
				s.fore = colour
			} else {
				s.back = colour
			}
		}
	}
	return s
}

// colourOf reads 5;N or 2;R;G;B, and how many parameters that are.
func colourOf(list []string) (colour string, used int) {
	number := func(i int) int {
		if i >= len(list) {
			return 0
		}
		n, _ := strconv.Atoi(list[i]) // what is no number is black
		return min(max(n, 0), 255)
	}
	if len(list) == 0 {
		return "", 0
	}
	if list[0] == "2" {
		return hex(number(1), number(2), number(3)), min(4, len(list))
	}
	switch n := number(1); {
	case n < 16:
		return palette[n], 2
	case n < 232: // a cube of 6 × 6 × 6
		level := func(v int) int {
			if v == 0 {
				return 0
			}
			return 55 + 40*v
		}
		n -= 16
		return hex(level(n/36), level(n/6%6), level(n%6)), 2
	default:
		grey := 8 + 10*(n-232)
		return hex(grey, grey, grey), 2
	}
}

func hex(r, g, b int) string {
	const digits = "0123456789abcdef"
	out := []byte{'#'}
	for _, v := range []int{r, g, b} {
		out = append(out, digits[v>>4], digits[v&15])
	}
	return string(out)
}
