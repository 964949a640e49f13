package fold

import (
	"bytes"
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var update = flag.Bool("update", false, "write the vectors in testdata anew")

// vector is one file of testdata, whose form testdata/README.md explains: what a
// reader is sent, and what its view is then. Folds in other languages are tested
// with them.
type vector struct {
	Name     string   `json:"name"`
	About    string   `json:"about"`
	Options  bounds   `json:"options"`
	AfterSeq int64    `json:"after_seq"`
	Events   []sent   `json:"events"`
	Expect   expected `json:"expect"`

	looks []int // after how many events the view is looked at, besides the end
}

type bounds struct {
	KeepEnded int `json:"keep_ended,omitzero"`
	KeepTurns int `json:"keep_turns,omitzero"`
}

// sent is one notification as it is sent.
type sent struct {
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
}

type expected struct {
	Changes []changed  `json:"changes"`
	Views   []viewLook `json:"views"`
}

// changed is what one event did.
type changed struct {
	Kind       string       `json:"kind"`
	TurnID     string       `json:"turn_id,omitzero"`
	ItemID     string       `json:"item_id,omitzero"`
	Superseded []supersedes `json:"superseded,omitempty"`
}

type supersedes struct {
	Seq    int64  `json:"seq"`
	Method string `json:"method"`
	ItemID string `json:"item_id,omitzero"`
}

// viewLook is the view after so many of the events.
type viewLook struct {
	AfterEvents int        `json:"after_events"`
	Cursor      int64      `json:"cursor"`
	Turns       []turnLook `json:"turns"`
}

type turnLook struct {
	TurnID          string     `json:"turn_id"`
	ThreadID        string     `json:"thread_id"`
	State           string     `json:"state"`
	Attempt         int        `json:"attempt"`
	Progress        string     `json:"progress"`
	ProgressMessage string     `json:"progress_message"`
	Origin          string     `json:"origin"`
	Message         string     `json:"message"`
	Reason          string     `json:"reason"`
	Steps           []stepLook `json:"steps"`
	Items           []itemLook `json:"items"`
	Superseded      []string   `json:"superseded"`
}

type stepLook struct {
	Path   string `json:"path"`
	Epoch  int    `json:"epoch"`
	Status string `json:"status"`
}

type itemLook struct {
	ItemID     string         `json:"item_id"`
	Type       string         `json:"type"`
	Status     string         `json:"status"`
	Text       *string        `json:"text,omitzero"`
	TextBase64 string         `json:"text_base64,omitzero"`
	From       int64          `json:"from"`
	Content    jsontext.Value `json:"content,omitzero"`
	Truncated  bool           `json:"truncated"`
	CreatedSeq int64          `json:"created_seq"`
	UpdatedSeq int64          `json:"updated_seq"`
}

// fold gives the events to a view and writes down what it says.
func (v *vector) fold() (expected, error) {
	view := New(Options{KeepEnded: v.Options.KeepEnded, KeepTurns: v.Options.KeepTurns})
	view.Advance(v.AfterSeq)
	out := expected{Changes: []changed{}, Views: []viewLook{}}
	for i, s := range v.Events {
		e, err := Parse(s.Method, s.Params)
		if err != nil {
			return out, fmt.Errorf("event %d: %w", i+1, err)
		}
		out.Changes = append(out.Changes, lookAtChange(view.Apply(&e)))
		if slices.Contains(v.looks, i+1) || i+1 == len(v.Events) {
			out.Views = append(out.Views, lookAtView(view, i+1))
		}
	}
	return out, nil
}

var kinds = map[Kind]string{Skipped: "skipped", Joined: "joined", Superseded: "superseded", Late: "late", Rewound: "rewound"}

func lookAtChange(c Change) changed {
	out := changed{Kind: kinds[c.Kind]}
	if c.Turn != nil {
		out.TurnID = c.Turn.TurnID
	}
	if c.Item != nil {
		out.ItemID = c.Item.ItemID
	}
	for _, e := range c.Superseded {
		out.Superseded = append(out.Superseded, supersedes(e))
	}
	return out
}

func lookAtView(view *View, after int) viewLook {
	out := viewLook{AfterEvents: after, Cursor: view.Cursor(), Turns: []turnLook{}}
	view.Turns(func(t *Turn) bool {
		out.Turns = append(out.Turns, lookAtTurn(t))
		return true
	})
	slices.SortFunc(out.Turns, func(a, b turnLook) int { return strings.Compare(a.TurnID, b.TurnID) })
	return out
}

func lookAtTurn(t *Turn) turnLook {
	out := turnLook{
		TurnID: t.TurnID, ThreadID: t.ThreadID, State: t.State, Attempt: t.Attempt, Progress: t.Progress,
		ProgressMessage: t.ProgressMessage, Origin: t.Origin, Message: t.Message, Reason: t.Reason,
		Steps: []stepLook{}, Items: []itemLook{}, Superseded: []string{},
	}
	for _, s := range t.Steps {
		out.Steps = append(out.Steps, stepLook(s))
	}
	for _, it := range t.Items() {
		look := itemLook{
			ItemID: it.ItemID, Type: it.Type, Status: it.Status, Content: it.Content,
			Truncated: it.Truncated, CreatedSeq: it.CreatedSeq, UpdatedSeq: it.UpdatedSeq,
		}
		var text string
		if text, look.From = it.Text(); utf8.ValidString(text) {
			look.Text = &text
		} else {
			look.TextBase64 = base64.StdEncoding.EncodeToString([]byte(text))
		}
		out.Items = append(out.Items, look)
	}
	for _, it := range t.Superseded() {
		out.Superseded = append(out.Superseded, it.ItemID)
	}
	return out
}

// encode writes the vector with one event, one change and one turn a line, so
// that differences can be read.
func (v *vector) encode() ([]byte, error) {
	var b bytes.Buffer
	line := func(before string, value any, after string) error {
		raw, err := json.Marshal(value, json.Deterministic(true))
		b.WriteString(before + string(raw) + after)
		return err
	}
	comma := func(i, n int) string {
		if i == n-1 {
			return "\n"
		}
		return ",\n"
	}
	var errs error
	keep := func(err error) {
		if errs == nil {
			errs = err
		}
	}
	keep(line("{\n\"name\": ", v.Name, ",\n"))
	keep(line("\"about\": ", v.About, ",\n"))
	keep(line("\"options\": ", v.Options, ",\n"))
	keep(line("\"after_seq\": ", v.AfterSeq, ",\n\"events\": [\n"))
	for i, e := range v.Events {
		keep(line("", e, comma(i, len(v.Events))))
	}
	b.WriteString("],\n\"expect\": {\"changes\": [\n")
	for i, c := range v.Expect.Changes {
		keep(line("", c, comma(i, len(v.Expect.Changes))))
	}
	b.WriteString("], \"views\": [\n")
	for i, look := range v.Expect.Views {
		keep(line("{\"after_events\": ", look.AfterEvents, ""))
		keep(line(", \"cursor\": ", look.Cursor, ", \"turns\": [\n"))
		for j, t := range look.Turns {
			keep(line("", t, comma(j, len(look.Turns))))
		}
		b.WriteString("]}" + comma(i, len(v.Expect.Views)))
	}
	b.WriteString("]}\n}\n")
	return b.Bytes(), errs
}

// vectorBytes bounds testdata: it is read at every change of it.
const vectorBytes = 400_000

func TestVectorsAreWhatTheFoldGives(t *testing.T) {
	vectors := append(handVectors(), worldVectors()...)
	want := map[string]bool{}
	size := 0
	for _, v := range vectors {
		path := filepath.Join("testdata", v.Name+".json")
		if want[path] {
			t.Fatalf("two vectors are called %s", v.Name)
		}
		want[path] = true
		var err error
		if v.Expect, err = v.fold(); err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		text, err := v.encode()
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		if *update {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("%v: run go test ./notify/fold -update", err)
		}
		if size += len(got); !bytes.Equal(got, text) {
			t.Errorf("%s is not what the fold gives: run go test ./notify/fold -update, and look at the difference", path)
		}
	}
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !want[file] {
			t.Errorf("%s belongs to no vector", file)
		}
	}
	if size > vectorBytes {
		t.Errorf("the vectors have %d bytes, at most %d are wanted", size, vectorBytes)
	}
}

// A vector must not say less than it seems to: each kind of change and each rare
// thing is in one of them.
func TestVectorsHaveEveryRareThing(t *testing.T) {
	found := map[string]int{}
	see := func(what string, is bool) {
		if is {
			found[what]++
		} else {
			found[what] += 0
		}
	}
	for _, v := range append(handVectors(), worldVectors()...) {
		x, err := v.fold()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range x.Changes {
			see("change "+c.Kind, true)
			see("a marker that supersedes", len(c.Superseded) > 0)
			see("late of an unknown turn", c.Kind == "late" && c.TurnID == "")
		}
		see("a reader that begins in the middle", v.AfterSeq > 0)
		see("bounds", v.Options != bounds{})
		for _, look := range x.Views {
			for _, turn := range look.Turns {
				see("nested steps", slices.ContainsFunc(turn.Steps, func(s stepLook) bool { return strings.Contains(s.Path, "/") }))
				see("superseded items", len(turn.Superseded) > 0)
				see("a turn in its third attempt", turn.Attempt > 2)
				for _, it := range turn.Items {
					see("text that is not UTF-8", it.TextBase64 != "")
					see("text that begins in the middle", it.From > 0)
					see("a deleted item", it.Status == "deleted")
					see("truncated", it.Truncated)
					see("text of several bytes", it.Text != nil && len(*it.Text) > utf8.RuneCountInString(*it.Text))
				}
			}
		}
	}
	for _, kind := range kinds {
		see("change "+kind, false)
	}
	for what, n := range found {
		if n == 0 {
			t.Errorf("no vector has %s", what)
		}
	}
}
