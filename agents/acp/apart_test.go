package acp

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/turns"
)

// apart gives each thread a process of its own, at most n at once; 0 = the default.
func apart(n int) func(*Config) {
	return func(c *Config) { c.ProcessPerThread, c.MaxProcesses = true, n }
}

// pid is the process that serves the thread.
func (th *testThread) pid() int {
	th.r.t.Helper()
	pid, err := strconv.Atoi(th.run("pid"))
	if err != nil {
		th.r.t.Fatal(err)
	}
	return pid
}

// The agent of this test shows what opencode shows to the model of any session: the
// MCP servers of all sessions of its process.
func TestThreadsApartShareNeitherProcessNorTokens(t *testing.T) {
	for _, c := range []struct {
		change  func(*Config)
		sharing bool
	}{{apart(0), false}, {func(*Config) {}, true}} {
		g := &agenttest.Granter{}
		r := bad(t, "", withTools(g), c.change)
		threads := []*testThread{r.thread("a"), r.thread("b"), r.thread("c")}
		pids := map[int]bool{}
		for range 2 { // a thread keeps its process
			for _, th := range threads {
				pids[th.pid()] = true
			}
		}
		if (len(pids) == 3) == c.sharing {
			t.Errorf("sharing %v: processes %v", c.sharing, pids)
		}
		for _, th := range threads {
			all := th.run("all-mcp")
			for _, grant := range g.Given() {
				if own := grant.ThreadID == th.id; strings.Contains(all, grant.Token) != (own || c.sharing) {
					t.Errorf("sharing %v: %s is shown %s", c.sharing, th.id, all)
				}
			}
		}
		if n := len(g.Given()); n != 3 {
			t.Errorf("sharing %v: %d grants", c.sharing, n)
		}
	}
}

func TestIdleProcessThatIsUnusedForLongestMakesRoom(t *testing.T) {
	g := &agenttest.Granter{}
	r := bad(t, "state="+t.TempDir()+"/s", withTools(g), apart(2))
	a, b, c := r.thread("a"), r.thread("b"), r.thread("c")
	first, second := a.pid(), b.pid()
	a.run("say again") // so b is the one that is unused for longest
	third := c.pid()
	gone(t, second)
	r.counts(2)
	if live := fmt.Sprint(g.Live()); live != "[token-1-of-a token-3-of-c]" {
		t.Errorf("live are %s", live)
	}
	if got := a.pid(); got != first {
		t.Error("the process that was used last was ended")
	}
	if got := b.run("session"); !strings.Contains(got, "resumed") { // in the place of c
		t.Errorf("%s", got)
	}
	gone(t, third)
	r.stop()
	if live := g.Live(); len(live) != 0 {
		t.Errorf("live are %q", live)
	}
	r.Agent.mu.Lock()
	defer r.Agent.mu.Unlock()
	if n := len(r.threads); n != 0 {
		t.Errorf("%d threads are remembered", n)
	}
}

// held is a prompt that runs until release.
type held struct {
	sink    *agenttest.Sink
	release context.CancelFunc
	out     chan turns.Outcome
}

func (th *testThread) hold(text string, change ...func(*agenttest.Sink)) *held {
	ctx, cancel := context.WithCancel(th.r.t.Context())
	h := &held{sink: agenttest.NewSink(th.r.t), release: cancel, out: make(chan turns.Outcome, 1)}
	for _, f := range change {
		f(h.sink)
	}
	go func() { h.out <- th.with(ctx, h.sink, turns.Prompt{}, text) }()
	return h
}

// waits returns when the prompt waits for room.
func (h *held) waits(t *testing.T) {
	t.Helper()
	h.sink.Wait(t.Context(), func() bool { return strings.Contains(strings.Join(h.sink.Progress(), "|"), "at work; waiting") })
}

func TestThreadsWaitForRoomInTheirOrder(t *testing.T) {
	r := bad(t, "", apart(2))
	a, b := r.thread("a").hold("say on\nwait"), r.thread("b").hold("say on\nwait")
	for _, h := range []*held{a, b} {
		h.sink.Wait(t.Context(), func() bool { return hasItem(h.sink) })
	}
	line := []*held{}
	for _, id := range []string{"c", "d", "e"} {
		h := r.thread(id).hold("say on\nwait")
		h.waits(t)
		line = append(line, h)
	}
	if n := r.Info().Processes; n != 2 {
		t.Errorf("%d processes", n)
	}
	line[1].release() // d gives up, and holds up nobody
	if out := <-line[1].out; out.State != turns.Interrupted {
		t.Errorf("%+v", out)
	}
	a.release()
	<-a.out
	line[0].sink.Wait(t.Context(), func() bool { return hasItem(line[0].sink) })
	if hasItem(line[2].sink) || r.Info().Processes > 2 {
		t.Errorf("%d processes; the last in line runs: %v", r.Info().Processes, hasItem(line[2].sink))
	}
	b.release()
	<-b.out
	line[2].sink.Wait(t.Context(), func() bool { return hasItem(line[2].sink) })
	for _, h := range []*held{line[0], line[2]} {
		h.release()
		<-h.out
	}
}

func TestManyThreadsApartStayWithinTheBound(t *testing.T) {
	const threads, most = 9, 3
	rec, dir := records(t)
	r := bad(t, "state="+t.TempDir()+"/s", apart(most), func(c *Config) { c.Records = rec })
	var all sync.WaitGroup
	for i := range threads {
		all.Go(func() {
			th := r.thread(fmt.Sprint("t", i))
			for range 4 {
				sink, out := th.prompt(t.Context(), "say it")
				if out.State != turns.Completed || said2(sink) != "it" {
					t.Errorf("%s: %+v", th.id, out)
				}
				if n := r.Info().Processes; n > most {
					t.Errorf("%d processes", n)
				}
			}
		})
	}
	all.Wait()
	r.stop()
	if n := entries(t, dir); n != 0 {
		t.Errorf("%d processes are still recorded", n)
	}
}

func TestForkGoesOnInAProcessOfItsOwn(t *testing.T) {
	g := &agenttest.Granter{}
	r := bad(t, "state="+t.TempDir()+"/s", withTools(g), apart(0))
	th := r.thread("a")
	th.run("say one")
	twin, err := r.Fork(t.Context(), turns.AgentThread{ThreadID: "a", SessionID: th.sessionID}, "b")
	if err != nil {
		t.Fatal(err)
	}
	if got := th.run("all-mcp"); strings.Contains(got, "-of-b") {
		t.Errorf("the other thread's token is in this process: %s", got)
	}
	other := r.thread("b")
	other.sessionID = twin.SessionID
	if got := other.run("history\nall-mcp"); !strings.Contains(got, "say one") || strings.Contains(got, "-of-a") || !strings.Contains(got, "token-2-of-b") {
		t.Errorf("%s", got)
	}
	if th.pid() == other.pid() {
		t.Error("they share a process")
	}
	alone := bad(t, "no-load no-resume", apart(0)).thread("a")
	alone.run("say one")
	if _, err := alone.r.Fork(t.Context(), turns.AgentThread{ThreadID: "a", SessionID: alone.sessionID}, "b"); err == nil || !strings.Contains(err.Error(), "cannot fork") {
		t.Errorf("%v", err)
	}
}

func TestEagerProcessIsThatOfTheFirstThread(t *testing.T) {
	r := bad(t, "", apart(0), func(c *Config) { c.Eager = true })
	r.counts(1)
	first, second := r.thread("a").pid(), r.thread("b").pid()
	if first == second {
		t.Error("they share a process")
	}
	r.counts(2)
}

// Room that comes free is for the first in line, also if another one looks for it first.
func TestRoomIsNotTakenFromWhoWaitsForIt(t *testing.T) {
	a, room := &Agent{cfg: Config{ProcessPerThread: true, MaxProcesses: 1}}, NewRoom(0)
	a.pool.enterRoom(a, room)
	first, late := newWaiter(&a.pool), newWaiter(&a.pool)
	room.line = []*waiter{first}
	if pr, wait, _, err := a.pool.choose("late", late); pr != nil || wait != 0 || err != nil || len(room.line) != 2 {
		t.Fatalf("%v %v %v, %d in line", pr, wait, err, len(room.line))
	}
	room.leaveLine(first)
	select {
	case <-late.woken:
	default:
		t.Error("the next in line was not woken")
	}
}
