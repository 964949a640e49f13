package engine_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// jobOf is the request for a job of the thread's active turn.
func jobOf(owner, name, prompt string) turns.Start {
	return turns.Start{Job: name, Agent: "puppet", Input: text(prompt), Parent: childOf(owner), Title: "job " + name}
}

// job asks for a job.
func (h *harness) job(owner, name string) turns.StartResult {
	h.t.Helper()
	r, err := h.engine.Start(bg, jobOf(owner, name, "do "+name))
	if err != nil {
		h.t.Fatalf("job %s: %v", name, err)
	}
	return r
}

// refusedJob asks for a job that is refused.
func (h *harness) refusedJob(c turns.Start) error {
	h.t.Helper()
	r, err := h.engine.Start(bg, c)
	if err == nil {
		h.t.Fatalf("it is %+v", r)
	}
	return err
}

// found asks for a job again, and requires that its turn is found in this state.
func (h *harness) found(owner, name string, was turns.StartResult, want turns.State, text string) turns.StartResult {
	h.t.Helper()
	r := h.job(owner, name)
	if !r.Found || r.TurnID != was.TurnID || r.ThreadID != was.ThreadID || len(r.Results) != 1 || r.Results[0].State != want || r.Results[0].Text != text || r.Results[0].Job != name {
		h.t.Errorf("the job is %+v, want turn %s %s %q", r, was.TurnID, want, text)
	}
	return r
}

// workflow is an owner's turn that is tried again when it crashes, and its first prompt.
func (h *harness) workflow() *call {
	h.t.Helper()
	return h.retried()
}

// A job is the same work however often its program asks for it, in each attempt of its turn.
func TestAJobIsDoneOnce(t *testing.T) {
	runRaces(t, []race{
		{"it is found while it works, and when it has completed", setup{}, func(h *harness) {
			c := h.workflow()
			r := h.job("a", "build/linux")
			if r.Found || r.Job != "build/linux" || r.State != turns.Active || r.AttentionPolicy != turns.Blocking || r.ThreadID != turns.JobThread(c.TurnID, "build/linux") {
				h.t.Errorf("it is %+v", r)
			}
			work := h.next(h.agent)
			h.found("a", "build/linux", r, turns.Active, "")
			h.done(work, "built")
			h.ended(r.TurnID)
			h.found("a", "build/linux", r, turns.Completed, "built")
			h.idle(h.agent)
			h.speak(c)
			h.ended(c.TurnID)
			h.idle(h.model)
			if told, _ := h.timesTold("a"); told != 0 || h.wakes("a") != 0 || len(h.entries("a")) != 0 {
				h.t.Errorf("told %d, %d wakes, entries %s", told, h.wakes("a"), ids(h.entries("a")))
			}
			if acks := bodies[inbox.Acked](h, notify.InboxAcked, "a"); len(acks) != 1 || acks[0].By != inbox.ByJob {
				h.t.Errorf("acknowledged %+v", acks)
			}
		}},
		{"in the next attempt too, over a kill", setup{}, func(h *harness) {
			c := h.workflow()
			one, two := h.job("a", "one"), h.job("a", "two")
			w1, w2 := h.next(h.agent), h.next(h.agent)
			if w1.TurnID != one.TurnID {
				w1, w2 = w2, w1
			}
			h.done(w1, "first")
			h.ended(one.TurnID)
			c.crash()
			p := h.next(h.model)
			text := h.listed(p, "- job one: the turn "+one.TurnID, "- job two: the turn "+two.TurnID, "completed", "is running")
			if strings.Contains(text, "first") {
				h.t.Errorf("the list has the text of a job: %s", text)
			}
			h.found("a", "one", one, turns.Completed, "first")
			h.found("a", "two", two, turns.Active, "")
			h.done(w2, "second")
			h.ended(two.TurnID)
			h.restart()
			p = h.next(h.model)
			h.found("a", "one", one, turns.Completed, "first")
			h.found("a", "two", two, turns.Completed, "second")
			h.idle(h.agent)
			h.speak(p)
			h.ended(c.TurnID)
			h.idle(h.model)
		}},
		{"it is found after everything that it has written was removed from the log", setup{}, func(h *harness) {
			c := h.workflow()
			r := h.job("a", "one")
			h.done(h.next(h.agent), "first")
			h.ended(r.TurnID)
			c.crash()
			h.next(h.model)
			synctest.Wait()
			h.pump() // the checker reads the events, too
			if pruned, err := h.store.Prune(bg, 1<<40); err != nil || pruned.Removed == 0 {
				h.t.Errorf("pruned %+v, %v", pruned, err)
			}
			h.found("a", "one", r, turns.Completed, "first")
			h.restart()
			p := h.next(h.model)
			h.found("a", "one", r, turns.Completed, "first")
			h.idle(h.agent)
			h.speak(p)
			h.ended(c.TurnID)
		}},
		{"one that has failed is tried again in a later attempt only", setup{}, func(h *harness) {
			c := h.workflow()
			r := h.job("a", "tests")
			work := h.next(h.agent)
			h.message(work, "red")
			work.end(turns.Failed)
			h.ended(r.TurnID)
			h.found("a", "tests", r, turns.Failed, "red")
			h.idle(h.agent)
			c.crash()
			h.next(h.model)
			if got := h.found("a", "tests", r, turns.Active, ""); got.Results[0].Attempt != 2 {
				h.t.Errorf("it is %+v", got)
			}
			work = h.next(h.agent)
			h.done(work, "green")
			h.endedIn(r.TurnID, 2)
			h.found("a", "tests", r, turns.Completed, "green")
		}},
		{"also one that has failed between the attempts", setup{}, func(h *harness) {
			c := h.workflow()
			r := h.job("a", "tests")
			work := h.next(h.agent)
			c.crash()
			h.message(work, "red")
			work.end(turns.Failed)
			h.ended(r.TurnID)
			if err := h.refusedJob(jobOf("a", "tests", "do tests")); !errors.Is(err, turns.ErrBetween) {
				h.t.Errorf("between two attempts it is %v", err)
			}
			h.next(h.model)
			h.found("a", "tests", r, turns.Active, "")
			h.next(h.agent)
		}},
		{"other input or another agent is a conflict", setup{}, func(h *harness) {
			h.workflow()
			r := h.job("a", "tests")
			h.next(h.agent)
			other := jobOf("a", "tests", "something else")
			agent := jobOf("a", "tests", "do tests")
			agent.Agent = "model"
			for _, c := range []turns.Start{other, agent} {
				var conflict *turns.JobConflictError
				if err := h.refusedJob(c); !errors.As(err, &conflict) || conflict.TurnID != r.TurnID {
					h.t.Errorf("it is %v", err)
				}
			}
			same := jobOf("a", "tests", "do tests")
			same.Title, same.TimeoutSeconds = "another title", 7
			if got, err := h.engine.Start(bg, same); err != nil || got.TurnID != r.TurnID || got.Title != "job tests" {
				h.t.Errorf("it is %+v, %v", got, err)
			}
		}},
		{"whatever idempotency key comes with it", setup{}, func(h *harness) {
			h.workflow()
			one, two := jobOf("a", "one", "do one"), jobOf("a", "two", "do two")
			one.Key, two.Key = key("k", "turn/start"), key("k", "turn/start")
			r, err := h.engine.Start(bg, one)
			if err != nil {
				h.t.Fatal(err)
			}
			other, err := h.engine.Start(bg, two)
			if err != nil || other.TurnID == r.TurnID {
				h.t.Errorf("the other job is %+v, %v", other, err)
			}
			one.Key = key("another", "turn/start")
			if again, err := h.engine.Start(bg, one); err != nil || again.TurnID != r.TurnID || !again.Found {
				h.t.Errorf("again it is %+v, %v", again, err)
			}
			h.next(h.agent)
			h.next(h.agent)
		}},
		{"two requests at once are one turn", setup{}, func(h *harness) {
			h.workflow()
			var got [8]turns.StartResult
			var calls []func()
			for i := range got {
				calls = append(calls, func() { got[i] = h.job("a", "tests") })
			}
			h.atOnce(calls...)
			new := 0
			for _, r := range got {
				if r.TurnID != got[0].TurnID {
					h.t.Errorf("%s beside %s", r.TurnID, got[0].TurnID)
				}
				if !r.Found {
					new++
				}
			}
			h.next(h.agent)
			h.idle(h.agent)
			if new != 1 {
				h.t.Errorf("%d requests have started it", new)
			}
		}},
	})
}

// A job lives as long as its parent turn may need it.
func TestAJobIsBoundToItsTurn(t *testing.T) {
	runRaces(t, []race{
		{"its turn waits for it", setup{}, func(h *harness) {
			c := h.workflow()
			r := h.job("a", "one")
			work := h.next(h.agent)
			h.speakOn(c)
			h.waitsFor(c.TurnID, r.TurnID)
			h.done(work, "first")
			h.ended(c.TurnID)
			h.idle(h.model)
		}},
		{"but not when a client's turn is queued, and it goes on", setup{}, func(h *harness) {
			c := h.workflow()
			r := h.job("a", "one")
			work := h.next(h.agent)
			h.speakOn(c)
			h.waitsFor(c.TurnID, r.TurnID)
			h.start("a")
			h.ended(c.TurnID)
			p := h.next(h.model)
			if got := h.turn(r.TurnID); got.State != turns.Active || got.AttentionPolicy != turns.Blocking || h.detaches() != 0 {
				h.t.Errorf("it is %+v", got)
			}
			h.speak(p)
			h.ended(p.TurnID)
			h.done(work, "first")
			h.idle(h.model)
			if told, _ := h.timesTold("a"); told != 0 || h.wakes("a") != 0 || len(h.entries("a")) != 0 {
				h.t.Errorf("told %d, %d wakes", told, h.wakes("a"))
			}
		}},
		{"it is interrupted with its turn", setup{}, func(h *harness) {
			c := h.workflow()
			r := h.job("a", "one")
			h.next(h.agent)
			h.interrupt(c.TurnID)
			if e := h.ended(r.TurnID); e.Method != notify.TurnInterrupted {
				h.t.Errorf("it is %s", e.Method)
			}
		}},
		{"also with one that waits to be tried again", setup{}, func(h *harness) {
			c := h.workflow()
			r := h.job("a", "one")
			h.next(h.agent)
			h.message(c, "no")
			c.end(turns.Failed)
			h.ended(c.TurnID)
			h.pause()
			h.retry(c.TurnID)
			h.interrupt(c.TurnID)
			if e := h.ended(r.TurnID); e.Method != notify.TurnInterrupted {
				h.t.Errorf("it is %s", e.Method)
			}
		}},
		{"and is tried again with it, also if that comes before its agent has stopped", setup{}, func(h *harness) {
			c := h.workflow()
			slow := jobOf("a", "slow", "do slow")
			slow.Agent = "deaf"
			r, err := h.engine.Start(bg, slow)
			if err != nil {
				h.t.Fatal(err)
			}
			work := h.next(h.deaf)
			h.interrupt(c.TurnID)
			h.ended(c.TurnID)
			synctest.Wait()
			time.Sleep(time.Second)
			h.retry(c.TurnID)
			h.next(h.model)
			if err := h.refusedJob(slow); !errors.Is(err, turns.ErrBetween) {
				h.t.Errorf("while it stops it is %v", err)
			}
			work.end(turns.Completed)
			h.ended(r.TurnID)
			got, err := h.engine.Start(bg, slow)
			if err != nil || got.TurnID != r.TurnID || got.Results[0].State != turns.Active || got.Results[0].Attempt != 2 {
				h.t.Errorf("it is %+v, %v", got, err)
			}
			h.next(h.deaf)
		}},
		{"it goes on when a restart of the server ends its turn", setup{}, func(h *harness) {
			h.thread("a", "model")
			s := h.start("a")
			h.next(h.model)
			c := jobOf("a", "one", "do one")
			c.Retry = &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 5, BackoffSeconds: 1}
			r, err := h.engine.Start(bg, c)
			if err != nil {
				h.t.Fatal(err)
			}
			h.next(h.agent)
			h.restart()
			h.ended(s.TurnID)
			work := h.next(h.agent)
			h.retry(s.TurnID)
			h.next(h.model)
			h.done(work, "first")
			h.found("a", "one", r, turns.Completed, "first")
		}},
		{"it goes on when its turn fails, and is there when that is retried", setup{}, func(h *harness) {
			c := h.workflow()
			r := h.job("a", "one")
			work := h.next(h.agent)
			h.message(c, "no")
			c.end(turns.Failed)
			h.ended(c.TurnID)
			if err := h.refusedJob(jobOf("a", "one", "do one")); !errors.Is(err, turns.ErrNotActive) {
				h.t.Errorf("after the end it is %v", err)
			}
			time.Sleep(time.Minute)
			h.done(work, "first")
			h.ended(r.TurnID)
			h.retry(c.TurnID)
			h.next(h.model)
			h.found("a", "one", r, turns.Completed, "first")
			if h.wakes("a") != 0 {
				h.t.Error("it has woken its owner")
			}
		}},
		{"the owner of the program is told its end, once, and of no job", setup{}, func(h *harness) {
			h.thread("a", "model")
			h.childThread("a", "b", "model")
			h.start("a")
			top := h.next(h.model)
			h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Background: true, Retry: &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 5, BackoffSeconds: 1}})
			mid := h.next(h.model)
			r := h.job("b", "part")
			h.done(h.next(h.agent), "of the job")
			h.ended(r.TurnID)
			h.speak(top)
			h.ended(top.TurnID)
			mid.crash()
			h.next(h.model)
			h.found("b", "part", r, turns.Completed, "of the job")
			h.restart()
			mid = h.next(h.model)
			h.done(mid, "of the program")
			p := h.next(h.model)
			h.told(p, "of the program")
			if strings.Contains(p.said(), "of the job") {
				h.t.Errorf("it is told %s", p.said())
			}
			h.speak(p)
			h.idle(h.model)
			if told, untold := h.timesTold("a"); told != 1 || untold != 0 {
				h.t.Errorf("told %d, untold %d", told, untold)
			}
		}},
		{"it is never detached", setup{}, func(h *harness) {
			h.workflow()
			r := h.job("a", "one")
			h.next(h.agent)
			var bad *turns.InvalidError
			if _, err := h.engine.Children().Detach(bg, turns.DetachTurn{TurnID: r.TurnID}); !errors.As(err, &bad) || bad.Reason != turns.ReasonJob {
				h.t.Errorf("turn/detach is %v", err)
			}
		}},
		{"its thread is closed with that of its turn", setup{}, func(h *harness) {
			h.workflow()
			r := h.job("a", "one")
			h.next(h.agent)
			h.change("a", threads.VerbClose)
			h.ended(r.TurnID)
			h.event(notify.ThreadClosed, func(e event) bool { return e.ThreadID == r.ThreadID })
		}},
	})
}
