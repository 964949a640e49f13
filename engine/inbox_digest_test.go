package engine_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// slack is how much later than its time an item may be in an entry.
const slack = 100 * time.Millisecond

// waits returns how long the first pending item of each snapshot had waited, and
// the reason.
func (h *harness) waits(thread string) (waits []time.Duration, reasons []inbox.Reason) {
	h.t.Helper()
	at := map[notify.ID]time.Time{}
	for _, e := range h.of(func(e event) bool { return e.ThreadID == thread && isInbox(e.Method) }) {
		switch b := e.body(h.t).(type) {
		case *inbox.Received:
			at[b.RawID] = e.Timestamp.Time
		case *inbox.Posted:
			if len(b.NewRawIDs) > 0 && b.Entry.Kind == inbox.KindSnapshot {
				waits = append(waits, e.Timestamp.Sub(at[b.NewRawIDs[0]]))
				reasons = append(reasons, b.Reason)
			}
		}
	}
	return waits, reasons
}

func TestDigestIsPostedWhenNoFurtherItemComes(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		for i := range 3 {
			h.ingest("a", grouped(fmt.Sprint(i), "pr:1"))
			time.Sleep(20 * time.Second)
		}
		if l := h.entries("a"); len(l) != 0 {
			t.Errorf("posted before the window ended: %s", ids(l))
		}
		time.Sleep(10*time.Second + slack)
		l := h.entries("a")
		if len(l) != 1 || l[0].Count != 3 || l[0].Kind != inbox.KindSnapshot {
			t.Errorf("entries %+v", l)
		}
		waits, reasons := h.waits("a")
		if len(waits) != 1 || waits[0] < 70*time.Second || waits[0] > 70*time.Second+slack || reasons[0] != inbox.ReasonWindow {
			t.Errorf("waited %v %v", waits, reasons)
		}
	})
}

func TestItemIsInAnEntryAfterItsGreatestDelayWhateverArrives(t *testing.T) {
	for name, between := range map[string]func(h *harness, i int){
		"without a break": func(*harness, int) { time.Sleep(time.Second) },
		"retired":         func(*harness, int) { time.Sleep(7 * time.Second) },
		"restarted": func(h *harness, i int) {
			time.Sleep(5 * time.Second)
			if i%3 == 0 {
				h.restart()
			}
		},
		"at random": func(h *harness, _ int) { time.Sleep(time.Duration(rand.Int64N(int64(9 * time.Second)))) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				h.thread("a", "")
				h.configure("a", inbox.Policy{WindowMs: ms(10 * time.Second), MaxDelayMs: ms(25 * time.Second)})
				for i := range 40 {
					h.ingest("a", grouped(fmt.Sprint(i), fmt.Sprint("pr:", i%2)))
					between(h, i)
				}
				time.Sleep(25*time.Second + slack)
				waits, _ := h.waits("a")
				for _, w := range waits {
					if w > 25*time.Second+slack {
						t.Errorf("waited %v", w)
					}
				}
				if p := h.read(inbox.Read{ThreadID: "a"}); p.PendingItems != 0 || len(waits) < 3 {
					t.Errorf("%d snapshots, %d items pending", len(waits), p.PendingItems)
				}
			})
		})
	}
}

func TestDigestThatIsDueWhileItsActorSleepsIsPostedOnTime(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		h.configure("a", inbox.Policy{WindowMs: ms(time.Hour), MaxDelayMs: ms(time.Hour)})
		h.ingest("a", grouped("1", "pr:1"))
		h.asleep()
		time.Sleep(time.Until(time.UnixMilli(h.box("a").FlushAt)) + slack)
		synctest.Wait()
		if l := h.entries("a"); len(l) != 1 {
			t.Errorf("entries %s", ids(l))
		}
	})
}

func TestOverdueDigestsArePostedAtOnceAfterARestart(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		for i := range 5 {
			h.thread(fmt.Sprint("t", i), "")
			h.ingest(fmt.Sprint("t", i), grouped("1", "pr:1"))
		}
		h.down()
		time.Sleep(time.Hour)
		h.up()
		synctest.Wait()
		for i := range 5 {
			if _, reasons := h.waits(fmt.Sprint("t", i)); len(reasons) != 1 || reasons[0] != inbox.ReasonWindow {
				t.Errorf("thread %d: posted %v", i, reasons)
			}
		}
	})
}

func TestManyInboxesThatWaitNeedNoGoroutineAndOneTimer(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 200
	}
	bubble(t, setup{}, func(h *harness) {
		h.asleep()
		before := runtime.NumGoroutine()
		var wg sync.WaitGroup
		for w := range 50 {
			wg.Go(func() {
				for i := w; i < n; i += 50 {
					id := fmt.Sprint("t", i)
					if _, err := h.engine.StartThread(bg, turns.StartThread{ThreadID: id}); err != nil {
						t.Error(err)
					}
					if _, err := h.inboxes().Ingest(bg, inbox.Ingest{ThreadID: id, Items: []inbox.Item{grouped("1", "pr:1")}}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		began := time.Now()
		time.Sleep(20 * time.Second) // actors retire
		synctest.Wait()
		if actors, after := h.engine.Load().Actors, runtime.NumGoroutine(); actors != 0 || after > before+5 {
			t.Errorf("%d actors, %d goroutines for %d inboxes, %d before", actors, after, n, before)
		}
		time.Sleep(time.Until(began.Add(30*time.Second + slack)))
		synctest.Wait()
		posted := h.of(func(e event) bool { return e.Method == notify.InboxPosted })
		if len(posted) != n {
			t.Errorf("%d of %d posted", len(posted), n)
		}
		for _, e := range posted {
			if late := e.Timestamp.Sub(began.Add(30 * time.Second)); late > slack {
				t.Fatalf("posted %v too late: %s", late, e)
			}
		}
	})
}

func TestDisablingThePolicyPostsWhatIsPending(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		h.ingest("a", grouped("1", "pr:1"), grouped("2", "pr:2"), grouped("3", "pr:2"))
		off := false
		h.configure("a", inbox.Policy{Enabled: &off})
		if _, reasons := h.waits("a"); len(reasons) != 2 || reasons[0] != inbox.ReasonLifecycle || reasons[1] != inbox.ReasonLifecycle {
			t.Errorf("posted %v", reasons)
		}
		r := h.ingest("a", grouped("4", "pr:2"))
		if r.Results[0].EntryID == "" || r.Results[0].DigestID != "" {
			t.Errorf("grouped while it is off: %+v", r)
		}
		if b := h.box("a"); b.PendingItems != 0 || b.DueAt() != 0 {
			t.Errorf("inbox %+v", b)
		}
	})
}

// A subscription that ends, and a server that knows its source no longer, take
// nothing with them.
func TestWhatIsPendingOutlivesItsSubscription(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		h.subscribe("a", inbox.Subscribe{SubscriptionID: "hook", Source: "ci"})
		h.ingest("a", grouped("1", "pr:1"), grouped("2", "pr:1"))
		if _, err := h.inboxes().Unsubscribe(bg, inbox.Unsubscribe{ThreadID: "a", SubscriptionID: "hook"}); err != nil {
			t.Fatal(err)
		}
		h.restart()
		time.Sleep(30*time.Second + slack)
		l := h.entries("a")
		if len(l) != 1 || l[0].Count != 2 {
			t.Fatalf("entries %+v", l)
		}
		if r := h.ackEntries("a", l[0].EntryID); r.AckedItems != 2 {
			t.Errorf("ack %+v", r)
		}
		if b := h.box("a"); b.UnackedItems != 0 || b.DueAt() != 0 {
			t.Errorf("inbox %+v", b)
		}
	})
}

// The snapshot of a digest is being stored when another item of the digest comes:
// that has a window of its own.
func TestItemThatComesWhileItsDigestIsPostedIsPostedInItsTurn(t *testing.T) {
	for name, d := range map[string]time.Duration{"at once": 0, "after a long commit": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				h.thread("a", "")
				h.ingest("a", grouped("1", "pr:1"))
				release := h.hold(has(notify.InboxPosted))
				time.Sleep(30*time.Second + slack)
				ingested := make(chan struct{})
				go func() {
					defer close(ingested)
					h.ingest("a", grouped("2", "pr:1"))
				}()
				time.Sleep(d)
				synctest.Wait()
				if l := h.entries("a"); len(l) != 0 {
					t.Errorf("what is not stored is read: %s", ids(l))
				}
				release()
				<-ingested
				if l := h.entries("a"); len(l) != 1 || l[0].Count != 1 {
					t.Errorf("entries %+v", l)
				}
				time.Sleep(30*time.Second + slack)
				if l := h.entries("a"); len(l) != 1 || l[0].Count != 2 {
					t.Errorf("entries %+v", l)
				}
				if waits, _ := h.waits("a"); len(waits) != 2 || waits[1] > 30*time.Second+slack {
					t.Errorf("waited %v", waits)
				}
			})
		})
	}
}

func TestClosingAThreadPostsWhatIsPendingAndEndsItsTimersAndSubscriptions(t *testing.T) {
	for name, busy := range map[string]bool{"idle": false, "while a turn ends": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{follow: true}, func(h *harness) {
				h.thread("a", "deaf")
				h.ingest("a", grouped("1", "pr:1"), item("2"))
				for i := range 3 {
					h.timer("a", inbox.CreateTimer{TimerID: fmt.Sprint("t", i), EverySeconds: 60, Text: "x"})
				}
				h.subscribe("a", inbox.Subscribe{SubscriptionID: "ends", Source: inbox.SourceEvents})
				h.subscribe("a", inbox.Subscribe{SubscriptionID: "hook", Source: "ci"})
				var c *call
				if busy {
					h.start("a")
					c = h.next(h.deaf)
				}
				h.change("a", threads.VerbClose)
				if busy {
					time.Sleep(20 * time.Second) // its digest and timers are not due yet
					c.end(turns.Completed)
				}
				h.event(notify.ThreadClosed, nil)
				synctest.Wait()
				all := h.of(func(e event) bool { return e.ThreadID == "a" })
				if last := all[len(all)-1]; last.Method != notify.ThreadClosed {
					t.Errorf("the last event is %s", last)
				}
				if _, reasons := h.waits("a"); len(reasons) != 1 || reasons[0] != inbox.ReasonLifecycle {
					t.Errorf("posted %v", reasons)
				}
				if o, err := h.reader.InboxOf(bg, "a"); err != nil || len(o.Subscriptions) != 0 {
					t.Errorf("overview %+v, %v", o, err)
				}
				if l, err := h.reader.ListTimers(bg, "a"); err != nil || len(l) != 0 {
					t.Errorf("timers %+v, %v", l, err)
				}
				if f := h.followers.Followers(); len(f) != 0 {
					t.Errorf("followers %+v", f)
				}
				if l := h.entries("a"); len(l) != 2 {
					t.Errorf("entries %s", ids(l))
				}
				time.Sleep(time.Hour)
				h.restart()
				time.Sleep(time.Hour)
			})
		})
	}
}

// A thread that is closing keeps its pending items until its turn has ended, even
// when their time has passed.
func TestDigestThatIsDueInAClosingThreadIsPostedWithItsEnd(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "deaf")
		h.ingest("a", grouped("1", "pr:1"))
		h.start("a")
		c := h.next(h.deaf)
		h.configure("a", inbox.Policy{WindowMs: ms(100 * time.Millisecond)})
		h.ingest("a", grouped("2", "pr:2"))
		h.change("a", threads.VerbClose)
		time.Sleep(2 * time.Second)
		c.end(turns.Completed)
		h.event(notify.ThreadClosed, nil)
		if l := h.entries("a"); len(l) != 2 {
			t.Errorf("entries %s", ids(l))
		}
	})
}

func TestSizeImmediateBreaksAndManualFlushes(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		three := int64(3)
		h.configure("a", inbox.Policy{MaxItems: &three})
		h.ingest("a", many(7, func(i int) inbox.Item { return grouped(fmt.Sprint(i), "pr:1") })...)
		now := grouped("now", "pr:2")
		now.Grouping.Flush = inbox.FlushImmediate
		last := grouped("last", "pr:3")
		last.Grouping.Breaks = inbox.BreaksAfter
		first := grouped("first", "pr:1")
		first.Grouping.Breaks = inbox.BreaksBefore
		r := h.ingest("a", now, last, grouped("next", "pr:3"), first)
		if r.Results[1].DigestID == r.Results[2].DigestID || r.Results[3].EntryID != "" {
			t.Errorf("%+v", r)
		}
		f, err := h.inboxes().Flush(bg, inbox.FlushNow{ThreadID: "a", DigestID: r.Results[3].DigestID})
		if err != nil || len(f.EntryIDs) != 1 {
			t.Errorf("flush: %+v, %v", f, err)
		}
		if f, err = h.inboxes().Flush(bg, inbox.FlushNow{ThreadID: "a"}); err != nil || len(f.EntryIDs) != 1 {
			t.Errorf("flush: %+v, %v", f, err)
		}
		want := "[size size immediate immediate rollover manual manual]"
		if _, reasons := h.waits("a"); fmt.Sprint(reasons) != want {
			t.Errorf("posted %v, want %s", reasons, want)
		}
		if b := h.box("a"); b.DueAt() != 0 || b.UnackedItems != 11 {
			t.Errorf("inbox %+v", b)
		}
	})
}
