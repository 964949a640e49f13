package engine_test

import (
	"errors"
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
		if counts, err := h.reader.Children(bg, "a"); err != nil || counts.Notify != 1 || counts.Untold != 0 {
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
