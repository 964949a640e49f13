package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// leased is a thread whose agent acknowledges nothing by itself, and is told again after a minute.
func (h *harness) leased(thread string) {
	h.t.Helper()
	h.threadWith(thread, inbox.Policy{Ack: inbox.AckExplicit, ToldLeaseMs: ms(time.Minute)})
}

// toldAgain checks that the next wake comes after this time, and tells these entries.
func (h *harness) toldAgain(since time.Time, want time.Duration, entries ...notify.ID) *call {
	h.t.Helper()
	c := h.next(h.model)
	if waited := time.Since(since).Round(10 * time.Millisecond); waited != want || fmt.Sprint(toldIn(c)) != fmt.Sprint(entries) {
		h.t.Errorf("told %v after %v, want %v after %v", toldIn(c), waited, entries, want)
	}
	return c
}

// leases are the events that made entries new again because a lease was over.
func (h *harness) leases(thread string) (list []*inbox.Untold) {
	h.t.Helper()
	for _, b := range bodies[inbox.Untold](h, notify.InboxUntold, thread) {
		if b.Reason == inbox.UntoldLease {
			list = append(list, b)
		}
	}
	return list
}

func TestAToldLeaseMakesEntriesNewThreeTimes(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.leased("a")
		id := h.send("a", "hello")
		c := h.next(h.model)
		told := []string{c.TurnID}
		for n := 1; n <= 3; n++ {
			if chain := h.turn(c.TurnID).Chain; chain != n-1 {
				t.Errorf("wake %d has chain %d", n, chain)
			}
			h.speak(c)
			ended := time.Now()
			c = h.toldAgain(ended, time.Minute, id)
			told = append(told, c.TurnID)
			l := h.leases("a")
			if len(l) != n || l[n-1].TurnID != told[n-1] || fmt.Sprint(l[n-1].EntryIDs) != fmt.Sprint([]notify.ID{id}) || l[n-1].Silent != 0 {
				t.Errorf("untold %+v", l)
			}
		}
		h.speak(c)
		time.Sleep(24 * time.Hour)
		h.idle(h.model)
		if b := h.box("a"); h.wakes("a") != 4 || b.LeaseAt != 0 || b.Silent != 0 || b.NewEntries != 0 || b.UnackedEntries != 1 {
			t.Errorf("%d wakes, inbox %+v", h.wakes("a"), b)
		}
	})
}

// A lease begins with the end of the turn that was told, whatever becomes of that turn, of the thread
// and of the server.
func TestALeaseOfToldEntries(t *testing.T) {
	begin := func(h *harness) (id notify.ID, ended time.Time) {
		h.leased("a")
		id = h.send("a", "hello")
		h.speak(h.next(h.model))
		return id, time.Now()
	}
	failed := func(h *harness) (id notify.ID, c *call) { // after a word
		id = h.send("a", "hello")
		c = h.next(h.model)
		h.message(c, "half")
		c.end(turns.Failed)
		h.ended(c.TurnID)
		return id, c
	}
	none := func(h *harness, d time.Duration) {
		h.t.Helper()
		time.Sleep(d)
		h.idle(h.model)
		if l := h.leases("a"); len(l) != 0 {
			h.t.Errorf("untold %+v", l)
		}
	}
	runRaces(t, []race{
		{"never by default", setup{}, func(h *harness) {
			h.threadWith("a", inbox.Policy{Ack: inbox.AckExplicit})
			h.send("a", "hello")
			h.speak(h.next(h.model))
			none(h, 24*time.Hour)
		}},
		{"not what is acknowledged", setup{}, func(h *harness) {
			id, _ := begin(h)
			h.ackEntries("a", id)
			if at := h.box("a").LeaseAt; at != 0 {
				h.t.Errorf("there is nothing to look at, but at %d", at)
			}
			none(h, 24*time.Hour)
		}},
		{"not while the turn runs", setup{}, func(h *harness) {
			h.leased("a")
			id := h.send("a", "hello")
			c := h.next(h.model)
			h.message(c, "I look at it")
			none(h, 10*time.Minute+30*time.Second)
			c.end(turns.Completed)
			h.ended(c.TurnID)
			h.speak(h.toldAgain(time.Now(), time.Minute, id))
		}},
		{"of a turn that failed after a word", setup{}, func(h *harness) {
			h.threadWith("a", inbox.Policy{ToldLeaseMs: ms(time.Minute)}) // its completion acknowledges
			id, _ := failed(h)
			h.speak(h.toldAgain(time.Now(), time.Minute, id))
			h.idle(h.model)
			if l := h.entries("a"); len(l) != 0 {
				h.t.Errorf("entries %s", ids(l))
			}
		}},
		{"not while the turn is tried again", setup{}, func(h *harness) {
			h.leased("a")
			id, c := failed(h)
			time.Sleep(30 * time.Second)
			h.retry(c.TurnID)
			again := h.next(h.model)
			h.message(again, "I look at it")
			none(h, 10*time.Minute)
			again.end(turns.Completed)
			h.ended(c.TurnID)
			h.speak(h.toldAgain(time.Now(), time.Minute, id))
		}},
		{"nor while it is queued to be tried again, and from its end there", setup{}, func(h *harness) {
			h.leased("a")
			id, c := failed(h)
			h.change("a", threads.VerbPause)
			h.retry(c.TurnID)
			none(h, 10*time.Minute)
			h.interrupt(c.TurnID)
			since := time.Now()
			h.change("a", threads.VerbResume)
			h.speak(h.toldAgain(since, time.Minute, id))
		}},
		{"between attempts it runs", setup{}, func(h *harness) {
			h.leased("a")
			id := h.send("a", "hello")
			c := h.next(h.model)
			h.message(c, "half")
			c.crash()
			again := h.next(h.model)
			none(h, 5*time.Minute)
			h.speak(again)
			h.speak(h.toldAgain(time.Now(), time.Minute, id))
		}},
		{"the next turn of the agent leaves it alone", setup{}, func(h *harness) {
			id, ended := begin(h)
			time.Sleep(30 * time.Second)
			h.start("a")
			c := h.next(h.model)
			time.Sleep(29 * time.Second)
			h.speak(c)
			h.speak(h.toldAgain(ended, time.Minute, id))
		}},
		{"a silent wake after it counts as any", setup{}, func(h *harness) {
			id, ended := begin(h)
			c := h.toldAgain(ended, time.Minute, id)
			c.end(turns.Completed)
			h.ended(c.TurnID)
			if n := h.box("a").Silent; n != 1 {
				h.t.Errorf("%d silent wakes", n)
			}
			h.speak(h.toldAgain(time.Now(), 5*time.Second, id))
		}},
		{"one that is over during the pause after a silent wake leaves the pause alone", setup{}, func(h *harness) {
			id, ended := begin(h)
			time.Sleep(57 * time.Second)
			other := h.send("a", "and more")
			c := h.next(h.model) // after the window
			c.end(turns.Completed)
			h.ended(c.TurnID)
			h.speak(h.toldAgain(ended, 63*time.Second, id, other))
			if l := h.leases("a"); len(l) != 1 || l[0].Silent != 1 {
				h.t.Errorf("untold %+v", l)
			}
		}},
		{"with wake none it is new, and tells nobody", setup{}, func(h *harness) {
			begin(h)
			h.configure("a", inbox.Policy{Wake: inbox.WakeNone})
			time.Sleep(24 * time.Hour)
			h.idle(h.model)
			if l := h.leases("a"); len(l) != 1 || h.box("a").NewEntries != 1 {
				h.t.Errorf("untold %+v", l)
			}
		}},
		{"a change of the policy holds at once", setup{}, func(h *harness) {
			h.threadWith("a", inbox.Policy{Ack: inbox.AckExplicit})
			id := h.send("a", "hello")
			h.speak(h.next(h.model))
			time.Sleep(90 * time.Second)
			h.configure("a", inbox.Policy{ToldLeaseMs: ms(time.Hour)})
			h.idle(h.model)
			h.configure("a", inbox.Policy{ToldLeaseMs: ms(time.Minute)})
			h.speak(h.toldAgain(time.Now(), 0, id))
			h.configure("a", inbox.Policy{ToldLeaseMs: new(int64)})
			time.Sleep(24 * time.Hour)
			h.idle(h.model)
			if l := h.leases("a"); len(l) != 1 {
				h.t.Errorf("untold %+v", l)
			}
		}},
		{"each by its own turn", setup{}, func(h *harness) {
			id, ended := begin(h)
			list, ends := []notify.ID{id}, []time.Time{ended}
			for _, text := range []string{"second", "third"} {
				time.Sleep(15 * time.Second)
				list = append(list, h.send("a", text))
				h.speak(h.next(h.model))
				ends = append(ends, time.Now())
			}
			for i, id := range list {
				h.speak(h.toldAgain(ends[i], time.Minute, id))
				h.ackEntries("a", id)
			}
		}},
		{"over a restart", setup{}, func(h *harness) {
			id, ended := begin(h)
			time.Sleep(30 * time.Second)
			h.restart()
			h.speak(h.toldAgain(ended, time.Minute, id))
		}},
		{"and what is over at a start is told at once, once", setup{}, func(h *harness) {
			id, _ := begin(h)
			h.down()
			time.Sleep(time.Hour)
			h.up()
			since := time.Now()
			h.toldAgain(since, 0, id)
			h.restart() // the attempt ends, and another begins
			h.speak(h.next(h.model))
			if l := h.leases("a"); len(l) != 1 {
				h.t.Errorf("untold %+v", l)
			}
		}},
		{"another configuration holds from the next start", setup{}, func(h *harness) {
			h.threadWith("a", inbox.Policy{Ack: inbox.AckExplicit})
			id := h.send("a", "hello")
			h.speak(h.next(h.model))
			ended := time.Now()
			with := func(lease time.Duration) {
				h.down()
				h.o.cfg.InboxDefaults = inbox.Defaults{All: inbox.Policy{ToldLeaseMs: ms(lease)}}
				h.up()
			}
			time.Sleep(10 * time.Minute)
			with(time.Hour)
			h.idle(h.model)
			if at := h.box("a").LeaseAt; at != ended.Add(time.Hour).UnixMilli() {
				h.t.Errorf("it looks at leases at %d", at)
			}
			with(0)
			none(h, 24*time.Hour)
			with(48 * time.Hour)
			h.idle(h.model)
			with(time.Minute)
			h.speak(h.toldAgain(time.Now(), 0, id))
		}},
		{"another configuration holds for all of many inboxes", setup{}, func(h *harness) {
			for i := range 260 { // more than are read at once
				id := fmt.Sprintf("box%03d", i)
				h.thread(id, "mailbox")
				h.send(id, "hello")
			}
			h.threadWith("last", inbox.Policy{Ack: inbox.AckExplicit})
			id := h.send("last", "hello")
			h.speak(h.next(h.model))
			time.Sleep(time.Hour)
			h.down()
			h.o.cfg.InboxDefaults = inbox.Defaults{Agents: map[string]inbox.Policy{"model": {ToldLeaseMs: ms(time.Minute)}}}
			h.up()
			h.speak(h.toldAgain(time.Now(), 0, id))
		}},
		{"a closed thread has none", setup{}, func(h *harness) {
			begin(h)
			h.change("a", threads.VerbClose)
			if at := h.box("a").LeaseAt; at != 0 {
				h.t.Errorf("there is nothing to look at, but at %d", at)
			}
			none(h, time.Hour)
		}},
		{"snapshots of a digest have three together", setup{}, func(h *harness) {
			h.leased("a")
			h.configure("a", inbox.Policy{MaxItems: new(int64(1))})
			wakes := 0
			for i := range 3 { // each new item wakes, and leases do
				h.ingest("a", grouped(fmt.Sprint(i), "pr:1"))
				h.speak(h.next(h.model))
				c := h.next(h.model) // a lease
				if chain := h.turn(c.TurnID).Chain; chain != i+1 {
					h.t.Errorf("the wake of lease %d has chain %d", i+1, chain)
				}
				h.speak(c)
				wakes += 2
			}
			h.ingest("a", grouped("3", "pr:1"))
			h.speak(h.next(h.model))
			time.Sleep(24 * time.Hour)
			h.idle(h.model)
			if l := h.leases("a"); len(l) != 3 || h.wakes("a") != wakes+1 {
				h.t.Errorf("%d wakes, untold %+v", h.wakes("a"), l)
			}
		}},
		{"what remains of a snapshot has that of the snapshot", setup{}, func(h *harness) {
			h.leased("a")
			h.configure("a", inbox.Policy{MaxItems: new(int64(1))})
			first := h.ingest("a", grouped("1", "pr:1")).Results[0].EntryID
			h.ingest("a", grouped("2", "pr:1"))
			h.speak(h.next(h.model)) // it is told the second, which shows both
			ended := time.Now()
			r := h.ackEntries("a", first)
			if len(r.RemainderEntryIDs) != 1 {
				h.t.Fatalf("ack %+v", r)
			}
			h.speak(h.toldAgain(ended, time.Minute, r.RemainderEntryIDs...))
		}},
		{"many at once", setup{}, func(h *harness) {
			h.leased("a")
			h.change("a", threads.VerbPause)
			h.ingest("a", many(150, func(i int) inbox.Item { return item(fmt.Sprint(i)) })...)
			h.change("a", threads.VerbResume)
			h.speak(h.next(h.model))
			h.speak(h.next(h.model))
			h.down()
			time.Sleep(time.Hour)
			h.up()
			since := time.Now()
			for told := 0; told < 150; {
				c := h.next(h.model)
				told += len(toldIn(c))
				h.speak(c)
			}
			n := 0
			for _, l := range h.leases("a") {
				n += len(l.EntryIDs)
			}
			if waited := time.Since(since); n != 150 || waited >= time.Minute {
				h.t.Errorf("%d are new again after %v", n, waited)
			}
		}},
	})
}

// What was told before the clock was set back by a day is told again within one lease.
func TestALeaseIsNotLongerAfterTheClockWasSetBack(t *testing.T) {
	const day = "86400000"
	setBack := func(h *harness) {
		h.edit("UPDATE turns SET completed_at = completed_at + " + day + "; UPDATE inboxes SET lease_at = lease_at + " + day)
	}
	asTheLogHasIt := func(h *harness) {
		h.edit(fmt.Sprintf("UPDATE turns SET completed_at = completed_at - %s WHERE completed_at > %d", day, time.Now().Add(12*time.Hour).UnixMilli()))
	}
	ofAll := configured(inbox.Defaults{All: inbox.Policy{Ack: inbox.AckExplicit, ToldLeaseMs: ms(time.Minute)}})
	runRaces(t, []race{
		{"by the configuration, at the start", setup{cfg: ofAll}, func(h *harness) {
			h.thread("a", "model")
			id := h.send("a", "hello")
			h.speak(h.next(h.model))
			setBack(h)
			h.speak(h.toldAgain(time.Now(), 0, id))
			asTheLogHasIt(h)
		}},
		{"by the thread, once something happens there", setup{}, func(h *harness) {
			h.leased("a")
			id := h.send("a", "hello")
			h.speak(h.next(h.model))
			setBack(h)
			since, other := time.Now(), h.send("a", "more")
			h.speak(h.next(h.model))
			h.ackEntries("a", other)
			h.speak(h.toldAgain(since, time.Minute, id))
			asTheLogHasIt(h)
		}},
	})
}
