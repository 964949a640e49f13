package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// answer is an answer of turn/await.
type answer struct {
	turns.AwaitResult
	sent func(bool)
	err  error
}

// awaiting lets somebody wait for turns, and returns once nothing moves.
func (h *harness) awaiting(ctx context.Context, c turns.Await) <-chan answer {
	h.t.Helper()
	answered := make(chan answer, 1)
	go func() {
		var a answer
		a.AwaitResult, a.sent, a.err = h.engine.Children().Await(ctx, c, "")
		answered <- a
	}()
	synctest.Wait()
	return answered
}

// answered checks that there is an answer now, which tells n ends.
func (h *harness) answered(from <-chan answer, n int) answer {
	h.t.Helper()
	synctest.Wait()
	select {
	case a := <-from:
		accepted := 0
		for _, r := range a.Results {
			if r.Accepted() {
				accepted++
			}
		}
		if a.err != nil || accepted != n || (a.sent != nil) != (n > 0) {
			h.t.Errorf("answered %+v", a)
		}
		return a
	default:
		h.t.Fatal("not answered")
		return answer{}
	}
}

func (h *harness) notAnswered(from <-chan answer) {
	h.t.Helper()
	synctest.Wait()
	if len(from) > 0 {
		h.t.Errorf("answered %+v", <-from)
	}
}

// ackedByAwait is how many entries answers have told.
func (h *harness) ackedByAwait() (n int) {
	h.t.Helper()
	synctest.Wait()
	for _, b := range bodies[inbox.Acked](h, notify.InboxAcked, "") {
		if b.By == inbox.ByAwait {
			n += len(b.EntryIDs)
		}
	}
	return n
}

// awaitBy is a request of the owner a for turns.
func awaitBy(ids ...string) turns.Await { return turns.Await{OwnerThreadID: "a", TurnIDs: ids} }

func TestAwaitAndEndInBothOrders(t *testing.T) {
	runRaces(t, []race{
		{"R29 await, then end, of a blocking child", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", false)
			waits := h.awaiting(bg, awaitBy(child.TurnID))
			h.speakOn(c)
			h.waitsFor(c.TurnID, child.TurnID)
			h.done(h.next(h.agent), "the result")
			h.idle(h.model) // the answer is on its way
			h.answered(waits, 1).sent(true)
			if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted {
				h.t.Errorf("ended %s", e)
			}
			h.idle(h.model)
		}},
		{"R29 end, then await", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", true)
			h.done(h.next(h.agent), "the result")
			h.took("a", 1)
			h.answered(h.awaiting(bg, awaitBy(child.TurnID)), 1).sent(true)
			h.speak(c)
			h.idle(h.model)
			again := h.answered(h.awaiting(bg, awaitBy(child.TurnID)), 1)
			again.sent(true)
			if again.Results[0].Text != "the result" || h.ackedByAwait() != 1 {
				h.t.Errorf("again: %+v", again)
			}
		}},
		{"R30 await between the end and its way into the inbox", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", true)
			release := h.hold(has(notify.InboxReceived))
			h.done(h.next(h.agent), "the result")
			waits := h.awaiting(bg, awaitBy(child.TurnID))
			h.notAnswered(waits)
			release()
			h.speak(c)
			h.idle(h.model)
			h.answered(waits, 1).sent(true)
			h.idle(h.model)
			if n := h.ackedByAwait(); n != 1 {
				h.t.Errorf("%d ends were told", n)
			}
		}},
		{"R33 what an answer that has timed out shows is told too", setup{}, func(h *harness) {
			c := h.family("b", "d")
			one, two := h.child("a", "b", true), h.child("a", "d", true)
			all := awaitBy(one.TurnID, two.TurnID)
			all.WaitFor, all.TimeoutSeconds = turns.WaitAll, seconds(30)
			waits := h.awaiting(bg, all)
			h.done(h.next(h.agent), "the result")
			h.notAnswered(waits)
			time.Sleep(31 * time.Second)
			h.answered(waits, 1).sent(true)
			h.speak(c)
			h.idle(h.model)
			h.done(h.next(h.agent), "the other result")
			h.wokenOnce("the other result")
		}},
		{"R33 what a cancelled call has waited for is not told", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", true)
			ctx, cancel := context.WithCancel(bg)
			waits := h.awaiting(ctx, awaitBy(child.TurnID))
			release := h.hold(has(notify.InboxReceived))
			h.done(h.next(h.agent), "the result")
			cancel()
			synctest.Wait()
			release()
			if a := <-waits; a.err == nil || a.sent != nil {
				h.t.Errorf("answered %+v", a)
			}
			h.speak(c)
			h.wokenOnce("the result")
		}},
		{"R24 R26 R34 a child that is tried again by itself has not ended", setup{}, func(h *harness) {
			c := h.family("b")
			r, err := h.engine.Start(bg, turns.Start{ThreadID: "b", Input: text("go"), Parent: childOf("a"), Retry: retrying()})
			if err != nil {
				h.t.Fatal(err)
			}
			waits := h.awaiting(bg, awaitBy(r.TurnID))
			h.speakOn(c)
			work := h.next(h.agent)
			h.message(work, "half")
			work.crash()
			h.notAnswered(waits)
			look := awaitBy(r.TurnID)
			look.TimeoutSeconds = seconds(0)
			if a := h.answered(h.awaiting(bg, look), 0); a.Results[0].State != turns.Retrying || a.TimedOut {
				h.t.Errorf("a look: %+v", a)
			}
			if len(h.entries("a")) != 0 {
				h.t.Error("the failure of an attempt is in the inbox")
			}
			h.done(h.next(h.agent), "the result")
			h.answered(waits, 1).sent(true)
			h.ended(c.TurnID)
			h.idle(h.model)
		}},
		{"R24 a child that is tried again before all have ended is waited for again", setup{}, func(h *harness) {
			c := h.family("b", "d")
			one, two := h.child("a", "b", true), h.child("a", "d", true)
			all := awaitBy(one.TurnID, two.TurnID)
			all.WaitFor = turns.WaitAll
			waits := h.awaiting(bg, all)
			first, second := h.next(h.agent), h.next(h.agent)
			if first.TurnID != one.TurnID {
				first, second = second, first
			}
			h.message(first, "it went wrong")
			first.end(turns.Failed)
			h.took("a", 1)
			h.retry(one.TurnID)
			h.done(second, "the second")
			h.notAnswered(waits)
			h.speak(c)
			h.done(h.next(h.agent), "now it is right")
			h.answered(waits, 2).sent(true)
			h.idle(h.model)
			if n := h.ackedByAwait(); n != 2 {
				h.t.Errorf("%d ends were told", n)
			}
		}},
	})
}

// between runs f before the next last message is read.
type between struct {
	engine.Rows
	f *func()
}

func (b between) LastMessage(ctx context.Context, turnID string) (*items.Item, error) {
	if f := *b.f; f != nil {
		*b.f = nil
		f()
	}
	return b.Rows.LastMessage(ctx, turnID)
}

// A turn is tried again while the answer is made that shows its end.
func TestAnswerHasTheTextOfTheEndThatItShows(t *testing.T) {
	var f func()
	bubble(t, setup{rows: func(r engine.Rows) engine.Rows { return between{r, &f} }}, func(h *harness) {
		h.thread("a", "puppet")
		r := h.start("a")
		c := h.next(h.agent)
		h.message(c, "it went wrong")
		c.end(turns.Interrupted)
		h.ended(r.TurnID)
		synctest.Wait()
		f = func() { h.retry(r.TurnID) }
		got, _ := h.await(turns.Await{TurnIDs: []string{r.TurnID}, TimeoutSeconds: seconds(0)})
		if one := got.Results[0]; one.Accepted() && one.Text != "it went wrong" || !one.Accepted() && one.Attempt != 2 {
			t.Errorf("%+v", one)
		}
		h.next(h.agent).end(turns.Completed)
		h.ended(r.TurnID)
	})
}

func TestTwoAwaits(t *testing.T) {
	// two requests wait for one child turn, which ends.
	two := func(h *harness) (c *call, one, other answer) {
		c = h.family("b")
		child := h.child("a", "b", true)
		first, second := h.awaiting(bg, awaitBy(child.TurnID)), h.awaiting(bg, awaitBy(child.TurnID))
		h.done(h.next(h.agent), "the result")
		h.speak(c)
		return c, h.answered(first, 1), h.answered(second, 1)
	}
	runRaces(t, []race{
		{"R16 R29 both are written", setup{}, func(h *harness) {
			_, one, other := two(h)
			one.sent(true)
			other.sent(true)
			h.idle(h.model)
			if n := h.ackedByAwait(); n != 1 {
				h.t.Errorf("%d ends were told", n)
			}
		}},
		{"R29 the first is not written, the other one is", setup{}, func(h *harness) {
			_, one, other := two(h)
			one.sent(false)
			h.idle(h.model)
			other.sent(true)
			h.idle(h.model)
		}},
		{"R29 the first is written, the other one is not", setup{}, func(h *harness) {
			_, one, other := two(h)
			one.sent(true)
			h.idle(h.model)
			other.sent(false)
			h.idle(h.model)
		}},
		{"R27 none is written: the owner is woken", setup{}, func(h *harness) {
			_, one, other := two(h)
			one.sent(false)
			h.idle(h.model)
			other.sent(false)
			h.wokenOnce("the result")
		}},
		{"R27 W-M1 an answer takes one sibling: the other one wakes", setup{}, func(h *harness) {
			c := h.family("b", "d")
			h.child("a", "b", true)
			waits := h.awaiting(bg, awaitBy(h.child("a", "d", true).TurnID))
			for range 2 {
				work := h.next(h.agent)
				h.done(work, "the result of "+work.ThreadID)
			}
			h.took("a", 2)
			h.speak(c)
			h.wokenOnce("the result of b") // while the answer is on its way
			h.answered(waits, 1).sent(true)
			h.idle(h.model)
		}},
		{"R27 W-M1 an answer takes what the owner waits for: it is told the rest", setup{}, func(h *harness) {
			c := h.family("b", "d")
			waits := h.awaiting(bg, awaitBy(h.child("a", "b", false).TurnID))
			h.child("a", "d", true)
			h.speakOn(c)
			for range 2 {
				work := h.next(h.agent)
				h.done(work, "the result of "+work.ThreadID)
			}
			h.idle(h.model)
			h.answered(waits, 1).sent(true)
			if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted {
				h.t.Errorf("ended %s", e)
			}
			h.wokenOnce("the result of d")
		}},
		{"R33 an answer to nobody's agent tells nothing", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", true)
			waits := h.awaiting(bg, turns.Await{TurnIDs: []string{child.TurnID}})
			h.done(h.next(h.agent), "the result")
			if a := <-waits; a.err != nil || a.sent != nil || len(a.Results) != 1 || a.Results[0].Text != "the result" || a.Results[0].EntryID != "" {
				h.t.Errorf("answered %+v", a)
			}
			h.speak(c)
			h.wokenOnce("the result")
		}},
		{"R11 the owner is closed while somebody waits for its child: answered with the end, nobody is told", setup{}, func(h *harness) {
			c := h.family("b")
			waits := h.awaiting(bg, awaitBy(h.child("a", "b", true).TurnID))
			h.speak(c)
			h.change("a", threads.VerbClose)
			if a := <-waits; a.err != nil || a.sent != nil || a.TimedOut || len(a.Results) != 1 || a.Results[0].State != turns.Interrupted {
				h.t.Errorf("answered %+v", a)
			}
		}},
	})
}

// An answer that was written before the server stops has told its ends, also if their
// acknowledgement waits for a commit when it stops.
func TestStopKeepsWhatAnAnswerHasTold(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b")
		child := h.child("a", "b", true)
		work := h.next(h.agent)
		h.done(work, "the answer")
		_, sent := h.await(turns.Await{OwnerThreadID: "a", TurnIDs: []string{child.TurnID}})
		release := h.hold(inThread("a"))
		h.message(c, "slow")
		synctest.Wait() // the owner's actor waits for the commit
		sent(true)
		time.AfterFunc(time.Second, release)
		h.restart()
		acked := bodies[inbox.Acked](h, notify.InboxAcked, "a")
		if len(acked) != 1 || acked[0].By != inbox.ByAwait {
			t.Errorf("acknowledged %+v", acked)
		}
		h.ended(c.TurnID)
		h.idle(h.model)
	})
}
