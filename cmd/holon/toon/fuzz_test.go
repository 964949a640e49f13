package toon

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzAppend checks what every output promises: UTF-8 without control
// characters but the line feed, lines that are indented by pairs of spaces and
// have no space at their end, and the same text however the JSON is laid out.
func FuzzAppend(f *testing.F) {
	for _, seed := range []string{
		`{"a":[{"id":1,"g":{"x":"\u001b[31m"}},{"id":2,"g":{"x":"\u009b\u007f"}}],"m":{"x":{"a":1},"y":{"a":-1.50e-7}}}`,
		`[1,"- a",[],{},[{"a\n":[[1],[]]}],{"t":[{"a":1}],"b":{"":" "}}]`,
		`"\ufeff#"`, `{}`, `[[[[]]]]`, `1e99999999999`, `{"a":1,"a":2}`, `[`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before := bytes.Clone(in)
		out, err := Append(nil, in)
		if !bytes.Equal(in, before) {
			t.Fatal("Append changed its input")
		}
		if err != nil {
			if len(out) > 0 {
				t.Fatalf("an error and %q: %v", out, err)
			}
			return
		}
		if !utf8.Valid(out) {
			t.Fatalf("not UTF-8: %q", out)
		}
		for _, line := range strings.Split(string(out), "\n") {
			content := strings.TrimLeft(line, " ")
			if strings.ContainsFunc(line, unicode.IsControl) || strings.HasSuffix(line, " ") ||
				(len(line)-len(content))%2 != 0 || content == "" && len(out) > 0 {
				t.Fatalf("bad line %q in\n%s", line, out)
			}
		}
		other := jsontext.Value(bytes.Clone(in))
		if err := other.Indent(jsontext.WithIndent("\t")); err != nil {
			t.Fatalf("JSON that is no JSON elsewhere: %v", err)
		}
		if again, err := Append(nil, other); err != nil || !bytes.Equal(out, again) {
			t.Fatalf("laid out differently it is\n%s\nnot\n%s\n%v", again, out, err)
		}
	})
}
