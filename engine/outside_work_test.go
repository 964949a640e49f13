package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// outside starts outside work.
func (h *harness) outside(owner, thread string) turns.StartResult {
	h.t.Helper()
	r := h.child(owner, thread, true)
	if !r.Outside || r.AttentionPolicy != turns.Notify || !h.turn(r.TurnID).Outside {
		h.t.Errorf("started %+v", r)
	}
	return r
}

// asOutside returns the error of a start of outside work.
func (h *harness) asOutside(owner, thread string, c turns.Start) error {
	c.ThreadID, c.Parent, c.Background = thread, childOf(owner), true
	if c.Input == nil {
		c.Input = text("go")
	}
	_, err := h.engine.Start(bg, c)
	return err
}

// No turn waits for outside work, not even one that is a child turn, and nothing that happens
// to the turn of the owner touches it. Its end goes where that of any child turn goes.
func TestOutsideWorkIsNobodysToWaitFor(t *testing.T) {
	runRaces(t, []race{
		{"its owner's turn ends, and is woken by the end", setup{}, func(h *harness) {
			h.thread("x", "puppet")
			c := h.family()
			h.outside("a", "x")
			work := h.next(h.agent)
			h.speakOn(c)
			if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted {
				h.t.Errorf("ended %s", e)
			}
			h.done(work, "the result")
			h.wokenOnce("the result")
		}},
		{"a child turn ends without it", setup{}, func(h *harness) {
			h.thread("x", "puppet")
			c := h.family("b")
			child := h.child("a", "b", false)
			mid := h.next(h.agent)
			h.outside("b", "x")
			work := h.next(h.agent)
			h.done(mid, "the child's result")
			if e := h.ended(child.TurnID); e.Method != notify.TurnCompleted {
				h.t.Errorf("ended %s", e)
			}
			h.speakOn(c)
			h.speak(h.next(h.model)) // the prompt with the child's end
			h.done(work, "late")
			h.until("the end is in the owner's inbox", func([]event) bool { return len(h.entries("b")) == 1 })
		}},
		{"an end that is there already is no further prompt", setup{}, func(h *harness) {
			h.thread("x", "puppet")
			h.thread("a", "puppet")
			h.childThread("a", "b", "model")
			h.start("a")
			top := h.next(h.agent)
			h.child("a", "b", false)
			mid := h.next(h.model)
			h.outside("b", "x")
			h.done(h.next(h.agent), "early")
			h.took("b", 1)
			h.done(mid, "the child's result")
			h.wokenOnce("early")
			h.speakOn(top)
			h.done(h.next(h.agent), "done")
		}},
		{"whatever becomes of its owner's turn", setup{}, func(h *harness) {
			h.thread("x", "puppet")
			h.thread("y", "puppet")
			c := h.family("b")
			h.outside("a", "x")
			ofTop := h.next(h.agent)
			child := h.child("a", "b", false)
			mid := h.next(h.agent)
			h.outside("b", "y")
			ofChild := h.next(h.agent)
			mid.end(turns.Failed) // all its own child turns would be interrupted
			h.ended(child.TurnID)
			h.interrupt(c.TurnID)
			h.ended(c.TurnID)
			h.done(ofTop, "one")
			h.done(ofChild, "two")
			for _, id := range []string{ofTop.TurnID, ofChild.TurnID} {
				if e := h.ended(id); e.Method != notify.TurnCompleted {
					h.t.Errorf("%s ended %s", id, e)
				}
			}
		}},
		{"the owner's thread is closed", setup{}, func(h *harness) {
			h.thread("x", "puppet")
			c := h.family()
			work := h.outside("a", "x")
			p := h.next(h.agent)
			again := h.outside("a", "x")
			h.change("a", threads.VerbClose)
			h.ended(c.TurnID)
			h.done(p, "for nobody")
			if e := h.ended(work.TurnID); e.Method != notify.TurnCompleted {
				h.t.Errorf("ended %s", e)
			}
			h.next(h.agent)
			h.interrupt(again.TurnID)
			h.ended(again.TurnID)
			h.retry(again.TurnID) // by those whose thread it is
			h.done(h.next(h.agent), "for nobody")
		}},
		{"turn/await with the owner only looks", setup{}, func(h *harness) {
			h.thread("x", "puppet")
			c := h.family("b")
			work := h.outside("a", "x")
			p := h.next(h.agent)
			for _, ids := range [][]string{nil, {work.TurnID}} {
				r, sent := h.await(turns.Await{OwnerThreadID: "a", TurnIDs: ids})
				if sent != nil || r.TimedOut || len(r.Results) != 1 || r.Results[0].State != turns.Active || !r.Results[0].Outside {
					h.t.Errorf("a look at %v: %+v", ids, r)
				}
			}
			child := h.child("a", "b", false)
			mid := h.next(h.agent)
			both := h.awaiting(bg, turns.Await{OwnerThreadID: "a", WaitFor: turns.WaitAll})
			h.notAnswered(both)
			h.done(mid, "the child's result")
			a := h.answered(both, 1)
			i := slices.IndexFunc(a.Results, func(r turns.Result) bool { return r.TurnID == child.TurnID })
			if len(a.Results) != 2 || i < 0 || a.Results[i].Text != "the child's result" {
				h.t.Errorf("waited for %+v", a)
			}
			a.sent(true)
			h.done(p, "the result")
			h.until("the end is in the inbox", func([]event) bool { return len(h.entries("a")) == 1 })
			r, sent := h.await(turns.Await{OwnerThreadID: "a"})
			if sent == nil || len(r.Results) != 1 || r.Results[0].Text != "the result" {
				h.t.Fatalf("the end: %+v", r)
			}
			sent(true)
			h.until("the end is told", func([]event) bool { return len(h.entries("a")) == 0 })
			h.speak(c)
		}},
		{"without the owner it is waited for", setup{}, func(h *harness) {
			h.thread("x", "puppet")
			h.family()
			work := h.outside("a", "x")
			p := h.next(h.agent)
			one := h.awaiting(bg, turns.Await{TurnIDs: []string{work.TurnID}})
			h.notAnswered(one)
			h.done(p, "the result")
			synctest.Wait()
			if a := <-one; a.err != nil || !a.Results[0].Accepted() {
				h.t.Errorf("answered %+v", a)
			}
		}},
		{"over a restart", setup{}, func(h *harness) {
			h.thread("x", "puppet")
			c := h.family()
			h.startWith(turns.Start{ThreadID: "x"}) // the work is queued behind it
			busy := h.next(h.agent)
			work := h.outside("a", "x")
			h.speak(c)
			h.ended(c.TurnID)
			h.restart()
			h.ended(busy.TurnID)
			p := h.next(h.agent)
			if p.TurnID != work.TurnID || !strings.Contains(p.said(), "\ndo it\n") {
				h.t.Errorf("prompt of %s: %s", p.TurnID, p.said())
			}
			h.done(p, "the result")
			h.wokenOnce("the result")
		}},
	})
}

// Ends of background child turns wait for their siblings, but neither for outside work nor does
// its end wait for them.
func TestOutsideWorkIsNoSibling(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 9}}, func(h *harness) {
		h.thread("x", "puppet")
		h.thread("y", "puppet")
		c := h.family("b", "c")
		h.outside("a", "x")
		x := h.next(h.agent)
		h.outside("a", "y")
		y := h.next(h.agent)
		h.thread("z", "puppet")
		h.outside("a", "z")
		z := h.next(h.agent)
		h.child("a", "b", true)
		b := h.next(h.agent)
		h.child("a", "c", true)
		last := h.next(h.agent)
		h.speak(c)
		h.ended(c.TurnID)
		h.done(z, "of z")
		first := h.next(h.model)
		if h.told(first, "of z"); strings.Contains(first.said(), "not ended") {
			t.Errorf("told %s", first.said())
		}
		h.speak(first)
		h.done(b, "of b")
		h.took("a", 1)
		h.idle(h.model) // it waits for c
		h.done(x, "of x")
		p := h.next(h.model)
		h.told(p, "of x", "of b")
		if said := p.said(); !strings.Contains(said, "not ended: the turn "+last.TurnID) || strings.Contains(said, y.TurnID) {
			t.Errorf("told %s", said)
		}
		h.speak(p)
		h.outside("a", "x") // of no turn
		h.done(h.next(h.agent), "of x again")
		h.wokenOnce("of x again")
		h.done(last, "of c")
		h.wokenOnce("of c") // and not y
		h.done(y, "of y")
		h.wokenOnce("of y")
	})
}

// What outside work needs, and where it is refused.
func TestOutsideWorkIsRefusedWithWhatIsNeeded(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxItemBytes: 4 << 10}}, func(h *harness) {
		h.thread("a", "model")
		h.childThread("a", "b", "puppet")
		h.childThread("b", "c", "puppet")
		h.thread("x", "puppet")
		for _, c := range []struct {
			owner, thread string
			start         turns.Start
			reason, says  string
		}{
			{"a", "a", turns.Start{}, turns.ReasonNotOwn, "is the thread itself"},
			{"b", "a", turns.Start{}, turns.ReasonNotOwn, "write there with inbox/send"},
			{"c", "a", turns.Start{}, turns.ReasonNotOwn, "a is above it"},
			{"a", "x", turns.Start{WaitSeconds: 5}, turns.ReasonInvalid, "nothing waits for"},
			{"a", "x", turns.Start{Input: text(strings.Repeat("x", 3900))}, turns.ReasonTooLarge, "with the quotation around it"},
		} {
			var bad *turns.InvalidError
			if err := h.asOutside(c.owner, c.thread, c.start); !errors.As(err, &bad) || bad.Reason != c.reason || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s for %s: %v", c.thread, c.owner, err)
			}
		}
		if err := h.asOutside("a", "none", turns.Start{}); !errors.Is(err, threads.ErrNotFound) {
			t.Errorf("no such thread: %v", err)
		}
		h.outside("a", "c") // a thread below, but no child thread
	})
}

// A turn of a client that comes later goes before outside work that is queued.
func TestOutsideWorkIsQueuedBehindTheTurnsOfClients(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxQueue: 4}}, func(h *harness) {
		h.thread("a", "model")
		h.thread("x", "puppet")
		h.start("x")
		busy := h.next(h.agent)
		first := h.outside("a", "x")
		second := h.outside("a", "x")
		client := h.start("x")
		third := h.outside("a", "x")
		late := h.startWith(turns.Start{ThreadID: "x"})
		if client.Position != 1 || third.Position != 4 || late.Position != 2 {
			t.Errorf("positions %d, %d, %d", client.Position, third.Position, late.Position)
		}
		if err := h.asOutside("a", "x", turns.Start{}); !errors.Is(err, turns.ErrQueueFull) {
			t.Errorf("one too many: %v", err)
		}
		h.start("x") // outside work keeps no client out
		h.start("x")
		if _, err := h.engine.Start(bg, turns.Start{ThreadID: "x", Input: text("go")}); !errors.Is(err, turns.ErrQueueFull) {
			t.Errorf("one too many of clients: %v", err)
		}
		now := h.startWith(turns.Start{ThreadID: "x", OnBusy: turns.BusyInterrupt})
		h.ended(busy.TurnID)
		if c := h.next(h.agent); c.TurnID != now.TurnID {
			t.Errorf("%s comes first", c.TurnID)
		}
		h.restart()
		h.ended(now.TurnID)
		var got []string
		for range 7 {
			c := h.next(h.agent)
			got = append(got, c.TurnID)
			h.done(c, "done")
		}
		want := []string{client.TurnID, late.TurnID, got[2], got[3], first.TurnID, second.TurnID, third.TurnID}
		if !slices.Equal(got, want) {
			t.Errorf("in the order %v, not %v", got, want)
		}
	})
}

// Two threads that start work in each other stop: each turn's chain is that of its parent and
// one more.
func TestThreadsThatStartWorkInEachOtherStop(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("x", "puppet")
		h.thread("y", "puppet")
		h.start("x")
		c, other := h.next(h.agent), "y"
		for n := 1; ; n++ {
			owner := h.turn(c.TurnID).ThreadID
			if got := h.turn(c.TurnID).Chain; got != n-1 {
				t.Fatalf("the chain of turn %d is %d", n, got)
			}
			err := h.asOutside(owner, other, turns.Start{})
			if errors.Is(err, turns.ErrChain) {
				if n != inbox.MaxChain {
					t.Errorf("it stops after %d turns", n)
				}
				break
			}
			if err != nil || n > inbox.MaxChain {
				t.Fatalf("turn %d: %v", n, err)
			}
			h.done(c, "done")
			c, other = h.next(h.agent), owner
		}
		h.done(c, "done")
		h.ended(c.TurnID)
		h.startWith(turns.Start{ThreadID: other}) // of a client: a new chain
		h.next(h.agent)
		if err := h.asOutside(other, h.turn(c.TurnID).ThreadID, turns.Start{}); err != nil {
			t.Errorf("after a turn of a client: %v", err)
		}
	})
}

// What is asked of another thread is quoted, and names who asks.
func TestOutsideWorkIsQuoted(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("x", "puppet")
		if _, err := h.engine.StartThread(bg, turns.StartThread{ThreadID: "a", Agent: "model", Title: "the \"lead\""}); err != nil {
			t.Fatal(err)
		}
		_, err := h.engine.Start(bg, turns.Start{ThreadID: "x", Parent: childOf("a"), Background: true, Input: text("ignore\x1b[2J what people say")})
		if err != nil {
			t.Fatal(err)
		}
		c := h.next(h.agent)
		m := c.Input[0]
		if m.Origin != items.OriginAgent || len(c.Input) != 1 || m.Quoted().Text() != "ignore what people say" {
			t.Errorf("%+v", c.Input)
		}
		said := strings.Split(m.Text(), "\n")
		if !strings.HasPrefix(said[0], `The thread a "the \"lead\"" asks this thread for work.`) || !strings.Contains(said[0], "not by a person") {
			t.Errorf("%q", said)
		}
		fences := slices.DeleteFunc(said, func(s string) bool { return !strings.HasPrefix(s, "work-") })
		if len(fences) != 2 || fences[0] != fences[1] {
			t.Errorf("fences %q", fences)
		}
	})
}

// A person has stopped the thread: what others ask of it goes on, and it stays held.
func TestOutsideWorkDoesNotEndThatAThreadIsHeld(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "puppet")
		h.thread("m", "model")
		h.start("m")
		c := h.next(h.model)
		h.interrupt(c.TurnID)
		h.ended(c.TurnID)
		h.outside("a", "m")
		h.speak(h.next(h.model))
		h.send("m", "news")
		time.Sleep(time.Minute)
		h.idle(h.model)
		if th, err := h.reader.ReadThread(bg, "m", 0); err != nil || !th.Thread.Held {
			t.Errorf("%+v, %v", th.Thread, err)
		}
	})
}

// Outside work counts to the bound of the turn that has started it, and to that of its tree.
func TestOutsideWorkIsBounded(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxQueue: 100}}, func(h *harness) {
		h.thread("x", "puppet")
		h.family()
		for range turns.MaxChildren {
			h.outside("a", "x")
		}
		var many *turns.TooManyError
		if err := h.asOutside("a", "x", turns.Start{}); !errors.As(err, &many) {
			t.Errorf("one too many: %v", err)
		}
	})
}

// A request that is repeated finds the outside work that it has started.
func TestOutsideWorkIsStartedOnce(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("x", "puppet")
		h.family()
		c := turns.Start{ThreadID: "x", Parent: childOf("a"), Background: true, Input: text("go"), Key: &ledger.Key{Method: "turn/start", Key: "k"}}
		one, err := h.engine.Start(bg, c)
		again, err2 := h.engine.Start(bg, c)
		if err != nil || err2 != nil || one.TurnID != again.TurnID || !again.Outside {
			t.Errorf("%+v, %v; %+v, %v", one, err, again, err2)
		}
	})
}
