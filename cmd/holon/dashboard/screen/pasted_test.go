package screen

import (
	"strings"
	"testing"
)

// read is what a pasting makes of reads; the last one is followed by silence.
func read(pieces ...string) string {
	var out strings.Builder
	at := 0
	p := &pasting{more: func() bool { return at < len(pieces)-1 }}
	for i, piece := range pieces {
		at = i
		b := make([]byte, len(piece)+len(pasteStart)+len(pasteEnd))
		copy(b, piece)
		out.Write(b[:p.bracket(b, len(piece), false)])
	}
	return out.String()
}

func TestAReadOfSeveralLinesIsAPaste(t *testing.T) {
	for name, c := range map[string]struct {
		pieces []string
		want   string
	}{
		"lines":                      {[]string{"Fix this:\rTypeError: x\r  at foo\rThanks"}, "\x1b[200~Fix this:\rTypeError: x\r  at foo\rThanks\x1b[201~"},
		"line feeds":                 {[]string{"a\nb\n"}, "\x1b[200~a\nb\n\x1b[201~"},
		"in several reads":           {[]string{"a\rb", "c\r", "d"}, "\x1b[200~a\rbc\rd\x1b[201~"},
		"a character cut":            {[]string{"a\r\xc3", "\xa4\rb\xc3", "\xa4"}, "\x1b[200~a\r\xc3\xa4\rb\xc3\xa4\x1b[201~"},
		"with colours":               {[]string{"a\r\x1b[31mb"}, "\x1b[200~a\r[31mb\x1b[201~"},
		"Enter":                      {[]string{"\r"}, "\r"},
		"a line and Enter":           {[]string{"yes\r"}, "yes\r"},
		"Enter twice":                {[]string{"\r\r"}, "\r\r"},
		"Enter and a key":            {[]string{"\rj", "\ré"}, "\rj\ré"},
		"Enter as CR LF":             {[]string{"\r\n"}, "\r\n"},
		"Enter and an arrow":         {[]string{"\r\x1b[B\x1bOA"}, "\r\x1b[B\x1bOA"},
		"Enter, Tab, Ctrl-C":         {[]string{"\r\t\x03\x7f"}, "\r\t\x03\x7f"},
		"Alt-Enter while typing":     {[]string{"a\x1b\rb"}, "a\x1b\rb"},
		"Enter and an answer":        {[]string{"\r\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?62;22c"}, "\r\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?62;22c"},
		"text without lines":         {[]string{"abc", "def"}, "abcdef"},
		"brackets of the terminal":   {[]string{"\x1b[200~a\rb\x1b[201~"}, "\x1b[200~a\rb\x1b[201~"},
		"… over reads":               {[]string{"\x1b[200~a", "\rb\rc", "d\re\x1b[201~"}, "\x1b[200~a\rb\rcd\re\x1b[201~"},
		"… that are cut":             {[]string{"\x1b[20", "0~a\rb", "c\rd\x1b[2", "01~"}, "\x1b[200~a\rbc\rd\x1b[201~"},
		"… and then one without":     {[]string{"\x1b[200~a\x1b[201~", "x", "b\rc"}, "\x1b[200~a\x1b[201~x\x1b[200~b\rc\x1b[201~"},
		"Enter behind the terminals": {[]string{"\x1b[200~a\rb\x1b[201~\r"}, "\x1b[200~a\rb\x1b[201~\r"},
	} {
		if got := read(c.pieces...); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if !isPaste("x\r", true) || isPaste("x", true) {
		t.Error("a full read that ends with a line is not the beginning of a paste, or one without a line is")
	}
}
