package fold

import (
	"container/list"
	"slices"

	"github.com/seed82539d15/holon/notify"
)

// Turn is a turn as its live events leave it. Its fields and what its methods
// return belong to the View and change with its next Apply.
//
// State is queued, active, completed, interrupted or failed, and "" as long
// as no live event says; Progress (starting, running, waiting, interrupting)
// and ProgressMessage are those of an active turn. Attempt is the highest that
// was seen, markers included.
type Turn struct {
	TurnID          string
	ThreadID        string
	State           string
	Attempt         int
	Progress        string
	ProgressMessage string
	Origin          string // of the start that stands
	Message         string // of the end that stands
	Reason          string
	Steps           []Step // that have started, in the order of their first event

	markers  Markers
	lineages []lineage
	entries  []entry
	late     []Entry
	parts    []turnPart // of events of the turn itself and of its steps
	items    map[string]*Item
	order    []*Item // by their first event

	place *list.Element // in the View's order of forgetting
	in    *list.List
}

// Step is a step as its live events leave it. Status is "" until it has ended.
type Step struct {
	Path   string
	Epoch  int
	Status string
}

// lineage is one of the lineages that a turn's events have, and what of it is
// superseded.
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
	part    int32 // in item.parts or Turn.parts; -1: of neither
	lineage int32 // in Turn.lineages; -1: it has none
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

// Items returns the items of the live view, in the order of their first
// events; withdrawn ones (status deleted) are among them.
func (t *Turn) Items() []*Item { return t.itemsThat(true) }

// Superseded returns the items of which nothing is live any more, as they
// stood when they were taken back.
func (t *Turn) Superseded() []*Item { return t.itemsThat(false) }

func (t *Turn) itemsThat(live bool) []*Item {
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
// what is live, and what is superseded, turn/late included. Markers are in
// neither.
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

// add takes an event in and reports whether it is live.
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
			t.take(&t.parts[n.part])
		}
	}
	if n.live {
		t.Attempt = max(t.Attempt, e.Attempt)
	}
	t.entries = append(t.entries, n)
	return n.item, n.live
}

// lineageOf finds the lineage among the turn's; most events have the one of
// the event before. -1 is none.
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

// rewind takes back what the marker supersedes and returns what was live.
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
	var taken []Entry
	for i := range t.entries {
		e := &t.entries[i]
		if !e.live || e.lineage < 0 {
			continue
		}
		if l := &t.lineages[e.lineage]; !l.hidden || e.seq <= l.after {
			continue
		}
		e.live = false
		taken = append(taken, e.entry())
		switch {
		case e.part < 0:
		case e.item != nil:
			e.item.parts[e.part].live, e.item.dirty = false, true
		default:
			t.parts[e.part].live = false
		}
	}
	if len(taken) > 0 {
		t.refold()
	}
	return taken
}

// refold makes the live view anew, after some of it has been taken back.
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
			t.take(&t.parts[i])
		}
	}
}

// take folds one live event of the turn itself, or of a step.
func (t *Turn) take(p *turnPart) {
	b := &p.body
	switch p.method {
	case notify.TurnQueued:
		t.State, t.Reason = "queued", b.Reason
	case notify.TurnStarted:
		t.State, t.Origin, t.Reason = "active", b.Origin, ""
		t.Progress, t.ProgressMessage = "running", ""
	case notify.TurnProgress:
		// Of a turn that is tried again this may be all that is known.
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
