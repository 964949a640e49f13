package notify_test

import (
	"context"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/notify/fold"
)

// collapsingLog is the model of a log whose turns are retried: a slice, and
// what package fold says about it.
type collapsingLog struct {
	t       *rapid.T
	frames  bool // answers with frames where that is asked for
	events  []notify.Event
	read    []fold.Event // the same, as a client reads them
	markers []fold.Marker
	turns   []*modelTurn
}

// modelTurn is a turn with the tries of its steps, as a server allocates them.
type modelTurn struct {
	id, thread string
	epochs     map[string]int          // the highest of each path
	firsts     map[string]int64        // the seq of the first event of a path's first try
	live       map[string]*notify.Span // the live try of each path
	spans      map[int64]*notify.Span  // all tries, by Seq
	hidden     map[int64]int64         // by Seq: the seq above which a try is superseded
	fresh      map[*notify.Span]bool   // begun in this unit
	markers    *fold.Markers
}

func newCollapsingLog(t *rapid.T) *collapsingLog {
	l := &collapsingLog{t: t, frames: rapid.Bool().Draw(t, "frames")}
	for _, id := range []string{"x", "y"} {
		l.turns = append(l.turns, &modelTurn{
			id: id, thread: map[string]string{"x": "a", "y": "b"}[id],
			epochs: map[string]int{}, firsts: map[string]int64{}, live: map[string]*notify.Span{},
			spans: map[int64]*notify.Span{}, hidden: map[int64]int64{}, fresh: map[*notify.Span]bool{}, markers: &fold.Markers{},
		})
	}
	return l
}

func (l *collapsingLog) head() int64 { return int64(len(l.events)) }

// unit appends events, as one commit, and returns them.
func (l *collapsingLog) unit() []notify.Event {
	from := len(l.events)
	for _, turn := range l.turns {
		clear(turn.fresh)
	}
	for range rapid.IntRange(1, 12).Draw(l.t, "events") {
		turn := l.turns[rapid.IntRange(0, len(l.turns)-1).Draw(l.t, "turn")]
		if turn.live[""] == nil {
			l.begin(turn, "", nil)
			continue
		}
		path := rapid.SampledFrom(slices.Sorted(maps.Keys(turn.live))).Draw(l.t, "path")
		switch rapid.IntRange(0, 11).Draw(l.t, "what") {
		case 0, 1:
			if below := path + "/" + rapid.SampledFrom([]string{"p", "q"}).Draw(l.t, "step"); len(below) < 8 && turn.live[below[1:]] == nil && path == "" {
				l.begin(turn, below[1:], turn.live[""])
			} else if len(below) < 8 && turn.live[below] == nil && path != "" {
				l.begin(turn, below, turn.live[path])
			}
		case 2:
			if !turn.fresh[turn.live[path]] {
				l.rewind(turn, path)
			}
		case 3:
			l.put(turn, notify.TurnLate, nil, map[string]any{"type": "late", "step": path, "epoch": 1})
		case 4:
			l.put(turn, notify.ItemCreated, nil, map[string]any{"item_id": "u", "status": "completed", "content": map[string]string{"type": "user_message", "text": "no summary has it"}})
		case 5:
			l.put(nil, notify.HolonPaused, nil, map[string]any{"type": "paused"})
		default:
			l.put(turn, notify.ItemDelta, turn.live[path], map[string]any{"item_id": "i", "delta": map[string]string{"text": "a word"}})
		}
	}
	return l.events[from:]
}

// begin starts a try of a step.
func (l *collapsingLog) begin(turn *modelTurn, path string, above *notify.Span) {
	turn.epochs[path]++
	span := notify.NewSpan(turn.id, path, turn.epochs[path], above)
	turn.live[path], turn.fresh[span] = span, true
	method := notify.StepStarted
	if path == "" {
		method = notify.TurnStarted
	}
	seq := l.put(turn, method, span, map[string]any{"type": "started", "status": "in_progress"})
	turn.spans[seq] = span
	if turn.firsts[path] == 0 {
		turn.firsts[path] = seq
	}
}

// rewind gives up the live try of a step: an end, then the marker.
func (l *collapsingLog) rewind(turn *modelTurn, path string) {
	l.put(turn, notify.ItemUpdated, turn.live[path], map[string]any{"item_id": "i", "status": "interrupted"})
	after := turn.firsts[path] - 1
	switch rapid.IntRange(0, 3).Draw(l.t, "bound") {
	case 0:
		after = 0
	case 1: // inside a try, as another server might do
		after = rapid.Int64Range(0, l.head()).Draw(l.t, "after")
	}
	l.put(turn, notify.StreamRewind, nil, map[string]any{
		"type": "rewind", "step": path, "new_epoch": turn.epochs[path] + 1, "superseded_after_seq": after, "reason": "agent_crash",
	})
	for p, span := range turn.live {
		if _, hidden := turn.markers.Hides(span.Lineage); hidden {
			delete(turn.live, p)
		}
	}
}

func (l *collapsingLog) put(turn *modelTurn, method string, span *notify.Span, body map[string]any) int64 {
	seq := l.head() + 1
	d := notify.Draft{Method: method, Header: notify.Header{Seq: seq, Timestamp: notify.TimeFromMilli(seq)}, Body: body}
	if turn != nil {
		d.Header.ThreadID, d.Header.TurnID = turn.thread, turn.id
	}
	if span != nil {
		d.In(span)
	}
	if err := d.Encode(); err != nil {
		l.t.Fatal(err)
	}
	e := d.Event(seq, seq)
	read, err := fold.Parse(e.Method, e.Params)
	if err != nil {
		l.t.Fatal(err)
	}
	if m, ok := fold.MarkerOf(&read); ok {
		l.markers = append(l.markers, m)
		turn.markers.Add(m)
		for _, seq := range slices.Sorted(maps.Keys(turn.spans)) {
			after, hides := turn.markers.Hides(turn.spans[seq].Lineage)
			if was, hidden := turn.hidden[seq]; hides && (!hidden || after < was) {
				e.Hides = append(e.Hides, notify.Hidden{Span: seq, After: after})
				turn.hidden[seq] = after
			}
		}
	}
	l.events, l.read = append(l.events, e), append(l.read, read)
	return seq
}

// want returns what a reader must be sent of (after, upTo] as of a seq. asOf < 0
// is for a reader that does not collapse.
func (l *collapsingLog) want(f notify.Filter, after, upTo, asOf int64) (events []notify.Event) {
	c := fold.NewCollapser(max(0, asOf), l.markers...)
	for i := after; i < upTo; i++ {
		e := l.events[i]
		if f.Match(e.ThreadID, e.Method) && (asOf < 0 || !c.LeavesOut(&l.read[i])) {
			events = append(events, e)
		}
	}
	return events
}

// Part implements notify.Log.
func (l *collapsingLog) Part(_ context.Context, seq int64, offset int, summary bool, b []byte) (n, size int, err error) {
	e := l.events[seq-1]
	if summary {
		e.Params = notify.AppendSummary(nil, e.Method, e.Params)
	}
	return copy(b, e.Params[min(offset, len(e.Params)):]), len(e.Params), nil
}

// Page returns few events at once, so that there are many pages.
func (l *collapsingLog) Page(_ context.Context, q notify.Query) (notify.Page, error) {
	p := notify.Page{Scanned: min(l.head(), q.After+7), First: 1, Latest: l.head()}
	p.More = p.Scanned < l.head()
	asOf := int64(-1)
	if q.Collapse {
		p.AsOf, asOf = l.head(), l.head()
	}
	p.Events = l.want(q.Filter, q.After, p.Scanned, asOf)
	for i := range p.Events { // events that are read have neither
		p.Events[i].Span, p.Events[i].Hides = 0, nil
	}
	if l.frames && q.Frames {
		for i := range p.Events {
			p.Frames = p.Events[i].AppendFrame(p.Frames)
		}
		p.Events = nil
	}
	return p, nil
}
