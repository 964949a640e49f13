package acp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/agents/acp/mapping"
	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// lastOutputWait is how long the output of a killed process is still read and
// emitted before the turn continues without it.
const lastOutputWait = time.Second

// promptRun is one running prompt of a session.
type promptRun struct {
	p *turns.Prompt

	// ends decides whether an update ends the prompt; nil: its response does,
	// as in version 1 of the protocol. In version 2, a draft, the response
	// acknowledges and an update (state_update) ends it.
	ends func(update jsontext.Value) (result jsontext.Value, over bool)

	since process.Moment // when it was sent to the agent
	sent  *once          // fired when its request is on the way, or cannot be
	over  *once          // fired when the agent has ended it after a cancel; pump then waits for sweep
	end   promptEnd      // how it ended; set before over fires
	swept sync.Once

	emitCtx  context.Context // outlives Run's context, so that the last output is kept
	stopEmit context.CancelFunc
	askCtx   context.Context
	stopAsks context.CancelFunc
	asks     sync.WaitGroup

	done     chan promptEnd // capacity 1
	answered *once          // fired when the agent has said how it ended; done may come later
	broken   *once          // fired when the sink takes no more ops

	reacted atomic.Bool // the agent has said or asked something

	mu        sync.Mutex
	cancelled bool
}

// promptEnd is the result of session/prompt, and why the prompt has failed. An error
// that is no mapping.Failure means that there is no result.
type promptEnd struct {
	result jsontext.Value
	err    error
}

// byState ends a prompt as in version 2: with the state_update that says the
// session is idle.
func byState(update jsontext.Value) (result jsontext.Value, over bool) {
	state, _, ok := mapping.State(update)
	return update, ok && state == "idle"
}

func newPromptRun(ctx context.Context, p *turns.Prompt) *promptRun {
	r := &promptRun{p: p, since: process.Now(), sent: newOnce(), done: make(chan promptEnd, 1), over: newOnce(), answered: newOnce(), broken: newOnce()}
	r.emitCtx, r.stopEmit = context.WithCancel(context.WithoutCancel(ctx))
	r.askCtx, r.stopAsks = context.WithCancel(ctx)
	return r
}

// emit emits ops; pump calls it. After the first error the sink takes no more.
func (r *promptRun) emit(ops []items.Op) error {
	if r.broken.fired() {
		return turns.ErrPromptOver
	}
	r.reacted.Store(true)
	err := r.p.Emit(r.emitCtx, ops...)
	if err != nil {
		r.broken.fire()
	}
	return err
}

func (r *promptRun) wasCancelled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cancelled
}

// prompt runs one prompt in the session. The session may be abandoned
// afterwards: see alive. resend reports that the agent no longer had the
// session and has done nothing, so the prompt can be sent again.
func (s *session) prompt(ctx context.Context, p *turns.Prompt, blocks []block) (out turns.Outcome, resend bool) {
	run := newPromptRun(ctx, p)
	defer run.stopEmit()
	if s.pr.says.protocol != protocolOne {
		run.ends = byState
	}
	s.mu.Lock()
	s.run, s.cancelled = run, false
	s.mu.Unlock()
	if begin := (event{kind: evBegin, run: run}); !s.release(begin) {
		s.push(begin)
	}
	if s.pr.says.steering { // said before the agent speaks: whoever reads that may steer
		p.OnSteer(s.injector(run))
		defer p.OnSteer(nil)
	}
	_, err := s.pr.peer.start(methodPrompt, promptParams{s.id, blocks}, func(result jsontext.Value, err error) {
		s.responded(run, result, err)
	})
	run.sent.fire()
	if err != nil {
		s.push(event{kind: evResult, run: run, err: err})
	}
	end := s.await(ctx, run)
	run.stopAsks()
	s.cancelRequests()
	run.asks.Wait()
	unread := err != nil
	if e, ok := errors.AsType[*rpcError](end.err); ok && mentions(e.Error(), noSession) {
		s.abandon() // the next prompt opens it again, or a new one
		unread = !run.reacted.Load()
		resend = unread && ctx.Err() == nil
	}
	out = s.outcome(ctx, run, end)
	out.Unread = unread
	return out, resend
}

// promptParams are the params of session/prompt.
type promptParams struct {
	sessionID string
	prompt    []block
}

func (p promptParams) session() string { return p.sessionID }

func (p promptParams) appendTo(line []byte) (_ []byte, err error) {
	line = appendText(append(line, `{"sessionId":`...), p.sessionID)
	line = append(line, `,"prompt":[`...)
	for i, b := range p.prompt {
		if i > 0 {
			line = append(line, ',')
		}
		if t, ok := b.(textBlock); ok {
			line = append(appendText(append(line, `{"type":"text","text":`...), t.Text), '}')
		} else if line, err = appendJSON(line, b); err != nil {
			return line, err
		}
	}
	return append(line, `]}`...), nil
}

// responded queues the response to session/prompt after the updates that came
// before it.
func (s *session) responded(run *promptRun, result jsontext.Value, err error) {
	if run.ends != nil && err == nil {
		return // it only confirms that the prompt has begun
	}
	run.answered.fire()
	if failure, ok := mapping.FailureIn(result); ok && err == nil {
		err = failure
	}
	ev := event{kind: evResult, run: run, raw: result, err: err, size: len(result) + overhead}
	s.pr.budget.take(ev.size)
	s.push(ev)
}

// await waits for the end of the prompt. When ctx is cancelled it ends the
// prompt: it answers questions, sends session/cancel and gives the agent
// CancelAfter to end. Then it kills the agent's process, or, if other turns run
// in it, abandons the session. If the server stops and the turn waits on, it does
// the last alone.
func (s *session) await(ctx context.Context, run *promptRun) promptEnd {
	deadline := time.NewTimer(time.Hour)
	deadline.Stop()
	defer deadline.Stop()
	cancelled, over := ctx.Done(), run.over.c
	for {
		select {
		case end := <-run.done:
			return end
		case <-over:
			over = nil
			s.sweep(run)
			deadline.Reset(lastOutputWait)
		case <-cancelled:
			cancelled = nil
			if errors.Is(context.Cause(ctx), turns.ErrServerStops) {
				return s.leave()
			}
			s.cancelPrompt(run)
			deadline.Reset(s.a.cfg.CancelAfter)
		case <-deadline.C:
			return s.cutShort(ctx, run, fmt.Sprintf("the agent did not stop within %v", s.a.cfg.CancelAfter))
		case <-run.p.Over:
			return s.cutShort(ctx, run, "the turn ended without its agent")
		case <-run.broken.c:
			return s.cutShort(ctx, run, "the turn ended without its agent")
		case <-s.stopped:
			select {
			case end := <-run.done:
				return end
			default:
				return promptEnd{err: errGone}
			}
		}
	}
}

// cancelPrompt makes the agent stop, after it has answered the agent's
// questions: see cancelRequests.
func (s *session) cancelPrompt(run *promptRun) {
	run.mu.Lock()
	run.cancelled = true
	run.mu.Unlock()
	run.stopAsks()
	s.cancelRequests()
	// If it cannot be sent, the deadline ends the prompt.
	_ = s.pr.peer.notify(methodCancel, struct {
		SessionID string `json:"sessionId"`
	}{s.id})
}

// leave leaves the session as it is, for the next server to continue. The agent is told
// nothing, as if the server had been killed: what it would note about a cancelled question
// is not what happened.
func (s *session) leave() promptEnd {
	s.left.Store(true)
	s.a.pool.killUnlessShared(s.pr)
	s.abandon()
	return promptEnd{err: errGaveUp}
}

// cutShort ends a prompt now. If the agent has ended it, and only the log does
// not take its output, the session stays usable. If the server stops and the turn waits
// on, the session is left.
func (s *session) cutShort(ctx context.Context, run *promptRun, why string) promptEnd {
	if errors.Is(context.Cause(ctx), turns.ErrServerStops) {
		return s.leave()
	}
	if !run.answered.fired() {
		return s.giveUp(run, why)
	}
	run.stopEmit()
	for over := run.over.c; ; {
		select {
		case end := <-run.done:
			return end
		case <-over:
			over = nil
			s.sweep(run)
		case <-s.stopped:
			return promptEnd{err: errGone}
		}
	}
}

// errGaveUp is wrapped by the end of a prompt whose agent did not stop.
var errGaveUp = errors.New("the session is left behind")

// giveUp ends a prompt that the agent does not end. If no one else uses the
// process, it is killed, and its output until then is still stored. A shared
// process continues without this session and accepts no new work.
func (s *session) giveUp(run *promptRun, why string) promptEnd {
	if s.a.pool.killUnlessShared(s.pr) {
		select {
		case <-run.done:
		case <-run.broken.c:
		case <-run.p.Over:
		case <-time.After(lastOutputWait):
		}
	}
	s.abandon()
	s.sweepAbandoned(run)
	return promptEnd{err: fmt.Errorf("%s: %w", why, errGaveUp)}
}

// outcome decides how the prompt ended. An interrupt is checked first, since
// its effects on the agent are not the agent's fault.
func (s *session) outcome(ctx context.Context, run *promptRun, end promptEnd) turns.Outcome {
	result := decode[struct {
		StopReason string `json:"stopReason"`
	}](end.result)
	switch {
	case ctx.Err() != nil:
		why := result.StopReason
		if end.err != nil {
			why = end.err.Error()
		}
		return turns.Outcome{State: turns.Interrupted, StopReason: why}
	case errors.Is(end.err, errGaveUp):
		return turns.Outcome{State: turns.Interrupted, StopReason: end.err.Error()}
	case end.err != nil:
		return s.failure(ctx, end.err)
	}
	return turns.Outcome{State: turns.Completed, StopReason: result.StopReason}
}

// failure returns the outcome of a prompt that failed in the agent.
func (s *session) failure(ctx context.Context, err error) turns.Outcome {
	if errors.Is(err, errGone) {
		out := turns.FailedWith(turns.KindAgentFailed, s.pr.howEnded(ctx, err).Error())
		out.Cause = turns.CauseCrash
		return out
	}
	if said, ok := errors.AsType[mapping.Failure](err); ok {
		if said.Login() {
			return turns.FailedWith(turns.KindAgentUnavailable, loginProblem(err, s.pr.says).Error())
		}
		out := turns.FailedWith(turns.KindAgentFailed, "the agent failed: "+err.Error())
		if said.Retry() {
			out.Cause = turns.CauseTransient
		}
		return out
	}
	if rpc, ok := errors.AsType[*rpcError](err); ok && rpc.Code == codeAuthRequired {
		return turns.FailedWith(turns.KindAgentUnavailable, diagnose(err, "", s.pr.says).Error())
	}
	return turns.FailedWith(turns.KindAgentFailed, "the agent failed: "+err.Error())
}
