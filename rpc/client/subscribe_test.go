package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

var errDone = errors.New("seen everything")

// collect follows the fake log up to its end and returns the delivered seqs.
func collect(t *testing.T, c *Client, options Options, until int64) ([]int64, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	options.Backoff = Backoff{First: time.Millisecond, Max: 2 * time.Millisecond}
	var seqs []int64
	err := c.Subscribe(options).Run(ctx, func(event Event) error {
		seqs = append(seqs, event.Seq)
		if want := eventLine(int(event.Seq)); string(event.Line) != want {
			t.Errorf("seq %d: line %s, want %s", event.Seq, event.Line, want)
		}
		if event.Seq == until {
			return errDone
		}
		return nil
	})
	return seqs, err
}

func wantDense(t *testing.T, seqs []int64, from, to int64) {
	t.Helper()
	if int64(len(seqs)) != to-from+1 {
		t.Fatalf("%d events, want %d", len(seqs), to-from+1)
	}
	for i, seq := range seqs {
		if seq != from+int64(i) {
			t.Fatalf("event %d has seq %d, want %d", i, seq, from+int64(i))
		}
	}
}

func TestCutConnectionsLoseAndRepeatNothing(t *testing.T) {
	for round := range 5 {
		random := rand.New(rand.NewPCG(uint64(round), 1))
		log := &fakeLog{logID: "log", events: 2000, heartbeat: 15, spoil: func(n int, s *fakeStream) {
			s.cutAt = 120 + random.IntN(60_000)
			s.repeat = n%3 == 0
		}}
		from := int64(0)
		seqs, err := collect(t, log.start(t), Options{AfterSeq: &from, RetryFirst: true}, 2000)
		if !errors.Is(err, errDone) {
			t.Fatal(err)
		}
		wantDense(t, seqs, 1, 2000)
		if log.streams < 3 {
			t.Fatalf("only %d streams: the connections were not cut", log.streams)
		}
	}
}

func TestReconnectNamesLogAndCursor(t *testing.T) {
	log := &fakeLog{logID: "log", events: 10, heartbeat: 15, spoil: func(n int, s *fakeStream) {
		if n == 1 {
			s.latest, s.closing = 4, `{"code":"draining","reason":"server stopping","reconnect":true,"retry_after_ms":30,"seq":4}`
		}
	}}
	from := int64(2)
	var states []State
	start := time.Now()
	seqs, err := collect(t, log.start(t), Options{AfterSeq: &from, OnState: func(s State) { states = append(states, s) }}, 10)
	if !errors.Is(err, errDone) {
		t.Fatal(err)
	}
	wantDense(t, seqs, 3, 10)
	if got := fmt.Sprint(log.cursors); got != "[2 log:4]" {
		t.Errorf("cursors %s", got)
	}
	if time.Since(start) < 30*time.Millisecond {
		t.Error("came back before retry_after_ms")
	}
	if len(states) != 3 || states[0].Kind != Connected || states[1].Kind != Lost || states[2].Kind != Resumed || states[2].AfterSeq != 4 {
		t.Errorf("states %+v", states)
	}
	var closed *ClosedError
	if !errors.As(states[1].Reason, &closed) || closed.Code != "draining" {
		t.Errorf("lost because of %v", states[1].Reason)
	}
}

func TestClosingWithoutReconnectEndsTheSubscription(t *testing.T) {
	log := &fakeLog{logID: "log", events: 3, heartbeat: 15, spoil: func(_ int, s *fakeStream) {
		s.closing = `{"code":"unsubscribed","reason":"bye","reconnect":false,"seq":3}`
	}}
	from := int64(0)
	seqs, err := collect(t, log.start(t), Options{AfterSeq: &from}, 99)
	var closed *ClosedError
	if !errors.As(err, &closed) || closed.Reconnect {
		t.Fatalf("got %v", err)
	}
	wantDense(t, seqs, 1, 3)
}

// What other servers put beside the members that the client reads may have any form.
func TestMembersThatAreNotReadMayHaveAnyForm(t *testing.T) {
	log := &fakeLog{logID: "log", events: 3, heartbeat: 15, spoil: func(_ int, s *fakeStream) {
		s.closing = `{"code":"unsubscribed","reason":"bye","reconnect":false,"seq":3,"turn":7,"items":"many"}`
	}}
	from := int64(0)
	var closed *ClosedError
	if _, err := collect(t, log.start(t), Options{AfterSeq: &from}, 99); !errors.As(err, &closed) || closed.Reason != "bye" {
		t.Errorf("the stream ended with %v", err)
	}
	refused := ErrorOf([]byte(`{"code":-32001,"message":"wait","data":{"kind":"overloaded","retry_after_ms":20,"cursor":"here","turn":7}}`))
	if refused.Kind != KindOverloaded || refused.RetryAfter != 20*time.Millisecond {
		t.Errorf("the error is %+v", refused)
	}
}

func TestSilentConnectionIsGivenUp(t *testing.T) {
	log := &fakeLog{logID: "log", events: 3, heartbeat: 0.02, spoil: func(n int, s *fakeStream) { s.silent = n == 1 }}
	from := int64(0)
	var lost error
	seqs, err := collect(t, log.start(t), Options{AfterSeq: &from, OnState: func(s State) {
		if s.Kind == Lost && lost == nil {
			lost = s.Reason
		}
	}}, 3)
	if !errors.Is(err, errDone) {
		t.Fatal(err)
	}
	wantDense(t, seqs, 1, 3)
	var silent *SilentError
	if !errors.As(lost, &silent) || silent.Limit != 50*time.Millisecond {
		t.Errorf("lost because of %v", lost)
	}
}

func TestSlowHandlerIsNotADeadConnection(t *testing.T) {
	log := &fakeLog{logID: "log", events: 3, heartbeat: 0.02}
	from, calls := int64(0), 0
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	err := log.start(t).Subscribe(Options{AfterSeq: &from}).Run(ctx, func(event Event) error {
		calls++
		if err := pause(ctx, 120*time.Millisecond, nil); err != nil {
			return err
		}
		if event.Seq == 3 {
			return errDone
		}
		return nil
	})
	if !errors.Is(err, errDone) || calls != 3 || log.streams != 1 {
		t.Errorf("%v after %d events on %d streams", err, calls, log.streams)
	}
}

func TestGapIsAskedForAgainThenReported(t *testing.T) {
	once := &fakeLog{logID: "log", events: 9, heartbeat: 15, spoil: func(n int, s *fakeStream) {
		if n == 1 {
			s.skip = 5
		}
	}}
	from := int64(0)
	seqs, err := collect(t, once.start(t), Options{AfterSeq: &from}, 9)
	if !errors.Is(err, errDone) {
		t.Fatal(err)
	}
	wantDense(t, seqs, 1, 9)

	always := &fakeLog{logID: "log", events: 9, heartbeat: 15, spoil: func(_ int, s *fakeStream) { s.skip = 5 }}
	_, err = collect(t, always.start(t), Options{AfterSeq: &from}, 9)
	var gap *GapError
	if !errors.As(err, &gap) || gap.After != 4 || gap.Got != 6 {
		t.Errorf("got %v", err)
	}
}

func TestFilteredStreamMaySkipSeqs(t *testing.T) {
	for query, options := range map[string]Options{
		"thread_id=thread_a":                                  {ThreadIDs: []string{"thread_a"}},
		"method=turn%2F%2A":                                   {Methods: []string{"turn/*"}},
		"within_thread_id=thread_a&within_thread_id=b":        {WithinThreadIDs: []string{"thread_a", "b"}},
		"collapse=superseded":                                 {Collapse: true},
		"content=summary":                                     {Summary: true},
		"content=summary&whole_thread_id=a&whole_thread_id=b": {Summary: true, WholeThreadIDs: []string{"a", "b"}},
		"content=summary&thread_id=a&within_thread_id=b":      {Summary: true, ThreadIDs: []string{"a"}, WithinThreadIDs: []string{"b"}},
	} {
		asked := ""
		log := &fakeLog{logID: "log", events: 9, heartbeat: 15, spoil: func(_ int, s *fakeStream) {
			q := s.r.URL.Query()
			q.Del("after_seq")
			s.skip, asked = 5, q.Encode()
		}}
		from := int64(0)
		options.AfterSeq = &from
		seqs, err := collect(t, log.start(t), options, 9)
		if !errors.Is(err, errDone) || len(seqs) != 8 || asked != query {
			t.Errorf("%s: %v after %v, asked %s", query, err, seqs, asked)
		}
	}
}

func TestCursorErrorsAreTyped(t *testing.T) {
	log := &fakeLog{logID: "log", events: 9, heartbeat: 15}
	ahead := int64(10)
	_, err := collect(t, log.start(t), Options{AfterSeq: &ahead}, 9)
	if !IsKind(err, KindCursorAhead) {
		t.Errorf("ahead: %v", err)
	}
	zero := int64(0)
	_, err = collect(t, log.start(t), Options{AfterSeq: &zero, LogID: "other"}, 9)
	var refused *Error
	if !errors.As(err, &refused) || refused.Kind != KindLogChanged || refused.FirstSeq != 5 || refused.LatestSeq != 9 || refused.Code != -32005 || refused.HTTPStatus != 409 {
		t.Errorf("log changed: %#v", err)
	}
}

func TestLogChangedWhileAwayEndsTheSubscription(t *testing.T) {
	log := &fakeLog{logID: "log", events: 9, heartbeat: 15}
	log.spoil = func(n int, s *fakeStream) { s.cutAt = 600 }
	c := log.start(t)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	zero := int64(0)
	err := c.Subscribe(Options{AfterSeq: &zero, OnState: func(s State) {
		if s.Kind == Lost {
			log.mu.Lock()
			log.logID = "renewed"
			log.mu.Unlock()
		}
	}}).Run(ctx, func(Event) error { return nil })
	if !IsKind(err, KindLogChanged) {
		t.Errorf("got %v", err)
	}
}

func TestLiveSubscriptionResumesAfterWhatOpenedTold(t *testing.T) {
	log := &fakeLog{logID: "log", events: 5, heartbeat: 15, spoil: func(n int, s *fakeStream) {
		if n == 1 {
			s.closing = `{"code":"draining","reconnect":true,"seq":5}`
		} else {
			s.latest = 6
		}
	}}
	c := log.start(t)
	seqs, err := collect(t, c, Options{}, 6)
	if !errors.Is(err, errDone) {
		t.Fatal(err)
	}
	wantDense(t, seqs, 6, 6)
	if got := fmt.Sprint(log.cursors); got != "[ log:5]" {
		t.Errorf("cursors %s", got)
	}
}

func TestFirstConnectionFailureIsReturnedAtOnce(t *testing.T) {
	c := New(At("http://127.0.0.1:1", SourceGiven, "", false))
	defer c.Close()
	err := c.Subscribe(Options{}).Run(t.Context(), func(Event) error { return nil })
	var unreachable *UnreachableError
	if !errors.As(err, &unreachable) || unreachable.URL != "http://127.0.0.1:1" {
		t.Errorf("got %v", err)
	}
}

func TestIteratorEndsWithTheReason(t *testing.T) {
	log := &fakeLog{logID: "log", events: 4, heartbeat: 15, spoil: func(_ int, s *fakeStream) {
		s.closing = `{"code":"bye","reconnect":false}`
	}}
	zero, seen := int64(0), 0
	var last error
	for event, err := range log.start(t).Subscribe(Options{AfterSeq: &zero}).All(t.Context()) {
		if err != nil {
			last = err
			continue
		}
		seen++
		_ = event
	}
	var closed *ClosedError
	if seen != 4 || !errors.As(last, &closed) {
		t.Errorf("%d events, then %v", seen, last)
	}
	for range log.start(t).Subscribe(Options{AfterSeq: &zero}).All(t.Context()) {
		break
	}
}

// A subscription that waits an hour connects at once when another one of its client has
// reached the server again, but never before the server wants that.
func TestAWaitEndsWhenTheServerIsBack(t *testing.T) {
	log := &fakeLog{logID: "log", events: 3, heartbeat: 15, spoil: func(n int, s *fakeStream) {
		switch {
		case n <= 4, n == 7, n == 8: // each is cut twice, so that it waits
			s.cutAt = 1
		case n == 6:
			s.closing = `{"code":"draining","reconnect":true,"retry_after_ms":3600000,"seq":3}`
		}
	}}
	c := log.start(t)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	from := int64(0)
	states := make(chan State, 100)
	ended := make(chan error, 3)
	follow := func(wait time.Duration) {
		ended <- c.Subscribe(Options{AfterSeq: &from, Backoff: Backoff{First: wait, Max: wait}, RetryFirst: true, OnState: func(s State) { states <- s }}).
			Run(ctx, func(Event) error { return nil })
	}
	// Which of two tells first what happened to it is open, so states are counted.
	await := func(connected, waits int) {
		t.Helper()
		for connected > 0 || waits > 0 {
			select {
			case s := <-states:
				switch {
				case s.Kind == Connected:
					connected--
				case s.Kind == Lost && s.RetryIn > 20*time.Minute:
					waits--
				}
			case <-ctx.Done():
				t.Fatalf("%d more should connect, and %d wait", connected, waits)
			}
		}
	}
	go follow(time.Hour)
	await(0, 1)
	go follow(time.Millisecond)
	await(2, 1) // one is back, so both are, and the server sends one away for an hour
	go follow(time.Hour)
	await(0, 1)
	c.RetryNow()
	await(1, 0)
	cancel()
	for range 3 {
		<-ended
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if log.streams != 9 {
		t.Errorf("%d streams were opened, want 9: the server wants one to wait", log.streams)
	}
}

// Where streams open and end at once, such as behind a broken proxy, the subscriptions of
// a client do not shorten each other's waits: they would never wait at all.
func TestStreamsThatEndAtOnceAreNotOpenedFaster(t *testing.T) {
	log := &fakeLog{logID: "log", events: 3, heartbeat: 15, spoil: func(n int, s *fakeStream) {
		if s.silent = n > 20; !s.silent {
			s.closing = `{"code":"draining","reconnect":true,"seq":3}`
		}
	}}
	c := log.start(t)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	from := int64(0)
	waits := make(chan struct{}, 100)
	ended := make(chan error, 3)
	follow := func() {
		ended <- c.Subscribe(Options{AfterSeq: &from, Backoff: Backoff{First: time.Hour, Max: time.Hour}, OnState: func(s State) {
			if s.Kind == Lost && s.RetryIn > 0 {
				waits <- struct{}{}
			}
		}}).Run(ctx, func(Event) error { return nil })
	}
	await := func(n int) {
		t.Helper()
		for range n {
			select {
			case <-waits:
			case <-ctx.Done():
				t.Fatal("they do not wait")
			}
		}
	}
	go follow()
	go follow()
	await(2)
	go follow() // opens while the others wait
	await(1)
	c.RetryNow() // a person may
	await(3)
	cancel()
	for range 3 {
		<-ended
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if log.streams != 9 {
		t.Errorf("%d streams were opened, want 9: two of each, and one more of each", log.streams)
	}
}
