package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// run is one prompt under way. It connects the agent's goroutine with the actor,
// and is the Sink of its Prompt.
type run struct {
	a           *actor
	turnID      string
	index       int
	input       []items.UserMessage
	ctx         context.Context // the agent's
	cancel      context.CancelCauseFunc
	over        chan struct{} // closed by the actor: the prompt has ended for the turn
	inject      injector
	steerQueued bool // the actor's: a text waits for the next prompt, and so must all later ones

	attempt    int
	detached   bool // the actor's: over is closed
	superseded bool // the actor's: its attempt was superseded, so that further output is late
	left       bool // the actor's: the turn waits for the next server, and further output is dropped
}

// Causes of the cancellation of an agent's context.
var (
	errTurnInterrupted = errors.New("the turn is interrupted")
	errPromptCut       = errors.New("the prompt is cut short for a steer")
	errAbandoned       = errors.New("the turn has ended without the agent")
)

// stop implements executor.
func (r *run) stop(cause error) { r.cancel(cause) }

// supersede implements executor.
func (r *run) supersede() { r.superseded = true }

// detach implements executor.
func (r *run) detach() { r.end(errAbandoned) }

// leave implements executor.
func (r *run) leave() {
	r.left = true
	r.end(turns.ErrServerStops)
}

func (r *run) end(cause error) {
	if !r.detached {
		r.detached = true
		r.cancel(cause)
		close(r.over)
	}
}

// unattended implements executor.
func (r *run) unattended() bool { return false }

// outlivesServer implements executor.
func (r *run) outlivesServer() bool { return false }

// due implements executor. Only the turn's timeout bounds a prompt.
func (r *run) due() time.Time { return time.Time{} }

// overdueReason implements executor.
func (r *run) overdueReason() string { return "the agent did not stop in time" }

// steer implements executor.
func (r *run) steer(list []injection, cut bool) {
	if r.steerQueued = r.steerQueued || cut; !r.steerQueued {
		r.queueInjections(list)
	}
}

// Emit implements Sink.
func (r *run) Emit(ctx context.Context, ops []items.Op) error {
	select {
	case <-r.over:
		return turns.ErrPromptOver
	default:
	}
	return r.a.in.putOps(ctx, r.over, r, ops)
}

// Ask implements Sink.
func (r *run) Ask(ctx context.Context, itemID string, question items.Content, o turns.AskOptions) (turns.Answer, error) {
	if !question.Kind().IsQuestion() {
		return turns.Answer{}, fmt.Errorf("ask with a %s: %w", question.Kind(), items.ErrRefused)
	}
	if o.OptionID != "" {
		if _, ok := chosen(question, o.OptionID); !ok {
			return turns.Answer{}, fmt.Errorf("%.60q is no option of the question: %w", o.OptionID, items.ErrRefused)
		}
	}
	q := &pendingQuestion{itemID: itemID, content: question, options: o, answer: make(chan turns.Answer, 1)}
	if err := r.a.in.put(ctx, r.over, output{run: r, question: q, size: 1024 + contentSize(question)}); err != nil {
		return turns.Answer{}, err
	}
	select {
	case a := <-q.answer:
		return a, nil
	default:
	}
	select {
	case a := <-q.answer:
		return a, nil
	case <-r.over:
		return cancelled, turns.ErrPromptOver
	case <-ctx.Done(): // the agent does not wait for the answer any more; the question ends with its prompt
		return turns.Answer{}, context.Cause(ctx)
	}
}

// Sync implements Sink.
func (r *run) Sync(ctx context.Context) error {
	done := make(chan struct{})
	if err := r.a.in.put(ctx, r.over, output{run: r, sync: done, size: 64}); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	default:
	}
	select {
	case <-done:
		return nil
	case <-r.over:
		return turns.ErrPromptOver
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// startPrompt starts a prompt of the agent after the commit that says so, or
// offers the turn to workers. It does not block.
func (a *actor) startPrompt(input []items.UserMessage) {
	act, agent := a.state.active, a.agent()
	if agent.remote != nil {
		w := newWorker(a)
		act.work.exec = w
		a.e.workers.claims.offer(w.agent, w.offer, false)
		return
	}
	ctx, cancel := context.WithCancelCause(a.e.agentCtx)
	r := &run{a: a, turnID: act.turn.TurnID, index: act.work.prompts, input: input, ctx: ctx, cancel: cancel, over: make(chan struct{}), attempt: act.turn.Attempt}
	act.work.exec = r
	act.work.prompts++
	p := &turns.Prompt{
		ThreadID: a.id, TurnID: r.turnID, Attempt: r.attempt, Index: r.index,
		Cwd: a.state.thread.Cwd, Input: input, Metadata: act.turn.Metadata, Sink: r, Over: r.over,
		SessionID: a.state.thread.AgentSessionID, Config: a.state.thread.Config,
	}
	name := a.state.thread.Agent // the goroutine below must not read the thread
	a.e.prompts.Go(func() {
		out := turns.Outcome{State: turns.Failed, Failure: &turns.Failure{Kind: "agent_unavailable", Message: "the agent " + name + " is no longer configured"}}
		if agent.Agent != nil {
			out = a.e.runAgent(ctx, agent, p)
		}
		cancel(nil)
		r.endInjection()
		// The end of a prompt does not wait for room, so this never blocks.
		_ = a.in.put(context.Background(), r.over, output{run: r, end: &out})
	})
}

// runAgent runs a prompt. A panic of the agent ends only its turn.
func (e *Engine) runAgent(ctx context.Context, agent turns.Agent, p *turns.Prompt) (out turns.Outcome) {
	defer func() {
		if v := recover(); v != nil {
			e.log.Error("agent panicked", zap.String("agent", agent.Info().Name), zap.Any("panic", v), zap.ByteString("stack", debug.Stack()))
			out = turns.Outcome{State: turns.Failed, Failure: &turns.Failure{Kind: "agent_failed", Message: fmt.Sprint("the agent panicked: ", v)}}
		}
	}()
	return agent.Run(ctx, p)
}
