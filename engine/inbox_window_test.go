package engine_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// wokenAfter checks that the next wake comes after this time, and that it tells n entries.
func (h *harness) wokenAfter(since time.Time, want time.Duration, n int) {
	h.t.Helper()
	c := h.next(h.model)
	if waited := time.Since(since).Round(10 * time.Millisecond); waited != want || len(toldIn(c)) != n {
		h.t.Errorf("woken after %v by %d entries, want %v and %d", waited, len(toldIn(c)), want, n)
	}
	h.speak(c)
}

// threadWith is a thread whose agent its inbox wakes by this policy.
func (h *harness) threadWith(id string, p inbox.Policy) {
	h.t.Helper()
	h.thread(id, "model")
	h.configure(id, p)
}

func TestTenMessagesAreOneWake(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		var newest time.Time
		for i := range 10 {
			time.Sleep(150 * time.Millisecond)
			h.send("a", fmt.Sprint(i))
			newest = time.Now()
		}
		h.wokenAfter(newest, time.Second, 10)
		h.idle(h.model)
		if n := h.wakes("a"); n != 1 || len(h.entries("a")) != 0 {
			t.Errorf("%d wakes, entries %s", n, ids(h.entries("a")))
		}
	})
}

// Whatever is new waits for more, at most five windows, and not longer over a restart. What does not
// wait, and whoever asks, ends all waiting.
func TestNewEntriesWaitForMore(t *testing.T) {
	at := func(it inbox.Item, f inbox.Flush) inbox.Item {
		if it.Grouping == nil {
			it.Grouping = &inbox.Grouping{}
		}
		it.Grouping.Flush = f
		return it
	}
	begin := func(h *harness) time.Time {
		h.thread("a", "model")
		h.send("a", "first")
		return time.Now()
	}
	inLine := func(h *harness) *call { // the window is over, and the thread waits for the slot of this call
		h.thread("b", "")
		h.start("b")
		c := h.next(h.agent)
		begin(h)
		h.idle(h.model)
		return c
	}
	runRaces(t, []race{
		{"five windows at most", setup{}, func(h *harness) {
			since := begin(h)
			for i := range 9 {
				time.Sleep(500 * time.Millisecond)
				h.send("a", fmt.Sprint(i))
			}
			h.wokenAfter(since, 5*time.Second, 10)
		}},
		{"five windows at most, for snapshots that supersede each other, too", setup{}, func(h *harness) {
			h.threadWith("a", inbox.Policy{MaxItems: new(int64(1))})
			since := time.Now()
			for i := range 10 {
				h.ingest("a", grouped(fmt.Sprint(i), "pr:1"))
				time.Sleep(500 * time.Millisecond)
			}
			h.wokenAfter(since, 5*time.Second, 1)
		}},
		{"as the policy says", setup{}, func(h *harness) {
			h.threadWith("a", inbox.Policy{WakeWindowMs: ms(20 * time.Second)})
			h.send("a", "hello")
			h.wokenAfter(time.Now(), 20*time.Second, 1)
		}},
		{"not with 0", setup{}, func(h *harness) {
			h.threadWith("a", inbox.Policy{WakeWindowMs: new(int64)})
			h.send("a", "hello")
			h.wokenAfter(time.Now(), 0, 1)
		}},
		{"a change of the policy holds at once", setup{}, func(h *harness) {
			since := begin(h)
			h.configure("a", inbox.Policy{WakeWindowMs: new(int64)})
			h.wokenAfter(since, 0, 1)
		}},
		{"timers and snapshots, too", setup{}, func(h *harness) {
			h.thread("a", "model")
			h.ingest("a", grouped("1", "pr:1")) // posted after 30 s
			since := time.Now()
			h.timer("a", inbox.CreateTimer{At: notify.TimeOf(since.Add(30500 * time.Millisecond))})
			h.wokenAfter(since, 31500*time.Millisecond, 2)
		}},
		{"not behind an item that does not wait", setup{}, func(h *harness) {
			since := begin(h)
			time.Sleep(200 * time.Millisecond)
			h.ingest("a", at(item("1"), inbox.FlushImmediate))
			h.wokenAfter(since, 200*time.Millisecond, 2)
		}},
		{"not behind an item of a digest that does not wait", setup{}, func(h *harness) {
			since := begin(h)
			h.ingest("a", grouped("1", "pr:1"), at(grouped("2", "pr:1"), inbox.FlushImmediate))
			h.wokenAfter(since, 0, 2)
		}},
		{"nor if another snapshot supersedes it before it could wake", setup{}, func(h *harness) {
			h.threadWith("a", inbox.Policy{MaxItems: new(int64(1))})
			h.start("a")
			c := h.next(h.model)
			h.ingest("a", at(grouped("1", "pr:1"), inbox.FlushImmediate))
			h.ingest("a", grouped("2", "pr:1"))
			h.speak(c)
			h.wokenAfter(time.Now(), 0, 1)
			h.ingest("a", grouped("3", "pr:1"))
			h.wokenAfter(time.Now(), time.Second, 1)
		}},
		{"not if a client asks", setup{}, func(h *harness) {
			since := begin(h)
			h.wakeNow("a")
			h.wokenAfter(since, 0, 1)
		}},
		{"not behind a turn of a client", setup{}, func(h *harness) {
			since := begin(h)
			h.start("a")
			h.speak(h.next(h.model))
			h.wokenAfter(since, 0, 1)
		}},
		{"not behind a turn that a client has started after the first of them", setup{}, func(h *harness) {
			since := begin(h)
			h.start("a")
			c := h.next(h.model)
			h.send("a", "second")
			h.speak(c)
			h.wokenAfter(since, 0, 2)
		}},
		{"but behind a wake that could not tell them all", setup{}, func(h *harness) {
			h.thread("a", "model")
			since := time.Now()
			h.ingest("a", many(150, func(i int) inbox.Item { return item(fmt.Sprint(i)) })...)
			h.wokenAfter(since, 0, 100)
			h.wokenAfter(since, time.Second, 50)
		}},
		{"but behind a turn that an agent has started in its child thread", setup{}, func(h *harness) {
			h.thread("o", "puppet")
			h.childThread("o", "a", "model")
			h.start("o")
			owner := h.next(h.agent)
			since := time.Now()
			h.send("a", "hello")
			h.child("o", "a", true)
			h.speak(h.next(h.model))
			h.wokenAfter(since, time.Second, 1)
			owner.end(turns.Completed)
		}},
		{"but behind a turn that continues a rejected one", setup{}, func(h *harness) {
			h.thread("a", "model")
			r := h.startWith(turns.Start{ThreadID: "a", Review: turns.ReviewOnSuccess})
			h.speak(h.next(h.model))
			since := time.Now()
			h.send("a", "hello")
			h.review(r.TurnID, turns.Rejected)
			h.speak(h.next(h.model))
			h.wokenAfter(since, time.Second, 1)
		}},
		{"but behind a turn that a client had started before", setup{}, func(h *harness) {
			h.thread("a", "model")
			h.start("a")
			c := h.next(h.model)
			h.send("a", "hello")
			since := time.Now()
			h.speak(c)
			h.wokenAfter(since, time.Second, 1)
		}},
		{"not behind the last end of what a turn has started", setup{}, func(h *harness) {
			work := h.siblings(2)
			h.done(work[0], "one")
			h.took("a", 1)
			h.send("a", "hello")
			since := time.Now()
			h.done(work[1], "two")
			h.wokenAfter(since, 0, 3)
		}},
		{"not behind an end whose siblings it has waited for long enough", setup{}, func(h *harness) {
			work := h.siblings(2)
			h.configure("a", inbox.Policy{WakeMaxWaitMs: ms(time.Second)})
			h.done(work[0], "one")
			h.took("a", 1)
			since := time.Now()
			time.Sleep(900 * time.Millisecond)
			h.send("a", "hello")
			h.wokenAfter(since, time.Second, 2)
		}},
		{"not behind the oldest end that has waited for long enough", setup{}, func(h *harness) {
			work := h.siblings(3)
			h.configure("a", inbox.Policy{WakeMaxWaitMs: ms(2 * time.Second)})
			since := time.Now()
			h.done(work[0], "one")
			h.took("a", 1)
			time.Sleep(time.Second)
			h.done(work[1], "two")
			h.took("a", 2)
			h.wokenAfter(since, 2*time.Second, 2)
		}},
		{"a snapshot of what the agent was told before, too", setup{}, func(h *harness) {
			h.threadWith("a", inbox.Policy{MaxItems: new(int64(1)), Ack: inbox.AckExplicit})
			h.ingest("a", grouped("1", "pr:1"))
			h.speak(h.next(h.model))
			time.Sleep(time.Minute)
			h.ingest("a", grouped("2", "pr:1"))
			h.wokenAfter(time.Now(), time.Second, 1)
		}},
		{"ends of children of no turn, too", setup{cfg: engine.Config{MaxActiveTurns: 3}}, func(h *harness) {
			h.thread("a", "model")
			h.childThread("a", "b", "puppet")
			h.childThread("a", "d", "puppet")
			h.child("a", "b", true)
			h.child("a", "d", true)
			one, two := h.next(h.agent), h.next(h.agent)
			h.done(one, "one")
			h.took("a", 1)
			time.Sleep(900 * time.Millisecond)
			h.done(two, "two")
			h.took("a", 2)
			h.wokenAfter(time.Now(), time.Second, 2)
		}},
		{"not if as much is new as a prompt can tell", setup{}, func(h *harness) {
			h.thread("a", "model")
			h.ingest("a", many(99, func(i int) inbox.Item { return item(fmt.Sprint(i)) })...)
			since := time.Now()
			time.Sleep(500 * time.Millisecond)
			h.ingest("a", item("x"))
			h.wokenAfter(since, 500*time.Millisecond, 100)
		}},
		{"not if the agent had not said a word of it", setup{}, func(h *harness) {
			h.thread("a", "model")
			h.send("a", "hello")
			c := h.next(h.model)
			c.end(turns.Completed)
			h.ended(c.TurnID)
			since := time.Now()
			time.Sleep(4900 * time.Millisecond)
			h.send("a", "and more")
			h.wokenAfter(since, 5*time.Second, 2) // the pause after a silent wake
		}},
		{"over a restart", setup{}, func(h *harness) {
			since := begin(h)
			time.Sleep(200 * time.Millisecond)
			h.restart()
			h.wokenAfter(since, time.Second, 1)
		}},
		{"and what is over at a start wakes at once", setup{}, func(h *harness) {
			begin(h)
			h.down()
			time.Sleep(time.Minute)
			h.up()
			h.wokenAfter(time.Now(), 0, 1)
		}},
		{"and what came while the thread waited for a slot does not make it wait again", setup{cfg: engine.Config{MaxActiveTurns: 1}}, func(h *harness) {
			c := inLine(h)
			h.thread("d", "")
			h.start("d")            // behind a in the line
			time.Sleep(time.Second) // five windows are not over
			h.send("a", "second")
			synctest.Wait()
			c.end(turns.Completed)
			h.wokenAfter(time.Now(), 0, 2)
			h.next(h.agent).end(turns.Completed)
		}},
		{"nor if the wake is refused once", setup{cfg: engine.Config{MaxActiveTurns: 1}}, func(h *harness) {
			c := inLine(h)
			h.send("a", "second")
			refused := false
			h.faults.fail(func(u *ledger.Unit) error {
				if wakes := u.Drafts[0].Method == notify.TurnStarted && u.Drafts[0].Header.ThreadID == "a"; wakes && !refused {
					refused = true
					return turns.ErrChildrenMoved // the end of a child turn was superseded meanwhile
				}
				return nil
			})
			c.end(turns.Completed)
			h.wokenAfter(time.Now(), 0, 2)
			if !refused {
				h.t.Error("nothing was refused")
			}
		}},
	})
}

// What was posted before the clock was set back by a day does not wait for that day.
func TestNewEntriesWaitNoLongerAfterTheClockWasSetBack(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		h.send("a", "hello")
		h.edit("UPDATE inbox_entries SET posted_at = posted_at + 86400000")
		h.wokenAfter(time.Now(), 0, 1)
		h.edit("UPDATE inbox_entries SET posted_at = posted_at - 86400000")
	})
}
