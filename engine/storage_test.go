package engine_test

import (
	"errors"
	"strings"
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

// commands are all changes, on thread a with an active turn and a question.
func (h *harness) commands(turnID, itemID string) map[string]func() error {
	return map[string]func() error{
		"thread/start": func() error {
			_, err := h.engine.StartThread(bg, turns.StartThread{ThreadID: "new"})
			return err
		},
		"thread/pause": func() error {
			_, err := h.engine.ChangeThread(bg, turns.ChangeThread{ThreadID: "a", Verb: threads.VerbPause})
			return err
		},
		"thread/close": func() error {
			_, err := h.engine.ChangeThread(bg, turns.ChangeThread{ThreadID: "a", Verb: threads.VerbClose})
			return err
		},
		"thread/configure": func() error {
			_, err := h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: "a", Config: settings(`"x"`)})
			return err
		},
		"thread/configure cwd": func() error {
			_, err := h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: "idle", Cwd: "/tmp"})
			return err
		},
		"thread/rename": func() error {
			_, err := h.engine.ThreadRename(bg, turns.RenameThread{ThreadID: "a", Title: "x"})
			return err
		},
		"thread/fork": func() error {
			_, err := h.engine.ThreadFork(bg, turns.Fork{ThreadID: "idle"})
			return err
		},
		"turn/start queue": func() error {
			_, err := h.engine.Start(bg, turns.Start{ThreadID: "a", Input: text("x")})
			return err
		},
		"turn/start interrupt": func() error {
			_, err := h.engine.Start(bg, turns.Start{ThreadID: "a", Input: text("x"), OnBusy: turns.BusyInterrupt})
			return err
		},
		"turn/start steer": func() error {
			_, err := h.engine.Start(bg, turns.Start{ThreadID: "a", Input: text("x"), OnBusy: turns.BusySteer})
			return err
		},
		"turn/start idle": func() error {
			_, err := h.engine.Start(bg, turns.Start{ThreadID: "idle", Input: text("x")})
			return err
		},
		"turn/steer": func() error {
			_, err := h.engine.Steer(bg, turns.Steer{TurnID: turnID, Input: text("x")})
			return err
		},
		"turn/steer interrupt": func() error {
			_, err := h.engine.Steer(bg, turns.Steer{TurnID: turnID, Input: text("x"), Interrupt: true})
			return err
		},
		"turn/interrupt": func() error {
			_, _, err := h.engine.Interrupt(bg, turns.Interrupt{TurnID: turnID})
			return err
		},
		"item/respond": func() error {
			_, err := h.engine.Respond(bg, turns.Respond{ItemID: itemID, OptionID: "yes"})
			return err
		},
		"holon/pause": func() error {
			_, err := h.engine.Pause(bg, turns.Pause{})
			return err
		},
	}
}

func TestFullDiskRefusesEveryChangeAndChangesNothing(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("idle", "")
		c := h.prompt()
		q := h.ask(c, permission(), turns.AskOptions{})
		h.pump()
		before := len(h.seen)
		h.faults.failAll(ledger.ErrStorageFull)
		for name, f := range h.commands(c.TurnID, q.id) {
			if err := f(); !errors.Is(err, ledger.ErrStorageFull) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if h.pump(); len(h.seen) != before {
			t.Errorf("the log has\n%s", list(h.seen[before:]))
		}
		if c.ctx.Err() != nil {
			t.Error("the agent was told of a change that is not there")
		}
		h.faults.heal()
		synctest.Wait()
		if g := h.engine.Gate(); g.Active != 0 || g.Lent != 1 || g.Granted != 0 {
			t.Errorf("gate: %+v", g)
		}
		// Everything continues as if there had been no request.
		if _, err := h.engine.Respond(bg, turns.Respond{ItemID: q.id, OptionID: "yes"}); err != nil {
			t.Error(err)
		}
		h.got(q)
		r := h.start("idle")
		h.next(h.agent).end(turns.Completed)
		h.ended(r.TurnID)
		c.end(turns.Completed)
		if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted || len(e.Undelivered) != 0 {
			t.Errorf("ended: %s", e)
		}
	})
}

func TestFullDiskHoldsTheTurnAndLosesNothing(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{IntakeBytes: 4 << 10}}, func(h *harness) {
		h.thread("idle", "")
		c := h.prompt()
		id := h.message(c, "before ")
		h.event(notify.ItemDelta, nil)
		before := len(h.seen)
		h.faults.failAll(ledger.ErrStorageFull)
		sent := make(chan struct{})
		go func() {
			for range 100 {
				_ = c.Emit(bg, items.Append{ItemID: id, Text: strings.Repeat("x", 1000)})
			}
			_ = c.Emit(bg, items.Update{ItemID: id, Status: items.StatusCompleted})
			c.end(turns.Completed)
			close(sent)
		}()
		time.Sleep(10 * time.Second)
		select {
		case <-sent:
			t.Error("the agent was read on")
		default:
		}
		if n := h.engine.IntakeBytes("a"); n > 4<<10 {
			t.Errorf("%d bytes wait", n)
		}
		for name, f := range h.commands(c.TurnID, id) {
			if name == "item/respond" {
				continue // not a question: refused for that
			}
			if err := f(); !errors.Is(err, ledger.ErrStorageFull) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if h.pump(); len(h.seen) != before {
			t.Errorf("the log has\n%s", list(h.seen[before:]))
		}
		h.faults.heal()
		<-sent
		if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted {
			t.Errorf("ended: %s", e)
		}
		if it := h.item(id); !strings.Contains(string(it.Content), `"before `+strings.Repeat("x", 100_000)+`"`) {
			t.Errorf("the message has %d bytes", len(it.Content))
		}
	})
}

func TestCommandsDoNotPutTheRetryOfAHeldTurnOff(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		h.faults.failAll(ledger.ErrStorageFull)
		id := h.message(c, "held")
		synctest.Wait()
		h.faults.heal()
		for range 20 { // each before the retry is due
			time.Sleep(engine.HeldRetry / 4)
			_, _ = h.engine.StartThread(bg, turns.StartThread{ThreadID: "a"})
		}
		h.pump()
		if n := len(h.of(ofItem(id))); n == 0 {
			t.Error("the turn is still held")
		}
		c.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func TestEndOfATurnThatFindsTheDiskFullComesLater(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		queued := h.start("a")
		_, _ = h.steer(c.TurnID, "x", false), 0
		h.faults.failAll(ledger.ErrStorageFull)
		c.end(turns.Failed)
		time.Sleep(5 * time.Second)
		if _, _, err := h.engine.Interrupt(bg, turns.Interrupt{TurnID: c.TurnID}); !errors.Is(err, ledger.ErrStorageFull) {
			t.Errorf("interrupt of a turn whose end is held: %v", err)
		}
		h.faults.heal()
		if e := h.ended(c.TurnID); e.Method != notify.TurnFailed {
			t.Errorf("ended: %s", e)
		}
		c = h.next(h.agent)
		if c.TurnID != queued.TurnID {
			t.Errorf("%s follows", c.TurnID)
		}
		c.end(turns.Completed)
		h.ended(queued.TurnID)
	})
}

func TestQueuedTurnThatFindsTheDiskFullStartsLater(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		queued := h.start("a")
		h.faults.fail(func(u *ledger.Unit) error {
			if len(u.Drafts) > 0 && u.Drafts[0].Method == notify.TurnStarted {
				return ledger.ErrStorageFull
			}
			return nil
		})
		c.end(turns.Completed)
		h.ended(c.TurnID)
		time.Sleep(5 * time.Second)
		h.idle(h.agent)
		if g := h.engine.Gate(); g.Active != 0 || g.Granted != 0 {
			t.Errorf("gate: %+v", g)
		}
		h.faults.heal()
		c = h.next(h.agent)
		c.end(turns.Completed)
		h.ended(queued.TurnID)
	})
}

func TestFailedStorageRefusesEveryChangeForGood(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("idle", "")
		c := h.prompt()
		q := h.ask(c, permission(), turns.AskOptions{})
		h.pump()
		before := len(h.seen)
		h.faults.breakDown()
		for name, f := range h.commands(c.TurnID, q.id) {
			if err := f(); !errors.Is(err, ledger.ErrStorageFailed) {
				t.Errorf("%s: %v", name, err)
			}
		}
		h.emit(c, items.Progress{Message: "x"})
		<-c.Over // the agent is detached
		if err := c.Emit(bg, items.Progress{Message: "y"}); !errors.Is(err, turns.ErrPromptOver) {
			t.Errorf("emit: %v", err)
		}
		for name, f := range h.commands(c.TurnID, q.id) {
			if err := f(); !errors.Is(err, ledger.ErrStorageFailed) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if h.pump(); len(h.seen) != before {
			t.Errorf("the log has\n%s", list(h.seen[before:]))
		}
		if tn := h.turn(c.TurnID); tn.State != turns.Active { // reads continue
			t.Errorf("turn: %+v", tn)
		}
		if l := h.engine.Load(); l.Waiting != 0 || l.Active != 0 {
			t.Errorf("load: %+v", l)
		}
		if d, err := h.drain(); err != nil || d != 0 {
			t.Errorf("a drain waits for what cannot be: %v, %v", d, err)
		}
		h.restart() // with a disk that works
		if e := h.ended(c.TurnID); e.Reason != "server restarted" {
			t.Errorf("ended: %s", e)
		}
	})
}

func TestFailedStorageEndsTheAttemptsToStartTurns(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "quick")
		h.pause()
		q := h.start("a")
		h.resume()
		h.ended(q.TurnID)
		h.pause()
		q = h.start("a")
		var tries atomic.Int64
		h.faults.fail(func(u *ledger.Unit) error {
			if len(u.Fences) > 0 {
				tries.Add(1)
				return ledger.ErrStorageFailed
			}
			return nil
		})
		h.resume()
		time.Sleep(time.Minute)
		if n := tries.Load(); n != 1 {
			t.Errorf("%d tries", n)
		}
		h.restart()
		h.ended(q.TurnID)
	})
}
