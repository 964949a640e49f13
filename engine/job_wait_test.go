package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// waitedJob asks for a job with wait_seconds, as the agent of its thread.
func (h *harness) waitedJob(owner, name string, seconds float64) <-chan turns.StartResult {
	h.t.Helper()
	c := jobOf(owner, name, "do "+name)
	c.WaitSeconds = seconds
	_, wait, err := h.engine.Children().StartAndWait(bg, c, owner)
	if err != nil {
		h.t.Fatalf("job %s: %v", name, err)
	}
	out := make(chan turns.StartResult, 1)
	go func() {
		r, sent, err := wait(bg)
		if err != nil || sent != nil {
			h.t.Errorf("job %s: %v, tells %v", name, err, sent != nil)
		}
		out <- r
	}()
	synctest.Wait()
	return out
}

// Whoever waits for a job waits for its end, and detaches nothing.
func TestAJobIsWaitedFor(t *testing.T) {
	runRaces(t, []race{
		{"until it has ended, by two", setup{}, func(h *harness) {
			h.workflow()
			one, two := h.waitedJob("a", "tests", 600), h.waitedJob("a", "tests", 600)
			h.done(h.next(h.agent), "green")
			for _, r := range []turns.StartResult{<-one, <-two} {
				if len(r.Results) != 1 || r.Results[0].Text != "green" || r.Results[0].State != turns.Completed || r.Detached != nil || r.AttentionPolicy != turns.Blocking {
					h.t.Errorf("it is %+v", r)
				}
			}
			h.idle(h.agent)
		}},
		{"until the time is over", setup{}, func(h *harness) {
			h.workflow()
			from := h.waitedJob("a", "tests", 5)
			h.next(h.agent)
			if r := <-from; r.Results[0].State != turns.Active || r.Detached != nil || h.detaches() != 0 {
				h.t.Errorf("it is %+v", r)
			}
		}},
		{"until a client's turn is queued", setup{}, func(h *harness) {
			c := h.workflow()
			from := h.waitedJob("a", "tests", 600)
			work := h.next(h.agent)
			h.start("a")
			if r := <-from; r.Reason != turns.CutQueued || r.Results[0].State != turns.Active || r.Detached != nil || h.detaches() != 0 {
				h.t.Errorf("it is %+v", r)
			}
			h.speak(c)
			h.ended(c.TurnID)
			h.speak(h.next(h.model))
			h.done(work, "green")
			h.idle(h.model)
		}},
		{"in a slot that is lent", setup{}, func(h *harness) {
			h.workflow()
			from := h.waitedJob("a", "tests", 600)
			h.next(h.agent).end(turns.Completed)
			<-from
			h.lent()
		}},
		{"by turn/await with its owner, which tells nothing", setup{}, func(h *harness) {
			h.workflow()
			r := h.job("a", "tests")
			h.done(h.next(h.agent), "green")
			h.ended(r.TurnID)
			out, sent := h.await(turns.Await{OwnerThreadID: "a", TurnIDs: []string{r.TurnID}})
			if sent != nil || len(out.Results) != 1 || out.Results[0].Text != "green" || out.Results[0].EntryID != "" {
				h.t.Errorf("it is %+v, tells %v", out, sent != nil)
			}
		}},
	})
}

// The review of a job counts for its program.
func TestAJobIsReviewed(t *testing.T) {
	reviewed := func(h *harness) (r turns.StartResult) {
		h.t.Helper()
		c := jobOf("a", "patch", "do patch")
		c.Review = turns.ReviewOnSuccess
		r, err := h.engine.Start(bg, c)
		if err != nil {
			h.t.Fatal(err)
		}
		h.done(h.next(h.agent), "first")
		h.found("a", "patch", r, turns.InReview, "first")
		return r
	}
	runRaces(t, []race{
		{"approved", setup{}, func(h *harness) {
			c := h.workflow()
			r := reviewed(h)
			h.review(r.TurnID, turns.Approved)
			h.found("a", "patch", r, turns.Completed, "first")
			h.speak(c)
			h.ended(c.TurnID)
			h.idle(h.model)
		}},
		{"its turn does not wait for a verdict", setup{}, func(h *harness) {
			c := h.workflow()
			r := reviewed(h)
			h.speak(c)
			h.ended(c.TurnID)
			h.review(r.TurnID, turns.Rejected)
			h.done(h.next(h.agent), "second")
			if h.detaches() != 0 || h.wakes("a") != 0 {
				h.t.Errorf("%d detached, %d wakes", h.detaches(), h.wakes("a"))
			}
		}},
		{"it is continued after a rejection though its turn was interrupted", setup{}, func(h *harness) {
			c := h.workflow()
			r := reviewed(h)
			h.interrupt(c.TurnID)
			h.ended(c.TurnID)
			time.Sleep(time.Minute)
			h.review(r.TurnID, turns.Rejected)
			work := h.next(h.agent)
			time.Sleep(time.Minute)
			h.done(work, "second")
			if got := h.turn(work.TurnID); got.State != turns.Completed {
				h.t.Errorf("it is %+v", got)
			}
		}},
		{"rejected, and continued", setup{}, func(h *harness) {
			c := h.workflow()
			r := reviewed(h)
			h.review(r.TurnID, turns.Rejected)
			work := h.next(h.agent)
			got := h.found("a", "patch", r, turns.Active, "")
			if got.Results[0].ContinuedBy != work.TurnID {
				h.t.Errorf("it is %+v", got)
			}
			h.done(work, "second")
			h.review(work.TurnID, turns.Approved)
			h.found("a", "patch", r, turns.Completed, "second")
			c.crash()
			h.next(h.model)
			h.found("a", "patch", r, turns.Completed, "second")
			h.idle(h.agent)
		}},
		{"blocked is tried again in a later attempt only", setup{}, func(h *harness) {
			c := h.workflow()
			r := reviewed(h)
			h.review(r.TurnID, turns.Blocked)
			if got := h.found("a", "patch", r, turns.Completed, "first"); got.Results[0].Review == nil || got.Results[0].Review.State != turns.Blocked {
				h.t.Errorf("it is %+v", got)
			}
			h.idle(h.agent)
			c.crash()
			h.next(h.model)
			h.found("a", "patch", r, turns.Active, "")
			h.next(h.agent)
		}},
		{"blocked in a later attempt than that of its end", setup{}, func(h *harness) {
			c := h.workflow()
			r := reviewed(h)
			c.crash()
			c = h.next(h.model)
			time.Sleep(time.Minute)
			h.review(r.TurnID, turns.Blocked)
			h.found("a", "patch", r, turns.Completed, "first")
			h.idle(h.agent)
			c.crash()
			h.next(h.model)
			h.found("a", "patch", r, turns.Active, "")
			h.next(h.agent)
		}},
	})
}

// What nobody planned: kills, other threads, other attempts, too many.
func TestJobsAndTheirBounds(t *testing.T) {
	runRaces(t, []race{
		{"a kill before the unit of its start leaves nothing", setup{}, func(h *harness) {
			h.workflow()
			id := ""
			h.crashBefore(has(notify.ThreadStarted), func() {
				_, err := h.engine.Start(bg, jobOf("a", "tests", "do tests"))
				if err == nil {
					h.t.Error("it is started")
				}
			})
			h.next(h.model)
			r := h.job("a", "tests")
			if id = r.TurnID; r.Found {
				h.t.Errorf("it is %+v", r)
			}
			h.next(h.agent)
			h.found("a", "tests", r, turns.Active, "")
			if got := h.of(func(e event) bool { return e.Method == notify.ThreadStarted && e.ThreadID == r.ThreadID }); len(got) != 1 {
				h.t.Errorf("%d threads for %s", len(got), id)
			}
		}},
		{"a program that says nothing outlives many restarts", setup{}, func(h *harness) {
			c := h.workflow()
			slow := jobOf("a", "slow", "do slow")
			slow.Retry = &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 9, BackoffSeconds: 1}
			if _, err := h.engine.Start(bg, slow); err != nil {
				h.t.Fatal(err)
			}
			for range turns.MaxSilentRestarts {
				h.message(h.next(h.agent), "on it")
				h.restart()
				h.next(h.model)
			}
			h.done(h.next(h.agent), "done")
			if got := h.turn(c.TurnID); got.State != turns.Active || got.Attempt != 1+turns.MaxSilentRestarts {
				h.t.Errorf("its turn is %s in attempt %d", got.State, got.Attempt)
			}
		}},
		{"a kill before the retry leaves it as it was", setup{}, func(h *harness) {
			c := h.workflow()
			r := h.job("a", "tests")
			work := h.next(h.agent)
			h.message(work, "red")
			work.end(turns.Failed)
			h.ended(r.TurnID)
			c.crash()
			h.next(h.model)
			h.crashBefore(has(notify.StreamRewind), func() { _, _ = h.engine.Start(bg, jobOf("a", "tests", "do tests")) })
			h.next(h.model)
			h.found("a", "tests", r, turns.Active, "")
			h.done(h.next(h.agent), "green")
			h.endedIn(r.TurnID, 2)
			h.found("a", "tests", r, turns.Completed, "green")
		}},
		{"the program of an attempt that was given up", setup{}, func(h *harness) {
			c := h.workflow()
			old := jobOf("a", "tests", "do tests")
			old.Parent.TurnID, old.Parent.Attempt = c.TurnID, 1
			c.crash()
			synctest.Wait()
			var late *turns.SupersededError
			if err := h.refusedJob(old); !errors.As(err, &late) || late.TurnID != c.TurnID || late.Attempt != 2 {
				h.t.Errorf("while it waits for the next attempt it is %v", err)
			}
			h.next(h.model)
			if err := h.refusedJob(old); !errors.As(err, &late) {
				h.t.Errorf("it is %v", err)
			}
			now := *old.Parent
			now.Attempt = 2
			old.Parent = &now
			if _, err := h.engine.Start(bg, old); err != nil {
				h.t.Errorf("in the present attempt it is %v", err)
			}
			h.next(h.agent)
		}},
		{"a thread of its id", setup{}, func(h *harness) {
			c := h.workflow()
			h.thread(turns.JobThread(c.TurnID, "tests"), "puppet")
			if err := h.refusedJob(jobOf("a", "tests", "do tests")); !errors.Is(err, threads.ErrConflict) {
				h.t.Errorf("it is %v", err)
			}
		}},
		{"a turn that is not active", setup{}, func(h *harness) {
			h.thread("a", "model")
			if err := h.refusedJob(jobOf("a", "tests", "do tests")); !errors.Is(err, turns.ErrNotActive) {
				h.t.Errorf("without a turn it is %v", err)
			}
			if err := h.refusedJob(turns.Start{Job: "tests", Agent: "puppet", Input: text("x"), Parent: &threads.Parent{ThreadID: "a", TurnID: turns.NewID()}}); !errors.Is(err, turns.ErrNotFound) {
				h.t.Errorf("of a turn that does not exist it is %v", err)
			}
			if err := h.refusedJob(turns.Start{Job: "tests", Agent: "nobody", Input: text("x"), Parent: childOf("none")}); !errors.Is(err, threads.ErrNotFound) {
				h.t.Errorf("of a thread that does not exist it is %v", err)
			}
		}},
		{"64 that have not ended", setup{}, func(h *harness) {
			h.workflow()
			for i := range turns.MaxChildren {
				h.job("a", fmt.Sprint("part/", i))
			}
			var many *turns.TooManyError
			if err := h.refusedJob(jobOf("a", "one/more", "do it")); !errors.As(err, &many) {
				h.t.Errorf("it is %v", err)
			}
			h.found("a", "part/0", h.job("a", "part/0"), turns.Active, "")
			h.change("a", threads.VerbClose)
		}},
		{"a job has jobs of its own, which go with it", setup{}, func(h *harness) {
			c := h.workflow()
			whole := jobOf("a", "whole", "do whole")
			whole.Agent = "model"
			r, err := h.engine.Start(bg, whole)
			if err != nil {
				h.t.Fatal(err)
			}
			mid := h.next(h.model)
			part := h.job(r.ThreadID, "part")
			h.next(h.agent)
			h.message(mid, "no")
			mid.end(turns.Failed)
			h.ended(r.TurnID)
			if e := h.ended(part.TurnID); e.Method != notify.TurnInterrupted {
				h.t.Errorf("its part is %s", e.Method)
			}
			if got := h.turn(r.TurnID); got.State != turns.Failed || h.turn(part.TurnID).Parent.TurnID != r.TurnID {
				h.t.Errorf("it is %+v", got)
			}
			c.crash()
			h.next(h.model)
			if r, err = h.engine.Start(bg, whole); err != nil || r.Results[0].State != turns.Active {
				h.t.Fatalf("%+v, %v", r, err)
			}
			h.next(h.model)
			h.found(r.ThreadID, "part", part, turns.Active, "")
			h.next(h.agent)
		}},
		{"after fifty prompts its turn does not wait", setup{}, func(h *harness) {
			c := h.family("b")
			r := h.job("a", "slow")
			slow := h.next(h.agent)
			turnID := c.TurnID
			for i := 1; i < turns.MaxPrompts; i++ {
				h.child("a", "b", false)
				h.message(c, "on it")
				c.end(turns.Completed)
				h.done(h.next(h.agent), "a result")
				if i == 1 {
					h.waitsFor(turnID, r.TurnID) // for the job, and the end is not told before
					h.done(slow, "done")
					r = h.job("a", "slow")
				}
				c = h.next(h.model)
			}
			last := h.job("a", "last")
			work := h.next(h.agent)
			h.message(c, "that is all")
			c.end(turns.Completed)
			h.ended(turnID)
			h.done(work, "too late")
			if got := h.turn(last.TurnID); got.State != turns.Completed || h.detaches() != 0 {
				h.t.Errorf("it is %+v", got)
			}
			h.idle(h.model)
		}},
		{"its clock and its slot", setup{}, func(h *harness) {
			h.workflow()
			c := jobOf("a", "slow", "do slow")
			c.TimeoutSeconds = 5
			r, err := h.engine.Start(bg, c)
			if err != nil {
				h.t.Fatal(err)
			}
			h.next(h.agent)
			time.Sleep(6 * time.Second)
			if e := h.ended(r.TurnID); e.Method != notify.TurnFailed {
				h.t.Errorf("it is %s", e.Method)
			}
		}},
	})
}
