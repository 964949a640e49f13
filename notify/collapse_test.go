package notify_test

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/internal/test/notifytest"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/notify/fold"
)

// reading is a cursor and a client behind it.
type reading struct {
	t      *rapid.T
	log    *collapsingLog
	tail   *notify.Tail
	filter notify.Filter
	cursor *notify.Cursor
	plain  bool // does not collapse
	view   *fold.View
	reader notifytest.Frames
	frames []byte
	asOf   int64 // of the last page that was read
	upTo   int64 // and how far it goes; 0 = none was read
}

func newReading(t *rapid.T, l *collapsingLog, tail *notify.Tail, filter notify.Filter, after int64, plain bool) *reading {
	r := &reading{t: t, log: l, tail: tail, filter: filter, plain: plain, view: fold.New(fold.Options{KeepEnded: -1})}
	r.cursor = notify.NewCursor(tail, r, filter, after)
	if !plain {
		r.cursor.Collapse()
	}
	r.view.Advance(after)
	return r
}

// Page returns the log's page and notes how far it goes and as of which seq.
func (r *reading) Page(ctx context.Context, q notify.Query) (notify.Page, error) {
	p, err := r.log.Page(ctx, q)
	r.asOf, r.upTo = p.Latest, p.Scanned
	return p, err
}

// Part implements notify.Log.
func (r *reading) Part(ctx context.Context, seq int64, offset int, summary bool, b []byte) (n, size int, err error) {
	return r.log.Part(ctx, seq, offset, summary, b)
}

// next reads one chunk and compares it with what package fold lets through as
// of the seq that the cursor had to use.
func (r *reading) next(upTo int64) {
	before, head := r.cursor.After(), r.tail.Head()
	r.upTo = 0
	chunk, err := r.cursor.Next(context.Background(), upTo)
	if err != nil {
		r.t.Fatal(err)
	}
	asOf := head
	if r.upTo > 0 { // it comes from a page
		asOf = r.asOf
	}
	if r.plain {
		asOf = -1
	}
	after := r.cursor.After()
	want := r.log.want(r.filter, before, after, asOf)
	i := 0
	r.reader.Each(chunk, func(seq int64, frame []byte) {
		if i >= len(want) || want[i].Seq != seq || !bytes.Equal(want[i].AppendFrame(nil), frame) {
			r.t.Fatalf("after %d, as of %d, frame %d is %d: %s", before, asOf, i, seq, frame)
		}
		if upTo > 0 && seq > upTo {
			r.t.Fatalf("frame %d above the bound %d", seq, upTo)
		}
		r.view.Apply(&r.log.read[seq-1])
		i++
	})
	if i != len(want) {
		r.t.Fatalf("after %d, as of %d, %d frames up to %d, want %d", before, asOf, i, after, len(want))
	}
	r.frames = append(r.frames, chunk...)
	r.view.Advance(after) // a heartbeat would say so
}

func (r *reading) toHead() {
	for r.cursor.After() < r.tail.Head() {
		before := r.cursor.After()
		if r.next(0); r.cursor.After() == before {
			r.t.Fatalf("the cursor stays at %d, the head is %d", before, r.tail.Head())
		}
	}
}

// live returns the seqs of the events that are live in the view.
func (r *reading) live() []int64 {
	seqs := map[int64]bool{}
	r.view.Turns(func(t *fold.Turn) bool {
		live, _ := t.Events()
		for _, e := range live {
			seqs[e.Seq] = true
		}
		return true
	})
	return slices.Sorted(maps.Keys(seqs))
}

func TestCollapsingCursorSendsWhatTheFoldLetsThrough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newCollapsingLog(t)
		tail := notify.NewTail(rapid.SampledFrom([]int{1, 5000, 10_000, 1 << 20}).Draw(t, "tail"), 0)
		filter := notify.Filter{
			ThreadIDs: rapid.SampledFrom([][]string{nil, nil, {"a"}}).Draw(t, "threads"),
			Methods:   rapid.SampledFrom([][]string{nil, nil, {"item/*"}, {notify.TurnStarted}}).Draw(t, "methods"),
		}
		var unpublished []notify.Event
		publish := func() {
			tail.Publish(unpublished)
			unpublished = nil
		}
		commit := func() {
			publish()
			unpublished = l.unit() // durable first: a page may be ahead of the tail
			if rapid.Bool().Draw(t, "at once") {
				publish()
			}
		}
		for range rapid.IntRange(0, 20).Draw(t, "before") {
			commit()
		}
		after := rapid.Int64Range(0, tail.Head()).Draw(t, "after")
		readers := []*reading{
			newReading(t, l, tail, filter, after, false), newReading(t, l, tail, notify.Filter{}, 0, false), newReading(t, l, tail, notify.Filter{}, 0, true),
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch r := readers[rapid.IntRange(0, len(readers)-1).Draw(t, "reader")]; rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				commit()
			case 1:
				r.next(max(1, r.cursor.After()+rapid.Int64Range(-1, 9).Draw(t, "up to")))
			default:
				r.next(0)
			}
		}
		publish()
		for _, r := range readers {
			r.toHead()
		}
		if a, b := readers[1].live(), readers[2].live(); !slices.Equal(a, b) {
			t.Fatalf("with collapse %v are live, without %v", a, b)
		}
	})
}

func TestCollapsedFramesAreTheSameLiveAndReplayed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newCollapsingLog(t)
		all, none := notify.NewTail(1<<30, 0), notify.NewTail(1, 0)
		for range rapid.IntRange(1, 30).Draw(t, "units") {
			events := l.unit()
			all.Publish(events)
			none.Publish(events)
		}
		after := rapid.Int64Range(0, l.head()).Draw(t, "after")
		live := newReading(t, l, all, notify.Filter{}, after, false)
		live.toHead()
		for _, l.frames = range []bool{false, true} {
			replayed := newReading(t, l, none, notify.Filter{}, after, false)
			if replayed.toHead(); !bytes.Equal(live.frames, replayed.frames) {
				t.Fatalf("live:\n%s\nreplayed:\n%s", live.frames, replayed.frames)
			}
		}
	})
}
