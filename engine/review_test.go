package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
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

// verdict is a verdict about the live attempt of a turn, with a note.
func (h *harness) verdict(turnID string, v turns.ReviewState) turns.ReviewTurn {
	h.t.Helper()
	return turns.ReviewTurn{TurnID: turnID, Attempt: h.turn(turnID).Attempt, Verdict: v, Note: "note: " + string(v)}
}

func (h *harness) review(turnID string, v turns.ReviewState) turns.ReviewTurnResult {
	h.t.Helper()
	r, err := h.engine.Review(bg, h.verdict(turnID, v))
	if err != nil {
		h.t.Fatalf("%s %s: %v", v, turnID, err)
	}
	return r
}

// inReview starts a turn with a policy in a new thread and lets it end.
func (h *harness) inReview(thread string, p turns.ReviewPolicy, end turns.State) (turnID string) {
	h.t.Helper()
	h.thread(thread, "puppet")
	r := h.startWith(turns.Start{ThreadID: thread, Review: p, Metadata: []byte(`{"n":1}`), TimeoutSeconds: 3600})
	c := h.next(h.agent)
	h.message(c, "the result")
	c.end(end)
	h.ended(r.TurnID)
	return r.TurnID
}

// childInReview is an owner's child turn whose end waits for a review.
func (h *harness) childInReview(thread string, background bool) (turnID string) {
	h.t.Helper()
	r := h.startWith(turns.Start{ThreadID: thread, Parent: childOf("a"), Background: background, Title: "work", Review: turns.ReviewOnSuccess})
	h.done(h.next(h.agent), "the result")
	return r.TurnID
}

// reviewed are the verdicts in the log so far.
func (h *harness) reviewed() []turns.ReviewedEvent {
	h.t.Helper()
	synctest.Wait()
	var list []turns.ReviewedEvent
	for _, e := range h.of(func(e event) bool { return e.Method == notify.TurnReviewed }) {
		list = append(list, *e.body(h.t).(*turns.ReviewedEvent))
	}
	return list
}

// The whole matrix: which ends wait for a review.
func TestEndsWaitForAReviewAsThePolicySays(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		for _, p := range turns.ReviewPolicies {
			for _, state := range []turns.State{turns.Completed, turns.Failed, turns.Interrupted} {
				id := h.inReview(string(p)+"-"+string(state), p, state)
				tn := h.turn(id)
				if tn.State != state || tn.InReview() != p.Asks(state) || tn.InReview() == (tn.AcceptedSeq == tn.UpdatedSeq) && p != turns.ReviewNone {
					t.Errorf("%s, %s: %+v, review %+v", p, state, tn, tn.Review)
				}
				if tn.InReview() && tn.Review.DueAt.Sub(tn.CompletedAt.Time) != turns.DefaultReviewTimeout {
					t.Errorf("due at %v", tn.Review.DueAt)
				}
			}
		}
	})
}

func TestPolicyIsThatOfTheStartOrOfTheAgent(t *testing.T) {
	o := setup{cfg: engine.Config{Reviews: map[string]turns.ReviewRule{
		"puppet": {Policy: turns.ReviewOnSuccess, Timeout: time.Minute}, "model": {Policy: turns.ReviewAlways},
	}}}
	bubble(t, o, func(h *harness) {
		h.thread("a", "puppet")
		for named, want := range map[turns.ReviewPolicy]turns.ReviewPolicy{"": turns.ReviewOnSuccess, turns.ReviewNone: "", turns.ReviewAlways: turns.ReviewAlways} {
			r := h.startWith(turns.Start{ThreadID: "a", Review: named})
			h.done(h.next(h.agent), "x")
			tn := h.turn(r.TurnID)
			if tn.ReviewPolicy() != want {
				t.Errorf("%q: the policy is %q", named, tn.ReviewPolicy())
			}
			if tn.InReview() && tn.Review.DueAt.Sub(tn.CompletedAt.Time) != time.Minute {
				t.Errorf("due at %v", tn.Review.DueAt)
			}
		}
		h.thread("b", "model") // a wake has the policy of the agent
		h.send("b", "hello")
		c := h.next(h.model)
		h.done(c, "x")
		if tn := h.turn(c.TurnID); !tn.Wake || !tn.InReview() {
			t.Errorf("the wake is %+v", tn)
		}
	})
}

func TestOneVerdictPerAttempt(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		for _, first := range turns.Verdicts {
			id := h.inReview(string(first), turns.ReviewAlways, turns.Completed)
			r := h.review(id, first)
			tn := h.turn(id)
			if r.TurnID != id || r.Attempt != 1 || r.State != turns.Completed || r.Review.State != first || r.Review.Note == "" || r.Review.By != turns.ByClient || r.Seq == 0 {
				t.Errorf("%s: %+v, %+v", first, r, r.Review)
			}
			if (r.ContinuedBy != "") != (first == turns.Rejected) || tn.ContinuedBy != r.ContinuedBy || (tn.AcceptedSeq == r.Seq) != (first != turns.Rejected) {
				t.Errorf("%s: %+v, the turn is %+v", first, r, tn)
			}
			for _, second := range turns.Verdicts {
				if _, err := h.engine.Review(bg, h.verdict(id, second)); !errors.Is(err, turns.ErrReviewed) {
					t.Errorf("%s after %s: %v", second, first, err)
				}
			}
			if r.ContinuedBy != "" {
				h.done(h.next(h.agent), "better")
			}
		}
		if n := len(h.reviewed()); n != 3 {
			t.Errorf("%d verdicts", n)
		}
		if n := h.engine.Load().Reviews; n["pending"] != 4 || n["approved"] != 1 || n["rejected"] != 1 || n["blocked"] != 1 || n["timeout"] != 0 {
			t.Errorf("counted %v", n)
		}
	})
}

func TestVerdictsThatCannotBeGiven(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		id := h.inReview("a", turns.ReviewOnSuccess, turns.Completed)
		wrong := h.verdict(id, turns.Approved)
		wrong.Attempt = 2
		var other *turns.ReviewedAttemptError
		if _, err := h.engine.Review(bg, wrong); !errors.As(err, &other) || other.Attempt != 1 {
			t.Errorf("about attempt 2: %v", err)
		}
		wrong.TurnID = "turn_none"
		if _, err := h.engine.Review(bg, wrong); !errors.Is(err, turns.ErrNotFound) {
			t.Errorf("about no turn: %v", err)
		}
		var bad *turns.InvalidError
		if _, err := h.engine.Review(bg, turns.ReviewTurn{TurnID: id, Attempt: 1, Verdict: turns.Rejected}); !errors.As(err, &bad) {
			t.Errorf("rejected without a note: %v", err)
		}
		active := h.startWith(turns.Start{ThreadID: "a", Review: turns.ReviewAlways})
		if _, err := h.engine.Review(bg, h.verdict(active.TurnID, turns.Approved)); !errors.Is(err, turns.ErrNotInReview) {
			t.Errorf("about an active turn: %v", err)
		}
		h.done(h.next(h.agent), "x")
		plain := h.inReview("b", turns.ReviewNone, turns.Completed)
		if _, err := h.engine.Review(bg, h.verdict(plain, turns.Approved)); !errors.Is(err, turns.ErrNotInReview) {
			t.Errorf("about a turn without a policy: %v", err)
		}
		if n := len(h.reviewed()); n != 0 {
			t.Errorf("%d verdicts", n)
		}
	})
}

func TestVerdictWithAKeyIsGivenOnce(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		id := h.inReview("a", turns.ReviewAlways, turns.Completed)
		c := h.verdict(id, turns.Rejected)
		c.Key = key("k", "turn/review", c.TurnID)
		first, err := h.engine.Review(bg, c)
		again, err2 := h.engine.Review(bg, c)
		if err != nil || err2 != nil || first.ContinuedBy == "" || again.ContinuedBy != first.ContinuedBy || again.Seq != first.Seq {
			t.Errorf("%+v, %v; again %+v, %v", first, err, again, err2)
		}
		h.done(h.next(h.agent), "x")
	})
}

func TestRejectedTurnIsContinuedFirstInItsThread(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		id := h.inReview("a", turns.ReviewAlways, turns.Completed)
		h.start("a")
		busy := h.next(h.agent)
		waits := h.start("a")
		r := h.review(id, turns.Rejected)
		next := h.turn(r.ContinuedBy)
		if next.State != turns.Queued || next.Continues != id || next.Continuations != 1 || next.TimeoutSeconds != 3600 || string(next.Metadata) != `{"n":1}` ||
			next.ReviewPolicy() != turns.ReviewAlways || next.Rank >= h.turn(waits.TurnID).Rank {
			t.Errorf("%+v", next)
		}
		h.done(busy, "x")
		c := h.next(h.agent)
		if c.TurnID != r.ContinuedBy || len(c.Input) != 1 || c.Input[0].Origin != items.OriginReview || c.said() != "note: rejected" {
			t.Errorf("%s, %+v", c.TurnID, c.Input)
		}
		h.done(c, "better")
		h.done(h.next(h.agent), "x")
		if tn := h.turn(r.ContinuedBy); !tn.InReview() {
			t.Errorf("%+v", tn)
		}
		if tn := h.turn(id); tn.AcceptedSeq != 0 || tn.State != turns.Completed {
			t.Errorf("the rejected turn: %+v", tn)
		}
		if r = h.review(r.ContinuedBy, turns.Approved); h.turn(r.TurnID).AcceptedSeq != r.Seq {
			t.Errorf("%+v", h.turn(r.TurnID))
		}
	})
}

func TestRejectionThatNoTurnContinuesIsTheAcceptedEnd(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		id := h.inReview("a", turns.ReviewAlways, turns.Failed)
		no := false
		c := h.verdict(id, turns.Rejected)
		c.Continue, c.Note = &no, ""
		r, err := h.engine.Review(bg, c)
		if err != nil || r.ContinuedBy != "" || h.turn(id).AcceptedSeq != r.Seq || h.turn(id).Review.State != turns.Rejected {
			t.Errorf("%+v, %v: %+v", r, err, h.turn(id))
		}
		// After MaxContinuations a rejection is final too.
		id = h.inReview("b", turns.ReviewAlways, turns.Completed)
		for n := 0; ; n++ {
			r := h.review(id, turns.Rejected)
			if r.ContinuedBy == "" || n > turns.MaxContinuations {
				if n != turns.MaxContinuations || h.turn(id).AcceptedSeq != r.Seq {
					t.Errorf("after %d continuations: %+v", n, h.turn(id))
				}
				break
			}
			id = r.ContinuedBy
			h.done(h.next(h.agent), "again")
		}
		h.idle(h.agent)
	})
}

func TestRejectionThatCannotBeContinuedChangesNothing(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxQueue: 2}}, func(h *harness) {
		id := h.inReview("a", turns.ReviewAlways, turns.Completed)
		for range 3 {
			h.start("a")
		}
		c := h.next(h.agent)
		if _, err := h.engine.Review(bg, h.verdict(id, turns.Rejected)); !errors.Is(err, turns.ErrQueueFull) {
			t.Errorf("the queue is full: %v", err)
		}
		if tn := h.turn(id); !tn.InReview() || tn.ContinuedBy != "" {
			t.Errorf("%+v", tn)
		}
		h.done(c, "x")
		h.done(h.next(h.agent), "x")
		c = h.next(h.agent)
		r := h.review(id, turns.Rejected)
		h.done(c, "x")
		if c = h.next(h.agent); c.TurnID != r.ContinuedBy {
			t.Errorf("%s follows", c.TurnID)
		}
		h.done(c, "x")
	})
}

// A verdict is not refused because a server stops; a further turn is.
func TestReviewDuringADrain(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		one, two := h.inReview("a", turns.ReviewAlways, turns.Completed), h.inReview("b", turns.ReviewAlways, turns.Completed)
		if _, err := h.drain(); err != nil {
			t.Fatal(err)
		}
		if _, err := h.engine.Review(bg, h.verdict(one, turns.Rejected)); !errors.Is(err, turns.ErrDraining) {
			t.Errorf("rejected: %v", err)
		}
		h.review(two, turns.Approved)
	})
}

func TestRetryOfAReviewedTurn(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		for name, do := range map[string]func(id string){
			"pending": func(string) {},
			"blocked": func(id string) { h.review(id, turns.Blocked) },
			"final":   func(id string) { h.review(id, turns.Approved) },
		} {
			id := h.inReview(name, turns.ReviewAlways, turns.Completed)
			do(id)
			h.retry(id)
			h.done(h.next(h.agent), "again")
			h.endedIn(id, 2)
			tn := h.turn(id)
			if tn.Attempt != 2 || !tn.InReview() || tn.AcceptedSeq != 0 || tn.Review.Note != "" {
				t.Errorf("%s: %+v, review %+v", name, tn, tn.Review)
			}
			r := h.review(id, turns.Approved)
			if r.Attempt != 2 {
				t.Errorf("%s: %+v", name, r)
			}
		}
		id := h.inReview("continued", turns.ReviewAlways, turns.Completed)
		h.review(id, turns.Rejected)
		if _, err := h.engine.Retry(bg, turns.Retry{TurnID: id}); !errors.Is(err, turns.ErrContinued) {
			t.Errorf("of a continued turn: %v", err)
		}
		h.done(h.next(h.agent), "x")
		plain := h.inReview("plain", turns.ReviewOnFailure, turns.Completed)
		if _, err := h.engine.Retry(bg, turns.Retry{TurnID: plain}); !errors.Is(err, turns.ErrCompleted) {
			t.Errorf("of a completed turn that nobody reviews: %v", err)
		}
	})
}

func TestClosedThreadLeavesNoReviewOpen(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "puppet")
		for range 3 {
			h.startWith(turns.Start{ThreadID: "a", Review: turns.ReviewAlways})
			h.done(h.next(h.agent), "x")
		}
		h.startWith(turns.Start{ThreadID: "a", Review: turns.ReviewAlways}) // it is interrupted
		h.next(h.agent)
		h.change("a", threads.VerbClose)
		h.event(notify.ThreadClosed, nil)
		list := h.reviewed()
		if len(list) != 3 {
			t.Fatalf("%d verdicts", len(list))
		}
		for _, b := range list {
			if b.Verdict != turns.Blocked || b.By != turns.ByServer || b.Reason != turns.ReviewThreadClosed {
				t.Errorf("%+v", b)
			}
		}
	})
}

func TestReviewIsBlockedWhenItsTimeIsOver(t *testing.T) {
	runRaces(t, []race{
		{"while the server runs", setup{}, func(h *harness) {
			id := h.inReview("a", turns.ReviewAlways, turns.Completed)
			approved := h.inReview("b", turns.ReviewAlways, turns.Completed)
			h.review(approved, turns.Approved)
			due := h.turn(id).Review.DueAt
			time.Sleep(time.Until(due.Time) - time.Millisecond)
			if list := h.reviewed(); len(list) != 1 {
				h.t.Fatalf("a millisecond before: %+v", list)
			}
			e := h.event(notify.TurnReviewed, ofTurn(id))
			b := e.body(h.t).(*turns.ReviewedEvent)
			if b.Verdict != turns.Blocked || b.By != turns.ByServer || b.Reason != turns.ReviewTimeout || !e.Timestamp.Equal(due.Time) || h.turn(id).AcceptedSeq != e.Seq {
				h.t.Errorf("%+v at %v, due at %v", b, e.Timestamp, due)
			}
			if _, err := h.engine.Review(bg, h.verdict(id, turns.Approved)); !errors.Is(err, turns.ErrReviewed) {
				h.t.Errorf("afterwards: %v", err)
			}
		}},
		{"sooner than the clock would look by itself", setup{cfg: engine.Config{Reviews: map[string]turns.ReviewRule{"puppet": {Timeout: 3 * time.Second}}}}, func(h *harness) {
			time.Sleep(time.Minute + 10*time.Second)
			id := h.inReview("a", turns.ReviewAlways, turns.Completed)
			if e := h.event(notify.TurnReviewed, ofTurn(id)); !e.Timestamp.Equal(h.turn(id).CompletedAt.Add(3 * time.Second)) {
				h.t.Errorf("at %v", e.Timestamp)
			}
		}},
		{"while the server was down", setup{}, func(h *harness) {
			id := h.inReview("a", turns.ReviewAlways, turns.Completed)
			h.down()
			time.Sleep(30 * time.Hour)
			h.up()
			at := time.Now()
			e := h.event(notify.TurnReviewed, ofTurn(id))
			if e.Timestamp.Sub(at) > time.Second {
				h.t.Errorf("at %v", e.Timestamp)
			}
		}},
		{"after a restart before its time", setup{}, func(h *harness) {
			id := h.inReview("a", turns.ReviewAlways, turns.Completed)
			time.Sleep(10 * time.Hour)
			h.restart()
			if list := h.reviewed(); len(list) != 0 {
				h.t.Errorf("%+v", list)
			}
			due := h.turn(id).Review.DueAt
			time.Sleep(time.Until(due.Time))
			h.event(notify.TurnReviewed, ofTurn(id))
		}},
		{"a full disk delays it", setup{}, func(h *harness) {
			id := h.inReview("a", turns.ReviewAlways, turns.Completed)
			h.faults.fail(func(u *ledger.Unit) error {
				if has(notify.TurnReviewed)(u) {
					return ledger.ErrStorageFull
				}
				return nil
			})
			time.Sleep(25 * time.Hour)
			if list := h.reviewed(); len(list) != 0 {
				h.t.Errorf("%+v", list)
			}
			h.faults.heal()
			h.event(notify.TurnReviewed, ofTurn(id))
		}},
	})
}

func TestOwnerDoesNotWaitForAChildInReview(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b")
		child := h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Title: "work", Review: turns.ReviewOnSuccess})
		h.speakOn(c)
		h.waitsFor(c.TurnID, child.TurnID)
		h.done(h.next(h.agent), "the result")
		if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted {
			t.Errorf("ended %s", e)
		}
		e := h.event(notify.TurnDetached, nil)
		if e.TurnID != child.TurnID || e.Reason != string(turns.DetachInReview) || h.turn(child.TurnID).AttentionPolicy != turns.Notify {
			t.Errorf("detached %s", e)
		}
		if counts, err := h.view.Children(bg, "a"); err != nil || counts.Notify != 1 || counts.Untold != 0 {
			t.Errorf("%+v, %v", counts, err)
		}
		h.idle(h.model)
		if list := h.entries("a"); len(list) != 0 {
			t.Errorf("the inbox has %s", ids(list))
		}
		h.review(child.TurnID, turns.Approved)
		h.wokenOnce("the result")
	})
}

func TestOwnerIsToldOnlyTheContinuationsEnd(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b")
		id := h.childInReview("b", false)
		h.speak(c)
		r := h.review(id, turns.Rejected)
		work := h.next(h.agent)
		next := h.turn(work.TurnID)
		if work.TurnID != r.ContinuedBy || next.AttentionPolicy != turns.Notify || next.Title != "work" || next.Parent == nil || next.Parent.TurnID != c.TurnID {
			t.Errorf("%+v", next)
		}
		h.done(work, "the better result")
		h.idle(h.model)
		h.review(r.ContinuedBy, turns.Blocked)
		p := h.next(h.model)
		if len(toldIn(p)) != 1 || !strings.Contains(p.said(), "the better result") || !strings.Contains(p.said(), "blocked in a review: note: blocked") || strings.Contains(p.said(), id) {
			t.Errorf("told %s", p.said())
		}
		h.speak(p)
		h.idle(h.model)
	})
}

// A turn that is a child and has children waits for those in the background, but not
// for those in review, and again for one that continues a rejected one.
func TestChildTurnWaitsForNoReviewBelowIt(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("root", "puppet")
		h.childThread("root", "a", "model")
		h.childThread("a", "b", "puppet")
		h.childThread("a", "c", "puppet")
		h.start("root")
		top := h.next(h.agent)
		mid := h.startWith(turns.Start{ThreadID: "a", Parent: childOf("root"), Background: true})
		c := h.next(h.model)
		id := h.childInReview("b", true)
		h.startWith(turns.Start{ThreadID: "c", Parent: childOf("a"), Background: true})
		other := h.next(h.agent)
		h.speakOn(c)
		h.waitsFor(mid.TurnID, other.TurnID)
		r := h.review(id, turns.Rejected)
		h.waitsFor(mid.TurnID, other.TurnID, r.ContinuedBy)
		work := h.next(h.agent)
		h.done(work, "better") // in review: it does not wait for that one any more
		h.waitsFor(mid.TurnID, other.TurnID)
		h.done(other, "the other result")
		h.toldInTurn(mid.TurnID, "the other result")
		h.review(r.ContinuedBy, turns.Approved)
		h.wokenOnce("better")
		h.done(top, "x")
	})
}

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

func TestFollowersSeeOneFinalPerTurn(t *testing.T) {
	bubble(t, setup{follow: true}, func(h *harness) {
		h.thread("me", "quick")
		h.subscribe("me", inbox.Subscribe{Source: inbox.SourceEvents})
		final := func(turnID string) (list []string) {
			synctest.Wait()
			for _, e := range h.allEntries("me") {
				list = append(list, e.Summary)
			}
			return list
		}
		id := h.inReview("a", turns.ReviewAlways, turns.Completed)
		if got := final(id); len(got) != 0 {
			t.Errorf("in review: %q", got)
		}
		r := h.review(id, turns.Rejected)
		h.done(h.next(h.agent), "better")
		if got := final(id); len(got) != 0 {
			t.Errorf("rejected: %q", got)
		}
		h.review(r.ContinuedBy, turns.Approved)
		h.until("the final", func([]event) bool { return len(final(id)) > 0 })
		if got := final(id); len(got) != 1 || !strings.Contains(got[0], "a turn of a completed, approved in a review: note: approved") {
			t.Errorf("accepted: %q", got)
		}
	})
}
