package timeline

import (
	"unicode"
	"unicode/utf8"
)

// Bounds of escape sequences: a longer one is no sequence, and the text after
// it is shown, so that an agent cannot hide the rest of its output.
const (
	maxControl = 64   // parameters of ESC [ …
	maxString  = 4096 // ESC ] … and its relatives
)

// States of a Sanitizer.
const (
	ground = iota
	escape
	intermediate
	control
	text
	textEscape
)

// Sanitizer makes a stream of text harmless on a terminal. Its output is valid
// UTF-8 whose only control characters are line feed and tab. It drops complete
// escape sequences and replaces single control characters by their pictures
// (␇). Invalid UTF-8, C1 controls and characters that reorder text become
// U+FFFD. A carriage return ends a line. The result does not depend on how the
// stream is cut into pieces. The zero value is ready.
type Sanitizer struct {
	state   int
	length  int
	cr      bool
	partial []byte // the start of a rune that the last piece cut off
}

// Clean sanitizes a whole text.
func Clean(s string) string {
	var z Sanitizer
	return string(z.Finish(z.Append(nil, s)))
}

// Append appends the sanitized form of the next piece to dst.
func (z *Sanitizer) Append(dst []byte, piece string) []byte {
	if len(z.partial) > 0 {
		piece = string(z.partial) + piece
		z.partial = z.partial[:0]
	}
	for i := 0; i < len(piece); {
		r, size := utf8.DecodeRuneInString(piece[i:])
		if r == utf8.RuneError && size == 1 && !utf8.FullRuneInString(piece[i:]) {
			z.partial = append(z.partial, piece[i:]...)
			break
		}
		dst = z.rune(dst, r)
		i += size
	}
	return dst
}

// Finish appends the text that was held back at the end of the stream.
func (z *Sanitizer) Finish(dst []byte) []byte {
	for range z.partial {
		dst = z.rune(dst, utf8.RuneError)
	}
	if z.cr {
		dst = append(dst, '\n')
	}
	*z = Sanitizer{}
	return dst
}

// rune takes one rune. A rune that ends a sequence without being part of it is
// treated as text.
func (z *Sanitizer) rune(dst []byte, r rune) []byte {
	if z.inSequence(r) {
		return dst
	}
	if z.cr {
		z.cr = false
		dst = append(dst, '\n')
		if r == '\n' {
			return dst
		}
	}
	switch {
	case r == '\r':
		z.cr = true
		return dst
	case r == 0x1b:
		z.state = escape
		return dst
	case r == '\n' || r == '\t':
		return append(dst, byte(r))
	case r == 0x2028 || r == 0x2029: // line and paragraph separator
		return append(dst, '\n')
	case r < 0x20:
		return utf8.AppendRune(dst, 0x2400+r)
	case r == 0x7f:
		return utf8.AppendRune(dst, 0x2421)
	case r >= 0x80 && r < 0xa0, reorders(r):
		return utf8.AppendRune(dst, utf8.RuneError)
	case invisible(r):
		return dst
	}
	return utf8.AppendRune(dst, r)
}

// inSequence tells whether r belongs to an escape sequence, and follows it.
func (z *Sanitizer) inSequence(r rune) bool {
	z.length++
	switch z.state {
	case ground:
		z.length = 0
		return false
	case escape:
		switch {
		case r == '[':
			z.state, z.length = control, 0
		case r == ']' || r == 'P' || r == '_' || r == '^' || r == 'X':
			z.state, z.length = text, 0
		case r >= 0x20 && r < 0x30:
			z.state = intermediate
		case r >= 0x30 && r < 0x7f:
			z.state = ground
		default:
			z.state = ground
			return false
		}
		return true
	case intermediate, control:
		parameter := r >= 0x20 && r < 0x30 || z.state == control && r >= 0x30 && r < 0x40
		if parameter && z.length <= maxControl {
			return true
		}
		z.state = ground
		return !parameter && r >= 0x30 && r < 0x7f
	case text:
		switch {
		case r == 0x07 || r == 0x9c:
			z.state = ground
		case r == 0x1b:
			z.state = textEscape
		case r == '\n' || r == '\r' || z.length > maxString:
			z.state = ground
			return false
		}
		return true
	default: // textEscape: ESC within a string, a backslash ends it
		if r == '\\' {
			z.state = ground
			return true
		}
		z.state = escape
		return z.inSequence(r)
	}
}

// Acts tells whether a character has an effect on a terminal, or on the text
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

// reorders tells whether r changes the direction of the text around it.
func reorders(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 ||
		r == 0x200e || r == 0x200f || r == 0x061c
}

// invisible tells whether r is a format character that shows nothing. Joiners
// stay, since scripts and emoji need them. Signs of Arabic script stay too:
// they are drawn although they belong to the class.
func invisible(r rune) bool {
	if r < 0xad || r == 0x200c || r == 0x200d || r >= 0x600 && r <= 0x8e2 {
		return false
	}
	return unicode.Is(unicode.Cf, r)
}
