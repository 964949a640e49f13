//go:build linux

package faults

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/notify/fold"
)

// folded is a client that folds what it reads into a live view and asks for
// collapse. It survives the server: the next connection continues at its cursor.
type folded struct{ view *fold.View }

func newFolded() *folded { return &folded{view: fold.New(fold.Options{KeepEnded: -1, KeepTurns: -1})} }

func (f *folded) add(line string) error {
	var m struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		return err
	}
	e, err := fold.Parse(m.Method, m.Params)
	if err == nil {
		f.view.Apply(&e)
	}
	return err
}

// follow reads until the connection ends.
func (f *folded) follow(s *server) error {
	st, err := s.openCollapsed(f.view.Cursor())
	if err != nil {
		return err
	}
	defer st.close()
	for {
		line, err := st.next()
		if err != nil {
			return err
		}
		if err := f.add(line); err != nil {
			return err
		}
	}
}

// page is one answer of event/list.
type page struct {
	Events []struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	} `json:"events"`
	Next int64 `json:"next_after_seq"`
	More bool  `json:"has_more"`
}

// list reads pages of n events to the end, collapsed, and returns the seqs.
func (f *folded) list(t testing.TB, s *server, n int) (seqs []int64) {
	t.Helper()
	for more := true; more; {
		var p page
		s.must(t, "event/list", object{"after_seq": f.view.Cursor(), "limit": n, "collapse": "superseded"}).decode(t, &p)
		for _, l := range p.Events {
			e, err := fold.Parse(l.Method, l.Params)
			if err != nil {
				t.Fatal(err)
			}
			f.view.Apply(&e)
			seqs = append(seqs, e.Seq)
		}
		f.view.Advance(p.Next)
		more = p.More
	}
	return seqs
}

// coherent checks that the log tells everybody one story: who reads all of
// it, who starts late and collapses, in pages or on a stream, and this client,
// which was there all the time. It returns the turns.
func (f *folded) coherent(t testing.TB, s *server, log []string) []*fold.Turn {
	t.Helper()
	whole := newFolded()
	var markers []fold.Marker
	events := make([]fold.Event, len(log))
	inTurns := map[string]int{} // events but markers
	for i, line := range log {
		var m struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		err := json.Unmarshal([]byte(line), &m)
		if err == nil {
			events[i], err = fold.Parse(m.Method, m.Params)
		}
		if err != nil {
			t.Fatal(err)
		}
		whole.view.Apply(&events[i])
		if m, ok := fold.MarkerOf(&events[i]); ok {
			markers = append(markers, m)
		} else if id := events[i].TurnID; id != "" {
			inTurns[id]++
		}
	}
	collapser := fold.NewCollapser(int64(len(log)), markers...)
	var want []int64
	var lines []string
	for i := range events {
		if !collapser.LeavesOut(&events[i]) {
			want, lines = append(want, events[i].Seq), append(lines, log[i])
		}
	}

	late := newFolded()
	if got := late.list(t, s, 7); !slices.Equal(got, want) {
		t.Errorf("event/list collapses to %v, the fold to %v", got, want)
	}
	f.list(t, s, 100) // what came since its connection ended
	streamed := newFolded()
	streamed.check(t, s, lines)
	story := whole.story()
	for who, other := range map[string]*folded{"who was always on": f, "who pages late": late, "who streams late": streamed} {
		if got := other.story(); got != story {
			t.Errorf("%s sees\n%s\nthe log says\n%s", who, got, story)
		}
	}
	turns := whole.turns()
	for _, turn := range turns {
		live, superseded := turn.Events()
		n := map[string]int{}
		for _, e := range live {
			n[e.Method]++
		}
		if ends := n["turn/completed"] + n["turn/interrupted"] + n["turn/failed"]; ends != 1 || n["turn/started"] > 1 {
			t.Errorf("turn %s: %d ends and %d starts are live, of\n%s", turn.TurnID, ends, n["turn/started"], strings.Join(log, ""))
		}
		lates := 0
		for i := range events {
			if events[i].TurnID == turn.TurnID && events[i].Method == "turn/late" {
				lates++
			}
		}
		if all := len(live) + len(superseded); all != inTurns[turn.TurnID] && all+lates != inTurns[turn.TurnID] {
			t.Errorf("turn %s: %d live, %d superseded and %d late events are not the %d of the log", turn.TurnID, len(live), len(superseded), lates, inTurns[turn.TurnID])
		}
		var row struct {
			Turn struct {
				State   string `json:"state"`
				Attempt int    `json:"attempt"`
			} `json:"turn"`
		}
		s.must(t, "turn/read", object{"turn_id": turn.TurnID}).decode(t, &row)
		if row.Turn.State != turn.State || row.Turn.Attempt != turn.Attempt {
			t.Errorf("turn/read says %+v, the fold %s in attempt %d", row.Turn, turn.State, turn.Attempt)
		}
	}
	return turns
}

// check streams the whole collapsed log, whose lines are known.
func (f *folded) check(t testing.TB, s *server, lines []string) {
	t.Helper()
	st, err := s.openCollapsed(0)
	if err != nil {
		t.Fatal(err)
	}
	defer st.close()
	defer time.AfterFunc(time.Minute, st.close).Stop()
	for i := 0; i < len(lines); {
		line, err := st.next()
		if err != nil {
			t.Fatalf("the collapsed stream ends at %d of %d lines: %v", i, len(lines), err)
		}
		if seqOf(line) == 0 {
			continue
		}
		if line != lines[i] {
			t.Fatalf("the collapsed stream has\n%swhere the log has\n%s", line, lines[i])
		}
		if err := f.add(line); err != nil {
			t.Fatal(err)
		}
		i++
	}
}

func (f *folded) turns() (turns []*fold.Turn) {
	f.view.Turns(func(t *fold.Turn) bool {
		turns = append(turns, t)
		return true
	})
	slices.SortFunc(turns, func(a, b *fold.Turn) int { return cmp.Compare(a.TurnID, b.TurnID) })
	return turns
}

// story is the whole live view in words.
func (f *folded) story() string {
	var b strings.Builder
	for _, t := range f.turns() {
		fmt.Fprintf(&b, "turn %s %s %s, attempt %d, origin %s, %q %q, steps %v\n", t.ThreadID, t.TurnID, t.State, t.Attempt, t.Origin, t.Message, t.Reason, t.Steps)
		for _, it := range t.Items() {
			text, from := it.Text()
			fmt.Fprintf(&b, "  item %s %s %s %d:%q %s\n", it.ItemID, it.Type, it.Status, from, text, it.Content)
		}
	}
	return b.String()
}
