package conformance

import (
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

func TestPatternFits(t *testing.T) {
	seen := func() scope { return scope{"seq": 7.0, "turn": "turn_1", "lease": map[string]any{"at": "a"}} }
	for _, c := range []struct {
		want, got, differs string
	}{
		{`{"a":1}`, `{"a":1,"b":2}`, ""},
		{`{"a":1}`, `{"a":2}`, "a is 2, want 1"},
		{`{"a":{"b":"x"}}`, `{"a":{}}`, `a.b is missing, want "x"`},
		{`{"a":null}`, `{"a":null}`, ""},
		{`{"a":null}`, `{}`, "a is missing, want null"},
		{`{"a":"<absent>"}`, `{}`, ""},
		{`{"a":"<absent>"}`, `{"a":null}`, `a is null, want "<absent>"`},
		{`{"a":"<any>"}`, `{"a":null}`, ""},
		{`{"a":"<any>"}`, `{}`, `a is missing, want "<any>"`},
		{`{"a":"<int>"}`, `{"a":1.5}`, `a is 1.5, want "<int>"`},
		{`{"a":"<nonempty>"}`, `{"a":""}`, `a is "", want "<nonempty>"`},
		{`{"a":"<none?>"}`, `{}`, ""},
		{`{"a":"<none?>"}`, `{"a":true}`, `a is true, want "<none?>"`},
		{`{"a":"!= done"}`, `{"a":"begun"}`, ""},
		{`{"a":"!= done"}`, `{"a":"done"}`, `a is "done", want "!= done"`},
		{`{"a":"<time>"}`, `{"a":"2026-01-02T03:04:05.678Z"}`, ""},
		{`{"a":"<time>"}`, `{"a":"2026-01-02T03:04:05Z"}`, `a is "2026-01-02T03:04:05Z", want "<time>"`},
		{`{"a":"<turn>","b":"<turn>"}`, `{"a":"turn_1","b":"turn_2"}`, `b is "turn_2", want "<turn>"`},
		{`{"a":"<x>","b":"<x>"}`, `{"a":1,"b":2}`, `b is 2, want "<x>"`},
		{`{"a":"<= <seq>"}`, `{"a":7}`, ""},
		{`{"a":"< <seq>"}`, `{"a":7}`, `a is 7, want "< <seq>"`},
		{`{"a":"> 7"}`, `{"a":7.5}`, ""},
		{`{"a":"!= <turn>"}`, `{"a":"turn_1"}`, `a is "turn_1", want "!= <turn>"`},
		{`{"a":"<seq>+1"}`, `{"a":8}`, ""},
		{`{"a":"<seq>+1"}`, `{"a":7}`, `a is 7, want "<seq>+1"`},
		{`{"a":">= <never>"}`, `{"a":8}`, `a is 8, want ">= <never>"`},
		{`{"a":"turn_…"}`, `{"a":"turn_1"}`, ""},
		{`{"a":"…why…"}`, `{"a":"this is why not"}`, ""},
		{`{"a":"…why"}`, `{"a":"this is why not"}`, `a is "this is why not", want "…why"`},
		{`{"a":"<turn>…"}`, `{"a":"turn_1 and more"}`, ""},
		{`{"a":"> <lease.at>"}`, `{"a":"b"}`, ""},
		{`{"a":"> <lease.at>"}`, `{"a":"a"}`, `a is "a", want "> <lease.at>"`},
		{`{"a":"log:<turn>"}`, `{"a":"log:turn_2"}`, `a is "log:turn_2", want "log:<turn>"`},
		{`{"a":[1,2]}`, `{"a":[1]}`, "a is [1], want [1,2]"},
		{`{"a":[1,2]}`, `{"a":[1,3]}`, "a[1] is 3, want 2"},
		{`{"a":[]}`, `{"a":[1]}`, "a is [1], want []"},
		{`{"a":["…",{"k":2,"id":"<id>"},"…"],"b":"<id>"}`, `{"a":[{"id":"x","k":1},{"id":"y","k":2}],"b":"y"}`, ""},
		{`{"a":["…",2,1]}`, `{"a":[1,2]}`, `a is [1,2], want ["…",2,1]`},
	} {
		var want, got any
		if err := errors.Join(json.Unmarshal([]byte(c.want), &want), json.Unmarshal([]byte(c.got), &got)); err != nil {
			t.Fatalf("%s on %s: %v", c.want, c.got, err)
		}
		if why := seen().differs("", want, got, true); why != c.differs {
			t.Errorf("%s on %s: %q, want %q", c.want, c.got, why, c.differs)
		}
	}
}

func TestNamesAreFilled(t *testing.T) {
	s := scope{"seq": 7.0, "id": `a"b`, "text": "one\ntwo"}
	for text, want := range map[string]string{
		`{"after_seq":"<seq>","x":"log:<seq>"}`: `{"after_seq":7,"x":"log:7"}`,
		`{"id":"<id>"}`:                         `{"id":"a\"b"}`,
		`{"input":"<input <text>>"}`:            `{"input":` + encode(input("one\ntwo")) + `}`,
		`{"a":1,"a":"\u0041"}`:                  `{"a":1,"a":"\u0041"}`,
	} {
		if got, err := s.fill(text); got != want || err != nil {
			t.Errorf("%s is filled to %s (%v), want %s", text, got, err, want)
		}
	}
	if _, err := s.fill(`{"id":"<never>"}`); err == nil {
		t.Error("a name that was never seen was filled")
	}
}

func TestScriptThatMakesNoSenseIsRefused(t *testing.T) {
	for _, text := range []string{
		"Sentence.", "Sentence.\nprotocol.md §3 Methods [nonsense]\n> a/b", "Sentence.\nprotocol.md §3 Methods\n? a/b",
		"Sentence.\nprotocol.md §3 Methods\n> a/b {", "Sentence.\nprotocol.md §3 Methods\n! no_such_kind",
		"Sentence.\nprotocol.md §3 Methods\n> a/b {} ? x", "Sentence.\nprotocol.md §3 Methods\n< {", "Sentence.\nprotocol.md §3 Methods\n>>q \"",
	} {
		s := &scripts{lines: map[string][]line{}, sections: map[string][]line{}}
		if err := s.add("a.b", text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// TestScriptsPlayWhatIsThere finds a section that does not exist, and one that
// no script plays any more.
func TestScriptsPlayWhatIsThere(t *testing.T) {
	s := readScripts()
	played := map[string]bool{}
	all := maps.Clone(s.lines)
	maps.Copy(all, s.sections)
	for name, lines := range all {
		for _, l := range lines {
			if l.verb != "=" {
				continue
			}
			played[l.what] = true
			if s.sections[l.what] == nil {
				t.Errorf("%s plays %q, which is not there", name, l.what)
			}
		}
	}
	for name := range s.sections {
		if !played[name] {
			t.Errorf("nobody plays %s", name)
		}
	}
}

// TestNamesAreThoseOfTheDocument compares the tables of the suite with those of
// protocol.md: methods, notifications and kinds of error are in both.
func TestNamesAreThoseOfTheDocument(t *testing.T) {
	text, err := os.ReadFile("../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	for section, c := range map[string]struct {
		row  string
		have []string
	}{
		"## 3. Methods":       {"(?m)^\\| `([a-zA-Z_]+[./][a-zA-Z._/]+|initialize)`", methods}, // the other tables are of members
		"## 4. Notifications": {"(?m)^\\| `([a-z]+/[a-zA-Z]+)`", slices.Collect(maps.Keys(notifications))},
		"## 5. Errors":        {"(?m)^\\| -[0-9]+ \\| `([a-z_]+)`", slices.Collect(maps.Keys(kinds))},
	} {
		_, rows, _ := strings.Cut(string(text), section+"\n")
		rows, _, _ = strings.Cut(rows, "\n## ")
		var want []string
		for _, m := range regexp.MustCompile(c.row).FindAllStringSubmatch(rows, -1) {
			want = append(want, m[1])
		}
		slices.Sort(want)
		have := slices.Sorted(slices.Values(c.have))
		if !slices.Equal(have, want) {
			t.Errorf("%s: the suite has\n%v\nthe document\n%v", section, have, want)
		}
	}
}

// TestSourcesAreInTheDocument looks up the sections that the checks cite.
func TestSourcesAreInTheDocument(t *testing.T) {
	for prefix, path := range map[string]string{"protocol.md §": "../docs/protocol.md", "rewind.md § ": "../docs/rewind.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var headings []string
		for row := range strings.SplitSeq(string(text), "\n") {
			if h, ok := strings.CutPrefix(row, "## "); ok {
				headings = append(headings, strings.Replace(h, ". ", " ", 1))
			}
		}
		for _, c := range table() {
			if h, ok := strings.CutPrefix(c.source, prefix); ok && !slices.Contains(headings, h) {
				t.Errorf("%s cites %q, and %s has %q", c.id, c.source, path, headings)
			}
		}
	}
}
