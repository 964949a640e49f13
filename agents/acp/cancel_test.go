package acp

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/acptest"
	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// interruptAfter runs a prompt and cancels it once seen holds for its sink.
func (th *testThread) interruptAfter(text string, seen func(s *agenttest.Sink) bool) (*agenttest.Sink, turns.Outcome) {
	th.r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sink := agenttest.NewSink(th.r.t)
	limit, stop := context.WithTimeout(context.Background(), acptest.Patience)
	defer stop()
	go func() {
		if !sink.Wait(limit, func() bool { return seen(sink) }) {
			th.r.t.Errorf("%q: what the interrupt waits for did not come", text)
		}
		cancel()
	}()
	return sink, th.with(ctx, sink, turns.Prompt{}, text)
}

func hasItem(s *agenttest.Sink) bool { return len(s.Items()) > 0 }

func progressed(s *agenttest.Sink) bool { return len(s.Progress()) > 0 }

func asks(s *agenttest.Sink) bool {
	for _, it := range s.Items() {
		if it.Kind == items.KindPermissionRequest {
			return true
		}
	}
	return false
}

func TestInterruptKeepsWhatWasSaidAndTheSession(t *testing.T) {
	th := bad(t, "").thread("t")
	sink, out := th.interruptAfter("last-words farewell\nsay before\nwait", hasItem)
	if out.State != turns.Interrupted || out.StopReason != "cancelled" || !strings.Contains(said2(sink), "before") || !strings.Contains(said2(sink), "farewell") {
		t.Errorf("%+v, %q", out, said2(sink))
	}
	if got := th.run("say again\nhistory"); !strings.Contains(got, "say before") {
		t.Errorf("the session is another one: %q", got)
	}
	th.clean()
}

// TestQuestionsAreAnsweredBeforeTheCancel uses an agent that hangs forever when
// it is cancelled with a question unanswered, as a real one does.
func TestQuestionsAreAnsweredBeforeTheCancel(t *testing.T) {
	r := bad(t, "", func(c *Config) { c.CancelAfter = acptest.Patience })
	th := r.thread("t")
	_, out := th.interruptAfter("hang-ask Write?", asks)
	if out.State != turns.Interrupted {
		t.Errorf("%+v", out)
	}
	th.clean()
	if r.Info().Processes != 1 {
		t.Error("the process was ended")
	}
}

func TestDeafAgentIsKilledAfterTheDeadlineAndTheNextTurnGoesOn(t *testing.T) {
	r := bad(t, "stubborn state="+t.TempDir()+"/s", func(c *Config) { c.CancelAfter = 200 * time.Millisecond })
	th := r.thread("t")
	pid, _ := strconv.Atoi(th.run("pid"))
	sink, out := th.interruptAfter("deaf\nsay partial\nwait", hasItem)
	if out.State != turns.Interrupted || !strings.Contains(out.StopReason, "did not stop within 200ms") || said2(sink) != "partial" {
		t.Errorf("%+v, %q", out, said2(sink))
	}
	if got := th.run("session"); !strings.Contains(got, "resumed") {
		t.Errorf("then %q", got)
	}
	if alive(pid) {
		t.Error("the process is there")
	}
}

func TestMissedDeadlineInASharedProcessEndsOnlyThatTurn(t *testing.T) {
	r := bad(t, "state="+t.TempDir()+"/s", func(c *Config) { c.CancelAfter = 200 * time.Millisecond })
	other, th := r.thread("other"), r.thread("t")
	sink := agenttest.NewSink(t)
	otherCtx, stopOther := context.WithCancel(t.Context())
	defer stopOther()
	done := make(chan turns.Outcome, 1)
	go func() { done <- other.with(otherCtx, sink, turns.Prompt{}, "pid\nawait-steer\nsay never") }()
	sink.Wait(t.Context(), func() bool { return hasItem(sink) })

	_, out := th.interruptAfter("deaf\nsay partial\nwait", hasItem)
	if out.State != turns.Interrupted || !strings.Contains(out.StopReason, "left behind") {
		t.Errorf("%+v", out)
	}
	old, _ := strconv.Atoi(said2(sink))
	if !alive(old) {
		t.Fatal("the shared process was killed")
	}
	fresh, _ := strconv.Atoi(th.run("pid"))
	if fresh == old {
		t.Error("the new turn went to the process that was given up")
	}
	if got := th.run("session"); !strings.Contains(got, "resumed") {
		t.Errorf("%q", got)
	}
	stopOther()
	if out := <-done; out.State != turns.Interrupted {
		t.Errorf("the other turn: %+v", out)
	}
	gone(t, old)
	r.counts(1)
}

// counts waits until the agent has n processes: an ended one is counted until
// its outputs have been read.
func (r *rig) counts(n int) {
	r.t.Helper()
	for limit := time.Now().Add(acptest.Patience); r.Info().Processes != n; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			r.t.Fatalf("%d processes, not %d", r.Info().Processes, n)
		}
	}
}

func gone(t testing.TB, pid int) {
	t.Helper()
	for limit := time.Now().Add(acptest.Patience); alive(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("process %d is there", pid)
		}
	}
}

func TestTurnThatEndsWithoutItsAgentKillsAtOnce(t *testing.T) {
	r := bad(t, "stubborn", func(c *Config) { c.CancelAfter = time.Hour })
	th := r.thread("t")
	pid, _ := strconv.Atoi(th.run("pid"))
	over := make(chan struct{})
	sink := agenttest.NewSink(t)
	go func() {
		sink.Wait(t.Context(), func() bool { return hasItem(sink) })
		close(over)
	}()
	if out := th.with(t.Context(), sink, turns.Prompt{Over: over}, "deaf\nsay x\nwait"); out.State != turns.Interrupted {
		t.Errorf("%+v", out)
	}
	gone(t, pid)
}

func TestInterruptWhileTheAgentStarts(t *testing.T) {
	if _, out := bad(t, "start-ms=60000").thread("t").interruptAfter("say x", progressed); out.State != turns.Interrupted || !out.Unread {
		t.Errorf("%+v", out)
	}
}

// cutWhenTaken is a sink that cancels a prompt when the agent is about to get it.
type cutWhenTaken struct {
	*agenttest.Sink
	cut func()
}

func (s cutWhenTaken) OnSteer(f turns.Injector) {
	if f != nil {
		s.cut()
	}
	s.Sink.OnSteer(f)
}

// An agent that no longer has the session has not read what it got for it. Usually that is
// sent again; a prompt that was cut meanwhile leaves it to the next one.
func TestAPromptThatIsCutForALostSessionIsUnread(t *testing.T) {
	th := bad(t, "steering").thread("t")
	th.run("lose")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := th.r.Run(ctx, &turns.Prompt{
		ThreadID: "t", TurnID: "cut", Attempt: 1, SessionID: th.sessionID, Config: th.config,
		Sink: cutWhenTaken{agenttest.NewSink(t), cancel}, Input: []items.UserMessage{agenttest.Message("say x")},
	})
	if out.State != turns.Interrupted || !strings.Contains(out.StopReason, "session not found") || !out.Unread {
		t.Errorf("%+v", out)
	}
}

// TestManyInterruptsAndKillsLeaveNothing interrupts a hundred prompts and kills
// a hundred more, with all kinds of agent.
func TestManyInterruptsAndKillsLeaveNothing(t *testing.T) {
	rec, dir := records(t)
	r := bad(t, "state="+t.TempDir()+"/s", func(c *Config) {
		c.CancelAfter, c.MaxProcesses, c.Records = 100*time.Millisecond, 4, rec
	})
	n := 100
	if testing.Short() {
		n = 20
	}
	ways := []string{"say x\nwait", "say x\nstream 1000\nask y", "say x\nstubborn\ndeaf\nwait", "open-tool x\nwait", "say x\nhang-ask y", "flood 2000\nwait"}
	var wg sync.WaitGroup
	slots := make(chan struct{}, 8)
	each := func(f func(i int)) {
		for i := range n {
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				f(i)
			})
		}
		wg.Wait()
	}
	each(func(i int) {
		sink, out := r.thread(fmt.Sprint("i", i)).interruptAfter(ways[i%len(ways)], hasItem)
		if out.State != turns.Interrupted {
			t.Errorf("%q: %+v (%+v)", ways[i%len(ways)], out, out.Failure)
		}
		for _, it := range sink.Open() {
			if it.Kind.IsQuestion() {
				t.Errorf("a question is open: %+v", it)
			}
		}
	})
	each(func(i int) { // every turn that shares the process fails with it
		_, out := r.thread(fmt.Sprint("k", i)).prompt(context.Background(), "say x\nask y\nkill 9 boom", answer(items.AllowOnce))
		if out.State != turns.Failed || !strings.Contains(out.Why(), "signal: killed") || !strings.Contains(out.Why(), "boom") {
			t.Errorf("killed: %+v (%q)", out, out.Why())
		}
	})
	r.stop()
	if n := entries(t, dir); n != 0 {
		t.Errorf("%d processes are still recorded", n)
	}
	for _, th := range r.threads {
		if th.users != 0 {
			t.Errorf("%+v", th)
		}
	}
}
