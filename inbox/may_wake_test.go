package inbox

import (
	"testing"
	"time"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

func TestMayWake(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	wakes := func(n int, first time.Time) (list []int64) {
		for i := range n {
			list = append(list, first.Add(time.Duration(i)*time.Second).UnixMilli())
		}
		return list
	}
	for name, c := range map[string]struct {
		box   *Inbox
		th    threads.Thread
		wake  Wake
		chain int
		want  WakeVerdict
	}{
		"new entries":      {box: &Inbox{NewEntries: 1}, want: WakeVerdict{OK: true}},
		"no inbox":         {},
		"nothing new":      {box: &Inbox{UnackedEntries: 3}},
		"wake is none":     {box: &Inbox{NewEntries: 1}, wake: WakeNone},
		"closed":           {box: &Inbox{NewEntries: 1}, th: threads.Thread{State: threads.Closed}},
		"held":             {box: &Inbox{NewEntries: 1}, th: threads.Thread{State: threads.Running, Held: true}},
		"silent":           {box: &Inbox{NewEntries: 1, Stalled: StallSilent}},
		"chain is stalled": {box: &Inbox{NewEntries: 1, Stalled: StallChain}},
		"pause":            {box: &Inbox{NewEntries: 1, WakeAt: now.UnixMilli() + 1}, want: WakeVerdict{At: now.Add(time.Millisecond)}},
		"pause is over":    {box: &Inbox{NewEntries: 1, WakeAt: now.UnixMilli()}, want: WakeVerdict{OK: true}},
		"chain below":      {box: &Inbox{NewEntries: 1}, chain: MaxChain - 1, want: WakeVerdict{OK: true}},
		"chain":            {box: &Inbox{NewEntries: 1}, chain: MaxChain, want: WakeVerdict{Stall: StallChain}},
		"29 in an hour":    {box: &Inbox{NewEntries: 1, Wakes: wakes(MaxWakesAnHour-1, now.Add(-time.Minute))}, want: WakeVerdict{OK: true}},
		"30 in an hour": {
			box:  &Inbox{NewEntries: 1, Wakes: wakes(MaxWakesAnHour, now.Add(-time.Hour+time.Millisecond))},
			want: WakeVerdict{Stall: StallRate, At: now.Add(time.Millisecond)},
		},
		"30 in more than an hour": {box: &Inbox{NewEntries: 1, Wakes: wakes(MaxWakesAnHour, now.Add(-time.Hour))}, want: WakeVerdict{OK: true}},
		"rate is over":            {box: &Inbox{NewEntries: 1, Stalled: StallRate, WakeAt: now.UnixMilli()}, want: WakeVerdict{OK: true}},
	} {
		if c.th.State == "" {
			c.th.State = threads.Running
		}
		if c.wake == "" {
			c.wake = WakeIdle
		}
		got := MayWake(c.box, &c.th, Settings{Wake: c.wake}, now, c.chain)
		if got.OK != c.want.OK || got.Stall != c.want.Stall || !got.At.Equal(c.want.At) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A client that interrupts a turn holds the thread, and nothing wakes it until the
// client asks for something.
func TestInterruptHoldsUntilTheClientAsks(t *testing.T) {
	for name, lift := range map[string]func(*memUnit, *Book){
		"inbox/wake": func(_ *memUnit, b *Book) { _, _ = b.WakeNow("") },
		"a turn":     func(u *memUnit, b *Book) { u.turnEvent(b, notify.TurnQueued, "turn_2", 0, &turns.QueuedEvent{}) },
	} {
		w := newWorld()
		w.ingest(t, single(1))
		unit := func(decide func(*memUnit, *Book)) {
			u, b := w.begin()
			decide(u, b)
			if _, err := w.commit(u, b); err != nil {
				t.Fatal(err)
			}
		}
		interrupt := func(by turns.By) {
			unit(func(u *memUnit, b *Book) {
				u.turnEvent(b, notify.TurnInterrupted, "turn_1", 1, &turns.EndedEvent{State: turns.Interrupted, StartedAt: b.Now, By: by})
			})
		}
		if interrupt("server"); w.held {
			t.Error("an interrupt of the server holds the thread")
		}
		if interrupt(turns.ByClient); !w.held {
			t.Error("an interrupt of a client does not hold the thread")
		}
		if unit(lift); w.held {
			t.Errorf("%s does not release the thread", name)
		}
	}
}

// A rejection is no request of a client that lifts a bound: an agent may have given it.
func TestContinuationLiftsNoBound(t *testing.T) {
	for name, c := range map[string]struct {
		queued turns.QueuedEvent
		lifts  bool
	}{
		"a client's turn": {turns.QueuedEvent{}, true},
		"a child turn":    {turns.QueuedEvent{Child: turns.Child{AttentionPolicy: turns.Notify}}, false},
		"a continuation":  {turns.QueuedEvent{Continues: "turn_1", Continuations: 1}, false},
	} {
		w := newWorld()
		w.ingest(t, single(1))
		unit := func(decide func(*memUnit, *Book)) {
			u, b := w.begin()
			decide(u, b)
			if _, err := w.commit(u, b); err != nil {
				t.Fatal(err)
			}
		}
		unit(func(u *memUnit, b *Book) {
			u.turnEvent(b, notify.TurnInterrupted, "turn_1", 1, &turns.EndedEvent{State: turns.Interrupted, StartedAt: b.Now, By: turns.ByClient})
		})
		unit(func(u *memUnit, b *Book) { u.turnEvent(b, notify.TurnQueued, "turn_2", 0, &c.queued) })
		if w.held == c.lifts {
			t.Errorf("%s: held is %v", name, w.held)
		}
	}
}
