package main

import (
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/seed82539d15/holon/internal/sanitize"
)

// jsonEscaper writes JSON to a terminal. One goroutine uses it.
type jsonEscaper struct {
	w       io.Writer
	partial []byte // the start of a character that the next Write completes
}

// Write implements io.Writer. It accepts all of p, also if its last character
// is incomplete.
func (e *jsonEscaper) Write(p []byte) (int, error) {
	text := append(e.partial, p...)
	out := make([]byte, 0, len(text))
	for len(text) > 0 && utf8.FullRune(text) {
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		switch {
		case r == utf8.RuneError && size == 1: // as decoders read it
			out = append(out, `\ufffd`...)
		case r == '\r':
			out = append(out, ' ') // white space: the rest of the line stays visible
		case sanitize.Acts(r):
			out = appendEscape(out, r)
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	e.partial = append([]byte(nil), text...)
	if _, err := e.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// appendEscape writes a character as an escape of a JSON string.
func appendEscape(dst []byte, r rune) []byte {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(dst, `\u%04x`, r)
}
