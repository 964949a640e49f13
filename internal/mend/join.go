package mend

import (
	"bytes"
	"strings"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
)

// Join joins a piece of a text with the half of a character that the piece before it
// ended with (0 = none): programs written in JavaScript cut a text anywhere, also within
// a character of two UTF-16 units, and each half is a separate escape in JSON. text is
// the JSON string raw, decoded, with Replacement for each half. Join returns the text
// that is complete now and the half that raw ends with. If no piece follows, Replacement
// stands for that half.
func Join(half rune, raw jsontext.Value, text string) (whole string, next rune) {
	if text == "" {
		return "", half
	}
	first, last := halves(raw)
	if half != 0 {
		if first != 0 {
			text = string(utf16.DecodeRune(half, first)) + strings.TrimPrefix(text, Replacement)
		} else {
			text = Replacement + text
		}
	}
	if last != 0 {
		text = strings.TrimSuffix(text, Replacement)
	}
	return text, last
}

// halves returns the second half of a character that a JSON string begins
// with, and the first half that it ends with; 0 = none.
func halves(raw jsontext.Value) (first, last rune) {
	if len(raw) < escapeLen+len(`""`) {
		return 0, 0
	}
	s := raw[1 : len(raw)-1]
	if r := unitOf(s); isLow(r) {
		first = r
	}
	end := len(s) - escapeLen
	before := s[:end]
	slashes := len(before) - len(bytes.TrimRight(before, `\`))
	if r := unitOf(s[end:]); slashes%2 == 0 && isHigh(r) {
		last = r
	}
	return first, last
}
