package exec

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// exitTempFail is the exit status of a command that may succeed later
// (EX_TEMPFAIL of sysexits.h).
const exitTempFail = 75

// readSize bounds one read, and so one delta.
const readSize = 32 << 10

// lastOutputWait is how long an interrupted prompt may still emit the output
// that its process had printed when it was killed.
const lastOutputWait = time.Second

// Run starts the command for one prompt and returns when it has ended, its
// output is emitted and no process of its group is left.
func (a *Agent) Run(ctx context.Context, p *turns.Prompt) (out turns.Outcome) {
	started := false
	defer func() { out.Unread = !started }()
	if err := ctx.Err(); err != nil {
		return turns.Outcome{State: turns.Interrupted, StopReason: err.Error()}
	}
	if len(p.Input) > 0 && p.Input[0].Origin == items.OriginResume { // the turn is of another agent that had this name
		return withCause(turns.CauseServer, turns.FailedWith(turns.KindAgentUnavailable, "a command cannot go on with a turn after a restart"))
	}
	if !a.enter() {
		return turns.FailedWith(turns.KindAgentUnavailable, "the server is stopping")
	}
	defer a.runs.Done()
	given, err := a.access(ctx, p)
	defer given.revoke()
	if err != nil { // the sink takes nothing
		return turns.Outcome{State: turns.Interrupted, StopReason: err.Error()}
	}
	cmd, err := a.cfg.command(p, given)
	if err != nil {
		a.starts(err)
		return turns.FailedWith(turns.KindAgentUnavailable, err.Error())
	}
	first, err := a.cfg.stdin(p, cmd.Dir)
	if err != nil {
		return turns.FailedWith(turns.KindAgentFailed, err.Error())
	}
	if which := a.cfg.notTaken(p.Input); which != nil {
		told := items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: items.NotTaken(which...)}
		if err := p.Emit(ctx, told); err != nil { // the sink takes nothing
			return turns.Outcome{State: turns.Interrupted, StopReason: err.Error()}
		}
	}
	group, err := process.Start(cmd)
	a.starts(err)
	if err != nil {
		return withCause(turns.CauseCrash, turns.FailedWith(turns.KindAgentUnavailable, err.Error()))
	}
	forget, err := a.cfg.Records.Add(group, a.cfg.Command)
	if err != nil {
		group.Discard()
		return turns.FailedWith(turns.KindAgentUnavailable, err.Error())
	}
	defer forget()
	defer a.measures(group)()
	r := &run{
		agent: a, over: p.Over, group: group, stderr: process.NewTail(a.cfg.StderrTail),
		broken: make(chan struct{}), read: make(chan struct{}),
	}
	r.in = newFeeder(group.Stdin, first, a.cfg.keepsStdin())
	if a.cfg.Output == OutputEvents {
		r.out = newEventOutput(p, r.in, a.cfg.Format)
	} else {
		r.out = &textOutput{p: p, format: a.cfg.Format}
	}
	started = true
	return r.oversee(ctx)
}

// run is one running prompt.
type run struct {
	agent  *Agent
	over   <-chan struct{} // Prompt.Over
	group  *process.Group
	in     *feeder
	out    output
	stderr *process.Tail
	broken chan struct{} // closed when the sink takes no more ops
	read   chan struct{} // closed when both outputs have been read to their end
}

func (r *run) oversee(ctx context.Context) turns.Outcome {
	// The output after an interrupt is still kept, so the sink does not get
	// ctx, but a context that ends some time after it.
	emit, stopEmit := context.WithCancel(context.WithoutCancel(ctx))
	defer stopEmit()
	finished := make(chan struct{})
	var background sync.WaitGroup
	background.Go(func() { r.boundEmit(ctx, finished, stopEmit) })
	background.Go(r.in.run)
	background.Go(func() { r.readOutputs(emit) })

	r.await(ctx)
	state := r.group.End()
	r.group.Stdout.Drain()
	r.group.Stderr.Drain()
	<-r.read

	end := r.outcome(ctx, state)
	if r.isBroken() {
		stopEmit()
	}
	if err := r.out.finish(emit, end.State); err != nil && end.State == turns.Completed {
		end = turns.Outcome{State: turns.Interrupted, StopReason: err.Error()}
	}
	r.in.close()
	close(finished)
	background.Wait()
	r.group.Stdout.Close()
	r.group.Stderr.Close()
	return end
}

// await returns when the leader has exited and its outputs have ended, or have
// had time to end. An interrupt sends TERM to the group, then KILL. Processes
// that the leader leaves running get the same time while they hold an output.
func (r *run) await(ctx context.Context) {
	after := r.agent.cfg.KillAfter
	timer := time.NewTimer(after)
	timer.Stop()
	defer timer.Stop()
	cancelled, over, broken, closing := ctx.Done(), r.over, r.broken, r.agent.closing
	exited, read := r.group.Exited(), r.read
	killed := false
	for exited != nil || (read != nil && !killed) {
		select {
		case <-exited:
			exited = nil
			if cancelled != nil {
				timer.Reset(after)
			}
		case <-read:
			read = nil
		case <-cancelled:
			cancelled = nil
			if errors.Is(context.Cause(ctx), turns.ErrServerStops) { // the process is told nothing
				r.group.Kill()
				killed = true
				continue
			}
			r.group.Signal(syscall.SIGTERM)
			timer.Reset(after)
		case <-timer.C:
			r.group.Kill()
			killed = true
		case <-over: // the turn has ended without this agent
			over = nil
			r.group.Kill()
			killed = true
		case <-broken: // its output is no longer stored
			broken = nil
			r.group.Kill()
			killed = true
		case <-closing:
			closing = nil
			r.group.Kill()
			killed = true
		}
	}
}

// boundEmit ends the sink's context some time after ctx, or when the turn has
// ended without this agent, or when the agent is closed.
func (r *run) boundEmit(ctx context.Context, finished <-chan struct{}, stop func()) {
	select {
	case <-finished:
		return
	case <-r.agent.closing:
		stop()
		return
	case <-r.over:
		stop()
		return
	case <-ctx.Done():
	}
	select {
	case <-finished:
	case <-r.agent.closing:
	case <-r.over:
	case <-time.After(r.agent.cfg.KillAfter + lastOutputWait):
	}
	stop()
}

// readOutputs reads stdout into the sink and stderr into its tail. While the
// sink is full stdout is not read: the pipe fills and the process waits.
func (r *run) readOutputs(ctx context.Context) {
	defer close(r.read)
	var errs sync.WaitGroup
	errs.Go(func() { _, _ = io.CopyBuffer(r.stderr, r.group.Stderr, make([]byte, 4<<10)) }) // a Tail takes all
	defer errs.Wait()
	if r.out.read(ctx, r.group.Stdout) != nil {
		close(r.broken)
	}
}

func (r *run) isBroken() bool { return isClosed(r.broken) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// outcome decides how the prompt ended. An interrupt is checked first, since
// its effects on the process are not the process's fault.
func (r *run) outcome(ctx context.Context, state *os.ProcessState) turns.Outcome {
	if ctx.Err() != nil {
		return turns.Outcome{State: turns.Interrupted, StopReason: state.String()}
	}
	if r.isBroken() || isClosed(r.over) {
		return turns.Outcome{State: turns.Interrupted, StopReason: "the turn ended without its agent"}
	}
	if isClosed(r.agent.closing) {
		return turns.FailedWith(turns.KindAgentUnavailable, "the server is stopping")
	}
	if !state.Success() {
		message := state.String()
		if said := r.stderr.String(); said != "" {
			message += ": " + said
		}
		out := turns.FailedWith(turns.KindAgentFailed, message)
		if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return withCause(turns.CauseCrash, out) // another sender: a process that we kill has ended, or ends as interrupted
		}
		if state.ExitCode() == exitTempFail {
			return withCause(turns.CauseTransient, out)
		}
		return out
	}
	if result := r.out.result(); result != nil {
		return result.outcome()
	}
	return turns.Outcome{State: turns.Completed, StopReason: "end_turn"}
}

// withCause returns a failure that a retry may solve.
func withCause(cause turns.Cause, out turns.Outcome) turns.Outcome {
	out.Cause = cause
	return out
}
