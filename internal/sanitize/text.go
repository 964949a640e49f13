package sanitize

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text sanitizes a whole text. A control character becomes its picture (␇), so
// that nothing is hidden; line feeds and tabs stay.
func Text(s string) string {
	var z Stream
	return string(z.Finish(z.Append(nil, s)))
}

// Plain sanitizes a whole text and leaves control characters out; line feeds and
// tabs stay.
func Plain(s string) string {
	z := Stream{acting: leftOut}
	return string(z.Finish(z.Append(nil, s)))
}

// Literal makes every character visible that a terminal or a browser hides or that looks
// like a blank: a control character becomes its picture, others their number, as in ‹200b›.
// Line feeds and tabs stay, and so does what makes one emoji of several characters. It is for
// what a person approves, such as a command: a shell executes also what a terminal would
// hide. The result is harmless: Text leaves it as it is.
func Literal(s string) string {
	if strings.IndexFunc(s, hides) < 0 {
		return s
	}
	var b strings.Builder
	pictured := false // an emoji, or what belongs to one, is before
	for i, r := range s {
		switch {
		case !hides(r):
			b.WriteRune(r)
			pictured = picture(r) || pictured && r >= 0x1f3fb && r <= 0x1f3ff
			continue
		case pictured && (r == 0xfe0e || r == 0xfe0f):
			b.WriteRune(r)
			continue
		case pictured && r == 0x200d:
			if next, _ := utf8.DecodeRuneInString(s[i+len("\u200d"):]); picture(next) {
				b.WriteRune(r)
				continue
			}
			fallthrough
		default:
			pictured = false
			if r < 0x20 {
				b.WriteRune(0x2400 + r)
			} else {
				fmt.Fprintf(&b, "‹%04x›", r)
			}
		}
	}
	return b.String()
}

// hides reports whether a character is not seen where it is shown, or looks like a blank and
// is none.
func hides(r rune) bool {
	switch {
	case r >= 0x20 && r < 0x7f, r == '\n', r == '\t':
		return false
	case !unicode.IsGraphic(r), unicode.Is(unicode.Z, r), r == brailleBlank:
		return true
	}
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// picture reports whether r may begin an emoji.
func picture(r rune) bool { return unicode.Is(unicode.So, r) && r != brailleBlank }

// brailleBlank is drawn as nothing, though it counts as a symbol.
const brailleBlank = 0x2800

// linePiece is how much of a text Line sanitizes at a time, because it mostly
// needs the beginning only.
const linePiece = 1 << 10

// Line returns the beginning of a text as one line of at most max characters. What
// separates words, and each control character, becomes one blank. It ends with …
// if the text was cut. max is at least 1.
func Line(s string, max int) string {
	l := line{max: max}
	z := Stream{acting: blank}
	var piece []byte
	for s != "" {
		n := min(len(s), linePiece)
		if piece = z.Append(piece[:0], s[:n]); !l.add(piece) {
			return l.cut()
		}
		s = s[n:]
	}
	if !l.add(z.Finish(piece[:0])) {
		return l.cut()
	}
	return string(l.text)
}

// line is a line of at most max characters in the making.
type line struct {
	text  []rune
	max   int
	space bool // a blank comes before the next character
}

// add adds a piece of sanitized text, as far as it fits, and reports whether all did.
func (l *line) add(piece []byte) bool {
	for _, r := range string(piece) {
		if unicode.IsSpace(r) {
			l.space = len(l.text) > 0
			continue
		}
		if l.space {
			l.text = append(l.text, ' ')
		}
		if l.text, l.space = append(l.text, r), false; len(l.text) > l.max {
			return false
		}
	}
	return true
}

// cut returns the line if not all did fit.
func (l *line) cut() string { return string(append(l.text[:l.max-1], '…')) }

// Sequence returns the length in bytes of the escape sequence that s begins with, 0 if it
// begins with none. One without an end reaches to the end of s, or to where it
// becomes too long for a sequence.
func Sequence(s string) int {
	var z Stream
	for i, r := range s {
		if i == 0 {
			if z.rune(nil, r); z.state == ground {
				return 0
			}
			continue
		}
		if !z.inSequence(r) {
			return i
		}
		if z.state == ground {
			return i + len(string(r))
		}
	}
	return len(s)
}

// Acts reports whether a character has an effect on a terminal, or on the text
// around it, instead of being shown. Line feed and tab, which only move the
// cursor forward, and joiners do not count.
func Acts(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029:
		return true
	}
	return reorders(r) || invisible(r)
}

// reorders reports whether r changes the direction of the text around it.
func reorders(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 ||
		r == 0x200e || r == 0x200f || r == 0x061c
}

// invisible reports whether r is a format character that shows nothing. Joiners
// stay, since scripts and emoji need them. Signs of Arabic script stay too:
// they are drawn although they belong to the class.
func invisible(r rune) bool {
	if r < 0xad || r == 0x200c || r == 0x200d || r >= 0x600 && r <= 0x8e2 {
		return false
	}
	return unicode.Is(unicode.Cf, r)
}
