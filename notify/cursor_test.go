package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/internal/test/notifytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memoryLog is the model of a log: a slice.
type memoryLog struct {
	mu     sync.Mutex
	events []Event
	first  int64
	frames bool // answers with frames where that is asked for
	parts  int  // calls of Part
}

// Part implements Log.
func (l *memoryLog) Part(_ context.Context, seq int64, offset int, summary bool, b []byte) (n, size int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parts++
	if seq < l.first {
		return 0, 0, &ExpiredError{After: seq - 1, First: l.first}
	}
	n, size = partOfEvent(l.events[seq-1], offset, summary, b)
	return n, size, nil
}

func partOfEvent(e Event, offset int, summary bool, b []byte) (n, size int) {
	if summary {
		e.Params = AppendSummary(nil, e.Method, e.Params)
	}
	return partOf(e.Params, offset, b)
}

func (l *memoryLog) add(e ...Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e...)
}

func (l *memoryLog) Page(_ context.Context, q Query) (Page, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, err := l.page(q)
	if l.frames && q.Frames && q.After+1 >= p.First && p.Large() == nil {
		for i := range p.Events {
			p.Frames = p.Events[i].AppendFrame(p.Frames)
		}
		p.Events = nil
	}
	return p, err
}

func (l *memoryLog) page(q Query) (Page, error) {
	p := Page{Scanned: q.After, First: max(1, l.first), Latest: int64(len(l.events))}
	size := 0
	start := sort.Search(len(l.events), func(i int) bool { return l.events[i].Seq > q.After })
	for _, e := range l.events[start:] {
		if e.Seq < l.first {
			continue
		}
		if q.Filter.Match(e.ThreadID, e.Method) {
			if len(p.Events) == q.MaxEvents || (len(p.Events) > 0 && size+len(e.Params) > q.MaxBytes) {
				p.More = true
				return p, nil
			}
			if q.Parts && len(e.Params) > q.MaxBytes {
				if len(p.Events) == 0 {
					p.Events = append(p.Events, Event{Seq: e.Seq, Method: e.Method, ThreadID: e.ThreadID})
					p.Scanned = e.Seq
				}
				p.More = p.Scanned < p.Latest
				return p, nil
			}
			p.Events = append(p.Events, e)
			size += len(e.Params)
		}
		p.Scanned = e.Seq
	}
	return p, nil
}

func draft(seq int64, thread, method string, size int) Event {
	d := Draft{Method: method, Header: Header{ThreadID: thread, Timestamp: TimeFromMilli(seq + 1)}, Body: map[string]string{"text": string(bytes.Repeat([]byte("x"), size))}}
	if err := d.Encode(); err != nil {
		panic(err)
	}
	return d.Event(seq, seq)
}

func TestCursorReturnsEachMatchingEventOnceInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := &memoryLog{frames: rapid.Bool().Draw(t, "frames")}
		tail := NewTail(rapid.IntRange(1, 400_000).Draw(t, "tail"), 0)
		methods := []string{ItemDelta, ItemCreated, TurnStarted}
		filter := Filter{}
		if rapid.Bool().Draw(t, "by thread") {
			filter.ThreadIDs = []string{"a", "c"}
		}
		if rapid.Bool().Draw(t, "by method") {
			filter.Methods = rapid.SampledFrom([][]string{{"item/*"}, {TurnStarted}, {ItemDelta, "turn/*"}}).Draw(t, "methods")
		}
		next := int64(1)
		publish := func() {
			var batch []Event
			for range rapid.IntRange(1, 40).Draw(t, "batch") {
				size := rapid.SampledFrom([]int{0, 10, 10, 3000, 9000, 70_000}).Draw(t, "size")
				batch = append(batch, draft(next, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "thread"), rapid.SampledFrom(methods).Draw(t, "method"), size))
				next++
			}
			log.add(batch...) // durable first: a page may be ahead of the tail
			tail.Publish(batch)
		}
		for range rapid.IntRange(0, 6).Draw(t, "before") {
			publish()
		}
		after := rapid.Int64Range(0, next-1).Draw(t, "after")
		c := NewCursor(tail, log, filter, after)
		budget, most := NewBudget(0), ChunkBytes
		if rapid.Bool().Draw(t, "no budget") {
			budget, most = NewBudget(1), SmallChunkBytes
		}
		c.Share(budget)
		defer func() {
			if c.Close(); budget.Used() != 0 {
				t.Fatalf("%d bytes are held by no cursor", budget.Used())
			}
		}()
		before := func(b []byte, seq int64) []byte { return b }
		behind := ""
		if rapid.Bool().Draw(t, "wrapped") {
			before = func(b []byte, seq int64) []byte { return fmt.Appendf(b, "id: %d\n", seq) }
			behind = "\n"
			c.Wrap(before, behind)
		}
		var got []byte
		var frames notifytest.Frames
		read := func(upTo int64) {
			inside := c.Inside()
			chunk, err := c.Next(context.Background(), upTo)
			if err != nil {
				t.Fatal(err)
			}
			held := int64(most)
			if c.ahead != nil { // it keeps reading, and there is room
				held += aheadBytes
			}
			if len(chunk) > ChunkBytes || len(chunk) > most && budget.Used() > 0 || budget.Used() > held {
				t.Fatalf("a chunk of %d bytes, %d are held", len(chunk), budget.Used())
			}
			frames.Each(chunk, func(seq int64, _ []byte) {
				if upTo > 0 && seq > upTo && !inside {
					t.Fatalf("frame %d above the bound %d", seq, upTo)
				}
			})
			got = append(got, chunk...)
		}
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				publish()
			case 1:
				read(rapid.Int64Range(1, next+2).Draw(t, "up to"))
			default:
				read(0)
			}
		}
		for c.After() < tail.Head() {
			read(0)
		}
		var want []byte
		for _, e := range log.events {
			if e.Seq > after && filter.Match(e.ThreadID, e.Method) {
				want = append(e.AppendFrame(before(want, e.Seq)), behind...)
			}
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("got %d bytes, want %d: %.300s", len(got), len(want), got[commonLength(got, want):])
		}
	})
}

func commonLength(a, b []byte) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func TestCursorBelowThePrunedPrefixSaysExpired(t *testing.T) {
	log := &memoryLog{}
	tail := NewTail(1, 0)
	for i := int64(1); i <= 10; i++ {
		e := draft(i, "a", ItemDelta, 10)
		log.add(e)
		tail.Publish([]Event{e})
	}
	log.first = 5
	c := NewCursor(tail, log, Filter{}, 2)
	_, err := c.Next(context.Background(), 0)
	var expired *ExpiredError
	if !errors.As(err, &expired) || expired.First != 5 {
		t.Fatalf("got %v", err)
	}
	if c = NewCursor(tail, log, Filter{}, 4); true {
		chunk, err := c.Next(context.Background(), 0)
		if err != nil || len(chunk) == 0 {
			t.Fatalf("the cursor just before the oldest event works: %v, %d bytes", err, len(chunk))
		}
	}
}

func TestTailIsBounded(t *testing.T) {
	tail := NewTail(10_000, 0)
	for i := int64(1); i <= 1000; i++ {
		tail.Publish([]Event{draft(i, "a", ItemDelta, 100)})
		if tail.Bytes() > 10_000 {
			t.Fatalf("%d bytes after %d events", tail.Bytes(), i)
		}
	}
}

func TestTailForgetsTriesWithoutFrames(t *testing.T) {
	tail := NewTail(10_000, 0)
	seq := int64(0)
	for n := range 500 {
		first := seq + 1
		var batch []Event
		for range 3 {
			seq++
			e := draft(seq, "a", ItemDelta, 100)
			e.Span = first
			batch = append(batch, e)
		}
		if n%2 == 0 {
			seq++
			e := draft(seq, "a", StreamRewind, 0)
			e.Hides = []Hidden{{Span: first, After: first - 1}}
			batch = append(batch, e)
		}
		tail.Publish(batch)
		if tail.Bytes() > 10_000 {
			t.Fatalf("%d bytes after event %d", tail.Bytes(), seq)
		}
		if len(tail.spans) != len(tail.batches) {
			t.Fatalf("%d tries are known, %d have frames", len(tail.spans), len(tail.batches))
		}
	}
	if len(tail.batches) < 3 {
		t.Fatalf("the tail holds %d batches, too few to tell", len(tail.batches))
	}
}

func TestWaitReturnsAtOnceBelowTheHead(t *testing.T) {
	tail := NewTail(0, 7)
	select {
	case <-tail.Wait(6):
	default:
		t.Fatal("not closed although the head is above")
	}
	wait := tail.Wait(7)
	select {
	case <-wait:
		t.Fatal("closed at the head")
	default:
	}
	tail.Publish([]Event{draft(8, "", HolonPaused, 0)})
	<-wait
}

func TestReadersAndPublisherRace(t *testing.T) {
	log := &memoryLog{}
	tail := NewTail(20_000, 0)
	const events, readers = 3000, 8
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			c := NewCursor(tail, log, Filter{}, 0)
			want := int64(1)
			var frames notifytest.Frames
			for want <= events {
				chunk, err := c.Next(context.Background(), 0)
				if err != nil {
					t.Error(err)
					return
				}
				frames.Each(chunk, func(seq int64, _ []byte) {
					if seq != want {
						t.Errorf("got %d, want %d", seq, want)
					}
					want++
				})
				if len(chunk) == 0 {
					<-c.Wait()
				}
			}
		})
	}
	for i := int64(1); i <= events; i++ {
		e := draft(i, "a", ItemDelta, 50)
		log.add(e)
		tail.Publish([]Event{e})
	}
	wg.Wait()
}

func TestFilterNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"turn/started": true, "item/*": true, "holon/logStream": true, "": false, "item": false, "*": false,
		"item/": false, "/x": false, "item/**": false, "it em/x": false,
	} {
		if ValidMethod(name) != ok {
			t.Errorf("ValidMethod(%q) = %v", name, !ok)
		}
	}
	f := Filter{Methods: []string{"item/*"}}
	if !f.Match("t", "item/delta") || f.Match("t", "items/delta") || f.Match("t", "turn/started") {
		t.Error("a kind matches more or less than its own names")
	}
}
