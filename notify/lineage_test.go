package notify

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"
)

// wireHeader is what an event of a try has on the wire, as JSON tags: its step
// is there even if it is "".
type wireHeader struct {
	Seq       int64   `json:"seq"`
	ThreadSeq int64   `json:"thread_seq,omitzero"`
	ThreadID  string  `json:"thread_id,omitzero"`
	TurnID    string  `json:"turn_id,omitzero"`
	Attempt   int     `json:"attempt,omitzero"`
	Step      *string `json:"step,omitzero"`
	Epoch     int     `json:"epoch,omitzero"`
	Lineage   []Ref   `json:"lineage,omitzero"`
	Timestamp Time    `json:"timestamp"`
	Text      string  `json:"text,omitzero"` // the body
}

// Encode and Event encode by hand what the JSON library makes of the same
// members, with and without a lineage. Decoding returns the same header.
func TestEveryEventIsEncodedAsItsTagsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 20, 40)
		var span *Span
		for i := range rapid.IntRange(0, 4).Draw(t, "depth") {
			step := ""
			if i > 0 {
				step = text.Draw(t, "step")
			}
			span = NewSpan("turn_b", step, rapid.IntRange(1, 1000).Draw(t, "epoch"), span)
		}
		h := Header{
			Seq: Provisional(0), ThreadID: text.Draw(t, "thread"), TurnID: text.Draw(t, "turn"),
			Attempt: rapid.IntRange(0, 20).Draw(t, "attempt"), Timestamp: TimeFromMilli(rapid.Int64Range(1, 4e12).Draw(t, "time")),
		}
		body := struct {
			Text string `json:"text,omitzero"`
		}{text.Draw(t, "text")}
		d := Draft{Method: ItemCreated, Header: h, Body: &body}
		if span != nil {
			d.In(span)
		}
		if err := d.Encode(); err != nil {
			t.Fatal(err)
		}
		e := d.Event(42, 7)

		want := wireHeader{Seq: 42, ThreadID: h.ThreadID, TurnID: h.TurnID, Attempt: h.Attempt, Timestamp: h.Timestamp, Text: body.Text}
		if h.ThreadID != "" {
			want.ThreadSeq = 7
		}
		if span != nil {
			want.Step, want.Epoch, want.Lineage = &span.Step, span.Epoch, span.Lineage
		}
		bytes, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if string(e.Params) != string(bytes) {
			t.Fatalf("got  %s\nwant %s", e.Params, bytes)
		}
		// A draft with the same header, but without the span, has the same bytes.
		plain := Draft{Method: ItemCreated, Header: d.Header, Body: &body}
		if err := plain.Encode(); err != nil || string(plain.Rest) != string(d.Rest) {
			t.Fatalf("by its header %s, %v\nby its span   %s", plain.Rest, err, d.Rest)
		}
		if span != nil && (e.Span != 42 || d.Header.Span != Provisional(0)) {
			t.Fatalf("the span of the event is %d, of the draft %d", e.Span, d.Header.Span)
		}
	})
}

func TestSpanHasTheLineageOfTheTriesAbove(t *testing.T) {
	root := NewSpan("turn_b", "", 3, nil)
	setup := NewSpan("turn_b", "setup", 2, root)
	clone := NewSpan("turn_b", "setup/clone", 5, setup)
	NewSpan("turn_b", "setup/other", 9, setup) // must not write into clone's lineage
	if root.Root() != 3 || clone.Root() != 3 {
		t.Errorf("attempts %d and %d", root.Root(), clone.Root())
	}
	const want = `"step":"setup/clone","epoch":5,"lineage":[{"step":"","epoch":3},{"step":"setup","epoch":2},{"step":"setup/clone","epoch":5}],`
	if got := string(clone.members); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(root.members); got != `"step":"","epoch":3,"lineage":[{"step":"","epoch":3}],` {
		t.Errorf("the turn's: %s", got)
	}
	if got := appendLineage(nil, clone.Lineage); string(got) != want {
		t.Errorf("after its neighbour was made: %s", got)
	}
}

// The seq of a span is that of its first draft. It is provisional in the unit
// that begins the try and real in later units.
func TestSpanHasTheSeqOfItsFirstEvent(t *testing.T) {
	s := NewSpan("turn_b", "", 1, nil)
	draft := func(index int) Draft {
		d := Draft{Method: TurnProgress, Header: Header{Seq: Provisional(index), ThreadID: "thread_a"}}
		d.In(s)
		return d
	}
	first, second := draft(2), draft(3)
	if s.Seq != Provisional(2) || second.Header.Span != Provisional(2) {
		t.Fatalf("the span is %d, the second draft says %d", s.Seq, second.Header.Span)
	}
	for _, settled := range []bool{false, true} { // the store may settle before or after it makes events
		if a, b := first.Event(12, 1), second.Event(13, 2); a.Span != 12 || b.Span != 12 {
			t.Errorf("settled %v: spans %d and %d", settled, a.Span, b.Span)
		}
		s.AssignSeqs(10)
	}
	if later := draft(0); s.Seq != 12 || later.Event(40, 9).Span != 12 {
		t.Errorf("in a later unit the span is %d", s.Seq)
	}
	plain := Draft{Header: Header{Seq: Provisional(0)}}
	if e := plain.Event(5, 1); e.Span != 0 {
		t.Errorf("an event without a span has %d", e.Span)
	}
}

func TestValidStep(t *testing.T) {
	for path, want := range map[string]bool{
		"setup": true, "setup/clone": true, "a-b_c.9/Z": true, strings.Repeat("a", 64): true,
		"a/b/c/d/e/f/g/h": true,
		"":                false, "/": false, "/a": false, "a/": false, "a//b": false, "a b": false, "é": false, "a\x00": false,
		strings.Repeat("a", 65): false, "a/b/c/d/e/f/g/h/i": false,
		strings.Repeat(strings.Repeat("a", 64)+"/", 4):                           false,
		strings.Repeat("a", 63) + strings.Repeat("/"+strings.Repeat("a", 63), 3): true,  // 255 bytes
		strings.Repeat("a", 64) + strings.Repeat("/"+strings.Repeat("a", 64), 3): false, // 259
	} {
		if got := ValidStep(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
	for path, want := range map[string]string{"setup/clone/x": "setup/clone", "setup": "", "": ""} {
		if got := StepAbove(path); got != want {
			t.Errorf("above %q is %q", path, got)
		}
	}
}

// A reader that filters by method still learns what is superseded.
func TestMarkersPassAnyChoiceOfMethods(t *testing.T) {
	f := Filter{ThreadIDs: []string{"thread_a"}, Methods: []string{"item/*"}}
	if !f.Match("thread_a", StreamRewind) {
		t.Error("a marker is filtered out by method")
	}
	if f.Match("thread_b", StreamRewind) {
		t.Error("a marker of another thread passes")
	}
	if f.Match("thread_a", TurnLate) || f.Match("thread_a", StepStarted) || f.Match("thread_a", StreamOpened) {
		t.Error("what was not asked for passes")
	}
}
