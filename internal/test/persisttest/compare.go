package persisttest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/notify"
)

// read reads something and compares it with the model.
func (m *model) read(r *rapid.T) {
	if len(m.actors) == 0 {
		return
	}
	switch pick(r, 8, "read") {
	case 0, 1:
		m.page(r)
	case 2:
		m.stream(r)
	case 3:
		m.thread(m.known(r))
	case 4:
		m.unfinished()
	default:
		m.list(r)
	}
}

// at chooses a place in the log, often near its end.
func (m *model) at(r *rapid.T) int64 {
	if rapid.Bool().Draw(r, "near the end") {
		return max(0, m.head()-int64(pick(r, 100, "before")))
	}
	return m.head() * int64(pick(r, 100, "percent")) / 100
}

// wholeOf chooses threads whose events a summary leaves whole, among those of the next
// events; also one twice, or one that does not exist.
func (m *model) wholeOf(r *rapid.T, after int64) (ids []string) {
	for range pick(r, 5, "whole") {
		id := "thread_none"
		if next := m.events[after:min(m.head(), after+60)]; len(next) > 0 {
			id = cmp.Or(next[pick(r, len(next), "of event")].ThreadID, id)
		}
		ids = append(ids, id)
	}
	return ids
}

// filter chooses threads and methods. Threads with few of the events are read in
// another way than those with many, which are the newest.
func (m *model) filter(r *rapid.T) (f notify.Filter) {
	ids := []string{"thread_none"}
	for _, k := range m.actors[rapid.SampledFrom([]int{0, max(0, len(m.actors)-5)}).Draw(r, "of"):] {
		ids = append(ids, k.ID)
	}
	for range pick(r, 4, "threads") {
		f.ThreadIDs = append(f.ThreadIDs, rapid.SampledFrom(ids).Draw(r, "thread"))
	}
	if rapid.Bool().Draw(r, "methods") {
		f.Methods = rapid.SampledFrom([][]string{
			{"item/*"}, {notify.TurnStarted}, {notify.ItemDelta}, {"turn/*", notify.HolonPaused}, {"step/*"}, {"holon/*"}, {"nothing/*"},
		}).Draw(r, "method")
	}
	return f
}

// supersededBy returns the seq of the first marker that supersedes what has this
// lineage and seq (docs/rewind.md); 0 if none does.
func (m *model) supersededBy(turnID string, lineage []notify.Ref, seq int64) int64 {
	for _, mark := range m.marks[turnID] {
		for _, try := range lineage {
			if try.Step == mark.Step && try.Epoch < mark.NewEpoch && seq > mark.After {
				return mark.Seq
			}
		}
	}
	return 0
}

// between returns the events of a query, up to a seq: those that pass the filter.
// With collapse these are the live ones, in a summary those that are no delta or of a
// thread that is whole.
func (m *model) between(q *notify.Query, upTo int64) []notify.Event {
	list := []notify.Event{}
	for i := q.After; i < upTo; i++ {
		e, p := &m.events[i], &m.parsed[i]
		out := q.Collapse && (e.Method == notify.TurnLate || m.supersededBy(p.TurnID, p.Lineage, e.Seq) != 0) ||
			q.Summary && e.Method == notify.ItemDelta && !slices.Contains(q.Whole, e.ThreadID)
		if !out && q.Filter.Match(e.ThreadID, e.Method) {
			list = append(list, *e)
		}
	}
	return list
}

func frames(events []notify.Event) (data []byte) {
	for i := range events {
		data = events[i].AppendFrame(data)
	}
	return data
}

func paramBytes(events []notify.Event) (n int) {
	for i := range events {
		n += len(events[i].Params)
	}
	return n
}

// page reads one page. It has exactly its events, as many as it may have.
func (m *model) page(r *rapid.T) {
	q := notify.Query{
		After:     m.at(r),
		Filter:    m.filter(r),
		MaxEvents: rapid.SampledFrom([]int{1, 3, 10, 60}).Draw(r, "max events"),
		MaxBytes:  rapid.SampledFrom([]int{1, 700, 3000, 10_000, 1 << 20}).Draw(r, "max bytes"),
		Frames:    rapid.Bool().Draw(r, "frames"),
		Collapse:  rapid.Bool().Draw(r, "collapse"),
		Summary:   rapid.Bool().Draw(r, "summary"),
		Parts:     rapid.Bool().Draw(r, "parts"),
	}
	q.Whole = m.wholeOf(r, q.After)
	p, err := m.h.Store.Page(context.Background(), q)
	if err != nil {
		m.t.Fatal(err)
	}
	asOf := int64(0)
	if q.Collapse {
		asOf = m.head()
	}
	if p.First != m.first || p.Latest != m.head() || p.AsOf != asOf || p.More != (p.Scanned < p.Latest) || p.Scanned < q.After || p.More && p.Scanned == q.After {
		m.t.Fatalf("page of %d to %d as of %d, scanned %d, more %v of %+v", p.First, p.Latest, p.AsOf, p.Scanned, p.More, q)
	}
	want := m.between(&q, p.Scanned)
	size := paramBytes(want)
	if len(want) > q.MaxEvents || len(want) > 1 && size > q.MaxBytes {
		m.t.Fatalf("page of %d events, %d bytes of %+v", len(want), size, q)
	}
	if e := p.Large(); e != nil {
		if len(want) != 1 || !q.Parts || len(want[0].Params) <= q.MaxBytes || e.Seq != want[0].Seq || e.Method != want[0].Method || e.ThreadID != want[0].ThreadID {
			m.t.Fatalf("a large event of %+v is %+v, want %+v", q, e, want)
		}
		m.parts(r, &want[0])
		return
	}
	if q.Parts && size > q.MaxBytes {
		m.t.Fatalf("a page of %+v has %d bytes", q, size)
	}
	if len(p.Frames) > 0 {
		if string(p.Frames) != string(frames(want)) || len(p.Events) > 0 {
			m.t.Fatalf("frames of %+v are\n%s, want\n%s", q, p.Frames, frames(want))
		}
		return
	}
	sameEvents(m.t, fmt.Sprintf("page of %+v", q), p.Events, want)
	if p.More && len(want) < q.MaxEvents && !q.Collapse && !q.Summary && len(q.Filter.Methods) == 0 {
		next := m.between(&notify.Query{After: p.Scanned, Filter: q.Filter}, m.head())
		if len(next) == 0 || size+len(next[0].Params) <= q.MaxBytes {
			m.t.Fatalf("the page of %+v ended after %d events, %d bytes", q, len(want), size)
		}
	}
}

// parts reads an event, or its summary, part by part.
func (m *model) parts(r *rapid.T, e *notify.Event) {
	summary := rapid.Bool().Draw(r, "of a summary")
	want := e.Params
	if summary {
		want = notify.AppendSummary(nil, e.Method, want)
	}
	b := make([]byte, rapid.SampledFrom([]int{1, 100, 5000}).Draw(r, "part"))
	if len(b) == 1 {
		b = make([]byte, len(want)/7+1)
	}
	var got []byte
	for len(got) < len(want) {
		n, size, err := m.h.Store.Part(context.Background(), e.Seq, len(got), summary, b)
		if err != nil || size != len(want) || n == 0 {
			m.t.Fatalf("%d bytes from %d of %d, %d are wanted: %v", n, len(got), size, len(want), err)
		}
		got = append(got, b[:n]...)
	}
	if string(got) != string(want) {
		m.t.Fatalf("the parts of event %d are\n%s, want\n%s", e.Seq, got, want)
	}
}

// stream reads a stream to its end, from the tail or from the log alone. The
// tail knows from the events what is superseded, the log from rows.
func (m *model) stream(r *rapid.T) {
	q := notify.Query{
		After: m.at(r), Filter: m.filter(r), Collapse: rapid.Bool().Draw(r, "collapse"), Summary: rapid.Bool().Draw(r, "summary"),
	}
	q.Whole = m.wholeOf(r, q.After)
	tail := m.h.Tail
	if rapid.Bool().Draw(r, "from the log") {
		tail = notify.NewTail(0, m.head())
	}
	c := notify.NewCursor(tail, m.h.Store, q.Filter, q.After)
	defer c.Close()
	if q.Collapse {
		c.Collapse()
	}
	if q.Summary {
		c.Summarize(q.Whole...)
	}
	var got []byte
	for c.After() < m.head() {
		chunk, err := c.Next(context.Background(), 0)
		if err != nil {
			m.t.Fatal(err)
		}
		got = append(got, chunk...)
	}
	events := m.between(&q, m.head())
	for i := range events {
		if e := &events[i]; q.Summary && !slices.Contains(q.Whole, e.ThreadID) {
			e.Params = notify.AppendSummary(nil, e.Method, e.Params)
		}
	}
	if want := frames(events); string(got) != string(want) {
		m.t.Fatalf("the stream of %+v is\n%s, want\n%s", q, got, want)
	}
}
