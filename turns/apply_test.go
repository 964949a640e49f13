package turns_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

var (
	firstStart = notify.TimeFromMilli(1_000_000)
	ended      = notify.TimeFromMilli(2_000_000)
	now        = notify.TimeFromMilli(3_000_000)
	later      = notify.TimeFromMilli(4_000_000)
)

// The whole matrix: the state in which each event leaves a turn, "" if it changes
// no row. Events that the engine never writes have a defined result too.
func TestApplyMatrix(t *testing.T) {
	bodies := []struct {
		name string
		body any
		want map[turns.State]turns.State // by the state before
	}{
		{"queued", &turns.QueuedEvent{}, all(turns.Queued)},
		{"started", &turns.StartedEvent{}, all(turns.Active)},
		{"progress", &turns.ProgressEvent{}, each(func(s turns.State) turns.State { return s })},
		{"completed", &turns.EndedEvent{State: turns.Completed}, all(turns.Completed)},
		{"interrupted", &turns.EndedEvent{State: turns.Interrupted}, all(turns.Interrupted)},
		{"failed", &turns.EndedEvent{State: turns.Failed}, all(turns.Failed)},
		{"rewind of the turn", &turns.RewindEvent{NewEpoch: 2}, map[turns.State]turns.State{
			turns.Queued: turns.Queued, turns.Active: turns.Active,
			turns.Completed: turns.Queued, turns.Interrupted: turns.Queued, turns.Failed: turns.Queued,
		}},
		{"rewind of a step", &turns.RewindEvent{Step: "setup", NewEpoch: 2}, nil},
		{"reviewed", &turns.ReviewedEvent{Verdict: turns.Approved}, each(func(s turns.State) turns.State { return s })},
		{"late", &turns.LateEvent{}, nil},
		{"step", &turns.StepEvent{}, nil},
		{"item", &items.Created{}, nil},
	}
	h := notify.Header{Seq: 9, ThreadID: "thread_a", TurnID: "turn_a", Attempt: 1, Timestamp: now}
	for _, b := range bodies {
		for _, state := range turns.States {
			prev := &turns.Turn{TurnID: "turn_a", State: state, UpdatedSeq: 3}
			before := *prev
			next := turns.Apply(prev, h, b.body)
			want := b.want[state]
			switch {
			case want == "" && next != nil:
				t.Errorf("%s of a turn that is %s: changes the row to %+v", b.name, state, next)
			case want != "" && (next == nil || next.State != want || next.UpdatedSeq != 9):
				t.Errorf("%s of a turn that is %s: %+v, want %s", b.name, state, next, want)
			}
			if !reflect.DeepEqual(*prev, before) {
				t.Errorf("%s changes the row it was given", b.name)
			}
		}
	}
	if got := turns.Apply(nil, h, &turns.RewindEvent{NewEpoch: 2}); got != nil {
		t.Errorf("a marker makes the turn %+v", got)
	}
}

func all(to turns.State) map[turns.State]turns.State {
	return each(func(turns.State) turns.State { return to })
}

func each(to func(turns.State) turns.State) map[turns.State]turns.State {
	m := map[turns.State]turns.State{}
	for _, from := range turns.States {
		m[from] = to(from)
	}
	return m
}

// A marker of the turn clears all that the attempt has set, and nothing that was
// requested. Every new member of the row must be added to one of the two.
func TestRewindClearsWhatTheAttemptHasSet(t *testing.T) {
	requested := []string{"TurnID", "ThreadID", "Metadata", "Parent", "TimeoutSeconds", "Retry", "Wake", "Chain", "CreatedSeq",
		"AttentionPolicy", "Title", "Outside", "RootThreadID", "Job", "JobDigest", "Continues", "Continuations", "RequestedBy", "Uncounted"}
	h := notify.Header{Seq: 50, ThreadID: "thread_a", TurnID: "turn_a", Timestamp: now}
	body := &turns.RewindEvent{Type: "rewind", NewEpoch: 4, SupersededAfterSeq: 3, Rank: 7, UsedMs: 1500}
	for _, state := range []turns.State{turns.Active, turns.Interrupted, turns.Failed} {
		full := filled(state)
		got := turns.Apply(full, h, body)
		want := &turns.Turn{
			State: turns.Active, Attempt: 4, UsedMs: 1500, FirstStartedAt: full.FirstStartedAt, UpdatedSeq: 50,
			Rank: full.Rank, QueuedAt: full.QueuedAt, StartedAt: full.StartedAt, CompletedAt: full.CompletedAt, Origin: full.Origin,
		}
		if state.Ended() {
			want.State, want.Rank, want.QueuedAt = turns.Queued, 7, now
			want.StartedAt, want.CompletedAt, want.Origin = notify.Time{}, notify.Time{}, ""
		}
		want.Review = &turns.Review{Policy: turns.ReviewAlways}
		for _, name := range requested {
			reflect.ValueOf(want).Elem().FieldByName(name).Set(reflect.ValueOf(full).Elem().FieldByName(name))
		}
		same(t, "turn that was "+string(state), got, want)
	}
}

// filled is a turn in which no member is zero.
func filled(state turns.State) *turns.Turn {
	full := &turns.Turn{}
	v := reflect.ValueOf(full).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i).Addr().Interface().(type) {
		case *bool:
			*f = true
		case *string:
			*f = "x"
		case *int:
			*f = 3
		case *int64:
			*f = 3
		case *float64:
			*f = 3
		case *notify.Time:
			*f = notify.TimeOf(time.UnixMilli(int64(i+1) * 1000))
		case **turns.Failure:
			*f = &turns.Failure{Kind: "internal"}
		case **items.Usage:
			*f = &items.Usage{}
		case **threads.Parent:
			*f = &threads.Parent{ThreadID: "thread_b"}
		case **turns.RetryPolicy:
			*f = &turns.RetryPolicy{MaxAttempts: 3}
		case *[]string:
			*f = []string{"item_a"}
		case *items.Format:
			*f = items.FormatPlain
		case *turns.Progress:
			*f = turns.Running
		case *turns.Origin:
			*f = turns.OriginClient
		case *turns.By:
			*f = turns.ByServer
		case *turns.AttentionPolicy:
			*f = turns.Blocking
		case **turns.Review:
			*f = &turns.Review{Policy: turns.ReviewAlways, State: turns.Blocked, Note: "x", By: turns.ByServer, Reason: "x", DueAt: now, ReviewedAt: now, EndSeq: 3}
		}
	}
	full.State, full.Metadata = state, []byte(`{"a":1}`)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			panic("give " + v.Type().Field(i).Name + " a value")
		}
	}
	return full
}

// The life of a turn that is retried once by its policy and once by request.
func TestApplyOfARetriedTurn(t *testing.T) {
	policy := &turns.RetryPolicy{OnCrash: turns.CrashRetry}
	var row *turns.Turn
	seq := int64(0)
	apply := func(attempt int, at notify.Time, body any) {
		t.Helper()
		seq++
		row = turns.Apply(row, notify.Header{Seq: seq, ThreadID: "thread_a", TurnID: "turn_a", Attempt: attempt, Timestamp: at}, body)
	}
	expect := func(want turns.Turn) {
		t.Helper()
		want.TurnID, want.ThreadID, want.Retry, want.CreatedSeq, want.UpdatedSeq = "turn_a", "thread_a", policy, 1, seq
		same(t, "turn", row, &want)
	}
	apply(1, firstStart, &turns.StartedEvent{StartedAt: firstStart, Origin: turns.OriginClient, Retry: policy})
	expect(turns.Turn{State: turns.Active, Attempt: 1, Origin: turns.OriginClient, Progress: turns.Running, StartedAt: firstStart, RunningSince: firstStart})
	apply(1, firstStart, &turns.ProgressEvent{State: turns.Running, Claimed: true, Worker: "w"})
	expect(turns.Turn{State: turns.Active, Attempt: 1, Origin: turns.OriginClient, Progress: turns.Running, StartedAt: firstStart, RunningSince: firstStart, Worker: "w", ClaimedSeq: 2})
	apply(1, firstStart, &turns.ProgressEvent{State: turns.Running, Message: "still the worker's"})
	if row.Worker != "w" || row.ClaimedSeq != 2 {
		t.Errorf("a message clears the claim: %+v", row)
	}

	apply(0, ended, &turns.RewindEvent{NewEpoch: 2, UsedMs: 1000})
	apply(2, ended, &turns.ProgressEvent{State: turns.Waiting, Message: "it crashed", RetryAt: now})
	expect(turns.Turn{
		State: turns.Active, Attempt: 2, Origin: turns.OriginClient, Progress: turns.Waiting, ProgressMessage: "it crashed",
		RetryAt: now, UsedMs: 1000, FirstStartedAt: firstStart, StartedAt: firstStart,
	})
	apply(2, now, &turns.StartedEvent{StartedAt: now, Origin: turns.OriginRetry, FirstStartedAt: firstStart, Retry: policy})
	expect(turns.Turn{
		State: turns.Active, Attempt: 2, Origin: turns.OriginRetry, Progress: turns.Running,
		UsedMs: 1000, FirstStartedAt: firstStart, StartedAt: now, RunningSince: now,
	})
	apply(2, now, &turns.EndedEvent{
		State: turns.Failed, CompletedAt: now, Error: &turns.Failure{Kind: "agent_failed"}, Usage: &items.Usage{}, UndeliveredItemIDs: []string{"item_a"},
	})
	apply(0, later, &turns.RewindEvent{NewEpoch: 3, UsedMs: 2000, Rank: 5})
	expect(turns.Turn{State: turns.Queued, Attempt: 3, Rank: 5, UsedMs: 2000, FirstStartedAt: firstStart, QueuedAt: later})
	apply(3, later, &turns.StartedEvent{StartedAt: later, Origin: turns.OriginRetry, FirstStartedAt: firstStart, Retry: policy})
	apply(3, later, &turns.EndedEvent{State: turns.Completed, StartedAt: later, CompletedAt: later})
	expect(turns.Turn{
		State: turns.Completed, Attempt: 3, Origin: turns.OriginRetry, UsedMs: 2000,
		FirstStartedAt: firstStart, QueuedAt: later, StartedAt: later, CompletedAt: later,
	})
}

// The clock stands while the turn waits, and the marker says what counts.
func TestApplyOfWaitsAndRestarts(t *testing.T) {
	var row *turns.Turn
	seq := int64(0)
	apply := func(at notify.Time, body any) *turns.Turn {
		seq++
		row = turns.Apply(row, notify.Header{Seq: seq, ThreadID: "thread_a", TurnID: "turn_a", Attempt: 1, Timestamp: at}, body)
		return row
	}
	apply(firstStart, &turns.StartedEvent{StartedAt: firstStart, Origin: turns.OriginClient})
	for _, c := range []struct {
		name  string
		at    notify.Time
		event turns.ProgressEvent
		since notify.Time
		used  int64
		keeps bool // it waits over a restart
		held  bool // without a process
	}{
		{"it waits for a person", now, turns.ProgressEvent{State: turns.Waiting, UsedMs: 700, Resumable: true}, notify.Time{}, 700, true, false},
		{"its agent reports progress meanwhile", now, turns.ProgressEvent{State: turns.Waiting, Message: "still"}, notify.Time{}, 700, true, false},
		{"the server is restarted", now, turns.ProgressEvent{State: turns.Waiting, Suspended: turns.SuspendedByRestart}, notify.Time{}, 700, true, true},
		{"it goes on", later, turns.ProgressEvent{State: turns.Running, Prompts: 2}, later, 700, false, false},
		{"it waits again, by an agent that cannot go on", ended, turns.ProgressEvent{State: turns.Waiting, UsedMs: 900}, notify.Time{}, 900, false, false},
		{"it is interrupted", ended, turns.ProgressEvent{State: turns.Interrupting}, notify.Time{}, 900, false, false},
	} {
		got := apply(c.at, &c.event)
		if got.RunningSince != c.since || got.UsedMs != c.used || got.Resumable != c.keeps || (got.SuspendedSeq == seq) != c.held {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	for _, c := range []struct {
		marker            turns.RewindEvent
		uncounted, silent int
	}{
		{turns.RewindEvent{NewEpoch: 2, Uncounted: true, SilentRestarts: 1}, 1, 1},
		{turns.RewindEvent{NewEpoch: 3, SilentRestarts: 2}, 1, 2},
		{turns.RewindEvent{NewEpoch: 4, Uncounted: true}, 2, 0},
	} {
		if got := apply(ended, &c.marker); got.Uncounted != c.uncounted || got.SilentRestarts != c.silent {
			t.Errorf("%+v: %+v", c.marker, got)
		}
	}
}

// Before the commit all seqs of the actor's row are provisional.
func TestAssignSeqsOfATurn(t *testing.T) {
	row := turns.Turn{CreatedSeq: -1, UpdatedSeq: -3, ClaimedSeq: -2}
	row.AssignSeqs(100)
	if row.CreatedSeq != 100 || row.ClaimedSeq != 101 || row.UpdatedSeq != 102 {
		t.Errorf("%+v", row)
	}
	row = turns.Turn{CreatedSeq: 4, UpdatedSeq: 5}
	row.AssignSeqs(100)
	if row.CreatedSeq != 4 || row.UpdatedSeq != 5 || row.ClaimedSeq != 0 {
		t.Errorf("%+v", row)
	}
}

func same[T any](t testing.TB, what string, got, want *T) {
	t.Helper()
	if want == nil || !reflect.DeepEqual(*got, *want) {
		t.Errorf("%s row is\n\t%+v\nwant\n\t%+v", what, *got, want)
	}
}

// Each attempt is counted once, whether it ends, is superseded before its end, or after
// it.
func TestUsedCountsEachAttemptOnce(t *testing.T) {
	u := &items.Usage{TotalTokens: 7}
	marker := &turns.RewindEvent{NewEpoch: 2, Usage: u}
	for name, c := range map[string]struct {
		state turns.State
		body  any
		want  *items.Usage
	}{
		"the end of an attempt":                     {turns.Active, &turns.EndedEvent{State: turns.Failed, Usage: u}, u},
		"an end without usage":                      {turns.Active, &turns.EndedEvent{State: turns.Failed}, nil},
		"a marker of an attempt that runs":          {turns.Active, marker, u},
		"a marker of one that failed":               {turns.Failed, marker, nil},
		"a marker of one that was interrupted":      {turns.Interrupted, marker, nil},
		"a marker of one that completed, in review": {turns.Completed, marker, nil},
		"a marker of a step":                        {turns.Active, &turns.RewindEvent{Step: "a", NewEpoch: 2, Usage: u}, nil},
		"usage so far, while it waits":              {turns.Active, &turns.ProgressEvent{Result: &turns.PromptResult{Usage: u}}, nil},
	} {
		if got := turns.Used(&turns.Turn{State: c.state}, c.body); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
