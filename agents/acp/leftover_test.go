package acp

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/internal/test/acptest"
	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// running is a turn whose agent runs a command.
type running struct {
	*testThread
	sink   *agenttest.Sink
	pid    int // of the command
	cancel func()
	done   chan turns.Outcome
}

// command starts a turn that runs a command, after these lines, and waits.
func (th *testThread) command(how, before string) *running {
	t := th.r.t
	t.Helper()
	if runtime.GOOS != "linux" {
		hosttest.Need(t, "whose a process is can be told on Linux only")
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	r := &running{testThread: th, sink: agenttest.NewSink(t), cancel: cancel, done: make(chan turns.Outcome, 1)}
	go func() { r.done <- th.with(ctx, r.sink, turns.Prompt{}, before+"command "+how+"\nwait") }()
	limit, stop := context.WithTimeout(context.Background(), acptest.Patience)
	defer stop()
	if !r.sink.Wait(limit, func() bool { return hasItem(r.sink) && said2(r.sink) != "" }) {
		t.Fatal("the command did not start")
	}
	r.pid, _ = strconv.Atoi(said2(r.sink))
	t.Cleanup(func() { _ = syscall.Kill(r.pid, syscall.SIGKILL) }) // it may have ended
	return r
}

// interrupt cancels the turn and returns the texts of its notices.
func (r *running) interrupt() string {
	r.r.t.Helper()
	r.cancel()
	if out := <-r.done; out.State != turns.Interrupted {
		r.r.t.Errorf("%+v (%+v)", out, out.Failure)
	}
	return strings.Join(notices(r.sink), "|")
}

// commands are the items of commands, inside and outside of the turn.
func (r *running) commands() (n int) {
	for _, it := range r.sink.Items() {
		if it.Kind == items.KindCommandExecution {
			n++
		}
	}
	return n + strings.Count(r.r.host.said(), string(items.KindCommandExecution))
}

func TestInterruptEndsTheCommandThatTheAgentLeaves(t *testing.T) {
	for _, how := range []string{"apart", "named"} {
		t.Run(how, func(t *testing.T) {
			run := bad(t, "").thread("t").command(how, "")
			if said := run.interrupt(); said != "" {
				t.Errorf("a notice says %q", said)
			}
			if alive(run.pid) {
				t.Error("the command runs on")
			}
			run.clean()
			if n := run.commands(); n != 1 || len(run.sink.Open()) != 0 {
				t.Errorf("%d items of one command; open: %+v", n, run.sink.Open())
			}
		})
	}
}

// Processes that an earlier prompt has left in the background, such as a
// development server, are not interrupted.
func TestInterruptSparesWhatBeganBefore(t *testing.T) {
	th := bad(t, "").thread("t")
	server, err := strconv.Atoi(th.run("command apart"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(server, syscall.SIGKILL) })
	tick()
	run := th.command("apart", "")
	run.interrupt()
	if alive(run.pid) || !alive(server) {
		t.Errorf("the command runs: %v, what was there before: %v", alive(run.pid), alive(server))
	}
}

func TestInterruptSparesCommandsOfOtherTurns(t *testing.T) {
	for how, named := range map[string]bool{"apart": false, "named": true} {
		t.Run(how, func(t *testing.T) {
			r := bad(t, "")
			r.thread("t").run("say the process is there")
			mine := r.thread("mine").command(how, "")
			tick()
			other := r.thread("other").command(how, "")
			late := r.thread("late").command(how, "") // in a time that mine and other share
			said := late.interrupt()
			if !alive(other.pid) || !alive(mine.pid) {
				t.Error("the command of another turn has ended")
			}
			switch {
			case named && (alive(late.pid) || said != ""):
				t.Errorf("the command runs: %v; notices: %q", alive(late.pid), said)
			case !named && (!alive(late.pid) || !strings.Contains(said, "other turns ran") || !strings.Contains(said, strconv.Itoa(late.pid))):
				t.Errorf("the command runs: %v; notices: %q", alive(late.pid), said)
			}
			other.interrupt()
			if said := mine.interrupt(); alive(mine.pid) { // it began when nothing else ran
				t.Errorf("the first command runs; notices: %q", said)
			}
		})
	}
}

// These look like helpers of the agent, which later turns need.
func TestInterruptLeavesTheAgentsOwnSessionAlone(t *testing.T) {
	run := bad(t, "").thread("t").command("inside", "")
	said := run.interrupt()
	if !alive(run.pid) || !strings.Contains(said, "in its own session") || !strings.Contains(said, "command ("+strconv.Itoa(run.pid)+")") {
		t.Errorf("it runs: %v; notices: %q", alive(run.pid), said)
	}
	run.clean()
}

func TestMissedDeadlineInASharedProcessEndsTheCommandToo(t *testing.T) {
	r := bad(t, "", func(c *Config) { c.CancelAfter = 200 * time.Millisecond })
	other := r.thread("other").command("named", "")
	run := r.thread("t").command("named", "deaf\n")
	if said := run.interrupt(); alive(run.pid) || said != "" {
		t.Errorf("the command runs: %v; notices: %q", alive(run.pid), said)
	}
	if !alive(other.pid) {
		t.Error("the command of the other turn has ended")
	}
	other.interrupt()
}

// tick waits for the system's next moment and returns it.
func tick() process.Moment {
	m := process.Now() + 1
	for process.Now() < m {
		runtime.Gosched()
	}
	return m
}

func TestOverlapIsWhenMoreThanOneRuns(t *testing.T) {
	if process.Now() == 0 {
		hosttest.Need(t, "moments are known on Linux only")
	}
	var o overlap
	step := func(running int) process.Moment {
		tick()
		o.now(running)
		tick()
		return tick()
	}
	alone, both, three, two, again := step(1), step(2), step(3), step(2), step(1)
	for m, want := range map[process.Moment]bool{alone: false, both: true, three: true, two: true, again: false} {
		if o.at(m) != want {
			t.Errorf("at %d: %v; %+v", m, o.at(m), o)
		}
	}
	for range 2 * maxSpans {
		o.now(2)
		o.now(1)
	}
	if len(o.spans) != maxSpans || !o.at(both) || o.at(alone) {
		t.Errorf("%d spans; %+v", len(o.spans), o)
	}
	if last := step(2); !o.at(last) {
		t.Errorf("at %d: %+v", last, o)
	}
	if o.now(0); o.at(both) || len(o.spans) != 0 {
		t.Errorf("nothing runs: %+v", o)
	}
}
