package mapping

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
)

// Agents written in JavaScript cut a text anywhere, also within a character of
// two UTF-16 units. Each half is a separate escape in JSON, and decodes to
// replacement.
const (
	replacement = "\uFFFD"
	escapeLen   = len(`\ud83d`)
)

// join joins a piece of a text with the half of a character that the previous
// piece ended with (0 = none). text is the JSON string raw, decoded. It returns
// the text that is complete now and the half that raw ends with.
func join(half rune, raw jsontext.Value, text string) (whole string, next rune) {
	if text == "" {
		return "", half
	}
	first, last := halves(raw)
	if half != 0 {
		if first != 0 {
			text = string(utf16.DecodeRune(half, first)) + strings.TrimPrefix(text, replacement)
		} else {
			text = replacement + text
		}
	}
	if last != 0 {
		text = strings.TrimSuffix(text, replacement)
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
	if r := escaped(s[:escapeLen]); r >= 0xDC00 && r <= 0xDFFF {
		first = r
	}
	end := len(s) - escapeLen
	before := s[:end]
	slashes := len(before) - len(bytes.TrimRight(before, `\`))
	if r := escaped(s[end:]); slashes%2 == 0 && r >= 0xD800 && r <= 0xDBFF {
		last = r
	}
	return first, last
}

// escaped is the UTF-16 unit of an escape like \ud83d; 0 if s is none.
func escaped(s []byte) rune {
	digits, ok := bytes.CutPrefix(s, []byte(`\u`))
	if !ok {
		return 0
	}
	n, err := strconv.ParseUint(string(digits), 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}
