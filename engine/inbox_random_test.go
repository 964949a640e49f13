package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
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

// moody is an agent of kind acp that does at random what agents do with a prompt.
type moody struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (*moody) Info() turns.AgentInfo { return turns.AgentInfo{Name: "moody", Kind: turns.KindACP} }

func (m *moody) intn(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.r.IntN(n)
}

func (m *moody) Run(ctx context.Context, p *turns.Prompt) turns.Outcome {
	select {
	case <-time.After(time.Duration(m.intn(3000)) * time.Millisecond):
	case <-ctx.Done():
		return turns.Outcome{State: turns.Interrupted}
	}
	if m.intn(3) > 0 {
		if err := p.Emit(ctx, items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: items.NewAgentMessage("done")}); err != nil {
			return turns.Outcome{State: turns.Interrupted}
		}
	}
	switch m.intn(10) {
	case 0:
		return turns.Outcome{State: turns.Failed, Failure: &turns.Failure{Kind: "agent_failed", Message: "it failed"}}
	case 1:
		return turns.Outcome{State: turns.Failed, Cause: turns.CauseCrash, Failure: &turns.Failure{Kind: "agent_failed", Message: "it died"}}
	}
	return turns.Outcome{State: turns.Completed}
}

// inboxMove is one random command, or an accident. Errors that say that something is
// closed, paused or gone are part of the game; the log is checked at the end.
func (h *harness) inboxMove(r *rand.Rand, n int) {
	th := fmt.Sprint("t", r.IntN(3))
	x := h.inboxes()
	switch r.IntN(22) {
	case 0, 1, 2:
		_, _ = x.Send(bg, inbox.Send{ThreadID: th, Text: fmt.Sprint("message ", n)})
	case 3, 4, 5:
		list := many(1+r.IntN(4), func(i int) inbox.Item {
			it := grouped(fmt.Sprint(n, ".", i), fmt.Sprint("pr:", r.IntN(2)))
			it.Grouping.Flush = []inbox.Flush{"", inbox.FlushImmediate}[r.IntN(2)]
			it.Grouping.Breaks = []inbox.Breaks{"", "", inbox.BreaksBefore, inbox.BreaksAfter}[r.IntN(4)]
			return it
		})
		_, _ = x.Ingest(bg, inbox.Ingest{ThreadID: th, Items: list})
	case 6:
		if all := h.allEntries(th); len(all) > 0 {
			shown, err := h.reader.ExpandEntry(bg, inbox.Expand{ThreadID: th, EntryID: all[r.IntN(len(all))].EntryID})
			c := inbox.Ack{ThreadID: th}
			for i := range shown.Items {
				if r.IntN(2) == 0 {
					c.RawIDs = append(c.RawIDs, shown.Items[i].RawID)
				}
			}
			if err == nil && len(c.RawIDs) > 0 {
				_, _ = x.Ack(bg, c)
			}
		}
	case 7:
		if all := h.allEntries(th); len(all) > 0 {
			_, _ = x.Ack(bg, inbox.Ack{ThreadID: th, EntryIDs: []notify.ID{all[r.IntN(len(all))].EntryID}})
		}
	case 8:
		if all := h.entries(th); len(all) > 0 {
			_, _ = x.Ack(bg, inbox.Ack{ThreadID: th, ThroughEntryID: all[r.IntN(len(all))].EntryID})
		}
	case 9, 10:
		_, _ = h.engine.Start(bg, turns.Start{ThreadID: th, Input: text("x"), OnBusy: []turns.OnBusy{"", turns.BusyInterrupt, turns.BusySteer}[r.IntN(3)]})
	case 11, 12:
		if l, err := h.reader.ListTurns(bg, turns.Query{ThreadID: th, Limit: 1, Newest: true}); err == nil && len(l.Rows) > 0 {
			_, _, _ = h.engine.Interrupt(bg, turns.Interrupt{TurnID: l.Rows[0].TurnID})
		}
	case 13:
		_, _ = h.engine.ChangeThread(bg, turns.ChangeThread{ThreadID: th, Verb: []threads.Verb{threads.VerbPause, threads.VerbResume}[r.IntN(2)]})
	case 14:
		_, _ = h.engine.Pause(bg, turns.Pause{TimeoutSeconds: 1 + 9*r.Float64()})
	case 15:
		_, _ = x.Wake(bg, inbox.WakeNow{ThreadID: th})
	case 16:
		_, _ = x.Configure(bg, inbox.Configure{ThreadID: th, Policy: inbox.Policy{
			Wake: []inbox.Wake{inbox.WakeIdle, inbox.WakeIdle, inbox.WakeNone}[r.IntN(3)], Ack: []inbox.AckBy{inbox.AckTurnEnd, inbox.AckExplicit}[r.IntN(2)],
		}})
	case 17:
		h.restart()
	case 18:
		_ = h.engine.Drain(bg)
		h.restart()
	case 19:
		left := r.IntN(4)
		h.faults.fail(func(*ledger.Unit) error { // a kill after some more commits
			if left--; left < 0 {
				return ledger.ErrStorageFull
			}
			return nil
		})
		time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
		h.down()
		h.faults.fail(nil)
		h.up()
	case 20:
		if l, err := h.reader.ListTurns(bg, turns.Query{ThreadID: th, Limit: 1, Newest: true}); err == nil && len(l.Rows) > 0 {
			_, _ = h.engine.Retry(bg, turns.Retry{TurnID: l.Rows[0].TurnID})
		}
	case 21:
		_, _ = x.CreateTimer(bg, inbox.CreateTimer{ThreadID: th, EverySeconds: int64(60 + r.IntN(60)), TimerID: fmt.Sprint("timer", r.IntN(2)), Text: "look"})
	}
}

// With all clocks run down, no thread that may be woken has new entries, and
// nothing is pending.
func TestNoWakeIsLostWhateverHappens(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			agent := &moody{r: rand.New(rand.NewPCG(seed, 8))}
			bubble(t, setup{agents: []turns.Agent{agent}, cfg: engine.Config{MaxActiveTurns: 2}}, func(h *harness) {
				for i := range 3 {
					h.thread(fmt.Sprint("t", i), "moody")
				}
				for n := range 60 {
					h.inboxMove(r, n)
					time.Sleep(time.Duration(r.IntN(2500)) * time.Millisecond)
				}
				time.Sleep(time.Minute) // a pause of the runtime ends
				h.pause()
				for i := range 3 {
					id := fmt.Sprint("t", i)
					for j := range 2 {
						_, _ = h.inboxes().DeleteTimer(bg, inbox.DeleteTimer{ThreadID: id, TimerID: fmt.Sprint("timer", j)})
					}
					if th, err := h.reader.ReadThread(bg, id, 0); err != nil || th.Thread.State == threads.Paused {
						h.change(id, threads.VerbResume) // only these: a resume judges the thread in any case
					}
					if seed%2 == 0 {
						h.send(id, "before the restart")
					}
				}
				if seed%2 == 0 {
					h.restart()
				}
				h.resume()
				if seed%2 != 0 {
					time.Sleep(time.Hour)
					for i := range 3 {
						h.send(fmt.Sprint("t", i), "at rest")
					}
				}
				time.Sleep(4 * time.Hour)
				synctest.Wait()
				for i := range 3 {
					id := fmt.Sprint("t", i)
					box := h.box(id)
					if box == nil {
						continue
					}
					th, err := h.reader.ReadThread(bg, id, 0)
					if err != nil {
						t.Fatal(err)
					}
					may := !th.Thread.Held && box.Policy.Wake != inbox.WakeNone && box.Stalled != inbox.StallSilent
					if may && box.NewEntries > 0 || box.PendingItems > 0 {
						t.Errorf("%s: held %v, inbox %+v", id, th.Thread.Held, *box)
					}
				}
				if l := h.engine.Load(); l.Active != 0 {
					t.Errorf("load %+v", l)
				}
			})
		})
	}
}
