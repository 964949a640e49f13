package engine_test

import (
	"context"
	"fmt"
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
	"github.com/seed82539d15/holon/turns"
)

// What an agent has said at the end of its prompt is the result of its turn, though the
// turn waits for child turns before it ends.
func TestResultOfAPromptOutlivesTheWaitForChildren(t *testing.T) {
	for name, restart := range map[string]bool{"a client's turn ends the wait": false, "after a restart, too": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				c := h.family("b")
				child := h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Retry: &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 9}})
				work := h.next(h.agent)
				h.emit(c, items.SetUsage{Usage: items.Usage{InputTokens: 7}})
				synctest.Wait()
				c.out <- turns.Outcome{State: turns.Completed, Message: "my answer is 42", Format: "plain", StopReason: "end_turn"}
				h.waitsFor(c.TurnID, child.TurnID)
				if restart {
					h.restart()
					work = h.next(h.agent)
				}
				h.start("a")
				h.ended(c.TurnID)
				if tn := h.turn(c.TurnID); tn.State != turns.Completed || tn.Message != "my answer is 42" || tn.Format != "plain" || tn.StopReason != "end_turn" || tn.Usage == nil || tn.Usage.InputTokens != 7 {
					t.Errorf("ended %+v", tn)
				}
				h.speak(h.next(h.model))
				h.done(work, "the result")
				h.wokenOnce("the result")
			})
		})
	}
	t.Run("a worker's words", func(t *testing.T) {
		bubble(t, remotely(false), func(h *harness) {
			c := h.ownedByWorker("b")
			child := h.child("a", "b", false)
			if _, err := h.workers.Complete(bg, turns.CompleteTurn{Lease: *c.Lease, Message: "my answer is 42"}); err != nil {
				t.Fatal(err)
			}
			h.detach(child.TurnID)
			h.ended(c.Turn.TurnID)
			if tn := h.turn(c.Turn.TurnID); tn.Message != "my answer is 42" {
				t.Errorf("ended %+v", tn)
			}
		})
	})
	t.Run("the next prompt replaces it", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", false)
			c.out <- turns.Outcome{State: turns.Completed, Message: "wait for it", Format: "plain", StopReason: "end_turn"}
			h.waitsFor(c.TurnID, child.TurnID)
			h.done(h.next(h.agent), "the result")
			h.done(h.next(h.model), "it is 42")
			h.ended(c.TurnID)
			if tn := h.turn(c.TurnID); tn.Message != "it is 42" || tn.Format != "" || tn.StopReason != "" {
				t.Errorf("ended %+v", tn)
			}
		})
	})
}

// What the owner is told of an end is the agent's last message, also if it is not the message of
// the end, and says so if a part is missing. The checker compares each with the log.
func TestTextOfAnEndIsTheLastMessage(t *testing.T) {
	long := strings.Repeat("x", 6000)
	for name, c := range map[string]struct {
		says []string
		end  string // what the agent gives as its result
		cut  bool
	}{
		"the newest of two":      {[]string{"first", "second"}, "", false},
		"not the result":         {[]string{"second"}, "done", false},
		"beyond an item's bound": {[]string{"first", long}, "", true},
		"nothing but blanks":     {[]string{"first", " "}, "", false},
	} {
		for _, kind := range []string{"in pieces", "whole", "completed"} {
			t.Run(name+", "+kind, func(t *testing.T) {
				bubble(t, setup{cfg: engine.Config{MaxItemBytes: 4 << 10}}, func(h *harness) {
					h.thread("a", "")
					h.configure("a", inbox.Policy{Wake: inbox.WakeNone})
					h.childThread("a", "b", "")
					h.child("a", "b", true)
					work := h.next(h.agent)
					for _, text := range c.says {
						switch kind {
						case "in pieces":
							h.message(work, text)
						case "whole":
							h.emit(work, items.Create{ItemID: items.NewID(), Content: items.NewAgentMessage(text)})
						default:
							h.emit(work, items.Create{ItemID: items.NewID(), Content: items.NewAgentMessage(text), Status: items.StatusCompleted})
						}
					}
					work.out <- turns.Outcome{State: turns.Completed, Message: c.end}
					e := h.ended(work.TurnID)
					synctest.Wait()
					list := h.entries("a")
					if len(list) != 1 || e.MessageTruncated != c.cut {
						t.Errorf("%d entries, message_truncated %v", len(list), e.MessageTruncated)
					}
				})
			})
		}
	}
}

// A unit can end a turn and accept an earlier one: each end has the words of its own agent.
func TestEndOfATurnHasNoWordsOfAnother(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		h.configure("a", inbox.Policy{Wake: inbox.WakeNone})
		h.childThread("a", "b", "deaf")
		h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Background: true, Review: turns.ReviewOnSuccess})
		one := h.next(h.deaf)
		h.message(one, "of the first")
		one.end(turns.Completed)
		h.ended(one.TurnID) // and waits for its review
		h.start("b")
		two := h.next(h.deaf)
		h.message(two, "of the second")
		go func() { _, _, _ = h.engine.CloseThread(bg, turns.CloseThread{ThreadID: "b"}) }()
		synctest.Wait()
		h.faults.fail(refusing(func(u *ledger.Unit) {
			if slices.ContainsFunc(u.Drafts, func(d notify.Draft) bool { return d.Method == notify.ItemDelta && d.Header.ThreadID == "b" }) {
				panic("as the test says")
			}
		}))
		h.message(two, "more")
		h.faults.heal()
		time.Sleep(time.Second)
		list := h.entries("a")
		if len(list) != 1 || !strings.Contains(list[0].Summary, "of the first") {
			t.Errorf("the inbox has %+v", list)
		}
	})
}

// A child turn ends twice while its owner is looked at, or waits for that: the second end is the
// accepted one, and only that enters the inbox.
func TestOfTwoEndsOfATurnTheNewerOneArrives(t *testing.T) {
	for name, others := range map[string]int{"behind an end of the same owner": 0, "behind other owners": 33} {
		t.Run(name, func(t *testing.T) {
			var gate chan struct{}
			bubble(t, setup{rows: func(r engine.Rows) engine.Rows { return gated{r, &gate} }, cfg: engine.Config{MaxActiveTurns: 100}}, func(h *harness) {
				owner := h.family("b", "d")
				one := h.child("a", "b", false)
				first := h.next(h.agent)
				h.child("a", "d", false)
				before := []*call{h.next(h.agent)}
				for i := range others {
					id := fmt.Sprintf("other_%d", i)
					h.thread(id, "model")
					h.childThread(id, id+"_child", "puppet")
					h.child(id, id+"_child", true)
					before = append(before, h.next(h.agent))
				}
				if others > 0 {
					before = before[1:]
				}
				synctest.Wait()
				gate = make(chan struct{})
				for _, c := range before { // they say nothing, so their text is read, which is held back
					c.end(turns.Completed)
				}
				synctest.Wait()
				h.message(first, "it went wrong")
				first.end(turns.Failed)
				h.endedIn(first.TurnID, 1)
				h.retry(one.TurnID)
				again := h.next(h.agent)
				h.message(again, "now it is right")
				again.end(turns.Completed)
				h.endedIn(first.TurnID, 2)
				synctest.Wait()
				opens := gate
				gate = nil
				close(opens)
				synctest.Wait()
				if all := fmt.Sprint(h.allEntries("a")); strings.Contains(all, "it went wrong") || !strings.Contains(all, "now it is right") {
					t.Errorf("the inbox has %s", all)
				}
				h.speakOn(owner)
				time.Sleep(time.Minute)
				if w := h.turn(owner.TurnID).WaitsFor; slices.Contains(w, one.TurnID) {
					t.Errorf("the owner waits for %v, which has ended", w)
				}
			})
		})
	}
}

// A turn says for which child turns it waits now.
func TestWaitsForFollowsWhatIsWaitedFor(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b", "c", "d")
		one := h.child("a", "b", false)
		first := h.next(h.agent)
		two := h.child("a", "c", false)
		second := h.next(h.agent)
		three := h.child("a", "d", false)
		third := h.next(h.agent)
		h.speakOn(c)
		h.waitsFor(c.TurnID, one.TurnID, two.TurnID, three.TurnID)
		h.detach(one.TurnID)
		h.waitsFor(c.TurnID, two.TurnID, three.TurnID)
		h.done(second, "the result of c")
		h.waitsFor(c.TurnID, three.TurnID)
		read, err := h.reader.Children(bg, "a")
		if err != nil || !slices.Equal(read.WaitsFor, []string{three.TurnID}) {
			t.Errorf("read %+v, %v", read, err)
		}
		h.done(third, "the result of d")
		h.told(h.next(h.model), "the result of c", "the result of d")
		h.done(first, "the result of b")
	})
}

// gated holds back the way of ends into inboxes: the reading of their text.
type gated struct {
	engine.Rows
	gate *chan struct{}
}

func (g gated) LastMessage(ctx context.Context, turnID string) (*items.Item, error) {
	if c := *g.gate; c != nil {
		<-c
	}
	return g.Rows.LastMessage(ctx, turnID)
}

// The end comes in the last moment of wait_seconds, and is on its way to the inbox.
func TestWaitSecondsAnswersWithTheEndOfTheLastMoment(t *testing.T) {
	var gate chan struct{}
	bubble(t, setup{rows: func(r engine.Rows) engine.Rows { return gated{r, &gate} }}, func(h *harness) {
		c := h.family("b")
		_, wait, err := h.engine.Children().StartAndWait(bg, turns.Start{ThreadID: "b", Input: text("go"), Parent: childOf("a"), WaitSeconds: 2}, "")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		type answer struct {
			r    turns.StartResult
			sent func(bool)
			err  error
		}
		answered := make(chan answer, 1)
		go func() {
			r, sent, err := wait(bg)
			answered <- answer{r, sent, err}
		}()
		work := h.next(h.agent)
		h.message(work, "the result")
		time.Sleep(1900 * time.Millisecond)
		synctest.Wait()
		gate = make(chan struct{})
		work.end(turns.Completed)
		h.ended(work.TurnID)
		time.Sleep(150 * time.Millisecond)
		synctest.Wait()
		opens := gate
		gate = nil
		close(opens)
		a := <-answered
		if a.err != nil || len(a.r.Results) != 1 || !a.r.Results[0].Accepted() || a.r.Detached != nil || a.sent == nil || time.Since(began) > 3*time.Second {
			t.Fatalf("answered after %v: %+v", time.Since(began), a)
		}
		a.sent(true)
		h.speak(c)
		h.idle(h.model) // it is told
	})
}

// wait_seconds does not claim to have detached what somebody else has detached.
func TestWaitSecondsOfAChildThatIsDetachedMeanwhile(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b")
		r, wait, err := h.engine.Children().StartAndWait(bg, turns.Start{ThreadID: "b", Input: text("go"), Parent: childOf("a"), WaitSeconds: 100}, "")
		if err != nil {
			t.Fatal(err)
		}
		answered := make(chan turns.StartResult, 1)
		go func() {
			r, _, err := wait(bg)
			if err != nil {
				t.Error(err)
			}
			answered <- r
		}()
		work := h.next(h.agent)
		synctest.Wait()
		h.detach(r.TurnID)
		time.Sleep(10 * time.Second)
		h.start("a") // a client's turn waits for the owner
		synctest.Wait()
		select {
		case r := <-answered:
			t.Fatalf("answered early: %+v", r)
		default:
		}
		if r := <-answered; r.Detached != nil || r.AttentionPolicy != turns.Notify || h.detaches() != 1 {
			t.Errorf("answered %+v, detached %d times", r, h.detaches())
		}
		h.speak(c)
		h.speak(h.next(h.model))
		h.done(work, "the result")
		h.wokenOnce("the result")
	})
}

// An answer with all ends tells each of them: the first wakes nobody meanwhile.
func TestAwaitOfAllKeepsTheFirstEnd(t *testing.T) {
	for name, ok := range map[string]bool{"it is written": true, "it is not written": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				c := h.family("b", "d")
				one, two := h.child("a", "b", true), h.child("a", "d", true)
				first, second := h.next(h.agent), h.next(h.agent)
				h.speak(c)
				all := awaitBy(one.TurnID, two.TurnID)
				all.WaitFor = turns.WaitAll
				waits := h.awaiting(bg, all)
				h.done(first, "first")
				h.idle(h.model)
				h.done(second, "second")
				h.answered(waits, 2).sent(ok)
				if ok {
					h.idle(h.model)
				} else {
					h.wokenOnce("first", "second")
				}
			})
		})
	}
	t.Run("its time is over", func(t *testing.T) {
		bubble(t, setup{}, func(h *harness) {
			c := h.family("b", "d")
			one, two := h.child("a", "b", true), h.child("a", "d", true)
			first, second := h.next(h.agent), h.next(h.agent)
			h.speak(c)
			all := awaitBy(one.TurnID, two.TurnID)
			all.WaitFor, all.TimeoutSeconds = turns.WaitAll, seconds(5)
			waits := h.awaiting(bg, all)
			h.done(first, "first")
			h.idle(h.model)
			time.Sleep(5 * time.Second)
			h.answered(waits, 1).sent(true)
			h.idle(h.model)
			h.done(second, "second")
			h.wokenOnce("second")
		})
	})
}

// A child turn that is tried again has one result while its end is being withdrawn.
func TestAwaitWithoutIDsHasOneResultForEachTurn(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b")
		child := h.child("a", "b", true)
		work := h.next(h.agent)
		h.message(work, "no")
		work.end(turns.Failed)
		h.endedIn(child.TurnID, 1)
		h.took("a", 1)
		release := h.hold(has(notify.InboxWithdrawn))
		h.retry(child.TurnID)
		waits := h.awaiting(bg, turns.Await{OwnerThreadID: "a", TimeoutSeconds: seconds(0)})
		release()
		if a := <-waits; a.err != nil || len(a.Results) != 1 {
			t.Errorf("answered %+v", a)
		}
		h.done(h.next(h.agent), "the result")
		h.speak(c)
		h.wokenOnce("the result")
	})
}
