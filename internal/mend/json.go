package mend

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

const (
	// Replacement stands for what is not a character.
	Replacement = "\uFFFD"
	// ByteOrderMark is what some programs write in front of their output, or of each line.
	ByteOrderMark = "\uFEFF"
	escapeLen     = len(`\ud83d`)
)

// noNumbers are what some encoders write for numbers that JSON does not have.
var noNumbers = [][]byte{[]byte("NaN"), []byte("Infinity"), []byte("-Infinity")}

// JSON returns raw without a byte order mark, with U+FFFD for each byte that is not
// UTF-8 and for each half of a surrogate pair, and with null for NaN, Infinity and
// -Infinity; nulls reports whether there was one of these. It does not change raw, which
// it returns if there is nothing to mend. What else is wrong with raw stays as it is.
func JSON(raw []byte) (mended []byte, nulls bool) {
	raw = bytes.TrimPrefix(raw, []byte(ByteOrderMark))
	m := mending{raw: raw}
	inString := false
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRune(raw[i:])
			if r == utf8.RuneError && n == 1 {
				m.replace(i, n, Replacement)
			}
			i += n
		case c == '"':
			inString = !inString
			i++
		case inString && c == '\\':
			i = m.escape(i)
		case !inString && (c == 'N' || c == 'I' || c == '-'):
			n := noNumber(raw[i:])
			if n > 0 {
				m.replace(i, n, "null")
				nulls = true
			}
			i += max(n, 1)
		default:
			i++
		}
	}
	return m.result(), nulls
}

// mending is raw with some of its bytes replaced.
type mending struct {
	raw  []byte
	out  []byte
	done int // raw up to here is in out
}

// replace puts text in place of the n bytes at the index at.
func (m *mending) replace(at, n int, text string) {
	m.out = append(append(m.out, m.raw[m.done:at]...), text...)
	m.done = at + n
}

func (m *mending) result() []byte {
	if m.done == 0 {
		return m.raw
	}
	return append(m.out, m.raw[m.done:]...)
}

// escape reads the escape at an index, replaces it if it is half of a pair, and returns
// the index behind it.
func (m *mending) escape(at int) int {
	rest := m.raw[at:]
	switch unit := unitOf(rest); {
	case !isHigh(unit) && !isLow(unit):
		return min(at+2, len(m.raw)) // the digits of another \u are read as text
	case isHigh(unit) && isLow(unitOf(rest[escapeLen:])):
		return at + 2*escapeLen
	}
	m.replace(at, escapeLen, Replacement)
	return at + escapeLen
}

func noNumber(text []byte) int {
	for _, word := range noNumbers {
		if bytes.HasPrefix(text, word) {
			return len(word)
		}
	}
	return 0
}

// unitOf returns the UTF-16 unit of the escape, like \ud83d, that a text begins with; 0 if it
// begins with none.
func unitOf(text []byte) rune {
	if len(text) < escapeLen || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(text[2:escapeLen]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}

func isHigh(unit rune) bool { return unit >= 0xD800 && unit <= 0xDBFF }
func isLow(unit rune) bool  { return unit >= 0xDC00 && unit <= 0xDFFF }
