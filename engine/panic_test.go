package engine_test

import (
	"context"
	"errors"
	"github.com/seed82539d15/holon/engine"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// panics lets f panic for units that have an event of the method in thread a.
func panics(method string) func(*ledger.Unit) {
	return func(u *ledger.Unit) {
		for _, d := range u.Drafts {
			if d.Method == method && d.Header.ThreadID == "a" {
				panic("as the test says")
			}
		}
	}
}

func refusing(f func(*ledger.Unit)) func(*ledger.Unit) error {
	return func(u *ledger.Unit) error {
		f(u)
		return nil
	}
}

// idleGate checks, when everything is at rest, that no turn has a slot.
func (h *harness) idleGate() {
	h.t.Helper()
	synctest.Wait()
	if g := h.engine.Gate(); g.Active != 0 || g.Granted != 0 {
		h.t.Errorf("the gate counts %+v", g)
	}
}

// Wherever an actor panics, its turn fails and everything else continues.
func TestPanicOfAnActorEndsItsTurnOnly(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string // the method at which the store panics, before or after the commit
		do            func(h *harness, c *call) error
	}{
		"at output":          {notify.ItemDelta, "", func(h *harness, c *call) error { h.message(c, "x"); return turns.ErrInternal }},
		"after output":       {"", notify.ItemDelta, func(h *harness, c *call) error { h.message(c, "x"); return turns.ErrInternal }},
		"at a command":       {notify.ThreadPaused, "", func(h *harness, c *call) error { return h.commands(c.TurnID, "")["thread/pause"]() }},
		"after a command":    {"", notify.TurnQueued, func(h *harness, c *call) error { return h.commands(c.TurnID, "")["turn/start queue"]() }},
		"at an interrupt":    {notify.TurnProgress, "", func(h *harness, c *call) error { return h.commands(c.TurnID, "")["turn/interrupt"]() }},
		"after an interrupt": {"", notify.TurnProgress, func(h *harness, c *call) error { return h.commands(c.TurnID, "")["turn/interrupt"]() }},
	} {
		t.Run(name, func(t *testing.T) {
			core, logged := observer.New(zapcore.ErrorLevel)
			bubble(t, setup{log: zap.New(core)}, func(h *harness) {
				h.thread("b", "")
				other := h.start("b")
				b := h.next(h.agent)
				p := h.prompt()
				h.faults.fail(refusing(panics(c.before)))
				h.faults.afterCommit(panics(c.after))
				if err := c.do(h, p); !errors.Is(err, turns.ErrInternal) {
					t.Errorf("the command was answered %v", err)
				}
				synctest.Wait()
				h.faults.heal()
				if e := h.ended(p.TurnID); e.Method != notify.TurnFailed || e.Error.Kind != "internal" {
					t.Errorf("ended %s", e)
				}
				if p.ctx.Err() == nil {
					t.Error("the agent was not told")
				}
				for _, e := range logged.FilterMessage("the thread's actor panicked").All() {
					if m := e.ContextMap(); m["thread_id"] != "a" || m["turn_id"] != p.TurnID || !strings.Contains(string(m["stack"].(string)), "panic_test.go") {
						t.Errorf("logged %v", m)
					}
				}
				if n := logged.Len(); n != 1 {
					t.Errorf("%d lines in the log", n)
				}
				b.end(turns.Completed)
				if e := h.ended(other.TurnID); e.Method != notify.TurnCompleted {
					t.Errorf("the other thread's turn ended %s", e)
				}
				time.Sleep(engine.HeldRetry)
				if name == "after a command" { // it is in the log: it starts
					h.next(h.agent).end(turns.Completed)
				}
				h.resumeThread("a")
				again := h.start("a")
				h.next(h.agent).end(turns.Completed)
				h.ended(again.TurnID)
				h.idleGate()
			})
		})
	}
}

func (h *harness) resumeThread(id string) {
	h.t.Helper()
	h.change(id, "resume")
}

// A slot is not lost, whether the turn's start is in the log or not.
func TestPanicAtTheStartOfATurnKeepsNoSlot(t *testing.T) {
	for name, inLog := range map[string]bool{"before the commit": false, "after the commit": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 1}}, func(h *harness) {
				h.thread("a", "")
				h.thread("b", "")
				if inLog {
					h.faults.afterCommit(panics(notify.TurnStarted))
				} else {
					h.faults.fail(refusing(panics(notify.TurnStarted)))
				}
				if _, err := h.engine.Start(bg, turns.Start{ThreadID: "a", Input: text("x")}); !errors.Is(err, turns.ErrInternal) {
					t.Errorf("start: %v", err)
				}
				h.idleGate()
				h.faults.heal()
				if inLog {
					started := h.event(notify.TurnStarted, nil)
					if e := h.ended(started.TurnID); e.Method != notify.TurnFailed {
						t.Errorf("ended %s", e)
					}
				}
				h.start("b")
				c := h.next(h.agent)
				queued := h.start("a")
				h.faults.fail(refusing(panics(notify.TurnStarted)))
				c.end(turns.Completed)
				h.ended(c.TurnID)
				h.idleGate()
				h.faults.heal()
				h.next(h.agent).end(turns.Completed)
				h.ended(queued.TurnID)
			})
		})
	}
}

// A thread whose actor always panics is left alone and does not affect others. The
// next server finds it as it is in the log.
func TestThreadThatAlwaysPanicsIsLeftAlone(t *testing.T) {
	core, logged := observer.New(zapcore.ErrorLevel)
	bubble(t, setup{log: zap.New(core)}, func(h *harness) {
		h.thread("b", "")
		p := h.prompt()
		queued := h.start("a")
		h.faults.fail(refusing(func(u *ledger.Unit) {
			if slices.ContainsFunc(u.Drafts, func(d notify.Draft) bool { return d.Header.ThreadID == "a" }) {
				panic("again")
			}
		}))
		p.end(turns.Completed)
		time.Sleep(time.Minute)
		if n := logged.Len(); n < 2 || n > 10 {
			t.Errorf("%d lines in the log", n)
		}
		h.idleGate()
		h.faults.heal()
		if _, err := h.engine.Start(bg, turns.Start{ThreadID: "a", Input: text("x")}); !errors.Is(err, turns.ErrInternal) {
			t.Errorf("start: %v", err)
		}
		for range 3 { // more than the intake has room for
			if err := h.engine.Host().Emit(bg, "a", []items.Op{said(strings.Repeat("x", 1<<20))}); err != nil {
				t.Errorf("output outside of a turn: %v", err)
			}
		}
		other := h.start("b")
		h.next(h.agent).end(turns.Completed)
		h.ended(other.TurnID)
		h.restart()
		if e := h.ended(p.TurnID); e.Method != notify.TurnInterrupted {
			t.Errorf("ended %s", e)
		}
		h.next(h.agent).end(turns.Completed)
		h.ended(queued.TurnID)
	})
}

func TestPanicInTheRecoveryOfAThreadKeepsNoServer(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("b", "")
		h.start("b")
		h.next(h.agent)
		p := h.prompt()
		h.down()
		h.faults.onLoad(func(threadID string) {
			if threadID == "a" {
				panic("as the test says")
			}
		})
		h.up()
		if _, _, err := h.engine.Interrupt(bg, turns.Interrupt{TurnID: p.TurnID}); !errors.Is(err, turns.ErrInternal) {
			t.Errorf("interrupt: %v", err)
		}
		again := h.start("b")
		h.next(h.agent).end(turns.Completed)
		h.ended(again.TurnID)
		h.restart() // which heals
		if e := h.ended(p.TurnID); e.Method != notify.TurnInterrupted {
			t.Errorf("ended %s", e)
		}
	})
}

// A server that is to stop at once while it recovers a broken thread stops.
func TestPanicInARecoveryAfterTheTurnsWereLeft(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		p := h.prompt()
		h.down()
		h.faults.onLoad(func(string) { panic("as the test says") })
		h.upWithout()
		h.engine.Leave()
		if err := h.engine.Recover(bg); err != nil {
			t.Fatalf("recover: %v", err)
		}
		if n := h.engine.Load().Actors; n != 0 {
			t.Errorf("%d actors have begun", n)
		}
		h.run()
		if _, _, err := h.engine.Interrupt(bg, turns.Interrupt{TurnID: p.TurnID}); !errors.Is(err, turns.ErrDraining) {
			t.Errorf("interrupt: %v", err)
		}
		h.restart() // which heals
		if e := h.ended(p.TurnID); e.Method != notify.TurnInterrupted {
			t.Errorf("ended %s", e)
		}
	})
}

// After an unexplained error the same commit is not tried forever.
func TestUnexplainedErrorsAreBounded(t *testing.T) {
	for name, waits := range map[string]bool{"a queued turn": false, "an attempt": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				h.thread("a", "")
				r := h.startWith(turns.Start{ThreadID: "a", Retry: retrying()})
				c := h.next(h.agent)
				var tries atomic.Int64
				h.faults.fail(func(u *ledger.Unit) error {
					if slices.ContainsFunc(u.Drafts, func(d notify.Draft) bool { return d.Method == notify.TurnStarted }) {
						tries.Add(1)
						return errors.New("odd")
					}
					return nil
				})
				if waits {
					c.crash()
				} else {
					h.start("a")
					c.end(turns.Completed)
				}
				time.Sleep(time.Hour)
				if n := tries.Load(); n < 2 || n > 30 {
					t.Errorf("%d tries", n)
				}
				if _, err := h.engine.Start(bg, turns.Start{ThreadID: "a", Input: text("x")}); !errors.Is(err, ledger.ErrStorageFailed) {
					t.Errorf("start: %v", err)
				}
				h.idleGate()
				h.restart()
				h.next(h.agent).end(turns.Completed)
				_ = r
			})
		})
	}
}

func TestThreadThatIsGivenUpKeepsNoOtherFromItsWorker(t *testing.T) {
	bubble(t, remotely(false), func(h *harness) {
		h.thread("a", "remote")
		h.thread("b", "remote")
		type got struct {
			r   turns.ClaimResult
			err error
		}
		claimed := make(chan got, 2)
		for range 2 {
			go func() {
				r, err := h.workers.Claim(bg, turns.Claim{Agent: "remote", Wait: 20 * time.Second})
				claimed <- got{r, err}
			}()
		}
		synctest.Wait()
		var n atomic.Int64
		h.faults.fail(func(u *ledger.Unit) error {
			for _, d := range u.Drafts {
				if d.Header.ThreadID == "a" && (d.Method == notify.TurnFailed || d.Method == notify.TurnProgress && n.Add(1) > 1) {
					panic("as the test says")
				}
			}
			return nil
		})
		h.start("a")
		<-claimed
		<-claimed
		b := h.start("b")
		r, err := h.workers.Claim(bg, turns.Claim{Agent: "remote"})
		if err != nil || r.Turn == nil || r.Turn.TurnID != b.TurnID {
			t.Errorf("a worker that could do %s gets %+v, %v", b.TurnID, r.Turn, err)
		}
		h.faults.heal()
		h.restart()
	})
}

// loadFails lets Load fail.
type loadFails struct {
	engine.Rows
	on *atomic.Bool
}

func (s loadFails) Load(ctx context.Context, id string) (turns.Loaded, error) {
	if s.on.Load() {
		return turns.Loaded{}, errors.New("odd")
	}
	return s.Rows.Load(ctx, id)
}

func TestOutputDoesNotHurryTheBoundOfUnexplainedErrors(t *testing.T) {
	on := &atomic.Bool{}
	bubble(t, setup{rows: func(r engine.Rows) engine.Rows { return loadFails{r, on} }}, func(h *harness) {
		h.thread("a", "")
		time.Sleep(time.Minute) // the actor has ended
		synctest.Wait()
		on.Store(true)
		for range 30 {
			if err := h.engine.Host().Emit(bg, "a", []items.Op{said("x")}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		on.Store(false) // no time has passed
		if _, err := h.engine.Start(bg, turns.Start{ThreadID: "a", Input: text("x")}); err != nil {
			t.Errorf("start: %v", err)
		}
	})
}
