package notify_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/internal/test/notifytest"
	"github.com/seed82539d15/holon/notify"
)

// sent is what a stream has sent: frames and their seqs.
type sent struct {
	cursor *notify.Cursor
	reader notifytest.Frames
	seqs   []int64
	frames []string
}

// read reads to the head of the tail, in one or many calls.
func (s *sent) read(t *rapid.T, tail *notify.Tail) {
	for s.cursor.After() < tail.Head() {
		before := s.cursor.After()
		chunk, err := s.cursor.Next(context.Background(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(chunk) > notify.ChunkBytes {
			t.Fatalf("a chunk of %d bytes", len(chunk))
		}
		s.reader.Each(chunk, func(seq int64, frame []byte) {
			s.seqs, s.frames = append(s.seqs, seq), append(s.frames, string(frame))
		})
		if s.cursor.After() == before {
			t.Fatalf("the cursor stays at %d, the head is %d", before, tail.Head())
		}
	}
}

// only has the threads of a list.
type only []string

// Has implements notify.Members.
func (m only) Has(_ context.Context, id string) (bool, error) { return slices.Contains(m, id), nil }

// merged is what a page sees that follows some threads whole and all in summaries: of
// those threads what the whole stream has sent, of the others what the other has.
func merged(whole, summaries *sent, isWhole func(seq int64) bool) (frames []string) {
	i := 0
	for n, seq := range summaries.seqs {
		if isWhole(seq) {
			continue
		}
		for ; i < len(whole.seqs) && whole.seqs[i] < seq; i++ {
			frames = append(frames, whole.frames[i])
		}
		frames = append(frames, summaries.frames[n])
	}
	return append(frames, whole.frames[i:]...)
}

// One stream with whole threads sends what two streams would, replayed and live.
func TestAStreamWithWholeThreadsIsTheMergeOfTwo(t *testing.T) {
	many := []string{"b"}
	for i := range 20 {
		many = append(many, fmt.Sprint("nobody_", i))
	}
	rapid.Check(t, func(t *rapid.T) {
		l := newCollapsingLog(t)
		tail := notify.NewTail(rapid.SampledFrom([]int{1, 5000, 10_000, 1 << 20}).Draw(t, "tail"), 0)
		threads := rapid.SampledFrom([][]string{{"a"}, {"b"}, {"a", "a"}, {"a", "b"}, {"nobody"}, many}).Draw(t, "whole")
		filter := notify.Filter{
			ThreadIDs: rapid.SampledFrom([][]string{nil, nil, {"a"}, {"b", "a"}}).Draw(t, "threads"),
			Methods:   rapid.SampledFrom([][]string{nil, nil, {"item/*"}, {notify.TurnStarted}}).Draw(t, "methods"),
		}
		filter.Within = rapid.SampledFrom([]notify.Members{nil, nil, only{"a"}, only{"b", ""}}).Draw(t, "within")
		collapse := rapid.Bool().Draw(t, "collapse")
		commit := func() { tail.Publish(l.unit()) }
		for range rapid.IntRange(0, 20).Draw(t, "before") {
			commit()
		}
		after := rapid.Int64Range(0, tail.Head()).Draw(t, "after")
		open := func(f notify.Filter) *sent {
			c := notify.NewCursor(tail, l, f, after)
			if collapse {
				c.Collapse()
			}
			return &sent{cursor: c}
		}
		of := filter
		of.ThreadIDs = slices.DeleteFunc(slices.Clone(threads), func(id string) bool { return !filter.Match(id, notify.StreamRewind) })
		whole, summaries, both := &sent{}, open(filter), open(filter)
		if len(of.ThreadIDs) > 0 {
			whole = open(of)
		}
		summaries.cursor.Summarize()
		both.cursor.Summarize(threads...)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			// What is superseded is left out as of the head at which a chunk is made, so
			// the three read from the same one.
			for _, s := range []*sent{whole, summaries, both} {
				if s.cursor != nil {
					s.read(t, tail)
				}
			}
			want := merged(whole, summaries, func(seq int64) bool { return slices.Contains(threads, l.events[seq-1].ThreadID) })
			if !slices.Equal(both.frames, want) {
				t.Fatalf("one stream sent\n%v, two sent\n%v", both.frames, want)
			}
			commit()
		}
	})
}

// What cannot be told apart is not sent.
func TestAPageWithAnUnreadableThreadHasNoWholeThreads(t *testing.T) {
	p := notify.Page{Events: []notify.Event{{Seq: 1, Method: notify.ItemDelta, Params: []byte(`{"seq":1,"thread_id":7}`)}}}
	if err := p.Summarize("a"); err == nil {
		t.Errorf("%+v", p.Events)
	}
}
