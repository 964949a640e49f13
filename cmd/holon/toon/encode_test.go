package toon

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// lines joins the lines of an expected text.
func lines(l ...string) string { return strings.Join(l, "\n") }

func TestLayoutFollowsTheShapeOfTheValue(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"empty object":        {`{}`, ``},
		"empty array":         {`[]`, `[]`},
		"empty string":        {`""`, `""`},
		"primitive":           {` true `, `true`},
		"byte order mark":     {`"\ufeffa b"`, "\"\ufeffa b\""},
		"order of members":    {`{"b":1,"10":2,"a":null,"9":false}`, lines(`b: 1`, `"10": 2`, `a: null`, `"9": false`)},
		"empty members":       {`{"o":{},"a":[],"s":""}`, lines(`o:`, `a: []`, `s: ""`)},
		"nested objects":      {`{"a":{"b":{"c":1}},"d":2}`, lines(`a:`, `  b:`, `    c: 1`, `d: 2`)},
		"one line":            {`{"tags":["x","a,b",1,null]}`, `tags[4]: x,"a,b",1,null`},
		"one line at root":    {`["a"]`, `[1]: a`},
		"table":               {`{"t":[{"id":1,"n":"a"},{"n":"b:c","id":2}]}`, lines(`t[2]{id,n}:`, `  1,a`, `  2,"b:c"`)},
		"table at root":       {`[{"a b":1}]`, lines(`[1]{"a b"}:`, `  1`)},
		"table with a group":  {`[{"id":1,"g":{"a":1,"h":{"b":2}},"z":0}]`, lines(`[1]{id,g{a,h{b}},z}:`, `  1,1,2,0`)},
		"groups that differ":  {`[{"g":{"a":1}},{"g":{"b":1}}]`, lines(`[2]:`, `  - g:`, `      a: 1`, `  - g:`, `      b: 1`)},
		"an empty group":      {`[{"g":{}},{"g":{}}]`, lines(`[2]:`, `  - g:`, `  - g:`)},
		"a member is missing": {`[{"a":1,"b":2},{"a":1}]`, lines(`[2]:`, `  - a: 1`, `    b: 2`, `  - a: 1`)},
		"other names":         {`[{"a":1},{"b":1}]`, lines(`[2]:`, `  - a: 1`, `  - b: 1`)},
		"a member more":       {`[{"a":1},{"a":1,"b":2}]`, lines(`[2]:`, `  - a: 1`, `  - a: 1`, `    b: 2`)},
		"array in a row":      {`[{"a":[1]},{"a":2}]`, lines(`[2]:`, `  - a[1]: 1`, `  - a: 2`)},
		"keyed table":         {`{"m":{"x-1":{"a":1},"y":{"a":2}}}`, lines(`m[2:]{a}:`, `  "x-1": 1`, `  y: 2`)},
		"keyed table at root": {`{"x":{"a":1},"y":{"a":2}}`, lines(`[2:]{a}:`, `  x: 1`, `  y: 2`)},
		"one row is no table": {`{"x":{"a":1}}`, lines(`x:`, `  a: 1`)},
		"mixed list":          {`[1,{"a":1,"b":[]},[],{},[2,3],"-"]`, lines(`[6]:`, `  - 1`, `  - a: 1`, `    b: []`, `  - [0]:`, `  -`, `  - [2]: 2,3`, `  - "-"`)},
		"arrays of arrays":    {`{"p":[[1,2],[]]}`, lines(`p[2]:`, `  - [2]: 1,2`, `  - [0]:`)},
		"deeper arrays":       {`[[[1],{"a":1}]]`, lines(`[1]:`, `  - [2]:`, `    - [1]: 1`, `    - a: 1`)},
		"items are no tables": {`[[{"a":1},{"a":2}],1]`, lines(`[2]:`, `  - [2]:`, `    - a: 1`, `    - a: 2`, `  - 1`)},
		"table in an item":    {`[{"t":[{"a":1}],"b":2}]`, lines(`[1]:`, `  - t[1]{a}:`, `      1`, `    b: 2`)},
		"list in an item":     {`[{"t":[[1],2],"b":2}]`, lines(`[1]:`, `  - t[2]:`, `      - [1]: 1`, `      - 2`, `    b: 2`)},
		"keyed in an item":    {`[{"m":{"x":{"a":1},"y":{"a":2}},"b":[]}]`, lines(`[1]:`, `  - m[2:]{a}:`, `      x: 1`, `      y: 2`, `    b: []`)},
	} {
		got, err := Append(nil, jsontext.Value(test.in))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %v\ngot\n%s\nwant\n%s", name, err, got, test.want)
		}
	}
}

func TestNumbersKeepTheirDigits(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0", "-0": "0", "-0.00e5": "0", "0e99999999999": "0",
		"42": "42", "-1.5000": "-1.5", "1.0": "1", "100": "100", "0.05": "0.05", "10.01": "10.01",
		"1e3": "1000", "1.25E+1": "12.5", "125e-2": "1.25", "-1e-6": "-0.000001", "9.99e-7": "9.99e-7",
		"1e20": "100000000000000000000", "1e21": "1e+21", "-12.5e30": "-1.25e+31", "999999999999999999999": "999999999999999999999",
		"9007199254740993": "9007199254740993", "0.1000000000000000055": "0.1000000000000000055",
		"1e400": "1e+400", "0.0000001": "1e-7", "1e99999999999": "1e99999999999",
	} {
		got, err := Append(nil, jsontext.Value(in))
		if err != nil || string(got) != want {
			t.Errorf("%s is %s, want %s: %v", in, got, want, err)
		}
	}
}

func TestStringsAreInQuotesOnlyWhereNeeded(t *testing.T) {
	bare := []string{"a", "a b", "a-b", "True", "NULL", "a#b", "1.2.3", "1e", ".5", "0x1", "+", "(x)", "a'b", "ä", "語", "👩\u200d🔬", "\u00a0", "a/b", "ſ"}
	inQuotes := []string{"", "true", "false", "null", "0", "-1", "+1", "05", "1.5", "1e6", "1E-6", " a", "a ", "-", "-a", "#a", "a,b", "a:b", "[", "]", "{", "}"}
	escaped := map[string]string{
		`"`: `\"`, `\`: `\\`, "\n": `\n`, "\r": `\r`, "\t": `\t`, "\x00": `\u0000`, "\x1b[31m": `\u001b[31m`,
		"a\x7f": `a\u007f`, "\u009b31m": `\u009b31m`, "a\u2028": "",
	}
	for _, s := range bare {
		escaped[s] = ""
	}
	for _, s := range inQuotes {
		escaped[s] = s
	}
	for s, inside := range escaped {
		want := s
		if inside != "" || s == "" {
			want = `"` + inside + `"`
		}
		in := quoted(s)
		for form, text := range map[string][2]string{
			"root":   {in, want},
			"member": {`{"k":` + in + `}`, "k: " + want},
			"inline": {`[` + in + `,0]`, "[2]: " + want + ",0"},
			"item":   {`[` + in + `,{}]`, "[2]:\n  - " + want + "\n  -"},
			"cell":   {`[{"k":` + in + `}]`, "[1]{k}:\n  " + want},
		} {
			if got, err := Append(nil, jsontext.Value(text[0])); err != nil || string(got) != text[1] {
				t.Errorf("%s %q: got %s, want %s: %v", form, s, got, text[1], err)
			}
		}
	}
}

func TestNamesAreBareOnlyIfTheyAreWords(t *testing.T) {
	for name, want := range map[string]string{
		"a": "a", "_": "_", "a.b": "a.b", "A1_": "A1_", "true": "true",
		"": `""`, "1a": `"1a"`, "a-b": `"a-b"`, "a b": `"a b"`, ".a": `".a"`, "ä": `"ä"`, "\u212a": "\"\u212a\"", "a\n": `"a\n"`, "#": `"#"`, `a"`: `"a\""`,
	} {
		in := quoted(name)
		for text, whole := range map[string]string{
			`{` + in + `:1}`:          want + ": 1",
			`{` + in + `:[]}`:         want + ": []",
			`{` + in + `:[1]}`:        want + "[1]: 1",
			`{` + in + `:[{"a":1}]}`:  want + "[1]{a}:\n  1",
			`[{` + in + `:1}]`:        "[1]{" + want + "}:\n  1",
			`[{` + in + `:{"x":1}}]`:  "[1]{" + want + "{x}}:\n  1",
			`[0,{` + in + `:[[0]]}]`:  "[2]:\n  - 0\n  - " + want + "[1]:\n      - [1]: 0",
			`{"k":{` + in + `:true}}`: "k:\n  " + want + ": true",
		} {
			if got, err := Append(nil, jsontext.Value(text)); err != nil || string(got) != whole {
				t.Errorf("%s: got\n%s\nwant\n%s\n%v", text, got, whole, err)
			}
		}
	}
}

func TestBadInputIsAnErrorAndAddsNothing(t *testing.T) {
	syntax := new(jsontext.SyntacticError)
	isSyntax := func(err error) bool { return errors.As(err, &syntax) }
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	deep := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	for in, expected := range map[string]func(error) bool{
		"": is(io.ErrUnexpectedEOF), " ": is(io.ErrUnexpectedEOF), `{"a":[1,`: is(io.ErrUnexpectedEOF),
		`[1}`: isSyntax, `{"a":}`: isSyntax, `{1:2}`: isSyntax, `[01]`: isSyntax, `tru`: is(io.ErrUnexpectedEOF),
		`{"a":1,"a":2}`: isSyntax, `"\ud800"`: isSyntax, "\"\xff\"": isSyntax,
		`1 2`: is(ErrTrailing), `{} ]`: is(ErrTrailing), `{},`: is(ErrTrailing),
		deep(MaxDepth + 1): is(ErrDepth), strings.Repeat(`{"a":`, 1<<20): is(ErrDepth),
	} {
		got, err := Append([]byte("before"), jsontext.Value(in))
		if !expected(err) || string(got) != "before" {
			t.Errorf("%.40s: got %q, %T %v", in, got, err, err)
		}
	}
	if got, err := Append(nil, jsontext.Value(deep(MaxDepth))); err != nil || len(got) == 0 {
		t.Errorf("the largest depth: %q %v", got, err)
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	got, err := Append([]byte("before:"), jsontext.Value(`{"a":1,"b":2}`))
	if err != nil || string(got) != "before:a: 1\nb: 2" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestWideTablesInAnyOrderTakeLinearTime(t *testing.T) {
	const columns = 40_000
	forward, backward := make([]string, columns), make([]string, columns)
	for i := range columns {
		forward[i] = fmt.Sprintf(`"column%d":1`, i)
		backward[columns-1-i] = forward[i]
	}
	in := "[{" + strings.Join(forward, ",") + "}" + strings.Repeat(",{"+strings.Join(backward, ",")+"}", 5) + "]"
	start := processorTime()
	got, err := Append(nil, jsontext.Value(in))
	if err != nil || strings.Count(string(got), "\n") != 6 {
		t.Fatalf("no table of 6 rows: %v", err)
	}
	// It takes 0.5 s; searching each row for each column takes 38 s. A machine that is busy
	// with others does not change that.
	if took := processorTime() - start; took > 10*time.Second {
		t.Errorf("it took %v of a processor", took)
	}
}

// processorTime is how long this process has had a processor.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails for wrong arguments only
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
