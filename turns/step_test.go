package turns_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/notify/fold"
	"github.com/seed82539d15/holon/turns"
)

// of returns the header of an event of a try.
func of(s *notify.Span, seq int64, at notify.Time) notify.Header {
	d := notify.Draft{Header: notify.Header{Seq: seq, ThreadID: "thread_a", TurnID: s.TurnID, Attempt: s.Root(), Timestamp: at}}
	d.In(s)
	return d.Header
}

func TestRowOfATry(t *testing.T) {
	setup := notify.NewSpan("turn_a", "setup", 2, notify.NewSpan("turn_a", "", 1, nil))
	row := turns.ApplyStep(nil, of(setup, 10, firstStart), &turns.StepEvent{Type: "started", Status: turns.StepInProgress})
	want := turns.Step{
		Seq: 10, ThreadID: "thread_a", TurnID: "turn_a", Step: "setup", Epoch: 2,
		Lineage: []notify.Ref{{Step: "", Epoch: 1}, {Step: "setup", Epoch: 2}},
		Status:  turns.StepInProgress, StartedAt: firstStart, UpdatedSeq: 10,
	}
	same(t, "step", row, &want)

	done := turns.ApplyStep(row, of(setup, 12, ended), &turns.StepEvent{Type: "ended", Status: turns.StepFailed})
	want.Status, want.EndedAt, want.UpdatedSeq = turns.StepFailed, ended, 12
	same(t, "step", done, &want)
	if row.Status != turns.StepInProgress {
		t.Error("ApplyStep changes the row it was given")
	}

	marker := notify.Header{Seq: 20, ThreadID: "thread_a", TurnID: "turn_a", Timestamp: now}
	superseded := turns.ApplyStep(done, marker, &turns.RewindEvent{Step: "setup", NewEpoch: 3, SupersededAfterSeq: 4})
	want.Superseded, want.HiddenBy, want.HiddenAfter, want.UpdatedSeq = true, 20, 4, 20
	same(t, "step", superseded, &want)
	marker.Seq = 30
	if got := turns.ApplyStep(superseded, marker, &turns.RewindEvent{NewEpoch: 2}); got != nil {
		t.Errorf("a second marker changes it to %+v", got)
	}

	open := turns.ApplyStep(row, marker, &turns.RewindEvent{NewEpoch: 2})
	if open == nil || open.HiddenBy != 30 || open.Status != turns.StepInterrupted || open.EndedAt != now {
		t.Errorf("a running try becomes %+v", open)
	}
	for _, m := range []turns.RewindEvent{{Step: "setup", NewEpoch: 2}, {NewEpoch: 1}, {Step: "set", NewEpoch: 9}, {Step: "setup/clone", NewEpoch: 9}} {
		if got := turns.ApplyStep(row, marker, &m); got != nil {
			t.Errorf("%+v hides epoch 2 of setup", m)
		}
	}
	for _, body := range []any{
		&turns.StepEvent{Type: "started", Status: turns.StepInProgress}, &turns.ProgressEvent{}, &turns.StartedEvent{}, &turns.QueuedEvent{},
	} {
		if got := turns.ApplyStep(row, of(setup, 11, now), body); got != nil {
			t.Errorf("%T changes it to %+v", body, got)
		}
	}
}

// An attempt begins with any first event, ends with the turn, and counts its
// turn/late events.
func TestRowOfAnAttempt(t *testing.T) {
	root := notify.NewSpan("turn_a", "", 2, nil)
	row := turns.ApplyStep(nil, of(root, 10, firstStart), &turns.ProgressEvent{State: turns.Waiting})
	if row == nil || row.Seq != 10 || row.Step != "" || row.Epoch != 2 || row.Status != turns.StepInProgress {
		t.Fatalf("begins as %+v", row)
	}
	for _, state := range []turns.State{turns.Completed, turns.Interrupted, turns.Failed} {
		end := turns.ApplyStep(row, of(root, 15, ended), &turns.EndedEvent{State: state})
		if end == nil || end.Status != turns.StepStatus(state) || !end.Status.Ended() || end.EndedAt != ended {
			t.Errorf("%s: %+v", state, end)
		}
	}
	late := turns.ApplyStep(row, notify.Header{Seq: 20, TurnID: "turn_a", Attempt: 2}, &turns.LateEvent{})
	if late == nil || late.Late != 1 || late.UpdatedSeq != 20 || row.Late != 0 {
		t.Errorf("%+v", late)
	}
	once := turns.ApplyStep(nil, of(notify.NewSpan("turn_a", "", 3, nil), 30, ended), &turns.EndedEvent{State: turns.Interrupted})
	if once == nil || once.Seq != 30 || once.Status != turns.StepInterrupted {
		t.Errorf("an attempt of one event: %+v", once)
	}
	// Events without a lineage make no row: the end of a queued turn, a marker.
	for _, body := range []any{&turns.EndedEvent{State: turns.Interrupted}, &turns.RewindEvent{}, &turns.LateEvent{}, &turns.QueuedEvent{}} {
		h := notify.Header{Seq: 5, TurnID: "turn_a", Attempt: 1}
		if got := turns.ApplyStep(nil, h, body); got != nil {
			t.Errorf("%T makes %+v", body, got)
		}
	}
}

func TestAssignSeqsOfAStep(t *testing.T) {
	row := turns.Step{Seq: -1, HiddenBy: 0, UpdatedSeq: -2}
	row.AssignSeqs(100)
	if row.Seq != 100 || row.HiddenBy != 0 || row.UpdatedSeq != 101 {
		t.Errorf("%+v", row)
	}
	row.HiddenBy, row.HiddenAfter = -1, 99
	row.AssignSeqs(200)
	if row.Seq != 100 || row.HiddenBy != 200 || row.HiddenAfter != 99 {
		t.Errorf("%+v", row)
	}
}

// If all markers of a step have the same bound, before its first event, an event
// is live exactly if the row of its try is live.
func TestRowsOfTriesAgreeWithTheFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type try struct {
			span *notify.Span
			row  *turns.Step
		}
		var (
			seq     int64
			markers fold.Markers
			tries   = map[string][]*try{} // by path, the newest last
			events  = map[int64]*try{}
			paths   = []string{"", "a", "a/b", "c"}
		)
		emit := func(x *try, body any) {
			seq++
			if next := turns.ApplyStep(x.row, of(x.span, seq, now), body); next != nil {
				x.row = next
			}
			events[seq] = x
		}
		liveTry := func(path string) *try {
			all := tries[path]
			if len(all) == 0 || all[len(all)-1].row.HiddenBy != 0 {
				return nil
			}
			return all[len(all)-1]
		}
		var begin func(path string) *try
		begin = func(path string) *try {
			if live := liveTry(path); live != nil {
				seq++
				m := turns.RewindEvent{Step: path, NewEpoch: live.span.Epoch + 1, SupersededAfterSeq: tries[path][0].row.Seq - 1}
				h := notify.Header{Seq: seq, TurnID: "turn_a", Timestamp: now}
				for _, all := range tries {
					for _, x := range all {
						if next := turns.ApplyStep(x.row, h, &m); next != nil {
							x.row = next
						}
					}
				}
				markers.Add(fold.Marker{Seq: seq, Step: m.Step, NewEpoch: m.NewEpoch, After: m.SupersededAfterSeq})
			}
			var above *notify.Span
			if path != "" {
				parent := liveTry(notify.StepAbove(path))
				if parent == nil {
					parent = begin(notify.StepAbove(path))
				}
				above = parent.span
			}
			x := &try{span: notify.NewSpan("turn_a", path, len(tries[path])+1, above)}
			tries[path] = append(tries[path], x)
			emit(x, &turns.StepEvent{Status: turns.StepInProgress})
			return x
		}
		for range rapid.IntRange(1, 40).Draw(t, "moves") {
			path := rapid.SampledFrom(paths).Draw(t, "path")
			switch live := liveTry(path); {
			case live == nil || rapid.IntRange(0, 3).Draw(t, "retry") == 0:
				begin(path)
			default:
				emit(live, &turns.ProgressEvent{})
			}
			for s, x := range events {
				stale := markers.Stale(x.span.Lineage, s)
				if hidden := x.row.HiddenBy != 0 && s > x.row.HiddenAfter; hidden != stale || x.row.Superseded != stale {
					t.Fatalf("event %d of %+v: the fold says %v, the row %+v", s, x.span.Lineage, stale, *x.row)
				}
			}
		}
	})
}

func TestSupersededError(t *testing.T) {
	err := error(&turns.SupersededError{TurnID: "turn_a", Attempt: 2})
	if got := err.Error(); got != "this try has been superseded: attempt 2 of turn_a is live" {
		t.Error(got)
	}
	if !errors.Is(err, turns.ErrSuperseded) {
		t.Error("it does not wrap ErrSuperseded")
	}
}
