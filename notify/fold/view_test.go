package fold

import (
	"fmt"
	"testing"

	"github.com/seed82539d15/holon/notify"
)

// The worked example of docs/rewind.md.
func TestWorkedExample(t *testing.T) {
	root1, root2 := []Ref{{Step: "", Epoch: 1}}, []Ref{{Step: "", Epoch: 2}}
	clone1 := []Ref{{Step: "", Epoch: 1}, {Step: "setup", Epoch: 1}, {Step: "setup/clone", Epoch: 1}}
	clone2 := []Ref{{Step: "", Epoch: 1}, {Step: "setup", Epoch: 1}, {Step: "setup/clone", Epoch: 2}}
	setup2 := []Ref{{Step: "", Epoch: 2}, {Step: "setup", Epoch: 2}}
	log := []Event{
		{Seq: 1, Method: notify.TurnStarted, Lineage: root1, Body: Body{State: "active", Origin: "client"}},
		{Seq: 2, Method: notify.ItemCreated, ItemID: "u", Body: Body{Status: "completed"}},
		{Seq: 3, Method: notify.StepStarted, Step: "setup/clone", Epoch: 1, Lineage: clone1},
		{Seq: 4, Method: notify.ItemCreated, ItemID: "a", Lineage: clone1, Body: Body{Status: "in_progress"}},
		{Seq: 5, Method: notify.ItemUpdated, ItemID: "a", Lineage: clone1, Body: Body{Status: "interrupted"}},
		{Seq: 6, Method: notify.StreamRewind, Step: "setup/clone", Body: Body{NewEpoch: 2, After: 2}},
		{Seq: 7, Method: notify.StepStarted, Step: "setup/clone", Epoch: 2, Lineage: clone2},
		{Seq: 8, Method: notify.ItemCreated, ItemID: "b", Lineage: clone2, Body: Body{Status: "completed"}},
		{Seq: 9, Method: notify.StreamRewind, Step: "", Body: Body{NewEpoch: 2}},
		{Seq: 10, Method: notify.TurnStarted, Lineage: root2, Body: Body{State: "active", Origin: "retry"}},
		{Seq: 11, Method: notify.TurnLate, Step: "setup/clone", Epoch: 2, Attempt: 1},
		{Seq: 12, Method: notify.StepStarted, Step: "setup", Epoch: 2, Lineage: setup2},
		{Seq: 13, Method: notify.TurnCompleted, Lineage: root2, Body: Body{State: "completed"}},
	}
	v := New(Options{})
	rewound := map[int64]string{}
	for i := range log {
		log[i].TurnID = "t"
		c := v.Apply(&log[i])
		if c.Kind == Rewound {
			rewound[log[i].Seq] = fmt.Sprint(c.Superseded)
		}
	}
	if got, want := fmt.Sprint(rewound), "map[6:[{3 step/started } {4 item/created a} {5 item/updated a}] 9:[{1 turn/started } {7 step/started } {8 item/created b}]]"; got != want {
		t.Errorf("superseded by the markers: %s, want %s", got, want)
	}
	turn := v.Turn("t")
	live, superseded := turn.Events()
	if got, want := seqs(live), "[2 10 12 13]"; got != want {
		t.Errorf("live %s, want %s", got, want)
	}
	if got, want := seqs(superseded), "[1 3 4 5 7 8 11]"; got != want {
		t.Errorf("superseded %s, want %s", got, want)
	}
	if turn.State != "completed" || turn.Attempt != 2 || turn.Origin != "retry" || fmt.Sprint(turn.Steps) != "[{setup 2 }]" {
		t.Errorf("%+v", turn)
	}
	if items := turn.Items(); len(items) != 1 || items[0].ItemID != "u" {
		t.Errorf("live items %v", items)
	}
	gone := turn.Superseded()
	if len(gone) != 2 || gone[0].ItemID != "a" || gone[0].Status != "interrupted" || gone[0].Live {
		t.Errorf("superseded items %v", gone)
	}
	c := NewCollapser(13)
	for i := range log {
		if m, ok := MarkerOf(&log[i]); ok {
			c.Add(m)
		}
	}
	var sent []Entry
	for i := range log {
		if !c.LeavesOut(&log[i]) {
			sent = append(sent, Entry{Seq: log[i].Seq})
		}
	}
	if got, want := seqs(sent), "[2 6 9 10 12 13]"; got != want {
		t.Errorf("collapse sends %s, want %s", got, want)
	}
}

func seqs(entries []Entry) string {
	var out []int64
	for _, e := range entries {
		out = append(out, e.Seq)
	}
	return fmt.Sprint(out)
}

func TestCollapserKnowsNoMarkerAboveItsSeq(t *testing.T) {
	m := Marker{Seq: 10, TurnID: "t", NewEpoch: 2}
	e := &Event{Seq: 3, TurnID: "t", Lineage: []Ref{{Step: "", Epoch: 1}}}
	if NewCollapser(9, m).LeavesOut(e) {
		t.Error("a marker above the seq is looked at")
	}
	if !NewCollapser(10, m).LeavesOut(e) {
		t.Error("the marker is not looked at")
	}
	if NewCollapser(10, m).LeavesOut(&Event{Seq: 3, TurnID: "other", Lineage: e.Lineage}) {
		t.Error("the marker affects another turn")
	}
	if NewCollapser(10, m).LeavesOut(&Event{Seq: 3, TurnID: "t"}) {
		t.Error("the marker affects an event without lineage")
	}
}

func TestMarkersKeepOnlyWhatCounts(t *testing.T) {
	var s Markers
	for epoch := 2; epoch < 1000; epoch++ {
		s.Add(Marker{Step: "a", NewEpoch: epoch})
		s.Add(Marker{Step: "a", NewEpoch: epoch, After: int64(epoch)})
	}
	if n := len(s.steps["a"]); n != 1 {
		t.Errorf("%d cutoffs are kept", n)
	}
	s.Add(Marker{Step: "a", NewEpoch: 2000, After: 50})
	for _, c := range []struct {
		epoch int
		seq   int64
		stale bool
	}{{998, 1, true}, {999, 50, false}, {999, 51, true}, {1999, 51, true}, {2000, 51, false}} {
		if got := s.Stale([]Ref{{Step: "", Epoch: 1}, {Step: "a", Epoch: c.epoch}}, c.seq); got != c.stale {
			t.Errorf("epoch %d, seq %d: stale %v", c.epoch, c.seq, got)
		}
	}
}

func TestViewForgetsEndedTurns(t *testing.T) {
	v := New(Options{KeepEnded: 3, KeepTurns: 8})
	seq := int64(0)
	apply := func(method, turn string) Change {
		seq++
		return v.Apply(&Event{Seq: seq, Method: method, TurnID: turn, Lineage: []Ref{{Step: "", Epoch: 1}}, Body: Body{State: "x"}})
	}
	apply(notify.TurnStarted, "long")
	for i := range 100 {
		id := fmt.Sprint("t", i)
		apply(notify.TurnStarted, id)
		apply(notify.TurnCompleted, id)
	}
	if v.Len() != 4 || v.Turn("long") == nil || v.Turn("t99") == nil || v.Turn("t97") == nil || v.Turn("t96") != nil {
		t.Errorf("%d turns are kept", v.Len())
	}
	if c := apply(notify.TurnLate, "t1"); c.Kind != Late || c.Turn != nil || v.Len() != 4 {
		t.Errorf("a late event brings a forgotten turn back: %+v", c)
	}
	for i := range 100 {
		apply(notify.TurnStarted, fmt.Sprint("open", i))
	}
	if v.Len() != 8 || v.Turn("open99") == nil || v.Turn("long") != nil {
		t.Errorf("%d turns are kept", v.Len())
	}
	all := New(Options{KeepEnded: -1, KeepTurns: -1})
	for i := range int64(5000) {
		all.Apply(&Event{Seq: i + 1, Method: notify.TurnFailed, TurnID: fmt.Sprint(i)})
	}
	if all.Len() != 5000 {
		t.Errorf("%d of 5000 turns are kept", all.Len())
	}
}

func TestPositionsMoveTheCursor(t *testing.T) {
	v := New(Options{})
	for _, c := range []struct {
		e    Event
		kind Kind
		at   int64
	}{
		{Event{Seq: 5, Method: notify.StreamHeartbeat}, Skipped, 5},
		{Event{Seq: 4, Method: notify.TurnStarted, TurnID: "t"}, Skipped, 5},
		{Event{Method: notify.ThreadStarted}, Skipped, 5}, // the announcement of a default thread
		{Event{Seq: 9, Method: notify.StreamOpened}, Skipped, 5},
		{Event{Seq: 6, Method: notify.HolonPaused}, Joined, 6},
		{Event{Seq: 7, Method: notify.StreamClosing}, Skipped, 7},
		{Event{Seq: 8, Method: notify.ItemDelta, TurnID: "t", ItemID: "i", Body: Body{Text: "tail", Offset: 100}}, Joined, 8},
	} {
		if got := v.Apply(&c.e); got.Kind != c.kind || v.Cursor() != c.at {
			t.Errorf("%s %d: kind %d, cursor %d", c.e.Method, c.e.Seq, got.Kind, v.Cursor())
		}
	}
	if text, from := v.Turn("t").Item("i").Text(); text != "tail" || from != 100 {
		t.Errorf("text %q from %d", text, from)
	}
}

// A server that keeps the rules writes none of these logs. A reader must follow
// the rule all the same.
func TestRuleIsFollowedToTheLetter(t *testing.T) {
	v := New(Options{})
	one := []Ref{{Step: "", Epoch: 1}}
	apply := func(e Event) Change {
		e.TurnID = "t"
		return v.Apply(&e)
	}
	apply(Event{Seq: 1, Method: notify.StreamRewind, Body: Body{NewEpoch: 2, After: 4}}) // a bound that is still to come
	for _, c := range []struct {
		seq  int64
		kind Kind
	}{{3, Joined}, {4, Joined}, {5, Superseded}} {
		if got := apply(Event{Seq: c.seq, Method: notify.TurnProgress, Lineage: one}); got.Kind != c.kind {
			t.Errorf("event %d is %d, want %d", c.seq, got.Kind, c.kind)
		}
	}
	// A later try writes to the item: only its events are live.
	apply(Event{Seq: 6, Method: notify.ItemCreated, ItemID: "i", Lineage: one, Body: Body{Status: "in_progress"}})
	apply(Event{Seq: 7, Method: notify.ItemDelta, ItemID: "i", Lineage: one, Body: Body{Text: "old"}})
	it := v.Turn("t").Item("i")
	if text, _ := it.Text(); it.Live || text != "old" || it.Status != "in_progress" {
		t.Errorf("superseded item: %+v", it)
	}
	apply(Event{Seq: 8, Method: notify.ItemDelta, ItemID: "i", Lineage: []Ref{{Step: "", Epoch: 2}}, Body: Body{Text: "new"}})
	if text, _ := it.Text(); !it.Live || text != "new" || it.Status != "" || it.CreatedSeq != 6 || it.UpdatedSeq != 8 {
		t.Errorf("item with an event of a later try: %+v, %q", it, text)
	}
	apply(Event{Seq: 9, Method: notify.ItemUpdated, ItemID: "i", Lineage: one, Body: Body{Status: "failed"}})
	if it.Status != "" || it.UpdatedSeq != 8 {
		t.Errorf("a superseded event changes a live item: %+v", it)
	}
}
