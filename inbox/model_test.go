package inbox

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/notify"
)

// chooser makes the choices of a history.
type chooser interface {
	// Int is a choice from 0 to n-1.
	Int(n int, what string) int
}

type rapidChooser struct{ t *rapid.T }

// Int spreads what rapid draws, because rapid prefers small numbers. What it
// makes smaller after a failure still ends at 0.
func (c rapidChooser) Int(n int, what string) int {
	x := rapid.Uint64Range(0, 1<<40).Draw(c.t, what) * 0x9e3779b97f4a7c15
	return int((x >> 32) % uint64(n))
}

// usualCases is how many histories are made by default.
const usualCases = 2000

// cases is how many histories are made: INBOX_CASES, or the usual number.
func cases(t *testing.T) int {
	text := os.Getenv("INBOX_CASES")
	if text == "" {
		return usualCases
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("INBOX_CASES=%s is no number of histories", text)
	}
	return n
}

// TestHistoriesKeepEveryPromise runs random histories of one inbox, with a store
// that may lose any unit, and compares it after each commit with a naive model.
func TestHistoriesKeepEveryPromise(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // histories are garbage
	old := flag.Lookup("rapid.checks").Value.String()
	if err := flag.Set("rapid.checks", strconv.Itoa(cases(t))); err != nil {
		t.Fatal(err)
	}
	defer flag.Set("rapid.checks", old)
	seen := map[string]int{}
	rapid.Check(t, func(r *rapid.T) {
		h := newHistory(rapidChooser{r})
		h.seen = seen
		if err := h.run(); err != nil {
			r.Fatalf("%v\nafter\n%s", err, strings.Join(h.trace, "\n"))
		}
	})
	for _, what := range []string{"ErrFull", "lag", "settled", "duplicate", "remainder", "superseded ack", "expired", "untold", "stalled",
		"lost unit", "rollover", "size", "window", "immediate", "lifecycle", "manual", "fired", ErrEntryNotFound.Error(), ErrEntryExpired.Error(), "acked all",
		"acked items", ErrItemNotFound.Error(), ErrItemExpired.Error(), errPending.Error(), "a remainder without the newest item", "a remainder with the newest item", "woken during a turn", "told more", "untold in part"} {
		if seen[what] == 0 && cases(t) >= usualCases && !testing.Short() { // fewer histories, as with -short, are too few for what is rare
			t.Errorf("no history had %q: the test does not test it", what)
		}
	}
	t.Logf("%v", seen)
}

// history is one life of an inbox.
type history struct {
	chooser
	w       *world
	m       *naive
	client  *client
	readers []*reader
	turn    string // the turn that is active
	word    int64  // the seq of its agent's last word
	turns   int
	focus   int // what this history does most
	trace   []string
	seen    map[string]int
}

// reader is somebody who reads and acknowledges, and remembers what was shown.
type reader struct {
	pages []shown
	ids   []notify.ID // every entry that was ever shown, also superseded ones
}

// id is one of the entries that were shown last.
func (r *reader) id(back int) notify.ID { return r.ids[max(0, len(r.ids)-1-back)] }

// shown is a read: the entries that were visible at a seq, with their items.
type shown struct {
	seq   int64
	items map[notify.ID][]int64
}

func newHistory(c chooser) *history {
	w := newWorld()
	bounds := Bounds{MaxPendingItems: 10_000, MaxUnackedItems: 10_000, MaxUnackedBytes: 64 << 20, MaxTimers: 3, MaxSubscriptions: 2}
	switch c.Int(4, "bounds") {
	case 2:
		bounds.MaxUnackedItems = 8
	case 3:
		bounds.MaxPendingItems = 4
		bounds.MaxUnackedBytes = 4000
	}
	w.bounds = bounds
	return &history{
		chooser: c, focus: c.Int(6, "focus"), w: w, client: w.newClient(), readers: []*reader{{}, {}, {}}, seen: map[string]int{},
		m: &naive{timers: map[string]*naiveTimer{}, lagged: map[string]int64{}, bounds: bounds, settings: w.settings()},
	}
}

// reader chooses who reads or acknowledges.
func (h *history) reader() *reader {
	if h.focus == focusAcks {
		return h.readers[0]
	}
	return h.readers[h.Int(3, "reader")]
}

func (h *history) note(format string, args ...any) {
	h.trace = append(h.trace, fmt.Sprintf(format, args...))
}

// operation decides something with a Book, and returns what checks it once it is
// committed; first is the seq of the unit's first event.
type operation func(b *Book, u *memUnit) (after func(first int64) error)

func (h *history) run() error {
	for range 20 + h.Int(21, "steps") {
		if err := h.step(); err != nil {
			return err
		}
	}
	return h.w.sameRows()
}

// What a history may do most.
const (
	focusTurns = 1 + iota // of an agent without a word
	focusAcks             // of one growing digest
	focusRetention
	focusTimers    // which fire, and are created again under the same id
	focusFallbacks // of one kind of event without a group, which keeps coming
)

func (h *history) step() error {
	n := h.Int(100, "step")
	if len(h.m.lagged) > 0 && h.Int(3, "lagged") == 1 {
		return h.unit(h.ack(h.readers[0]), h.settle())
	}
	if h.w.bounds.MaxUnackedItems < 10 && h.Int(10, "own") == 1 {
		return h.unit(h.ownItem())
	}
	switch {
	case n >= 50:
	case h.focus == focusFallbacks:
		if err := h.unit(h.ingest()); err != nil {
			return err
		}
		return h.clock()
	case h.focus > 0:
		n = map[int][]int{focusTurns: {1, 75, 76, 77}, focusAcks: {1, 52, 1, 65}, focusRetention: {1, 65, 40, 93}, focusTimers: {88, 40, 88, 40}}[h.focus][n%4]
	}
	switch {
	case n < 32:
		return h.unit(h.ingest())
	case n < 38: // several things in one unit
		return h.unit(h.ingest(), h.flushOrIngest())
	case n < 48:
		return h.clock()
	case n < 51:
		return h.unit(h.flush())
	case n < 57:
		h.read(h.reader())
		return nil
	case n < 72:
		return h.unit(h.ack(h.reader()))
	case n < 82:
		return h.turnStep()
	case n < 84:
		return h.unit(h.wakeNow())
	case n < 88:
		return h.unit(h.configure())
	case n < 91:
		return h.unit(h.timer())
	case n < 94:
		return h.unit(h.expire())
	case n < 97:
		return h.unit(h.ownItem())
	default:
		return h.unit(h.settle())
	}
}

func (h *history) flushOrIngest() operation {
	switch h.Int(3, "and") {
	case 0:
		return h.flush()
	case 1:
		return h.flushDue()
	}
	return h.ingest()
}

// unit makes one unit of the operations, and commits or loses it.
func (h *history) unit(ops ...operation) error {
	u, b := h.w.begin()
	var after []func(int64) error
	for _, op := range ops {
		if f := op(b, u); f != nil {
			after = append(after, f)
		}
	}
	h.w.breaks.tamper(h, u, &b)
	if h.Int(12, "crash") == 11 {
		h.note("  (the unit is lost)")
		h.seen["lost unit"]++
		return nil
	}
	h.w.last += int64(h.Int(3, "events of others"))
	first := h.w.last + 1
	events, err := h.w.commit(u, b)
	if err != nil {
		return err
	}
	h.m.now, h.m.events = h.w.now.Time, events
	for i := range events {
		if p, ok := events[i].body.(*Posted); ok {
			h.seen[string(p.Reason)]++
		}
	}
	for _, f := range after {
		if err := f(first); err != nil {
			return err
		}
	}
	if len(h.m.events) > 0 {
		return fmt.Errorf("nobody expects %s %+v", h.m.events[0].method, h.m.events[0].body)
	}
	if err := h.m.check(h.w); err != nil {
		return err
	}
	h.client.follow(events)
	return h.client.check(h.w)
}

// strangeTimes are what senders write who know no time, and what is no time in UTC
// of four digits.
var strangeTimes = []time.Time{
	time.UnixMilli(0), time.UnixMilli(-1), time.UnixMilli(1), time.UnixMilli(-1_700_000_000_000), time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC),
	time.Date(0, 1, 1, 0, 0, 0, 0, time.FixedZone("", 23*60*60)), time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -23*60*60)),
}

func (h *history) item() Item {
	it := Item{Source: []string{"gh", "ci"}[h.Int(2, "source")], NativeID: "n" + strconv.Itoa(h.Int([]int{300, 300, 8}[h.Int(3, "often")], "native"))}
	switch h.Int(9, "occurred") {
	case 0, 1, 2:
		it.OccurredAt = notify.TimeOf(h.w.now.Add(-time.Duration(h.Int(100, "earlier")) * time.Second))
	case 3: // no time at which anything is sent, but senders write it
		it.OccurredAt = notify.TimeOf(strangeTimes[h.Int(len(strangeTimes), "strange")])
	}
	if s := h.Int(4, "sender"); s > 0 {
		it.Payload = []byte(`{"sender":{"login":"` + []string{"ann", "bob", "cyd"}[s-1] + `"}}`)
	}
	if h.Int(2, "says") == 1 {
		it.Summary, it.Link = "n"+it.NativeID+" says something", "https://h.example/"+it.NativeID
	}
	if h.Int(2, "about") == 1 {
		it.About = []string{"x", "y"}[h.Int(2, "subject")]
		it.Outcome = []string{"", "success", "failure", "timed_out"}[h.Int(4, "outcome")]
	}
	if h.focus == focusFallbacks {
		it.Source, it.Variant = "gh", "push"
		return it
	}
	switch h.Int(8, "grouped") {
	case 0:
		return it
	case 1:
		it.Variant = []string{"star.created", "push"}[h.Int(2, "variant")]
		return it
	}
	g := &Grouping{ResourceRef: []string{"pr:1", "pr:2"}[h.Int(2, "resource")], EventFamily: []string{"comments", "ci_updates"}[h.Int(4, "family")/3]}
	if h.focus == focusAcks {
		it.Source = "gh"
		g.ResourceRef, g.EventFamily = "pr:1", "comments"
		g.Flush = []Flush{"", "", FlushImmediate, FlushImmediate, FlushFirst, FlushPassive}[h.Int(6, "now")]
		it.Grouping = g
		return it
	}
	switch h.Int(12, "flush") {
	case 0:
		g.Flush = FlushImmediate
	case 1:
		g.Breaks = BreaksBefore
	case 2:
		g.Breaks = BreaksAfter
	case 3:
		g.EventFamily = "" // not grouped
	case 4:
		g.Flush = FlushFirst
	case 5, 6:
		g.Flush = FlushPassive
	}
	if h.Int(8, "both") == 0 {
		g.Breaks = []Breaks{BreaksBefore, BreaksAfter}[h.Int(2, "breaks")]
	}
	it.Grouping = g
	return it
}

func (h *history) ingest() operation {
	items := make([]Item, 1+h.Int(4, "items"))
	for i := range items {
		items[i] = h.item()
	}
	return h.store(items, nil)
}

// store ingests items; full is called if they do not fit.
func (h *history) store(items []Item, full func(*Book)) operation {
	return func(b *Book, _ *memUnit) func(int64) error {
		for _, it := range items {
			h.note("ingest %s %s %+v %q %q %s", it.Source, it.NativeID, it.Grouping, it.Variant, it.About, it.OccurredAt)
		}
		results, err := b.Ingest(items)
		if errors.Is(err, ErrFull) && full != nil {
			full(b)
		}
		return func(first int64) error {
			isFull := h.m.full(items)
			if isFull != errors.Is(err, ErrFull) {
				return fmt.Errorf("ingest: %v, and the inbox is full: %v", err, isFull)
			}
			if isFull {
				h.seen["ErrFull"]++
				if full != nil {
					h.seen["lag"]++
					h.m.lagged[items[0].Source]++
				}
				return nil
			}
			for i := range items {
				want, err := h.m.ingest(&items[i])
				if err != nil {
					return err
				}
				got := results[i]
				got.AssignSeqs(first)
				if got != want {
					return fmt.Errorf("ingested %+v, want %+v", got, want)
				}
				if got.Duplicate {
					h.seen["duplicate"]++
				}
			}
			return nil
		}
	}
}

// ownItem ingests an item of the server itself. Ends of turns always fit; of
// others it is counted what did not fit.
func (h *history) ownItem() operation {
	it := Item{Source: SourceEvents, NativeID: strconv.Itoa(h.Int(1000, "event"))}
	if h.Int(3, "turns") == 0 {
		it.Source = SourceTurns
	}
	return h.store([]Item{it}, func(b *Book) { b.Lag(it.Source, 1) })
}

func (h *history) settle() operation {
	return func(b *Book, _ *memUnit) func(int64) error {
		h.note("settle")
		err := b.PostLags()
		return func(int64) error {
			n := len(h.m.lagged)
			if err == nil {
				err = h.m.settle()
			}
			if len(h.m.lagged) < n {
				h.seen["settled"]++
			}
			return err
		}
	}
}

func (h *history) flushDue() operation {
	return func(b *Book, _ *memUnit) func(int64) error {
		h.note("flush what is due at %d", h.w.now.Milli())
		err := b.FlushDue()
		return func(int64) error {
			if err != nil {
				return err
			}
			return h.m.flushDue()
		}
	}
}

func (h *history) flush() operation {
	id := notify.ID("")
	if n := h.Int(2+len(h.m.digests), "digest"); n > 1 {
		id = DigestID(h.m.digests[n-2].seq)
	} else if n == 1 {
		id = "dig_9999999"
	}
	return func(b *Book, _ *memUnit) func(int64) error {
		h.note("flush %q", id)
		ids, err := b.Flush(id)
		return func(first int64) error {
			known := id == "" || slices.ContainsFunc(h.m.digests, func(d *naiveDigest) bool { return DigestID(d.seq) == id && !d.removed })
			if known == errors.Is(err, ErrDigestNotFound) {
				return fmt.Errorf("flush %q: %v", id, err)
			}
			if !known {
				return nil
			}
			want, err := h.m.flushDigests(ReasonManual, func(d *naiveDigest) bool { return id == "" || DigestID(d.seq) == id })
			notify.AssignIDs(ids, first)
			if err == nil && !slices.Equal(ids, want) {
				err = fmt.Errorf("flushed %v, want %v", ids, want)
			}
			return err
		}
	}
}
