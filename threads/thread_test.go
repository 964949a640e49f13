package threads

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/notify"
)

func TestNextMatrix(t *testing.T) {
	type key struct {
		state State
		verb  Verb
		busy  bool
	}
	type outcome struct {
		state State
		err   error
	}
	want := map[key]outcome{}
	for _, busy := range []bool{false, true} {
		set := func(s State, v Verb, next State, err error) { want[key{s, v, busy}] = outcome{next, err} }
		set(Absent, VerbStart, Running, nil)
		for _, v := range []Verb{VerbPause, VerbResume, VerbClose, VerbEnd} {
			set(Absent, v, Absent, ErrNotFound)
		}
		for _, s := range []State{Running, Paused} {
			set(s, VerbStart, s, nil)
			set(s, VerbPause, Paused, nil)
			set(s, VerbResume, Running, nil)
			set(s, VerbEnd, s, nil)
			if busy {
				set(s, VerbClose, Closing, nil)
			} else {
				set(s, VerbClose, Closed, nil)
			}
		}
		for _, s := range []State{Closing, Closed} {
			for _, v := range []Verb{VerbStart, VerbPause, VerbResume} {
				set(s, v, s, ErrClosed)
			}
			set(s, VerbClose, s, nil)
			set(s, VerbEnd, s, nil)
		}
		if !busy {
			set(Closing, VerbEnd, Closed, nil)
		}
	}
	for _, s := range append([]State{Absent}, States...) {
		for _, v := range Verbs {
			for _, busy := range []bool{false, true} {
				w, ok := want[key{s, v, busy}]
				if !ok {
					t.Fatalf("the table has a gap at %q %s", s, v)
				}
				next, err := Next(s, v, busy)
				if next != w.state || !errors.Is(err, w.err) {
					t.Errorf("%q %s busy=%v: %q, %v; want %q, %v", s, v, busy, next, err, w.state, w.err)
				}
			}
		}
	}
}

func TestATitleIsGivenUntilTheAgentHasSetOne(t *testing.T) {
	for title, want := range map[string]bool{"": false, "fix b": true} {
		row := Apply(nil, notify.Header{ThreadID: "a", Seq: 1}, &Changed{Type: "started", State: Running, Title: title})
		row = Apply(row, notify.Header{ThreadID: "a", Seq: 2}, &Updated{Type: "updated", AgentSessionID: "s"})
		row = Apply(row, notify.Header{ThreadID: "a", Seq: 3}, &Changed{Type: "paused", State: Paused, Title: "fix b"})
		if row.Title != title || (row.TitleBy == ByClient) != want {
			t.Errorf("started with %q: %+v", title, row)
		}
		// As servers did once: the log says that this is the title.
		row = Apply(row, notify.Header{ThreadID: "a", Seq: 4}, &Updated{Type: "updated", Title: "told"})
		if row.Title != "told" || row.TitleBy != "" {
			t.Errorf("started with %q, and told another: %+v", title, row)
		}
	}
}

func TestApplyLeavesPrevAlone(t *testing.T) {
	h := notify.Header{Seq: 1, ThreadID: "thread_a", Timestamp: notify.TimeFromMilli(5)}
	first := Apply(nil, h, &Changed{Type: "started", State: Running, Agent: "echo", StartedAt: h.Timestamp})
	h.Seq = 2
	second := Apply(first, h, &Updated{Type: "updated", Title: "t", State: Closing, Reason: "r"})
	if first.State != Running || first.UpdatedSeq != 1 {
		t.Error("prev was changed")
	}
	if second.State != Closing || second.Title != "t" || second.CreatedSeq != 1 || second.UpdatedSeq != 2 {
		t.Errorf("got %+v", second)
	}
	if Apply(nil, h, &Updated{}) != nil {
		t.Error("an update made a thread")
	}
}

func TestValidID(t *testing.T) {
	for id, want := range map[string][2]bool{ // valid, and so for a new thread
		"a": {true, true}, "A-b_9": {true, true}, "9": {true, true}, "a-": {true, true}, strings.Repeat("x", 64): {true, true},
		"-a": {true, false}, "_a": {true, false}, "--help": {true, false}, "-": {true, false},
		"": {}, "a b": {}, "ä": {}, "a/b": {}, strings.Repeat("x", 65): {},
	} {
		if got := [2]bool{ValidID(id), ValidNewID(id)}; got != want {
			t.Errorf("%q is valid, and so for a new thread: %v, want %v", id, got, want)
		}
	}
}
