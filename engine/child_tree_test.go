package engine_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// tree is three levels: a, whose turn has started one of b, which has started one of
// c. It returns the first prompts of the three.
func (h *harness) tree(background, grandBackground bool) (top, mid, low *call) {
	h.t.Helper()
	h.thread("a", "model")
	h.childThread("a", "b", "model")
	h.childThread("b", "c", "puppet")
	h.start("a")
	top = h.next(h.model)
	h.child("a", "b", background)
	mid = h.next(h.model)
	h.child("b", "c", grandBackground)
	return top, mid, h.next(h.agent)
}

func TestTreesOfTurns(t *testing.T) {
	runRaces(t, []race{
		{"R5 the end of a turn does not look at what only notifies, also after a restart", setup{}, func(h *harness) {
			h.thread("a", "model")
			h.childThread("a", "b", "puppet")
			s := h.startWith(turns.Start{ThreadID: "a", Retry: &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 3, BackoffSeconds: 1}})
			h.next(h.model)
			h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Background: true, Retry: retrying()})
			h.next(h.agent)
			h.restart()
			h.speak(h.next(h.model))
			if tn := h.turn(s.TurnID); tn.State != turns.Completed || tn.Attempt != 2 {
				h.t.Errorf("%+v", tn)
			}
			h.done(h.next(h.agent), "the result")
			h.wokenOnce("the result")
		}},
		{"R8 a child reports after what it has started in the background has ended", setup{}, func(h *harness) {
			top, mid, low := h.tree(false, true)
			h.speakOn(top)
			h.waitsFor(top.TurnID, mid.TurnID)
			h.speakOn(mid)
			h.waitsFor(mid.TurnID, low.TurnID)
			h.done(low, "the facts")
			p := h.next(h.model)
			h.told(p, "the facts")
			h.done(p, "the report")
			h.toldInTurn(top.TurnID, "the report")
		}},
		{"R8 a child does not wait for the background when a person waits for it", setup{}, func(h *harness) {
			top, mid, low := h.tree(false, true)
			h.speakOn(mid)
			h.waitsFor(mid.TurnID, low.TurnID)
			h.start("b")
			if e := h.ended(mid.TurnID); e.Method != notify.TurnCompleted {
				h.t.Errorf("ended %s", e)
			}
			h.speak(h.next(h.model))
			h.done(low, "the facts")
			wake := h.next(h.model)
			h.told(wake, "the facts")
			h.speak(wake)
			h.speakOn(top)
			h.toldInTurn(top.TurnID, "work of b")
		}},
		{"R9 background ends wait for those that the owner waits for, and come with them", setup{}, func(h *harness) {
			c := h.family("b", "d")
			blocking := h.child("a", "b", false)
			work := h.next(h.agent)
			h.child("a", "d", true)
			h.speakOn(c)
			h.waitsFor(c.TurnID, blocking.TurnID)
			h.done(h.next(h.agent), "the background")
			h.took("a", 1)
			h.idle(h.model)
			h.done(work, "the result")
			h.toldInTurn(c.TurnID, "the result", "the background")
		}},
		{"R10 a restart asks the same question as the end of a prompt", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Retry: retrying()})
			h.speakOn(c)
			h.waitsFor(c.TurnID, child.TurnID)
			h.next(h.agent)
			for range 3 {
				h.restart()
				h.idle(h.model)
			}
			for h.turn(child.TurnID).State == turns.Active {
				h.done(h.next(h.agent), "the result")
			}
			h.toldInTurn(c.TurnID, "the result")
		}},
		{"R11 what a background child waits for does not block the owner", setup{}, func(h *harness) {
			top, mid, low := h.tree(true, false)
			h.speakOn(mid)
			h.waitsFor(mid.TurnID, low.TurnID)
			h.speak(top)
			if tn := h.turn(top.TurnID); tn.State != turns.Completed {
				h.t.Errorf("%+v", tn)
			}
			h.done(low, "the facts")
			h.done(h.next(h.model), "the report")
			h.wokenOnce("the report")
		}},
		{"R12 W-M15 each end in a prompt has its own words", setup{}, func(h *harness) {
			c := h.family("b", "d", "e")
			for _, id := range []string{"b", "d", "e"} {
				h.child("a", id, false)
			}
			ids := map[string]string{}
			for range 3 {
				work := h.next(h.agent)
				ids[work.ThreadID] = work.TurnID
				switch work.ThreadID {
				case "b":
					h.message(work, "the result")
					work.end(turns.Completed)
				case "d":
					work.out <- turns.Outcome{State: turns.Failed, Failure: &turns.Failure{Kind: "agent_failed", Message: "out of memory"}}
				case "e":
					h.interrupt(work.TurnID)
				}
				h.ended(work.TurnID)
			}
			h.took("a", 3)
			h.speakOn(c)
			p := h.next(h.model)
			h.told(p, "thread b completed", "thread d failed: agent_failed: out of memory", "thread e was interrupted")
			if n := strings.Count(p.said(), "out of memory"); n != 1 {
				h.t.Errorf("the failure is told %d times in %s", n, p.said())
			}
			states := map[string]string{}
			for _, e := range p.Input[0].Entries {
				states[e.TurnID] = e.State
			}
			if states[ids["b"]] != "completed" || states[ids["d"]] != "failed" || states[ids["e"]] != "interrupted" {
				h.t.Errorf("entries %+v", p.Input[0].Entries)
			}
			h.speak(p)
		}},
		{"R13 what is deeper in the tree concerns its own owner only", setup{}, func(h *harness) {
			top, mid, low := h.tree(true, true)
			h.speak(top)
			h.done(low, "the facts")
			h.took("b", 1)
			if l := h.entries("a"); len(l) != 0 {
				h.t.Errorf("entries %s", ids(l))
			}
			h.speakOn(mid)
			p := h.next(h.model)
			h.told(p, "the facts")
			h.done(p, "the report")
			h.wokenOnce("the report")
		}},
		{"R32 who waits for the end of a turn with background children is answered", setup{}, func(h *harness) {
			c := h.family("b")
			h.child("a", "b", true)
			work := h.next(h.agent)
			_, ended := h.interrupt(c.TurnID)
			if r := <-ended; r.State != string(turns.Interrupted) {
				h.t.Errorf("%+v", r)
			}
			_, closed, err := h.engine.CloseThread(bg, turns.CloseThread{ThreadID: "a"})
			if err != nil {
				h.t.Fatal(err)
			}
			if closed != nil {
				<-closed
			}
			h.ended(work.TurnID) // its thread is closed with its owner's
			h.event(notify.ThreadClosed, func(e event) bool { return e.ThreadID == "b" })
		}},
		{"R32 the interrupt of a turn that waits for children is answered at once", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", false)
			h.speakOn(c)
			h.waitsFor(c.TurnID, child.TurnID)
			if r, ended := h.interrupt(c.TurnID); ended != nil || r.State != string(turns.Interrupted) {
				h.t.Errorf("%+v", r)
			}
			h.ended(child.TurnID)
			synctest.Wait()
			time.Sleep(time.Hour)
			h.idle(h.model) // held
			h.start("a")
			p := h.next(h.model)
			h.told(p, "was interrupted")
			h.speak(p)
		}},
		{"a child that names a turn which has failed already is a background one", setup{}, func(h *harness) {
			top, mid, low := h.tree(true, true)
			h.configure("b", inbox.Policy{Wake: inbox.WakeNone})
			h.childThread("b", "d", "puppet")
			h.childThread("b", "e", "puppet")
			h.message(mid, "no")
			mid.end(turns.Failed)
			h.endedIn(mid.TurnID, 1)
			h.ended(low.TurnID) // this one was started before: its turn is a child itself
			r := h.startWith(turns.Start{ThreadID: "d", Parent: &threads.Parent{ThreadID: "b", TurnID: mid.TurnID}})
			work := h.next(h.agent)
			h.child("b", "e", true)
			h.done(h.next(h.agent), "other work") // the owner looks at its children
			h.took("b", 2)
			if tn := h.turn(r.TurnID); tn.State != turns.Active || tn.AttentionPolicy != turns.Notify || tn.Parent.TurnID != mid.TurnID {
				h.t.Errorf("%+v", tn)
			}
			h.restart()
			h.ended(work.TurnID)
			if tn := h.turn(r.TurnID); tn.InterruptedBy != turns.ByServer {
				h.t.Errorf("after the restart: %+v", tn)
			}
			h.ended(top.TurnID)
		}},
		{"a child that is tried again after its turn has failed goes on", setup{}, func(h *harness) {
			top, mid, low := h.tree(true, true)
			h.configure("b", inbox.Policy{Wake: inbox.WakeNone})
			h.childThread("b", "e", "puppet")
			h.message(mid, "no")
			mid.end(turns.Failed)
			h.endedIn(mid.TurnID, 1)
			h.endedIn(low.TurnID, 1)
			h.took("b", 1)
			h.retry(low.TurnID)
			work := h.next(h.agent)
			h.child("b", "e", true)
			h.done(h.next(h.agent), "other work") // the owner looks at its children
			h.took("b", 1)
			if tn := h.turn(low.TurnID); tn.State != turns.Active || tn.Attempt != 2 {
				h.t.Errorf("%+v", tn)
			}
			h.message(work, "at last")
			work.end(turns.Completed)
			h.endedIn(low.TurnID, 2)
			h.speak(top)
		}},
		{"R11 closing in the middle of a tree", setup{}, func(h *harness) {
			top, mid, low := h.tree(false, false)
			h.speakOn(top)
			h.waitsFor(top.TurnID, mid.TurnID)
			h.change("b", threads.VerbClose)
			h.ended(mid.TurnID)
			h.ended(low.TurnID)
			h.toldInTurn(top.TurnID, "was interrupted")
		}},
	})
}
