package markdown

import (
	"strconv"
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

// style is how a character stands out.
type style uint8

const (
	bold style = 1 << iota
	faint
	italic
	underlined
	struck
	coloured // cyan, which is readable on dark and on light backgrounds
)

// weights are the numbers of the styles in a sequence (SGR).
var weights = [...]int{1, 2, 3, 4, 9, 36}

// glyph is a character and its style.
type glyph struct {
	char  rune
	style style
}

// glyphs returns the characters of a text.
func glyphs(text string, s style) []glyph {
	all := make([]glyph, 0, len(text))
	for _, r := range text {
		all = append(all, glyph{r, s})
	}
	return all
}

func widthOf(line []glyph) (n int) {
	for _, g := range line {
		n += timeline.RuneWidth(g.char)
	}
	return n
}

// wrap breaks a text at its line feeds, and where a line is full: at a blank, within a
// word only if that is longer than a line. There is at least one line.
func wrap(text []glyph, width int) (lines [][]glyph) {
	width = max(width, 2) // a wide character takes two columns
	start := 0
	for i := 0; i <= len(text); i++ {
		if i == len(text) || text[i].char == '\n' {
			lines = wrapLine(lines, text[start:i], width)
			start = i + 1
		}
	}
	return lines
}

func wrapLine(lines [][]glyph, line []glyph, width int) [][]glyph {
	indent := 0
	for indent < len(line) && line[indent].char == ' ' {
		indent++
	}
	if indent > width/2 { // blanks alone would fill the row
		line, indent = line[indent:], 0
	}
	for {
		n, blank, cut := 0, -1, len(line)
		for i, g := range line {
			if n += timeline.RuneWidth(g.char); n > width {
				cut = i
				break
			}
			if g.char == ' ' && i >= indent {
				blank = i
			}
		}
		if cut == len(line) {
			return append(lines, line)
		}
		if line[cut].char == ' ' {
			blank = cut
		}
		if blank > 0 {
			cut = blank
		}
		lines = append(lines, trimRight(line[:cut]))
		for line = line[cut:]; len(line) > 0 && line[0].char == ' '; {
			line = line[1:]
		}
		if indent = 0; len(line) == 0 {
			return lines
		}
	}
}

func trimRight(line []glyph) []glyph {
	for len(line) > 0 && line[len(line)-1].char == ' ' {
		line = line[:len(line)-1]
	}
	return line
}

// paper takes the rows of a document.
type paper struct {
	width  int
	colour bool
	rows   []string
	margin margin
}

// margin is what stands in front of each row.
type margin struct {
	width int
	rest  string // in front of each row, except for
	first string // which is in front of the next one, if begins
	begun bool   // first was written
}

// leastText is how many columns a text has at least, or half of the page if that is less:
// what is nested deeper is not indented any more.
const leastText = 16

func (p *paper) room() int { return max(p.width-p.margin.width, 2) }

// indent puts first in front of the next row, and as many columns, which are rest, in front
// of the others; what it returns ends that.
func (p *paper) indent(first, rest string, s style) (end func()) {
	outer := p.margin
	n := screen.Width(rest)
	if p.width-outer.width-n < max(min(leastText, p.width/2), 2) {
		return func() {}
	}
	front := outer.rest
	if !outer.begun {
		front = outer.first
	}
	p.margin = margin{
		width: outer.width + n,
		first: front + p.sign(first, s),
		rest:  outer.rest + p.sign(rest, s),
	}
	return func() {
		if p.margin.begun {
			outer.begun = true
		}
		p.margin = outer
	}
}

// sign returns a sign at the margin, painted without its blanks.
func (p *paper) sign(sign string, s style) string {
	words := strings.TrimRight(sign, " ")
	return p.paint(glyphs(words, s)) + sign[len(words):]
}

// line writes a row.
func (p *paper) line(text []glyph) {
	front := p.margin.rest
	if !p.margin.begun {
		front = p.margin.first
	}
	p.margin.begun = true
	row := p.paint(trimRight(text))
	if row == "" {
		front = strings.TrimRight(front, " ")
	}
	p.rows = append(p.rows, front+row)
}

// text writes a text in as many rows as it takes.
func (p *paper) text(text []glyph) {
	for _, line := range wrap(text, p.room()) {
		p.line(line)
	}
}

// gap writes an empty row between two blocks.
func (p *paper) gap() {
	if p.margin.begun {
		p.line(nil)
	}
}

// paint returns a line as a terminal takes it.
func (p *paper) paint(line []glyph) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		s := line[i].style
		on := p.sequence(s)
		b.WriteString(on)
		for ; i < len(line) && line[i].style == s; i++ {
			b.WriteRune(line[i].char)
		}
		if on != "" {
			b.WriteString("\x1b[m")
		}
	}
	return b.String()
}

func (p *paper) sequence(s style) string {
	if !p.colour {
		s &^= coloured
	}
	var numbers []string
	for i, weight := range weights {
		if s&(1<<i) != 0 {
			numbers = append(numbers, strconv.Itoa(weight))
		}
	}
	if numbers == nil {
		return ""
	}
	return "\x1b[" + strings.Join(numbers, ";") + "m"
}
