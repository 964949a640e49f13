package acp

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// in is an agent's slot in a room.
func in(r *Room) func(*Config) { return func(c *Config) { c.Room = r } }

// within has a room in which agents have no processes but those that the test makes.
func within(most int) (r *Room, agent func(apart bool, idle time.Duration) *pool) {
	r = NewRoom(most)
	return r, func(apart bool, idle time.Duration) *pool {
		a := &Agent{cfg: Config{ProcessPerThread: apart, IdleAfter: idle}}
		a.pool.enterRoom(a, r)
		return &a.pool
	}
}

// runs is a process that runs something for a thread.
func (p *pool) runs(thread string) *proc {
	pr := newProc(p.a)
	p.mu.Lock()
	defer p.mu.Unlock()
	pr.thread = thread
	p.procs = append(p.procs, pr)
	p.keep(pr)
	return pr
}

// living are the threads whose processes stay. It lets those end that are to end.
func (r *Room) living() (threads []string) {
	for _, p := range r.pools {
		for _, pr := range slices.Clone(p.procs) {
			if pr.stop.fired() {
				p.gone(pr, nil)
			} else {
				threads = append(threads, pr.thread)
			}
		}
	}
	return threads
}

func (r *Room) want(t *testing.T, threads string) {
	t.Helper()
	synctest.Wait()
	if got := strings.Join(r.living(), " "); got != threads {
		t.Errorf("there are processes for %q, want %q", got, threads)
	}
}

func TestTheOldestIdleProcessOfAnyAgentGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, agent := within(4)
		one, other, shared := agent(true, 10*time.Minute), agent(true, 10*time.Minute), agent(false, 10*time.Minute)
		a, b, c, s := one.runs("a"), other.runs("b"), one.runs("c"), shared.runs("s")
		other.leave(b)
		time.Sleep(10 * time.Second)
		shared.leave(s)
		time.Sleep(10 * time.Second)
		one.leave(a)
		r.want(t, "a c b s")
		time.Sleep(40*time.Second - 1)
		r.want(t, "a c b s")
		time.Sleep(1 * time.Nanosecond) // b is idle for a minute: three of four slots are more than half
		r.want(t, "a c s")
		time.Sleep(10 * time.Second)
		r.want(t, "a c") // half: the rest stays as long as always
		time.Sleep(8 * time.Minute)
		r.want(t, "a c")
		time.Sleep(2 * time.Minute)
		r.want(t, "c")
		one.leave(c)
	})
}

func TestIdleProcessesGoAtOnceWhereThereAreTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, agent := within(2)
		apart, shared, forever := agent(true, 10*time.Minute), agent(false, 10*time.Minute), agent(false, -1)
		a, b, k := apart.runs("a"), apart.runs("b"), forever.runs("kept")
		apart.leave(b)
		forever.leave(k)
		r.want(t, "a kept") // three of two: b goes, and what is kept for ever stays
		s := shared.runs("s")
		r.want(t, "a s kept") // it does not wait, and nothing else is idle
		shared.leave(s)
		r.want(t, "a kept")
		apart.leave(a)
		time.Sleep(time.Minute)
		r.want(t, "kept")
	})
}

// Lending is balanced by the end of the work at the latest, and what it says of a process
// in which nothing runs counts for nothing.
func TestASlotIsLentNoLongerThanItsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, agent := within(4)
		p, shared := agent(true, 10*time.Minute), agent(false, 10*time.Minute)
		taken := func(want int) {
			t.Helper()
			if n := r.taken(true).all; n != want {
				t.Errorf("%d slots are taken, want %d", n, want)
			}
		}
		a, s := p.runs("a"), shared.runs("")
		p.a.Lend("a")
		taken(1)
		p.a.Lend("a")
		p.a.Reclaim("a")
		taken(2)
		p.a.Reclaim("a")
		taken(2)
		p.a.Lend("a")
		p.leave(a) // its turn was interrupted
		taken(2)
		p.a.Lend("a")
		taken(2)
		p.enterSame(a)
		taken(2)
		p.a.Lend("a")
		p.killUnlessShared(a)
		taken(1)
		p.leave(a)
		taken(2)
		p.a.Lend("nobody")
		shared.a.Lend("")
		taken(2)
		shared.leave(s)
		p.gone(a, errGone)
		taken(1)
	})
}

// A line of several agents: who cannot start keeps nobody from it who can.
func TestASlotIsForTheFirstWhoCanUseIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, agent := within(3)
		small, other := agent(true, time.Hour), agent(true, time.Hour)
		small.a.cfg.MaxProcesses = 1
		a, b := small.runs("a"), other.runs("b")
		x := other.runs("x")
		line := []*waiter{newWaiter(small), newWaiter(other), newWaiter(other)}
		for _, w := range line {
			if pr, _, whatFor, _ := w.p.choose("new", w); pr != nil || !strings.Contains(whatFor, "at work; waiting") {
				t.Fatalf("it has a slot; %s", whatFor)
			}
		}
		woken := func(want int) {
			t.Helper()
			for i, w := range line {
				select {
				case <-w.woken:
					if i != want {
						t.Errorf("waiter %d is woken, not %d", i, want)
					}
				default:
					if i == want {
						t.Errorf("waiter %d is not woken", i)
					}
				}
			}
		}
		other.a.Lend("b")
		woken(1)
		r.mu.Lock()
		if r.mayStart(line[0]) || !r.mayStart(line[1]) || r.mayStart(line[2]) {
			t.Error("another one than the first who can may start")
		}
		r.mu.Unlock()
		other.a.Reclaim("b")
		other.leave(x) // and ends: it makes room for those in line
		r.want(t, "a b")
		woken(1)
		r.leaveLine(line[1])
		woken(2)
		small.leave(a)
		r.want(t, "b") // it is of the agent that may have one only
		woken(0)
		other.leave(b)
	})
}

// A process that could not start leaves its slot to those in line. An agent that may not
// try again yet has them wait for that moment, and keeps no other agent from the slot.
func TestWhoWaitsBehindAFailedStartTriesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, agent := within(1)
		fails, other := agent(true, time.Hour), agent(true, time.Hour)
		a := fails.runs("a")
		line := []*waiter{newWaiter(fails), newWaiter(other)}
		for _, w := range line {
			if pr, wait, _, _ := w.p.choose("new", w); pr != nil || wait != 0 {
				t.Fatal("it has a slot")
			}
		}
		fails.gone(a, errGone)
		for i, w := range line {
			select {
			case <-w.woken:
			default:
				t.Errorf("waiter %d is not woken", i)
			}
		}
		if pr, wait, _, _ := fails.choose("new", line[0]); pr != nil || wait <= 0 {
			t.Errorf("it waits %v for the next try", wait)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.mayStart(line[1]) {
			t.Error("the slot is kept for an agent that may not try")
		}
	})
}

// What waits for a slot is told when only a person can make one.
func TestWhoWaitsIsToldThatAPersonIsWaitedFor(t *testing.T) {
	r := bad(t, "", in(NewRoom(1)), apart(0))
	asked, allow := make(chan struct{}), make(chan struct{})
	first := r.thread("a").hold("ask Write?\nwait", answer(items.AllowOnce), func(s *agenttest.Sink) {
		allowed := s.OnAsk
		s.OnAsk = func(ctx context.Context, q items.Content, o turns.AskOptions) (turns.Answer, error) {
			close(asked)
			<-allow
			return allowed(ctx, q, o)
		}
	})
	<-asked
	waiting := r.thread("b").hold("say on\nwait")
	told := func(text string) {
		t.Helper()
		waiting.sink.Wait(t.Context(), func() bool {
			all := waiting.sink.Progress()
			return len(all) > 0 && strings.Contains(all[len(all)-1], text)
		})
	}
	told("wait for a person: answer their questions")
	close(allow)
	told("at work; waiting for one to end")
	first.release()
	<-first.out
	waiting.sink.Wait(t.Context(), func() bool { return hasItem(waiting.sink) })
	waiting.release()
	<-waiting.out
}

func TestOwnersInACallTakeNoSlotOfAnyAgent(t *testing.T) {
	room := NewRoom(1)
	one, other := bad(t, "", in(room), apart(0)), bad(t, "", in(room), apart(1))
	owner := one.thread("owner").hold("say on\nwait")
	owner.sink.Wait(t.Context(), func() bool { return hasItem(owner.sink) })
	child := other.thread("child").hold("say on\nwait")
	child.waits(t)
	one.Lend("owner")
	child.sink.Wait(t.Context(), func() bool { return hasItem(child.sink) })
	other.Lend("child")
	grandchild := one.thread("grandchild").hold("say on\nwait")
	grandchild.sink.Wait(t.Context(), func() bool { return hasItem(grandchild.sink) })
	late := other.thread("late").hold("say on\nwait") // its agent has a bound of its own, which lending lifts too
	late.waits(t)
	one.Reclaim("owner") // goes on, over the bound
	other.Reclaim("child")
	for _, h := range []*held{grandchild, child, owner} {
		h.release()
		<-h.out
	}
	late.sink.Wait(t.Context(), func() bool { return hasItem(late.sink) })
	late.release()
	<-late.out
	if n := len(room.line); n != 0 {
		t.Errorf("%d wait in line", n)
	}
}

func TestDefaultProcessesFollowTheMemory(t *testing.T) {
	for memory, want := range map[int64]int{0: 64, 256 << 20: 2, 2 << 30: 2, 3 << 30: 3, 16 << 30: 16, 24 << 30: 24, 512 << 30: 64} {
		if n := DefaultProcesses(memory); n != want {
			t.Errorf("%d MiB: %d processes, want %d", memory>>20, n, want)
		}
	}
}
