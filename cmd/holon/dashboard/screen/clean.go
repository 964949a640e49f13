package screen

import (
	"strings"
	"unicode/utf8"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/internal/sanitize"
)

// tabStop is how far apart the tab stops of a text are.
const tabStop = 4

// Clean makes a text harmless: it removes escape sequences, replaces control
// characters by their pictures, spaces tabs out, and shortens characters that
// terminals draw in different widths (see straightener). The only control character
// of the result is the line feed.
func Clean(s string) string {
	var z straightener
	return z.clean(s)
}

// OneLine works like Clean, on one line: white space of any length becomes one blank.
func OneLine(s string) string {
	return strings.Join(strings.Fields(Clean(s)), " ")
}

// Colours removes from a text that another renderer has made everything that
// acts on a terminal, except line feeds and the sequences that set colours and
// weights (SGR). The text itself must have passed Clean before it was rendered.
func Colours(s string) string {
	var b strings.Builder
	var z straightener // a terminal joins also what a sequence is between
	for s != "" {
		at := strings.IndexByte(s, esc)
		if at < 0 {
			break
		}
		b.WriteString(z.clean(s[:at]))
		n := sgr(s[at:])
		if n > 0 {
			b.WriteString(s[at : at+n])
		} else {
			n = max(1, sanitize.Sequence(s[at:]))
		}
		s = s[at+n:]
	}
	b.WriteString(z.clean(s))
	return b.String()
}

const esc = 0x1b

// sgr returns the length of the sequence of colours and weights that s begins with, 0
// if it begins with none.
func sgr(s string) int {
	if len(s) < 3 || s[0] != esc || s[1] != '[' {
		return 0
	}
	for i := 2; i < len(s) && i < 64; i++ {
		switch c := s[i]; {
		case c == 'm':
			return i + 1
		case (c < '0' || c > '9') && c != ';' && c != ':':
			return 0
		}
	}
	return 0
}

// plain reports whether a text is printable ASCII and line feeds only, which is
// what most texts are.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 0x20 && c != '\n') || c >= 0x7f {
			return false
		}
	}
	return true
}

// expand replaces tabs by blanks up to the next stop of their line.
func expand(s string) string {
	if !strings.Contains(s, "\t") {
		return s
	}
	var b strings.Builder
	column := 0
	for _, r := range s {
		switch r {
		case '\t':
			n := tabStop - column%tabStop
			b.WriteString(strings.Repeat(" ", n))
			column += n
			continue
		case '\n':
			column = 0
		default:
			column += timeline.RuneWidth(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Characters that join others to one emoji, or change how it looks.
const (
	joiner      = 0x200d
	keycap      = 0x20e3
	firstSkin   = 0x1f3fb
	lastSkin    = 0x1f3ff
	firstRegion = 0x1f1e6
	lastRegion  = 0x1f1ff
)

// straightener goes through a text that may come in pieces.
type straightener struct {
	before rune // the character that was written last, 0 if none was
}

// clean returns Clean of the next piece.
func (z *straightener) clean(s string) string {
	if !plain(s) {
		return expand(z.straight(sanitize.Text(s)))
	}
	if s != "" {
		z.before = rune(s[len(s)-1])
	}
	return s
}

// straight shortens sequences whose width depends on the terminal: some draw a
// family as one emoji of two columns, others as four of eight. A joined emoji
// becomes its first part, a skin colour or a variant is left out, and a flag
// becomes the two letters that it is made of.
func (z *straightener) straight(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		switch {
		case r == joiner && emoji(z.before):
			// What is joined to an emoji belongs to it.
			if next, size := utf8.DecodeRuneInString(s[i:]); emoji(next) {
				i += size
			}
			continue
		case r >= 0xfe00 && r <= 0xfe0f, r == keycap, r >= firstSkin && r <= lastSkin:
			continue
		case r >= firstRegion && r <= lastRegion:
			r = 'A' + r - firstRegion
		}
		b.WriteRune(r)
		z.before = r
	}
	return b.String()
}

// emoji reports whether a character is a picture, as opposed to a letter of a
// script that uses joiners too.
func emoji(r rune) bool {
	return r >= 0x2190 && r <= 0x2bff || r >= 0x1f000 && r <= 0x1faff
}
