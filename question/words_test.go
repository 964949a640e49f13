package question

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/internal/sanitize"
)

var update = flag.Bool("update", false, "write the vectors as they are now")

// vector is a question, and how it is put into words. The page of the console has the same
// vectors.
type vector struct {
	Name      string          `json:"name"`
	Content   json.RawMessage `json:"content"`
	Subject   json.RawMessage `json:"subject,omitempty"`
	Cwd       string          `json:"cwd,omitempty"`
	Unread    bool            `json:"unread,omitempty"`
	Truncated bool            `json:"truncated,omitempty"`
	Phrase    string          `json:"phrase"`
	Lines     [][2]string     `json:"lines"`
}

func (v vector) asked() Asked {
	return Asked{Content: v.Content, Subject: v.Subject, Cwd: v.Cwd, Unread: v.Unread, Truncated: v.Truncated}
}

func vectors[T any](t *testing.T, path string, check func(t *testing.T, v *T)) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []T
	if err := json.Unmarshal(raw, &all); err != nil || len(all) == 0 {
		t.Fatalf("%d vectors: %v", len(all), err)
	}
	for i := range all {
		check(t, &all[i])
	}
	if !*update {
		return
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(all); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestVectorsAreWhatAPersonReads(t *testing.T) {
	vectors(t, "testdata/words.json", func(t *testing.T, v *vector) {
		w := Of(v.asked())
		lines := [][2]string{}
		for _, l := range w.Lines {
			lines = append(lines, [2]string{string(l.Kind), l.Text})
		}
		if *update {
			v.Phrase, v.Lines = w.Phrase, lines
		}
		if w.Phrase != v.Phrase || !reflect.DeepEqual(lines, v.Lines) {
			t.Errorf("%s: %q %q, want %q %q", v.Name, w.Phrase, lines, v.Phrase, v.Lines)
		}
	})
}

func TestHiddenCharactersAreVisible(t *testing.T) {
	type hidden struct {
		Text  string `json:"text"`
		Shown string `json:"shown"`
	}
	vectors(t, "testdata/hidden.json", func(t *testing.T, v *hidden) {
		got := sanitize.Literal(v.Text)
		if *update {
			v.Shown = got
		}
		if got != v.Shown || sanitize.Text(got) != got {
			t.Errorf("%q is shown as %q, on a terminal %q, want %q", v.Text, got, sanitize.Text(got), v.Shown)
		}
	})
}

// What will run is in the rows, character by character, whatever the agent calls it.
func TestEveryLineOfACommandIsShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		command := rapid.StringMatching(`[a-z \n"'\\;|]{1,400}`).Draw(t, "command")
		content, err := json.Marshal(map[string]any{
			"type": "permission_request", "title": rapid.SampledFrom([]string{"Run", command, "", "x"}).Draw(t, "title"),
			"subject": map[string]string{"type": "command", "command": command},
		})
		if err != nil {
			t.Fatal(err)
		}
		w := Of(Asked{Content: content})
		var lines []string
		for _, l := range w.Lines {
			if l.Kind == Command {
				lines = append(lines, l.Text)
			}
		}
		shown := strings.Join(lines, "\n")
		if lines == nil {
			shown = strings.TrimPrefix(w.Phrase, "run ")
		}
		if want := strings.TrimSuffix(command, "\n"); shown != want && strings.TrimRight(command, "\n") != shown {
			t.Errorf("%q is shown as %q", want, shown)
		}
	})
}

// Laid out, an input has all of its source text.
func TestTheInputKeepsItsSourceText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		number := rapid.StringMatching(`-?[1-9][0-9]{0,30}(\.[0-9]{1,20})?(e[+-]?[0-9]{1,4})?`).Draw(t, "number")
		source := `{"a":[` + string(quoted) + `,` + number + `],"b":{"c":true}}`
		shown := layout([]byte(source))
		// Without the breaks and what they indent, it is the source again.
		bare := func(s string) string { return strings.NewReplacer("\n", "", " ", "").Replace(s) }
		if bare(shown) != bare(source) {
			t.Errorf("%s is shown as %s", source, shown)
		}
	})
}

func TestRowsCannotBeTakenForOthers(t *testing.T) {
	content, err := json.Marshal(map[string]any{
		"type": "permission_request", "title": "in /home", "description": "$ ls\n+ harmless",
		"subject": map[string]string{"type": "command", "command": "curl x | sh\nin /safe", "cwd": "/"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(Rows(Of(Asked{Content: content}).Lines), "\n")
	if want := "$ curl x | sh\n│ in /safe\nin /\n> in /home\n> $ ls\n> + harmless"; got != want {
		t.Errorf("rows:\n%s\nwant:\n%s", got, want)
	}
}

func TestMoreLinesAreCounted(t *testing.T) {
	for n, want := range map[int]string{1: "… 1 more line", 12: "… 12 more lines", 4936: "… 4,936 more lines", 1234567: "… 1,234,567 more lines"} {
		if got := More(n); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

func TestKindsOfOptions(t *testing.T) {
	type kind struct {
		Kind   string `json:"kind"`
		Allows bool   `json:"allows"`
		Once   bool   `json:"once"`
		Widens string `json:"widens"`
	}
	vectors(t, "testdata/kinds.json", func(t *testing.T, v *kind) {
		got := kind{v.Kind, Allows(v.Kind), Once(v.Kind), Widens(v.Kind)}
		if *update {
			*v = got
		}
		if *v != got {
			t.Errorf("%+v, want %+v", got, *v)
		}
	})
}

func TestOnceIsPreferredToAlways(t *testing.T) {
	kinds := []string{"allow_always", "allow_once", "reject_always", "reject_once"}
	if Choose(kinds, "allow") != 1 || Choose(kinds, "reject") != 3 || Choose(kinds[:1], "reject") != -1 || Choose(kinds[:1], "allow") != 0 {
		t.Error("once is not preferred to always")
	}
}

func TestReviewsAreWhatAPersonReads(t *testing.T) {
	type verdict struct {
		Verdict string `json:"verdict"`
		Name    string `json:"name"`
		Kind    string `json:"kind"`
		Does    string `json:"does"`
		Note    bool   `json:"note"`
	}
	type review struct {
		Name     string          `json:"name"`
		Turn     json.RawMessage `json:"turn"`
		Early    bool            `json:"early,omitempty"`
		Phrase   string          `json:"phrase"`
		Lines    [][2]string     `json:"lines"`
		Verdicts []verdict       `json:"verdicts"`
	}
	vectors(t, "testdata/reviews.json", func(t *testing.T, v *review) {
		w, verdicts := Review(Result{Turn: v.Turn, Early: v.Early})
		lines, answers := [][2]string{}, []verdict{}
		for _, l := range w.Lines {
			lines = append(lines, [2]string{string(l.Kind), l.Text})
		}
		for _, a := range verdicts {
			answers = append(answers, verdict(a))
		}
		if *update {
			v.Phrase, v.Lines, v.Verdicts = w.Phrase, lines, answers
		}
		if w.Phrase != v.Phrase || !reflect.DeepEqual(lines, v.Lines) || !reflect.DeepEqual(answers, v.Verdicts) {
			t.Errorf("%s: %q %q %+v, want %q %q %+v", v.Name, w.Phrase, lines, answers, v.Phrase, v.Lines, v.Verdicts)
		}
	})
}

// y approves and n rejects, as it is with the options of a permission.
func TestVerdictsAreChosenAsOptionsAre(t *testing.T) {
	_, verdicts := Review(Result{})
	var kinds []string
	for _, v := range verdicts {
		kinds = append(kinds, v.Kind)
		if Widens(v.Kind) != "" || Allows(v.Kind) != (v.Verdict == "approved") {
			t.Errorf("%+v widens or allows", v)
		}
	}
	if yes, no := Choose(kinds, "allow"), Choose(kinds, "reject"); verdicts[yes].Verdict != "approved" || verdicts[no].Verdict != "rejected" {
		t.Errorf("y is %+v, n is %+v", verdicts[yes], verdicts[no])
	}
}
