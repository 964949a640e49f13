package kindstest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// Rig is a kind of bridge and what the suite must know about it.
type Rig struct {
	// Start starts a target whose next attempt meets the fault, and which works
	// after that; "" = it works at once.
	Start func(t *testing.T, f Fault) Subject
	// Faults are those that the kind can meet, with what it makes of them. Those
	// with the zero Want have the one that fits all HTTP kinds.
	Faults map[Fault]Want
}

// Subject is a target and a channel to it.
type Subject struct {
	Channel bridges.Channel
	Target  bridges.Target
	// Busy is closed when the fault has happened as far as it can by itself; nil =
	// there is none.
	Busy <-chan struct{}
	// Shown are the messages that can be seen at the target; nil = unknown.
	Shown func() []string
	// Secrets must be in no result.
	Secrets []string
	// Cards are given to a channel that edits.
	Cards []bridges.Card
	// Twice says that a repetition may be seen twice: the target cannot know it.
	Twice bool
}

// Want is what a channel makes of a fault.
type Want struct {
	Outcome    bridges.Outcome
	Status     int
	Error      string
	Unhealthy  bool
	Arrived    bool
	RetryAfter time.Duration // to within two minutes
}

// wants is what all HTTP kinds make of faults.
var wants = map[Fault]Want{
	Hangs:               {bridges.Failed, 0, "timeout", true, true, 0},
	ResetsBeforeReading: {bridges.Failed, 0, "connection_reset", true, true, 0},
	ResetsAfterReading:  {bridges.Failed, 0, "connection_reset", true, true, 0},
	LosesAnswer:         {bridges.Failed, 0, "connection_reset", true, true, 0},
	Redirects:           {bridges.Failed, 301, "status 301", false, false, 0},
	SeesOther:           {bridges.Failed, 303, "status 303", false, true, 0},
	Refuses:             {bridges.Refused, 400, "status 400", false, false, 0},
	EchoesBack:          {bridges.Refused, 400, "status 400", false, false, 0},
	IsGone:              {bridges.Gone, 410, "status 410", false, false, 0},
	LimitsBySeconds:     {bridges.Wait, 429, "status 429", false, false, LimitedFor},
	LimitsByDate:        {bridges.Wait, 429, "status 429", false, false, LimitedFor},
	LimitsForYears:      {bridges.Wait, 429, "status 429", false, false, 24 * time.Hour},
	LimitsWithoutTime:   {bridges.Wait, 429, "status 429", false, false, 0},
	Breaks:              {bridges.Failed, 500, "status 500", true, true, 0},
	SwitchesProtocols:   {bridges.Failed, 101, "status 101", false, false, 0},
	IsBusy:              {bridges.Wait, 503, "status 503", true, true, 2 * time.Minute},
	WrongCertificate:    {bridges.Failed, 0, "certificate", true, false, 0},
	NobodyListens:       {bridges.Failed, 0, "connection_refused", true, false, 0},
}

// HTTPFaults returns the faults of all HTTP kinds, for Rig.Faults. answers says that
// the kind reads answers; one that does not goes by the status alone.
func HTTPFaults(answers bool) map[Fault]Want {
	all := map[Fault]Want{}
	for f := range wants {
		all[f] = Want{}
	}
	for _, f := range []Fault{SlowAnswer, CutAnswer, EndlessAnswer, HugeAnswer, Nonsense} {
		all[f] = Want{Outcome: bridges.Delivered, Status: 200}
		if answers {
			all[f] = Want{bridges.Failed, 200, "unreadable_answer", true, true, 0}
		}
	}
	return all
}

// Exercise runs the suite that every kind passes.
func Exercise(t *testing.T, r Rig) {
	t.Run("Delivers", func(t *testing.T) {
		s := r.Start(t, "")
		got := s.Channel.Send(t.Context(), s.Outgoing(Final(), false))
		if got.Outcome != bridges.Delivered || got.Error != "" || got.Arrived || got.Unhealthy {
			t.Errorf("it is not delivered: %+v", got)
		}
		s.check(t, got)
		s.shows(t, 1, Final().Data.Title)
	})
	t.Run("EveryTypeCanBeDelivered", func(t *testing.T) {
		for _, e := range Envelopes() {
			s := r.Start(t, "")
			if got := s.Channel.Send(t.Context(), s.Outgoing(e, false)); got.Outcome != bridges.Delivered {
				t.Errorf("%s is not delivered: %+v", e.EventType, got)
			}
			s.shows(t, 1, e.Data.Title)
		}
	})
	for f, want := range r.Faults {
		if want == (Want{}) {
			want = wants[f]
		}
		t.Run(string(f), func(t *testing.T) { r.meets(t, f, want) })
	}
	t.Run("EndsWhenCanceled", func(t *testing.T) {
		s := r.Start(t, Hangs)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			<-s.Busy
			cancel()
		}()
		got := s.Channel.Send(ctx, s.Outgoing(Final(), false))
		if got.Outcome != bridges.Failed || got.Error != "canceled" || !got.Arrived || got.Unhealthy {
			t.Errorf("%+v", got)
		}
	})
	t.Run("ManyAtOnce", func(t *testing.T) {
		s := r.Start(t, "")
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				o := s.Outgoing(Final(), false)
				o.ID = fmt.Sprintf("%s%d", o.ID, i)
				for j := range o.Cards {
					o.Cards[j].Key = fmt.Sprintf("%s%d", o.Cards[j].Key, i)
				}
				if got := s.Channel.Send(t.Context(), o); got.Outcome != bridges.Delivered {
					t.Errorf("%+v", got)
				}
			})
		}
		all.Wait()
		s.shows(t, 8, Final().Data.Title)
	})
}

// meets sends to a target that fails once, and again.
func (r Rig) meets(t *testing.T, f Fault, want Want) {
	s := r.Start(t, f)
	ctx := context.Context(t.Context())
	if f == Hangs || f == SlowAnswer {
		ctx = newDeadline(ctx, s.Busy)
	}
	got := s.Channel.Send(ctx, s.Outgoing(Final(), false))
	if f == SlowAnswer && got.Status == 0 {
		want = wants[Hangs] // the deadline has passed before the status was read
	}
	off := got.RetryAfter - want.RetryAfter
	if got.Outcome != want.Outcome || got.Status != want.Status || got.Error != want.Error || got.Unhealthy != want.Unhealthy ||
		got.Arrived != want.Arrived || off < -2*time.Minute || off > 2*time.Minute {
		t.Errorf("%s:\n got %+v\nwant %+v", f, got, want)
	}
	if f == LimitsWithoutTime && got.RetryAfter > time.Minute {
		t.Errorf("it waits for %v although nobody said how long", got.RetryAfter)
	}
	s.check(t, got)
	if f == WrongCertificate || f == NobodyListens || got.Outcome == bridges.Delivered {
		return // it stays so; or it is done
	}
	o := s.Outgoing(Final(), got.Arrived)
	for i := range got.RemoteIDs {
		o.Cards[i].RemoteID = got.RemoteIDs[i]
	}
	if got := s.Channel.Send(t.Context(), o); got.Outcome != bridges.Delivered {
		t.Errorf("%s: the next attempt is not delivered: %+v", f, got)
	}
	if f == LosesAnswer && s.Twice {
		return
	}
	s.shows(t, 1, Final().Data.Title)
}

// Outgoing returns an attempt at the subject.
func (s *Subject) Outgoing(e *bridges.Envelope, arrived bool) *bridges.Outgoing {
	body, err := json.Marshal(e, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err)
	}
	return &bridges.Outgoing{
		ID: "0a1b2c3d:" + e.DeliveryID, Body: body, Target: s.Target, Arrived: arrived, Cards: append([]bridges.Card(nil), s.Cards...),
	}
}

// check checks what is true of every result.
func (s *Subject) check(t *testing.T, got bridges.Result) {
	t.Helper()
	if len(got.Answer) > 1<<10 {
		t.Errorf("the result has %d bytes of the answer", len(got.Answer))
	}
	for _, secret := range append([]string{"127.0.0.1", "localhost", "http://", "https://"}, s.Secrets...) {
		if strings.Contains(got.Error, secret) {
			t.Errorf("the error has %q: %s", secret, got.Error)
		}
	}
	for _, secret := range s.Secrets {
		if bytes.Contains(got.Answer, []byte(secret)) {
			t.Errorf("the answer has the secret %q: %s", secret, got.Answer)
		}
	}
	if s.Channel.Edits() != (got.RemoteIDs != nil) {
		t.Errorf("Edits() is %v, the remote ids are %v", s.Channel.Edits(), got.RemoteIDs)
	}
	if got.RemoteIDs != nil && len(got.RemoteIDs) != len(s.Cards) {
		t.Errorf("%d remote ids for %d cards", len(got.RemoteIDs), len(s.Cards))
	}
	for _, id := range got.RemoteIDs {
		if len(id) > 256 || strings.ContainsAny(id, "\n\r\x00") {
			t.Errorf("the remote id %q cannot be stored", id)
		}
	}
}

// shows checks that so many messages can be seen, each with a text.
func (s *Subject) shows(t *testing.T, n int, text string) {
	t.Helper()
	if s.Shown == nil {
		return
	}
	shown := s.Shown()
	if len(shown) != n {
		t.Errorf("%d messages can be seen, want %d: %q", len(shown), n, shown)
	}
	for _, m := range shown {
		if !strings.Contains(m, text) {
			t.Errorf("%q is not in %q", text, m)
		}
	}
}

// deadline is a context whose deadline passes when a test says so.
type deadline struct {
	context.Context
	done <-chan struct{}
}

func newDeadline(parent context.Context, done <-chan struct{}) context.Context {
	return deadline{parent, done}
}

// Done implements context.Context.
func (d deadline) Done() <-chan struct{} { return d.done }

// Err implements context.Context.
func (d deadline) Err() error {
	select {
	case <-d.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// Final returns the end of a turn.
func Final() *bridges.Envelope {
	return &bridges.Envelope{
		DeliveryID: "notif:sub_1:123", LogID: "log_00000000000000000a1b2c3d", EventType: bridges.TypeFinal, Final: true, Seq: 123,
		Type: "turn.completed", Timestamp: notify.TimeOf(time.Now()), Supersedes: []string{},
		Data: bridges.Data{
			SubscriptionID: "sub_1", ThreadID: "thread_01", TurnID: "turn_01", Title: "Tidy up the parser", State: turns.Completed, Attempt: 1,
			Text: "All tests pass.\nNothing is left to do.", Method: "turn/completed",
		},
	}
}

// Envelopes returns an envelope of each type.
func Envelopes() []*bridges.Envelope {
	var all []*bridges.Envelope
	add := func(eventType bridges.EventType, change func(d *bridges.Data)) {
		e := Final()
		e.EventType, e.Final, e.Data.Text, e.Data.State = eventType, eventType == bridges.TypeFinal, "", ""
		change(&e.Data)
		all = append(all, e)
	}
	question := &bridges.Question{ItemID: "item_01", Title: "May I run make?", Options: []bridges.Option{{ID: "yes", Label: "Yes"}, {ID: "no", Label: "No"}}}
	add(bridges.TypeFinal, func(d *bridges.Data) {
		d.State, d.Error = turns.Failed, &turns.Failure{Kind: "agent_failed", Message: "exit status 1"}
	})
	add(bridges.TypeFinal, func(d *bridges.Data) {
		d.State, d.Review = turns.Completed, &bridges.Review{Verdict: "blocked", Note: "not this way"}
	})
	add(bridges.TypeQuestion, func(d *bridges.Data) { d.Question = question })
	add(bridges.TypeAnswer, func(d *bridges.Data) {
		d.Question, d.Outcome, d.ResolvedBy = question, []byte(`{"type":"selected","option_id":"yes"}`), "client"
	})
	add(bridges.TypeProgress, func(d *bridges.Data) { d.Progress = &bridges.Progress{Step: "build", Status: "started"} })
	add(bridges.TypeSuperseded, func(d *bridges.Data) { d.NewAttempt = 2 })
	add(bridges.TypeInbox, func(d *bridges.Data) { d.Entry = []byte(`{"source":"github","summary":"3 comments","count":3}`) })
	add(bridges.TypeStalled, func(d *bridges.Data) { d.Reason = "silent" })
	add(bridges.TypeEvent, func(d *bridges.Data) { d.Method = "thread/closed"; d.Event = []byte(`{"a":1}`) })
	add(bridges.TypeTest, func(d *bridges.Data) {})
	return all
}
