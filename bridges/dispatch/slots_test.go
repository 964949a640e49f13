package dispatch

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
)

// hall is slots with lanes that keep their slot until they are told to leave.
type hall struct {
	p     slots
	mu    sync.Mutex
	order []string // in which lanes have got a slot
	in    map[string]*lane
	names map[*lane]string
}

func newHall() *hall {
	h := &hall{in: map[string]*lane{}, names: map[*lane]string{}}
	h.p.now = time.Now
	h.p.start = func(l *lane) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.order = append(h.order, h.names[l])
		h.in[h.names[l]] = l
	}
	return h
}

// lanes makes n lanes of a bridge that want a slot.
func (h *hall) lanes(name string, o *bridgeLoad, n int) {
	for i := range n {
		l := &lane{out: o}
		h.mu.Lock()
		h.names[l] = fmt.Sprint(name, i)
		h.mu.Unlock()
		h.p.want(l)
		synctest.Wait() // so that order is the order of slots
	}
}

// leave gives the slot of a lane back, and takes what has got one since then.
func (h *hall) leave(name string) (next []string) {
	h.mu.Lock()
	before, l := len(h.order), h.in[name]
	delete(h.in, name)
	h.mu.Unlock()
	h.p.done(l)
	h.p.left()
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.order[before:]
}

// count is how many lanes of a bridge have a slot.
func (h *hall) count(o *bridgeLoad) (n int) {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.in {
		if l.out == o {
			n++
		}
	}
	return n
}

func wantCount(t *testing.T, what string, got, want int) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %d, want %d", what, got, want)
	}
}

// TestSlotsOfBridges: a bridge has eight slots, all together have 64, and whoever waits
// gets the next one in turn: bridges first, then the lanes of a bridge.
func TestSlotsOfBridges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall()
		var loads []*bridgeLoad
		for i := range 10 {
			o := &bridgeLoad{sends: true}
			loads = append(loads, o)
			h.lanes(fmt.Sprint(i, "/"), o, 70)
		}
		for i, o := range loads {
			n := 8
			if i > 7 { // 8 bridges have all 64
				n = 0
			}
			wantCount(t, fmt.Sprint("slots of bridge ", i), h.count(o), n)
		}
		// The bridges that have waited longest come first, then those that gave up a
		// slot; and of each bridge the lane that has waited longest.
		var got []string
		for _, name := range []string{"0/0", "0/1", "0/2", "1/0", "2/0"} {
			got = append(got, h.leave(name)...)
		}
		want(t, "next", fmt.Sprint(got), "[8/0 9/0 0/8 8/1 9/1]")
		// One that fails waits for two slots at most.
		h.lanes("bad", &bridgeLoad{sends: true, unhealthy: failingAfter}, 1)
		want(t, "next", fmt.Sprint(append(h.leave("3/0"), h.leave("4/0")...)), "[0/9 bad0]")
	})
}

// TestSlotsOfABridgeThatFails: after three failures in a row it is probed with one
// delivery at a time, and all that fail share eight slots.
func TestSlotsOfABridgeThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall()
		bad := &bridgeLoad{sends: true}
		h.lanes("bad", bad, 70)
		wantCount(t, "before it fails", h.count(bad), 8)
		for i := range 2 {
			h.p.set(bad, func(o *bridgeLoad) { o.unhealthy++ })
			h.leave(fmt.Sprint("bad", i))
			wantCount(t, fmt.Sprint("after failure ", i+1), h.count(bad), 8)
		}
		h.p.set(bad, func(o *bridgeLoad) { o.unhealthy++ })
		for i := 2; i < 9; i++ {
			wantCount(t, fmt.Sprint("lanes that go on after ", i), len(h.leave(fmt.Sprint("bad", i))), 0)
		}
		wantCount(t, "the last of eight", h.count(bad), 1)
		want(t, "the probe", fmt.Sprint(h.leave("bad9")), "[bad10]")
		wantCount(t, "while it fails", h.count(bad), 1)

		var others []*bridgeLoad
		for i := range 20 {
			o := &bridgeLoad{sends: true, unhealthy: failingAfter}
			others = append(others, o)
			h.lanes(fmt.Sprint("other", i, "/"), o, 3)
		}
		all := h.count(bad)
		for _, o := range others {
			wantCount(t, "slots of one of them", min(h.count(o), 1), h.count(o))
			all += h.count(o)
		}
		wantCount(t, "slots of all that fail", all, 8)
		well := &bridgeLoad{sends: true}
		h.lanes("well", well, 70)
		wantCount(t, "of a bridge that works", h.count(well), 8)

		h.leave("bad10")
		h.p.set(bad, func(o *bridgeLoad) { o.unhealthy = 0 })
		wantCount(t, "after a success", h.count(bad), 8)
		// Those that fail take turns, however many lanes each of them has.
		for turn := range 3 {
			for i := range others {
				name := fmt.Sprint("other", i, "/", turn)
				if h.in[name] == nil {
					t.Fatalf("%s has no slot", name)
				}
				h.leave(name)
			}
		}
	})
}

// TestSlotsOfABridgeThatWaits: paused, held by its target, or at a stop.
func TestSlotsOfABridgeThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall()
		o := &bridgeLoad{heldUntil: time.Now().Add(time.Hour)}
		h.lanes("a", o, 10)
		wantCount(t, "paused", h.count(o), 0)
		h.p.set(o, func(o *bridgeLoad) { o.sends = true })
		wantCount(t, "held", h.count(o), 0)
		time.Sleep(time.Hour)
		wantCount(t, "afterwards", h.count(o), 8)
		stopped := make(chan struct{})
		go func() {
			h.p.stop()
			close(stopped)
		}()
		synctest.Wait()
		for i := range 8 {
			select {
			case <-stopped:
				t.Fatalf("the stop is over while %d lanes have a slot", 8-i)
			default:
			}
			wantCount(t, "given at a stop", len(h.leave(fmt.Sprint("a", i))), 0)
		}
		<-stopped
		h.p.begin()
		wantCount(t, "after it", h.count(o), 2)
	})
}

// TestASlowBridgeDelaysItselfOnly: 70 subscriptions of a bridge that hangs, and one of
// another.
func TestASlowBridgeDelaysItselfOnly(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		slow := &hanging{target: w.target}
		w.change = func(cfg *Config) {
			cfg.Open = func(b *bridges.Bridge, _ bridges.Secrets, _ *bridges.Secrets) (bridges.Channel, error) {
				if b.BridgeID == "slow" {
					return slow, nil
				}
				return w.target, nil
			}
		}
		w.restart()
		w.bridge("slow")
		w.bridge("quick")
		for i := range 70 {
			w.subscribe(fmt.Sprint("slow", i), "slow", "")
		}
		w.subscribe("quick", "quick", "")
		m := w.thread("a")
		for i := range 20 {
			id := fmt.Sprint("t", i)
			turn(m, id)
			seq := end(m, id)
			want(t, "arrived", w.target.take(), fmt.Sprint("turn.completed ", seq)) // no time has passed
			wantCount(t, "attempts of the slow bridge", slow.now(), 8)
		}
		wantCount(t, "attempts so far", slow.all(), 8)
		time.Sleep(hangs)
		// Eight attempts end at once. One or two more begin before the third failure counts.
		more := slow.now()
		if more != 1 && more != 2 {
			t.Errorf("%d attempts after eight failures", more)
		}
		time.Sleep(hangs)
		for range 5 {
			wantCount(t, "attempts of the probe", slow.now(), 1)
			time.Sleep(hangs)
		}
		wantCount(t, "attempts of the probe", slow.now(), 1)
		wantCount(t, "attempts in all", slow.all(), 8+more+6)
		turn(m, "last")
		seq := end(m, "last")
		want(t, "arrived", w.target.take(), fmt.Sprint("turn.completed ", seq))
	})
}

// hangs is how long an attempt at a target that hangs takes.
const hangs = 20 * time.Second

// hanging is a target that never answers.
type hanging struct {
	*target
	mu          sync.Mutex
	busy, began int
}

func (h *hanging) Send(ctx context.Context, _ *bridges.Outgoing) bridges.Result {
	h.mu.Lock()
	h.busy++
	h.began++
	h.mu.Unlock()
	select {
	case <-time.After(hangs):
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.busy--
	return bridges.Result{Outcome: bridges.Failed, Error: "timeout", Unhealthy: true, Arrived: true}
}

// all is how many attempts have begun.
func (h *hanging) all() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.began
}

func (h *hanging) now() int {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.busy
}

// TestLanesThatGoOnLeaveASlotForAProbe: those that keep their slots do not keep bridges
// that fail from trying again.
func TestLanesThatGoOnLeaveASlotForAProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall()
		for i := range 8 {
			h.lanes(fmt.Sprint(i, "/"), &bridgeLoad{sends: true}, 8)
		}
		if !h.p.keep(h.in["0/0"]) {
			t.Error("a lane cannot keep its slot although nobody waits")
		}
		h.lanes("bad", &bridgeLoad{sends: true, unhealthy: failingAfter}, 1)
		if h.p.keep(h.in["0/0"]) {
			t.Error("a lane keeps its slot although a probe waits for one")
		}
	})
}

// TestARecoveredBridgeLeavesTheSlotsOfThoseThatFail, also if its lane keeps its slot.
func TestARecoveredBridgeLeavesTheSlotsOfThoseThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall()
		var loads []*bridgeLoad
		for i := range 9 {
			o := &bridgeLoad{sends: true, unhealthy: failingAfter}
			loads = append(loads, o)
			h.lanes(fmt.Sprint(i, "/"), o, 1)
		}
		wantCount(t, "the ninth", h.count(loads[8]), 0)
		h.p.set(loads[0], func(o *bridgeLoad) { o.unhealthy = 0 })
		if !h.p.keep(h.in["0/0"]) {
			t.Error("a lane cannot keep its slot although nobody waits for that")
		}
		wantCount(t, "the ninth when one has recovered", h.count(loads[8]), 1)
	})
}

// TestALaneThatHasTwoSlotsGivesBothBack: it may get another one before it has given the
// first back, and its bridge may work by then.
func TestALaneThatHasTwoSlotsGivesBothBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall()
		for i := range maxFailingSlots {
			o := &bridgeLoad{sends: true, unhealthy: failingAfter}
			name := fmt.Sprint(i, "/")
			h.lanes(name, o, 1)
			l := h.in[name+"0"]
			h.p.set(o, func(o *bridgeLoad) { o.unhealthy = 0 })
			h.p.want(l)
			synctest.Wait()
			for range 2 {
				h.p.done(l)
				h.p.left()
			}
		}
		bad := &bridgeLoad{sends: true, unhealthy: failingAfter}
		h.lanes("bad", bad, 1)
		wantCount(t, "a probe", h.count(bad), 1)
	})
}
