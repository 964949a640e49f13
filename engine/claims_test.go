package engine_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// claimer is a worker that waits for a turn.
type claimer struct {
	cancel func()
	got    chan turns.ClaimResult
	err    error // once got is closed
}

// waitFor lets a worker wait for a turn, and returns when it waits in line.
func (h *harness) waitForTurn(name string, wait time.Duration) *claimer {
	h.t.Helper()
	ctx, cancel := context.WithCancel(bg)
	c := &claimer{cancel: cancel, got: make(chan turns.ClaimResult, 1)}
	go func() {
		defer close(c.got)
		r, err := h.workers.Claim(ctx, turns.Claim{Agent: "remote", Worker: name, Wait: wait})
		if c.err = err; err == nil {
			c.got <- r
		}
	}()
	synctest.Wait()
	return c
}

// turn is the turn that the claimer has received; "" if none came in time.
func (c *claimer) turn() string {
	r, ok := <-c.got
	if !ok {
		return c.err.Error()
	}
	if r.Turn == nil {
		return ""
	}
	return r.Turn.TurnID
}

func TestClaimsAreServedInTheOrderOfTheirComing(t *testing.T) {
	bubble(t, remotely(false), func(h *harness) {
		var waiting []*claimer
		for i := range 4 {
			waiting = append(waiting, h.waitForTurn(fmt.Sprint(i), time.Minute))
		}
		var started []string
		for i := range 6 {
			th := fmt.Sprint("t", i)
			h.thread(th, "remote")
			started = append(started, h.start(th).TurnID)
			synctest.Wait()
		}
		var got []string
		for _, c := range waiting {
			got = append(got, c.turn())
		}
		for range 2 { // later workers take the turns that have waited
			got = append(got, h.claim("").Turn.TurnID)
		}
		if !slices.Equal(got, started) {
			t.Errorf("claimed %v, started %v", got, started)
		}
		if r, err := h.workers.Claim(bg, turns.Claim{Agent: "remote"}); err != nil || r.Turn != nil || r.Lease != nil {
			t.Errorf("one more: %+v, %v", r, err)
		}
	})
}

func TestClaimThatEndsInVainLeavesTheTurnToTheNext(t *testing.T) {
	bubble(t, remotely(false), func(h *harness) {
		h.thread("a", "remote")
		gone := h.waitForTurn("gone", time.Minute)
		brief := h.waitForTurn("brief", time.Second)
		stays := h.waitForTurn("stays", time.Minute)
		gone.cancel()
		if s := gone.turn(); s != context.Canceled.Error() {
			t.Errorf("the one that has gone: %s", s)
		}
		time.Sleep(2 * time.Second)
		if s := brief.turn(); s != "" {
			t.Errorf("the one whose time is over: %s", s)
		}
		r := h.start("a")
		if s := stays.turn(); s != r.TurnID {
			t.Errorf("the one that stays: %s", s)
		}
	})
}

// busy keeps the actor of thread a busy until release is called, with a steer.
func (h *harness) busy(turnID string) (release func()) {
	release = h.hold(has(notify.ItemCreated))
	go h.steer(turnID, "more", false)
	synctest.Wait()
	return release
}

func TestWorkerThatLeavesWhileItGetsATurnLeavesItToTheNext(t *testing.T) {
	bubble(t, remotely(false), func(h *harness) {
		h.thread("a", "remote")
		r := h.start("a")
		release := h.busy(r.TurnID)
		first := h.waitForTurn("first", time.Minute)
		second := h.waitForTurn("second", time.Minute)
		first.cancel()
		if s := first.turn(); s != context.Canceled.Error() {
			t.Errorf("the first: %s", s)
		}
		release()
		if s := second.turn(); s != r.TurnID {
			t.Errorf("the second: %s", s)
		}
		if tn := h.turn(r.TurnID); tn.Worker != "second" {
			t.Errorf("the turn is that of %q", tn.Worker)
		}
	})
}

func TestWorkerWhoseTurnHasEndedKeepsItsPlaceInLine(t *testing.T) {
	bubble(t, remotely(false), func(h *harness) {
		h.thread("a", "remote")
		h.thread("b", "remote")
		r := h.start("a")
		release := h.busy(r.TurnID)
		go h.interrupt(r.TurnID)
		synctest.Wait()
		first := h.waitForTurn("first", time.Minute) // it gets a turn that is interrupted before
		second := h.waitForTurn("second", time.Minute)
		release()
		h.ended(r.TurnID)
		synctest.Wait()
		r = h.start("b")
		if s := first.turn(); s != r.TurnID {
			t.Errorf("the first: %s", s)
		}
		second.cancel()
		second.turn()
	})
}

func TestTurnThatHasEndedIsOfferedNoMore(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		h.thread("a", "remote")
		for range 3 {
			h.interrupt(h.start("a").TurnID)
		}
		if n := h.workers.Offers("remote"); n != 0 {
			t.Errorf("%d turns are offered", n)
		}
		h.start("a")
		if n := h.workers.Offers("remote"); n != 1 {
			t.Errorf("%d turns are offered, not the one", n)
		}
	})
}

func TestManyClaimersAndTurnsMeetOnce(t *testing.T) {
	bubble(t, remotely(false), func(h *harness) {
		const n = 40
		for i := range n {
			h.thread(fmt.Sprint("t", i), "remote")
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		got := map[string]int{}
		for i := range n {
			wg.Go(func() {
				time.Sleep(time.Duration(i%7) * time.Millisecond)
				h.start(fmt.Sprint("t", i))
			})
			wg.Go(func() {
				time.Sleep(time.Duration(i%5) * time.Millisecond)
				// No worker hangs up here: one that does so while the claim commits
				// still has the turn until its lease runs out.
				for range 1000 {
					r, err := h.workers.Claim(bg, turns.Claim{Agent: "remote", Wait: time.Duration(1+i%4) * time.Millisecond})
					if err != nil {
						h.t.Errorf("claim: %v", err)
						return
					}
					if r.Turn != nil {
						mu.Lock()
						got[r.Turn.TurnID]++
						mu.Unlock()
						h.complete(r.Lease)
						return
					}
				}
			})
		}
		wg.Wait()
		if len(got) != n {
			t.Errorf("%d turns were claimed", len(got))
		}
	})
}

func TestClaimersAreBounded(t *testing.T) {
	bubble(t, remotely(false), func(h *harness) {
		var waiting []*claimer
		for range turns.MaxClaimers {
			waiting = append(waiting, h.waitForTurn("", time.Minute))
		}
		if _, err := h.workers.Claim(bg, turns.Claim{Agent: "remote", Wait: time.Second}); !errors.Is(err, turns.ErrOverloaded) {
			t.Errorf("one too many: %v", err)
		}
		for _, c := range waiting {
			c.cancel()
			c.turn()
		}
		if c := h.waitForTurn("", 0); c.turn() != "" {
			t.Error("afterwards none has room")
		}
	})
}

func TestClaimIsRefused(t *testing.T) {
	bubble(t, remotely(false), func(h *harness) {
		var bad *turns.InvalidError
		for field, c := range map[string]turns.Claim{
			"agent":        {Agent: "quick"},
			"worker":       {Agent: "remote", Worker: strings.Repeat("x", turns.MaxWorkerName+1)},
			"wait_seconds": {Agent: "remote", Wait: turns.MaxClaimWait + 1},
		} {
			if _, err := h.workers.Claim(bg, c); !errors.As(err, &bad) || bad.Field != field {
				t.Errorf("%s: %v", field, err)
			}
		}
		if _, err := h.workers.Claim(bg, turns.Claim{Agent: "nobody"}); !errors.Is(err, turns.ErrAgentNotFound) {
			t.Errorf("no agent: %v", err)
		}
	})
}

func TestClaimWithAKeyIsAnsweredAgain(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		h.thread("a", "remote")
		h.thread("b", "remote")
		r, other := h.start("a"), h.start("b")
		claim := func(k string) turns.ClaimResult {
			c, err := h.workers.Claim(bg, turns.Claim{Agent: "remote", Worker: "w", Key: key(k, "turn/claim", "w")})
			if err != nil || c.Turn == nil {
				t.Fatalf("claim: %+v, %v", c, err)
			}
			return c
		}
		first := claim("k")
		time.Sleep(10 * time.Second)
		h.renew(first.Lease)
		again := claim("k")
		if again.Turn.TurnID != r.TurnID || again.Lease.Token != first.Lease.Token || again.Seq != first.Seq || len(again.Input) != 1 ||
			time.Until(again.Lease.ExpiresAt.Time) != turns.DefaultLease {
			t.Errorf("again %+v %+v", again, again.Lease)
		}
		if c := claim("k2"); c.Turn.TurnID != other.TurnID {
			t.Errorf("with another key %+v", c)
		}
		h.restart()
		if again := claim("k"); again.Lease.Token != first.Lease.Token || again.Lease.Attempt != 1 {
			t.Errorf("after a restart %+v", again)
		}
		if _, err := h.workers.Claim(bg, turns.Claim{Agent: "remote", Key: key("k", "turn/claim", "x")}); !errors.Is(err, ledger.ErrKeyConflict) {
			t.Errorf("for something else: %v", err)
		}
		h.none("the token is told", func(e event) bool { return strings.Contains(string(e.raw), first.Lease.Token) })
		h.complete(first.Lease)
		if again := claim("k"); again.Turn.State != turns.Completed || !again.Lease.ExpiresAt.IsZero() {
			t.Errorf("after its end %+v", again)
		}
	})
}

func TestTwoClaimsWithOneKeyTakeOneTurn(t *testing.T) {
	bubble(t, remotely(false), func(h *harness) {
		k := key("k", "turn/claim", 1)
		got := make(chan turns.ClaimResult, 2)
		for range 2 { // the second is the first, sent again
			go func() {
				r, err := h.workers.Claim(bg, turns.Claim{Agent: "remote", Wait: time.Minute, Key: k})
				if err != nil {
					t.Errorf("claim: %v", err)
				}
				got <- r
			}()
		}
		synctest.Wait()
		h.thread("a", "remote")
		h.thread("b", "remote")
		h.start("a")
		h.start("b")
		one, two := <-got, <-got
		if one.Turn.TurnID != two.Turn.TurnID || one.Lease.Token != two.Lease.Token {
			t.Errorf("claimed %+v and %+v", one, two)
		}
		if c := h.claim(""); c.Turn.TurnID == one.Turn.TurnID {
			t.Errorf("the other turn: %+v", c)
		}
	})
}

func TestCommandsOfAWorkerAreAnsweredAgainByTheirKeys(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		c := h.work()
		write := turns.WriteItems{Lease: *c.Lease, Ops: []turns.ItemOp{message("", "x")}, Key: key("w", "item/create", 1)}
		one, err := h.workers.WriteItems(bg, write)
		two, err2 := h.workers.WriteItems(bg, write)
		if err != nil || err2 != nil || one.Items[0] != two.Items[0] || one.Seq != two.Seq {
			t.Errorf("%+v, %v; %+v, %v", one, err, two, err2)
		}
		start := turns.StartStep{Lease: *c.Lease, Step: "s", Key: key("s", "step/start", 1)}
		first, err := h.workers.StepStart(bg, start)
		second, err2 := h.workers.StepStart(bg, start)
		if err != nil || err2 != nil || first != second || first.Epoch != 1 {
			t.Errorf("%+v, %v; %+v, %v", first, err, second, err2)
		}
		end := turns.CompleteTurn{Lease: *c.Lease, Message: "done", Key: key("c", "turn/complete", 1)}
		done, err := h.workers.Complete(bg, end)
		twice, err2 := h.workers.Complete(bg, end)
		if err != nil || err2 != nil || !reflect.DeepEqual(done, twice) || done.State != turns.Completed {
			t.Errorf("%+v, %v; %+v, %v", done, err, twice, err2)
		}
		if it := h.item(one.Items[0].ItemID); it.Status != items.StatusCompleted {
			t.Errorf("item %+v", it)
		}
	})
}

func TestAgentTellsWhetherWorkersAreThere(t *testing.T) {
	bubble(t, remotely(false), func(h *harness) {
		is := func(state string, leases int) {
			t.Helper()
			for _, a := range h.engine.Agents() {
				if a.Name == "remote" && (a.State != state || a.Sessions != leases) {
					t.Errorf("the agent is %+v, want %s with %d", a, state, leases)
				}
			}
		}
		is(turns.AgentIdle, 0)
		c := h.waitForTurn("", time.Minute)
		is(turns.AgentReady, 0)
		h.thread("a", "remote")
		h.start("a")
		lease := (<-c.got).Lease
		is(turns.AgentReady, 1)
		h.restart()
		synctest.Wait()
		is(turns.AgentReady, 1)
		h.complete(lease)
		is(turns.AgentIdle, 0)
	})
}
