package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

func TestAwaitWaitsForTheAcceptedEnd(t *testing.T) {
	runRaces(t, []race{
		{"of a turn without an owner, through a rejection", setup{}, func(h *harness) {
			id := h.inReview("a", turns.ReviewAlways, turns.Completed)
			waits := h.awaiting(bg, turns.Await{TurnIDs: []string{id}})
			h.notAnswered(waits)
			r := h.review(id, turns.Rejected)
			h.notAnswered(waits)
			h.done(h.next(h.agent), "better")
			h.notAnswered(waits)
			look, _ := h.await(turns.Await{TurnIDs: []string{id}, TimeoutSeconds: seconds(0)})
			if got := look.Results[0]; got.State != turns.InReview || got.ContinuedBy != r.ContinuedBy || got.TurnID != id {
				h.t.Errorf("%+v", got)
			}
			h.review(r.ContinuedBy, turns.Approved)
			got := (<-waits).Results[0]
			if got.TurnID != id || got.ContinuedBy != r.ContinuedBy || got.State != turns.Completed || got.Text != "better" || got.Review.State != turns.Approved {
				h.t.Errorf("%+v", got)
			}
		}},
		{"of a child turn, and the end is told once", setup{}, func(h *harness) {
			c := h.family("b")
			id := h.childInReview("b", false)
			waits := h.awaiting(bg, awaitBy(id))
			h.speak(c)
			r := h.review(id, turns.Rejected)
			h.done(h.next(h.agent), "better")
			h.review(r.ContinuedBy, turns.Approved)
			a := h.answered(waits, 1)
			if got := a.Results[0]; got.ContinuedBy != r.ContinuedBy || got.EntryID == "" || got.Text != "better" {
				h.t.Errorf("%+v", got)
			}
			h.idle(h.model) // the answer is on its way
			a.sent(true)
			h.idle(h.model)
			if n := h.ackedByAwait(); n != 1 {
				h.t.Errorf("%d acknowledged", n)
			}
		}},
		{"of a child turn that was rejected before", setup{}, func(h *harness) {
			c := h.family("b")
			id := h.childInReview("b", false)
			r := h.review(id, turns.Rejected)
			waits := h.awaiting(bg, awaitBy(id))
			h.speak(c)
			h.done(h.next(h.agent), "better")
			h.review(r.ContinuedBy, turns.Approved)
			h.answered(waits, 1).sent(false)
			h.wokenOnce("better")
		}},
		{"the owner's own agent does not wait for what it may review", setup{}, func(h *harness) {
			c := h.family("b", "c")
			id := h.childInReview("b", false)
			at := time.Now()
			r, sent, err := h.engine.Children().Await(bg, awaitBy(id), "a")
			if err != nil || sent != nil || r.TimedOut || r.Results[0].State != turns.InReview || time.Since(at) != 0 {
				h.t.Errorf("%+v, %v after %v", r, err, time.Since(at))
			}
			other := h.child("a", "c", true)
			if r, _, err = h.engine.Children().Await(bg, turns.Await{OwnerThreadID: "a", TurnIDs: []string{id, other.TurnID}, TimeoutSeconds: seconds(5)}, "a"); err != nil || !r.TimedOut {
				h.t.Errorf("%+v, %v", r, err)
			}
			h.done(h.next(h.agent), "x")
			h.review(id, turns.Approved)
			h.took("a", 2)
			h.speak(c)
			h.wokenOnce("the result", "x")
		}},
		{"wait_seconds", setup{}, func(h *harness) {
			c := h.family("b")
			start := turns.Start{ThreadID: "b", Input: text("go"), Parent: childOf("a"), WaitSeconds: 5, Review: turns.ReviewAlways}
			r, wait, err := h.engine.Children().StartAndWait(bg, start, "")
			if err != nil {
				h.t.Fatal(err)
			}
			at := time.Now()
			answered := make(chan func(bool), 1)
			go func() {
				var sent func(bool)
				r, sent, err = wait(bg)
				answered <- sent
			}()
			h.done(h.next(h.agent), "the result")
			sent := <-answered
			if err != nil || sent != nil || time.Since(at) != 5*time.Second || r.AttentionPolicy != turns.Notify || r.Detached == nil || r.Detached.Reason != turns.DetachInReview || r.Results[0].State != turns.InReview {
				h.t.Errorf("%+v, %v after %v", r, err, time.Since(at))
			}
			h.speak(c)
			h.review(r.TurnID, turns.Approved)
			h.wokenOnce("the result")
		}},
	})
}

// slowReads make those who decide by rows wait, while a gate is closed.
type slowReads struct {
	engine.Rows
	gate *atomic.Pointer[chan struct{}]
}

func (r slowReads) ReadToDecide(ctx context.Context, f func(ledger.Reader) error) error {
	if c := r.gate.Load(); c != nil {
		<-*c
	}
	return r.Rows.ReadToDecide(ctx, f)
}

// A request for a rejected turn waits for the next one from its commit on, however long it
// takes to read again: nothing else may tell that end meanwhile.
func TestRequestForARejectedTurnWaitsForTheNextOneAtOnce(t *testing.T) {
	var gate atomic.Pointer[chan struct{}]
	bubble(t, setup{rows: func(r engine.Rows) engine.Rows { return slowReads{r, &gate} }}, func(h *harness) {
		c := h.family("b")
		id := h.childInReview("b", false)
		waits := h.awaiting(bg, awaitBy(id))
		closed := make(chan struct{})
		h.faults.afterCommit(func(u *ledger.Unit) {
			if has(notify.TurnReviewed)(u) {
				gate.Store(&closed)
			}
		})
		r := h.review(id, turns.Rejected)
		h.faults.heal()
		synctest.Wait()
		if n := h.engine.AwaitedBy(r.ContinuedBy); n != 1 {
			t.Errorf("%d requests wait for the next turn", n)
		}
		gate.Store(nil)
		close(closed)
		h.done(h.next(h.agent), "better")
		h.review(r.ContinuedBy, turns.Approved)
		h.answered(waits, 1).sent(true)
		h.speak(c)
		h.idle(h.model)
	})
}

func TestReviewRaces(t *testing.T) {
	runRaces(t, []race{
		{"two verdicts at once", setup{}, func(h *harness) {
			id := h.inReview("a", turns.ReviewAlways, turns.Completed)
			errs := make(chan error, 2)
			approve, block := h.verdict(id, turns.Approved), h.verdict(id, turns.Blocked)
			for _, c := range []turns.ReviewTurn{approve, block} {
				go func() {
					_, err := h.engine.Review(bg, c)
					errs <- err
				}()
			}
			if a, b := <-errs, <-errs; (a == nil) == (b == nil) || a != nil && !errors.Is(a, turns.ErrReviewed) || b != nil && !errors.Is(b, turns.ErrReviewed) {
				h.t.Errorf("%v, %v", a, b)
			}
			if n := len(h.reviewed()); n != 1 {
				h.t.Errorf("%d verdicts", n)
			}
		}},
		{"a retry, then a verdict about the attempt before", setup{}, func(h *harness) {
			id := h.inReview("a", turns.ReviewAlways, turns.Failed)
			c := h.verdict(id, turns.Approved)
			h.retry(id)
			var other *turns.ReviewedAttemptError
			if _, err := h.engine.Review(bg, c); !errors.As(err, &other) || other.Attempt != 2 {
				h.t.Errorf("%v", err)
			}
			h.done(h.next(h.agent), "x")
		}},
		{"a verdict, then a retry: the owner is told the new attempt's end only", setup{}, func(h *harness) {
			c := h.family("b")
			id := h.childInReview("b", true)
			h.review(id, turns.Blocked)
			h.took("a", 1)
			h.retry(id)
			h.event(notify.InboxWithdrawn, nil)
			h.message(h.next(h.agent), "x")
			h.interrupt(id)
			h.endedIn(id, 2)
			h.took("a", 1)
			h.speak(c)
			h.wokenOnce("was interrupted")
		}},
		{"a verdict beside the close of the thread", setup{}, func(h *harness) {
			id := h.inReview("a", turns.ReviewAlways, turns.Completed)
			release := h.hold(has(notify.TurnReviewed))
			c := h.verdict(id, turns.Rejected)
			errs := make(chan error, 2)
			go func() {
				_, err := h.engine.Review(bg, c)
				errs <- err
			}()
			synctest.Wait()
			go func() {
				_, err := h.engine.ChangeThread(bg, turns.ChangeThread{ThreadID: "a", Verb: threads.VerbClose})
				errs <- err
			}()
			synctest.Wait()
			release()
			if a, b := <-errs, <-errs; a != nil || b != nil {
				h.t.Errorf("%v, %v", a, b)
			}
			h.event(notify.ThreadClosed, nil)
			if list := h.reviewed(); len(list) != 1 || list[0].Verdict != turns.Rejected {
				h.t.Errorf("%+v", list)
			}
			if tn := h.turn(h.turn(id).ContinuedBy); tn.State != turns.Interrupted || tn.AcceptedSeq == 0 {
				h.t.Errorf("the continuation is %+v", tn)
			}
		}},
		{"a verdict in the moment of the timeout", setup{}, func(h *harness) {
			id := h.inReview("a", turns.ReviewAlways, turns.Completed)
			c := h.verdict(id, turns.Approved)
			release := h.hold(has(notify.TurnReviewed))
			time.Sleep(time.Until(h.turn(id).Review.DueAt.Time))
			synctest.Wait() // the timeout is on its way to the log
			errs := make(chan error, 1)
			go func() {
				_, err := h.engine.Review(bg, c)
				errs <- err
			}()
			synctest.Wait()
			release()
			if err := <-errs; !errors.Is(err, turns.ErrReviewed) {
				h.t.Errorf("%v", err)
			}
			if list := h.reviewed(); len(list) != 1 || list[0].Reason != turns.ReviewTimeout {
				h.t.Errorf("%+v", list)
			}
		}},
		{"a turn fails at the server while its thread closes", setup{}, func(h *harness) {
			h.thread("a", "deaf")
			id := h.startWith(turns.Start{ThreadID: "a", Review: turns.ReviewAlways}).TurnID
			c := h.next(h.deaf)
			h.change("a", threads.VerbClose) // the agent takes its time
			var once atomic.Bool
			h.faults.fail(func(u *ledger.Unit) error {
				if has(notify.ItemCreated)(u) && once.CompareAndSwap(false, true) {
					return errors.New("no reason")
				}
				return nil
			})
			go func() { _ = c.Emit(bg, items.Create{ItemID: items.NewID(), Content: items.NewAgentMessage("")}) }()
			h.event(notify.ThreadClosed, nil)
			tn := h.turn(id)
			if tn.State != turns.Failed || tn.Review.State != turns.Blocked || tn.Review.Reason != turns.ReviewThreadClosed || tn.AcceptedSeq <= tn.Review.EndSeq {
				h.t.Errorf("%+v, review %+v", tn, tn.Review)
			}
		}},
		{"the thread is closed while its turn fails by itself", setup{}, func(h *harness) {
			h.thread("a", "deaf")
			h.startWith(turns.Start{ThreadID: "a", Review: turns.ReviewAlways, TimeoutSeconds: 1})
			h.next(h.deaf)
			time.Sleep(1100 * time.Millisecond) // it is being stopped as failed
			h.change("a", threads.VerbClose)
			h.event(notify.ThreadClosed, nil)
		}},
		{"the owner is closed between a rejection and its commit", setup{}, func(h *harness) {
			c := h.family("b")
			id := h.childInReview("b", true)
			h.speak(c)
			release := h.hold(has(notify.TurnReviewed))
			v := h.verdict(id, turns.Rejected)
			errs := make(chan error, 1)
			go func() {
				_, err := h.engine.Review(bg, v)
				errs <- err
			}()
			synctest.Wait()
			h.change("a", threads.VerbClose)
			synctest.Wait()
			release()
			if err := <-errs; !errors.Is(err, threads.ErrClosed) && !errors.Is(err, turns.ErrReviewed) {
				h.t.Errorf("%v", err)
			}
			h.event(notify.ThreadClosed, func(e event) bool { return e.ThreadID == "b" })
			if tn := h.turn(id); tn.ContinuedBy != "" || tn.Review.State != turns.Blocked {
				h.t.Errorf("%+v, review %+v", tn, tn.Review)
			}
		}},
		{"the owner is closed between the end and the rejection", setup{}, func(h *harness) {
			c := h.family("b")
			id := h.childInReview("b", true)
			h.speak(c)
			release := h.hold(both(inThread("b"), has(notify.ThreadClosed)))
			h.change("a", threads.VerbClose)
			synctest.Wait()
			errs := make(chan error, 1)
			go func() {
				_, err := h.engine.Review(bg, turns.ReviewTurn{TurnID: id, Attempt: 1, Verdict: turns.Rejected, Note: "no"})
				errs <- err
			}()
			synctest.Wait()
			release()
			if err := <-errs; !errors.Is(err, turns.ErrReviewed) && !errors.Is(err, threads.ErrClosed) {
				h.t.Errorf("%v", err)
			}
			h.event(notify.ThreadClosed, func(e event) bool { return e.ThreadID == "b" })
		}},
	})
}

func TestCrashesAroundAReview(t *testing.T) {
	runRaces(t, []race{
		{"before the end that waits for a review: the restart ends the turn", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Review: turns.ReviewAlways})
			h.speakOn(c)
			h.waitsFor(c.TurnID, child.TurnID)
			h.crashBefore(both(inThread("b"), has(notify.TurnCompleted)), func() {
				w := h.next(h.agent)
				h.message(w, "x")
				w.end(turns.Completed)
			})
			if tn := h.turn(child.TurnID); tn.State != turns.Interrupted || tn.WasReviewed() || tn.AttentionPolicy != turns.Blocking {
				h.t.Errorf("%+v", tn)
			}
			h.toldInTurn(c.TurnID, "was interrupted")
		}},
		{"after that end, before the owner goes on", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Review: turns.ReviewAlways})
			h.speakOn(c)
			h.waitsFor(c.TurnID, child.TurnID)
			h.crashBefore(both(inThread("a"), has(notify.TurnCompleted)), func() { h.done(h.next(h.agent), "the result") })
			h.ended(c.TurnID)
			h.review(child.TurnID, turns.Approved)
			h.wokenOnce("the result")
		}},
		{"before the verdict: it is given again", setup{}, func(h *harness) {
			id := h.inReview("a", turns.ReviewAlways, turns.Completed)
			h.crashBefore(has(notify.TurnReviewed), func() {
				if _, err := h.engine.Review(bg, h.verdict(id, turns.Rejected)); !errors.Is(err, ledger.ErrStorageFull) {
					h.t.Errorf("%v", err)
				}
			})
			if tn := h.turn(id); !tn.InReview() {
				h.t.Errorf("%+v", tn)
			}
			h.review(id, turns.Rejected)
			h.done(h.next(h.agent), "better")
		}},
		{"after a rejection, before the continuation starts", setup{}, func(h *harness) {
			id := h.inReview("a", turns.ReviewAlways, turns.Completed)
			h.crashBefore(has(notify.TurnStarted), func() { h.review(id, turns.Rejected) })
			c := h.next(h.agent)
			if c.TurnID != h.turn(id).ContinuedBy || c.said() != "note: rejected" {
				h.t.Errorf("%s: %s", c.TurnID, c.said())
			}
			h.done(c, "better")
		}},
		{"after the verdict, before the owner's inbox has it", setup{}, func(h *harness) {
			c := h.family("b")
			id := h.childInReview("b", false)
			h.speak(c)
			h.crashBefore(has(notify.InboxReceived), func() { h.review(id, turns.Approved) })
			h.wokenOnce("the result")
		}},
		{"after the close of the owner, before its child's", setup{}, func(h *harness) {
			c := h.family("b")
			id := h.childInReview("b", false)
			h.speak(c)
			h.crashBefore(both(inThread("b"), has(notify.ThreadClosed)), func() { h.change("a", threads.VerbClose) })
			h.event(notify.ThreadClosed, func(e event) bool { return e.ThreadID == "b" })
			if tn := h.turn(id); tn.Review.State != turns.Blocked || tn.Review.Reason != turns.ReviewThreadClosed {
				h.t.Errorf("%+v", tn.Review)
			}
		}},
		{"before the timeout's verdict", setup{}, func(h *harness) {
			id := h.inReview("a", turns.ReviewAlways, turns.Completed)
			h.crashBefore(has(notify.TurnReviewed), func() { time.Sleep(time.Until(h.turn(id).Review.DueAt.Time)) })
			if e := h.event(notify.TurnReviewed, ofTurn(id)); e.Reason != turns.ReviewTimeout {
				h.t.Errorf("%s", e)
			}
		}},
	})
}
