package notify

import (
	"testing"

	"pgregory.net/rapid"
)

func TestThreadIDOfReadsWhatDraftsWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.Just(""), rapid.SampledFrom([]string{"a", `q"uo\te`, "\x01ü☃", "thread_01a1fd6b-63f8-7f1c-8c86-4e982f287184"}), rapid.String()).Draw(t, "id")
		e := draft(rapid.Int64Range(1, 1<<60).Draw(t, "seq"), id, ItemDelta, 3)
		if got := ThreadIDOf(e.Params); got != string([]rune(id)) {
			t.Fatalf("%q of %s", got, e.Params)
		}
		for n := range e.Params { // params cut anywhere do no harm
			ThreadIDOf(e.Params[:n])
		}
	})
}

func TestWalkShowsEachEventOfTheTailOnce(t *testing.T) {
	tail := NewTail(4000, 0)
	all := map[int64]Event{}
	for seq := int64(1); seq <= 60; {
		var batch []Event
		for range 1 + seq%4 {
			e := draft(seq, string(rune('a'+seq%3)), []string{ItemDelta, TurnStarted}[seq%2], 20)
			e.Span = 1 + (seq-1)/10*10 // ten events a try
			if seq%10 == 0 {
				e.Span, e.Method, e.Hides = 0, StreamRewind, []Hidden{{Span: seq - 9, After: seq - 5}}
			}
			all[seq] = e
			batch = append(batch, e)
			seq++
		}
		tail.Publish(batch)
	}
	if _, held := tail.Walk(0, nil); held {
		t.Fatal("the oldest event is in a tail that is too small for it")
	}
	after := int64(1)
	for _, held := tail.Walk(after, func(*Walked) bool { return false }); !held; _, held = tail.Walk(after, func(*Walked) bool { return false }) {
		after++
	}
	for n := 0; after < tail.Head(); n++ {
		through, held := tail.Walk(after, func(e *Walked) bool {
			want := all[e.Seq]
			hidden := want.Span != 0 && e.Seq > want.Span+4 && all[want.Span+9].Method == StreamRewind
			if after++; e.Seq != after || e.ThreadID != want.ThreadID || e.Method != want.Method || string(e.Params) != string(want.Params) || e.Superseded != hidden {
				t.Errorf("%+v after %d, want %+v, hidden %v", e, after-1, want, hidden)
			}
			if n%3 == 1 { // f returned false: it comes again
				after--
				return false
			}
			return true
		})
		if through != after || !held {
			t.Fatalf("through %d, held %v after %d", through, held, after)
		}
	}
	if through, held := tail.Walk(after, nil); through != after || !held {
		t.Errorf("at the head: %d, %v", through, held)
	}
}
