package engine_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// units records the methods of every unit that is committed from now on.
func (h *harness) units() func() [][]string {
	var mu sync.Mutex
	var all [][]string
	h.faults.afterCommit(func(u *ledger.Unit) {
		mu.Lock()
		defer mu.Unlock()
		var list []string
		for i := range u.Drafts {
			list = append(list, u.Drafts[i].Method)
		}
		all = append(all, list)
	})
	return func() [][]string {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// background is an owner without an active turn, with a child turn that nothing waits
// for, and its prompt.
func (h *harness) background() *call {
	h.t.Helper()
	c := h.family("b")
	h.child("a", "b", true)
	h.speak(c)
	return h.next(h.agent)
}

func TestWakesOfOwners(t *testing.T) {
	runRaces(t, []race{
		{"R1 R20 W-M2 W-M6 what is told and the turn that is told it are one unit", setup{}, func(h *harness) {
			work := h.background()
			committed := h.units()
			refused := false
			h.faults.fail(func(u *ledger.Unit) error {
				if has(notify.InboxTold)(u) && !refused {
					refused = true
					return errors.New("odd")
				}
				return nil
			})
			h.done(work, "the result")
			h.wokenOnce("the result")
			told := 0
			for _, list := range committed() {
				if all := strings.Join(list, " "); strings.Contains(all, notify.InboxTold) {
					told++
					if !strings.Contains(all, notify.TurnStarted) || !strings.Contains(all, notify.ItemCreated) {
						h.t.Errorf("told in %v", list)
					}
				}
			}
			if told != 1 || !refused {
				h.t.Errorf("%d units tell", told)
			}
		}},
		{"R16 two ends at once are one wake", setup{}, func(h *harness) {
			c := h.family("b", "d")
			h.child("a", "b", true)
			h.child("a", "d", true)
			h.speak(c)
			one, two := h.next(h.agent), h.next(h.agent)
			h.message(one, "the first")
			h.message(two, "the second")
			synctest.Wait()
			release := h.hold(has(notify.TurnCompleted))
			one.end(turns.Completed)
			two.end(turns.Completed)
			synctest.Wait()
			release()
			h.wokenOnce("the first", "the second")
		}},
		{"R17 R21 R28 an end that comes while the owner's turn ends", setup{}, func(h *harness) {
			c := h.family("b")
			h.child("a", "b", true)
			work := h.next(h.agent)
			h.message(c, "bye")
			synctest.Wait()
			release := h.hold(both(inThread("a"), has(notify.TurnCompleted)))
			c.end(turns.Completed)
			synctest.Wait()
			h.done(work, "the result")
			synctest.Wait()
			release()
			h.wokenOnce("the result")
		}},
		{"R18 R19 W-M6 W-M11 a thread in line is told nothing, and loses nothing", setup{cfg: engine.Config{MaxActiveTurns: 1}}, func(h *harness) {
			work := h.background()
			h.message(work, "the result")
			synctest.Wait()
			h.thread("x", "")
			h.start("x") // it stands in line before the wake
			work.end(turns.Completed)
			busy := h.next(h.agent)
			h.took("a", 1)
			h.idle(h.model)
			if l := h.entries("a"); h.box("a").NewEntries != 1 || l[0].ToldSeq != 0 {
				h.t.Errorf("told in line: %+v", l)
			}
			h.pause()
			h.resume()
			h.restart()
			busy.out = nil // it was interrupted
			h.wokenOnce("the result")
		}},
		{"R18 W-M11 what is acknowledged while the thread is in line wakes nobody", setup{cfg: engine.Config{MaxActiveTurns: 1}}, func(h *harness) {
			work := h.background()
			h.message(work, "the result")
			synctest.Wait()
			h.thread("x", "")
			h.start("x")
			work.end(turns.Completed)
			busy := h.next(h.agent)
			h.took("a", 1)
			h.ackEntries("a", h.entries("a")[0].EntryID)
			busy.end(turns.Completed)
			h.idle(h.model)
			if n := h.wakes("a"); n != 0 {
				h.t.Errorf("%d wakes", n)
			}
		}},
		{"R20 R21 a wake that fails before a word is told again, later", setup{}, func(h *harness) {
			h.done(h.background(), "the result")
			first := h.next(h.model)
			at := time.Now()
			first.end(turns.Failed)
			h.ended(first.TurnID)
			again := h.next(h.model)
			if d := time.Since(at); d != 5*time.Second {
				h.t.Errorf("after %v", d)
			}
			h.told(again, "the result")
			h.speak(again)
			h.idle(h.model)
		}},
		{"R22 what a client has queued goes first, and is told the end", setup{}, func(h *harness) {
			work := h.background()
			h.change("a", threads.VerbPause)
			queued := h.start("a")
			h.done(work, "the result")
			h.took("a", 1)
			h.idle(h.model)
			h.change("a", threads.VerbResume)
			p := h.next(h.model)
			if p.TurnID != queued.TurnID || len(p.Input) != 2 || p.Input[0].Origin == p.Input[1].Origin {
				h.t.Errorf("prompt %+v", p.Prompt)
			}
			h.told(p, "the result")
			h.speak(p)
			h.idle(h.model)
		}},
		{"R23 R25 a turn that is about to be tried again goes first", setup{}, func(h *harness) {
			h.thread("a", "model")
			h.childThread("a", "b", "puppet")
			s := h.startWith(turns.Start{ThreadID: "a", Retry: retrying()})
			c := h.next(h.model)
			h.child("a", "b", true)
			work := h.next(h.agent)
			c.crash()
			h.marker(s.TurnID, 1)
			release := h.hold(both(inThread("a"), has(notify.TurnStarted)))
			time.Sleep(time.Minute) // its next attempt is being committed
			h.done(work, "the result")
			synctest.Wait()
			release()
			p := h.next(h.model)
			if p.TurnID != s.TurnID || p.Attempt != 2 {
				h.t.Errorf("prompt %+v", p.Prompt)
			}
			h.speak(p)
			h.wokenOnce("the result")
		}},
		{"R36 an owner that was told in its turn is asked for nothing more", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", false)
			h.speakOn(c)
			h.waitsFor(c.TurnID, child.TurnID)
			h.done(h.next(h.agent), "the result")
			h.toldInTurn(c.TurnID, "the result")
			time.Sleep(3 * time.Hour)
			h.restart()
			h.idle(h.model)
			if n := len(bodies[inbox.Told](h, notify.InboxTold, "a")); n != 1 {
				h.t.Errorf("%d times told", n)
			}
		}},
		{"R39 W-M9 an end that cannot be stored is tried again", setup{}, func(h *harness) {
			work := h.background()
			failures := 0
			h.faults.fail(func(u *ledger.Unit) error {
				if has(notify.InboxReceived)(u) && failures < 3 {
					failures++
					return ledger.ErrStorageFull
				}
				return nil
			})
			h.done(work, "the result")
			h.wokenOnce("the result")
			if failures != 3 {
				h.t.Errorf("%d failures", failures)
			}
		}},
		{"R41 a wake that ends at once is one wake", setup{}, func(h *harness) {
			h.thread("a", "quick")
			h.configure("a", inbox.Policy{Wake: inbox.WakeIdle})
			h.childThread("a", "b", "puppet")
			h.child("a", "b", true)
			h.done(h.next(h.agent), "the result")
			h.until("the wake ends", func([]event) bool { return h.wakes("a") == 1 && len(h.entries("a")) == 0 })
			time.Sleep(time.Hour)
			h.restart()
			time.Sleep(time.Hour)
			if n := h.wakes("a"); n != 1 {
				h.t.Errorf("%d wakes", n)
			}
		}},
		{"R42 W-M13 a wake that a crash cuts short goes on, and is no second one", setup{}, func(h *harness) {
			h.done(h.background(), "the result")
			wake := h.next(h.model)
			h.restart()
			again := h.next(h.model)
			if again.TurnID != wake.TurnID || again.Attempt != 2 || again.said() != wake.said() {
				h.t.Errorf("prompt %+v", again.Prompt)
			}
			h.speak(again)
			h.idle(h.model)
			if l := h.entries("a"); len(l) != 0 || h.wakes("a") != 1 {
				h.t.Errorf("%d starts, entries %s", h.wakes("a"), ids(l))
			}
		}},
	})
}
