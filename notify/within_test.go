package notify

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/seed82539d15/holon/internal/test/notifytest"
)

// fewMembers has the threads of a list; it fails for "bad".
type fewMembers []string

func (m fewMembers) Has(_ context.Context, id string) (bool, error) {
	if id == "bad" {
		return false, errors.New("the disk")
	}
	return slices.Contains(m, id), nil
}

func seqsWithin(t *testing.T, c *Cursor) (seqs []int64, err error) {
	t.Helper()
	var frames notifytest.Frames
	for {
		before := c.After()
		chunk, err := c.Next(context.Background(), 0)
		if err != nil {
			return seqs, err
		}
		frames.Each(chunk, func(seq int64, _ []byte) { seqs = append(seqs, seq) })
		if c.After() == before && len(chunk) == 0 {
			return seqs, nil
		}
	}
}

// The events of threads that are within come, from the tail and from the log, and
// no others.
func TestACursorStaysWithinItsThreads(t *testing.T) {
	threads := []string{"a", "", "b", "c", "a", "b", "x", "a"}
	events := make([]Event, len(threads))
	for i, id := range threads {
		d := Draft{Method: "turn/started", Header: Header{Seq: -1, ThreadID: id}, Body: struct{ X int }{1}}
		if err := d.Encode(); err != nil {
			t.Fatal(err)
		}
		events[i] = d.Event(int64(i+1), 7)
	}
	want := []int64{1, 3, 5, 6, 8}
	live := NewTail(0, 0)
	live.Publish(events)
	stored := NewTail(0, int64(len(events))) // has none of them
	log := pageLog(events)
	for name, tail := range map[string]*Tail{"tail": live, "log": stored} {
		got, err := seqsWithin(t, NewCursor(tail, log, Filter{Within: fewMembers{"a", "b"}}, 0))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v %v, want %v", name, got, err, want)
		}
		got, err = seqsWithin(t, NewCursor(tail, log, Filter{Within: fewMembers{"a", "b"}, ThreadIDs: []string{"b", "c"}}, 0))
		if err != nil || !slices.Equal(got, []int64{3, 6}) {
			t.Errorf("%s: %v %v with named threads, want 3 and 6", name, got, err)
		}
	}
}

// If it cannot be told whether an event passes, the cursor stops before it.
func TestACursorStopsAtWhatItCannotJudge(t *testing.T) {
	var events []Event
	for i, id := range []string{"a", "a", "bad", "a"} {
		d := Draft{Method: "turn/started", Header: Header{Seq: -1, ThreadID: id}, Body: struct{ X int }{1}}
		if err := d.Encode(); err != nil {
			t.Fatal(err)
		}
		events = append(events, d.Event(int64(i+1), 7))
	}
	live := NewTail(0, 0)
	live.Publish(events)
	c := NewCursor(live, pageLog(events), Filter{Within: fewMembers{"a"}}, 0)
	if got, err := seqsWithin(t, c); err == nil || !slices.Equal(got, []int64{1, 2}) || c.After() != 2 {
		t.Errorf("%v %v after %d, want 1 and 2, then an error", got, err, c.After())
	}
	if _, err := seqsWithin(t, NewCursor(NewTail(0, 4), pageLog(events), Filter{Within: fewMembers{"a"}}, 0)); err == nil {
		t.Error("no error from the log")
	}
}

func TestTheThreadOfParams(t *testing.T) {
	for params, want := range map[string]string{
		`{"seq":1,"thread_seq":2,"thread_id":"a","timestamp":"x"}`:    "a",
		`{"seq":1,"timestamp":"x","body":{"thread_id":"b"}}`:          "",
		`{"seq":1,"timestamp":"\"thread_id\":\"b\""}`:                 "",
		`{"seq":1,"thread_seq":2,"thread_id":"\u0061","timestamp":1}`: "a",
		`{"timestamp":1,"thread_id":"c","seq":4}`:                     "c",
	} {
		if got, err := threadOf([]byte(params)); err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", params, got, err, want)
		}
	}
	if _, err := threadOf([]byte(`{"seq":`)); err == nil {
		t.Error("broken params have a thread")
	}
}

// pageLog is a log of these events that knows filters, but not Within.
type pageLog []Event

// Part implements Log.
func (l pageLog) Part(_ context.Context, seq int64, offset int, summary bool, b []byte) (n, size int, err error) {
	n, size = partOfEvent(l[seq-1], offset, summary, b)
	return n, size, nil
}

func (l pageLog) Page(_ context.Context, q Query) (Page, error) {
	if q.Frames {
		return Page{}, errors.New("frames do not tell of which thread they are")
	}
	p := Page{First: 1, Latest: int64(len(l)), Scanned: int64(len(l))}
	for _, e := range l[min(q.After, int64(len(l))):] {
		if q.Filter.Match(e.ThreadID, e.Method) {
			e.ThreadID = "" // a log need not tell it
			p.Events = append(p.Events, e)
		}
	}
	return p, nil
}

func TestBothAreThoseOfEach(t *testing.T) {
	ctx, a, b := context.Background(), fewMembers{"x", "y", "bad"}, fewMembers{"y", "z"}
	for _, c := range []struct {
		in   Members
		want []string
	}{{Both(a, b), []string{"y"}}, {Both(nil, b), []string{"y", "z"}}, {Both(a, nil), []string{"x", "y"}}} {
		for _, id := range []string{"", "w", "x", "y", "z"} {
			if ok, err := c.in.Has(ctx, id); err != nil || ok != slices.Contains(c.want, id) {
				t.Errorf("%v: %q: %v %v", c.in, id, ok, err)
			}
		}
		if _, err := c.in.Has(ctx, "bad"); err == nil {
			t.Errorf("%v: what cannot be told is answered", c.in)
		}
	}
	if Both(nil, nil) != nil {
		t.Error("all threads are not nil")
	}
}
