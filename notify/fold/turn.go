package fold

import (
	"container/list"
	"slices"

	"github.com/seed82539d15/holon/notify"
)

// Turn is a turn as its live events leave it. Its fields and what its methods
// return belong to the View and change with its next Apply.
//
// State is queued, active, completed, interrupted or failed, or "" if no live
// event says it. Progress (starting, running, waiting, interrupting) and
// ProgressMessage are those of an active turn. Attempt is the highest one seen,
// in markers too.
type Turn struct {
	TurnID          string
	ThreadID        string
	State           string
	Attempt         int
	Progress        string
	ProgressMessage string
	Origin          string // of the live start
	Message         string // of the live end
	Reason          string
	Steps           []Step // that have started, in the order of their first event

	markers  Markers
	lineages []lineage
	entries  []entry
	late     []Entry
	parts    []turnPart // of events of the turn itself and of its steps
	items    map[string]*Item
	order    []*Item // by their first event

	queue   *list.List // View.open or View.ended
	element *list.Element
}

// Step is a step as its live events leave it. Status is "" until it has ended.
type Step struct {
	Path   string
	Epoch  int
	Status string
}

// lineage is one lineage of a turn's events, and what of it is superseded.
type lineage struct {
	refs   []Ref
	after  int64
	hidden bool
}

// entry is what is remembered of each event of a turn.
type entry struct {
	seq     int64
	method  string
	item    *Item // nil: the event is the turn's own
	part    int32 // index in item.parts or Turn.parts; -1: in neither
	lineage int32 // index in Turn.lineages; -1: no lineage
	live    bool
}

type turnPart struct {
	method string
	step   string
	epoch  int
	live   bool
	body   Body
}

// Ended reports whether a live event says that the turn has ended.
func (t *Turn) Ended() bool {
	return t.State == "completed" || t.State == "interrupted" || t.State == "failed"
}

// Items returns the items of the live view, also withdrawn ones (status
// deleted), in the order of their first events.
func (t *Turn) Items() []*Item { return t.filterItems(true) }

// Superseded returns the items of which nothing is live any more, as they were
// before they were superseded.
func (t *Turn) Superseded() []*Item { return t.filterItems(false) }

func (t *Turn) filterItems(live bool) []*Item {
	var out []*Item
	for _, it := range t.order {
		if it.Live == live {
			out = append(out, it)
		}
	}
	return out
}

// Item returns an item of the turn, live or superseded; nil if there is none.
func (t *Turn) Item(itemID string) *Item { return t.items[itemID] }

// Events returns the turn's events that were read, in the order of their seq:
// the live ones, and the superseded ones with turn/late. Markers are in neither
// list.
func (t *Turn) Events() (live, superseded []Entry) {
	for i := range t.entries {
		if e := &t.entries[i]; e.live {
			live = append(live, e.entry())
		} else {
			superseded = append(superseded, e.entry())
		}
	}
	superseded = append(superseded, t.late...)
	slices.SortFunc(superseded, func(a, b Entry) int { return int(a.Seq - b.Seq) })
	return live, superseded
}

func (e *entry) entry() Entry {
	out := Entry{Seq: e.seq, Method: e.method}
	if e.item != nil {
		out.ItemID = e.item.ItemID
	}
	return out
}

// add adds an event and returns its item and whether it is live.
func (t *Turn) add(e *Event) (*Item, bool) {
	n := entry{seq: e.Seq, method: e.Method, part: -1, lineage: t.lineageOf(e.Lineage), live: true}
	if n.lineage >= 0 {
		l := &t.lineages[n.lineage]
		n.live = !l.hidden || e.Seq <= l.after
	}
	switch e.Method {
	case notify.ItemCreated, notify.ItemUpdated, notify.ItemDeleted, notify.ItemDelta:
		n.item = t.items[e.ItemID]
		if n.item == nil {
			n.item = &Item{ItemID: e.ItemID}
			t.items[e.ItemID] = n.item
			t.order = append(t.order, n.item)
		}
		n.part = n.item.add(e, n.live)
	case notify.TurnQueued, notify.TurnStarted, notify.TurnProgress,
		notify.TurnCompleted, notify.TurnInterrupted, notify.TurnFailed, notify.StepStarted, notify.StepEnded:
		n.part = int32(len(t.parts))
		t.parts = append(t.parts, turnPart{method: e.Method, step: e.Step, epoch: e.Epoch, live: n.live, body: e.Body})
		if n.live {
			t.apply(&t.parts[n.part])
		}
	}
	if n.live {
		t.Attempt = max(t.Attempt, e.Attempt)
	}
	t.entries = append(t.entries, n)
	return n.item, n.live
}

// lineageOf returns the index of the lineage in t.lineages, -1 without one. Most
// events have the same lineage as the event before.
func (t *Turn) lineageOf(refs []Ref) int32 {
	if len(refs) == 0 {
		return -1
	}
	for i := len(t.lineages) - 1; i >= 0; i-- {
		if slices.Equal(t.lineages[i].refs, refs) {
			return int32(i)
		}
	}
	l := lineage{refs: refs}
	l.after, l.hidden = t.markers.Hides(refs)
	t.lineages = append(t.lineages, l)
	return int32(len(t.lineages) - 1)
}

// rewind supersedes what the marker says and returns what was live of it.
func (t *Turn) rewind(m Marker) []Entry {
	if m.Step == "" {
		t.Attempt = max(t.Attempt, m.NewEpoch)
	}
	t.markers.Add(m)
	changed := false
	for i := range t.lineages {
		l := &t.lineages[i]
		after, hidden := t.markers.Hides(l.refs)
		changed = changed || hidden != l.hidden || after != l.after
		l.after, l.hidden = after, hidden
	}
	if !changed {
		return nil
	}
	var superseded []Entry
	for i := range t.entries {
		e := &t.entries[i]
		if !e.live || e.lineage < 0 {
			continue
		}
		if l := &t.lineages[e.lineage]; !l.hidden || e.seq <= l.after {
			continue
		}
		e.live = false
		superseded = append(superseded, e.entry())
		switch {
		case e.part < 0:
		case e.item != nil:
			e.item.parts[e.part].live, e.item.dirty = false, true
		default:
			t.parts[e.part].live = false
		}
	}
	if len(superseded) > 0 {
		t.refold()
	}
	return superseded
}

// refold rebuilds the live view after some of it was superseded.
func (t *Turn) refold() {
	for _, it := range t.order {
		if it.dirty {
			it.refold()
		}
	}
	t.State, t.Progress, t.ProgressMessage, t.Origin, t.Message, t.Reason = "", "", "", "", "", ""
	t.Steps = nil
	for i := range t.parts {
		if t.parts[i].live {
			t.apply(&t.parts[i])
		}
	}
}

// apply folds one live event of the turn itself or of a step.
func (t *Turn) apply(p *turnPart) {
	b := &p.body
	switch p.method {
	case notify.TurnQueued:
		t.State, t.Reason = "queued", b.Reason
	case notify.TurnStarted:
		t.State, t.Origin, t.Reason = "active", b.Origin, ""
		t.Progress, t.ProgressMessage = "running", ""
	case notify.TurnProgress:
		// Of a retried turn this may be all that is known.
		t.State, t.Progress, t.ProgressMessage = "active", b.State, b.Message
	case notify.TurnCompleted, notify.TurnInterrupted, notify.TurnFailed:
		t.State, t.Message, t.Reason = p.method[len("turn/"):], b.Message, b.Reason
		t.Progress, t.ProgressMessage = "", ""
	case notify.StepStarted, notify.StepEnded:
		i := slices.IndexFunc(t.Steps, func(s Step) bool { return s.Path == p.step })
		if i < 0 {
			i = len(t.Steps)
			t.Steps = append(t.Steps, Step{Path: p.step})
		}
		t.Steps[i].Epoch, t.Steps[i].Status = p.epoch, b.Status
	}
}
