package sanitize

import "unicode/utf8"

// Bounds of escape sequences: a longer one is no sequence, and the text after
// it is shown, so that an agent cannot hide the rest of its output.
const (
	maxControl = 64   // parameters of ESC [ …
	maxString  = 4096 // ESC ] … and its relatives
)

// States of a Stream.
const (
	ground = iota
	escape
	intermediate
	control
	text
	textEscape
)

// What a single control character becomes.
const (
	shown   = iota // its picture, or U+FFFD
	blank          // a blank
	leftOut        // nothing
)

// Stream sanitizes a text that comes in pieces. Its output is valid UTF-8 whose
// only control characters are line feed and tab. It drops escape sequences, also
// those that begin with a C1 control (U+009B and the like) and those without an
// end. Single control characters become their pictures (␇), other C1 controls,
// characters that reorder text and invalid UTF-8 become U+FFFD. A carriage return
// ends a line. The result does not depend on how the text is cut into pieces. One
// goroutine uses it. The zero value is ready.
type Stream struct {
	acting  int // what a single control character becomes
	state   int
	length  int
	cr      bool
	partial []byte // the start of a rune that the last piece cut off
}

// Append appends the sanitized form of the next piece to dst.
func (z *Stream) Append(dst []byte, piece string) []byte {
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

// Finish appends the text that was held back at the end of the stream, which then is
// ready for another text.
func (z *Stream) Finish(dst []byte) []byte {
	for range z.partial {
		dst = z.rune(dst, utf8.RuneError)
	}
	if z.cr {
		dst = append(dst, '\n')
	}
	*z = Stream{acting: z.acting}
	return dst
}

// rune takes one rune. A rune that ends a sequence without being part of it is
// treated as text.
func (z *Stream) rune(dst []byte, r rune) []byte {
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
	case z.begins(r):
		return dst
	case r == '\n' || r == '\t':
		return append(dst, byte(r))
	case r == 0x2028 || r == 0x2029: // line and paragraph separator
		return append(dst, '\n')
	case r < 0x20:
		return z.acts(dst, 0x2400+r)
	case r == 0x7f:
		return z.acts(dst, 0x2421)
	case r >= 0x80 && r < 0xa0, reorders(r):
		return z.acts(dst, utf8.RuneError)
	case invisible(r):
		return dst
	}
	return utf8.AppendRune(dst, r)
}

// acts appends what is left of a character that acts; picture shows it.
func (z *Stream) acts(dst []byte, picture rune) []byte {
	switch z.acting {
	case blank:
		return append(dst, ' ')
	case leftOut:
		return dst
	}
	return utf8.AppendRune(dst, picture)
}

// begins reports whether r begins an escape sequence: ESC, or the C1 control that
// stands for ESC and a second character (ECMA-48, 5.3). Bytes that are no UTF-8 begin
// none: a terminal that reads UTF-8 does not take them for C1 controls.
func (z *Stream) begins(r rune) bool {
	switch r {
	case 0x1b:
		z.state = escape
	case 0x9b:
		z.state = control
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f: // DCS, SOS, OSC, PM, APC
		z.state = text
	default:
		return false
	}
	z.length = 0
	return true
}

// inSequence reports whether r belongs to an escape sequence, and follows it.
func (z *Stream) inSequence(r rune) bool {
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
		case r == 0x07 || r == 0x9c || r == 0x18 || r == 0x1a: // BEL, ST; CAN and SUB end it too
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
