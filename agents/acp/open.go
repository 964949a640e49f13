package acp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// opened is a session that was just opened. It is held: release lets what the
// agent says be handed over.
type opened struct {
	s     *session
	lost  string   // why the former session could not be gone on with; "" = there was none
	notes []string // for the log
}

// openAgain is how often a session is opened once more because its process
// ended meanwhile, by what another thread did in it.
const openAgain = 3

// openFor opens the session of a prompt and makes it durable, so that a
// restart finds it again. first is what the agent is to be told before the
// input. The session's process has been entered.
func (a *Agent) openFor(ctx context.Context, p *turns.Prompt) (s *session, first []block, err error) {
	ctx, stop := untilOver(ctx, p.Over)
	defer stop()
	if err := p.Emit(ctx, items.Progress{State: "starting", Message: "starting " + a.name}); err != nil {
		return nil, nil, err
	}
	t := turns.AgentThread{ThreadID: p.ThreadID, Cwd: p.Cwd, SessionID: p.SessionID, Config: p.Config}
	o, err := a.open(ctx, t)
	for again := 0; again < openAgain && errors.Is(err, errGone) && a.pool.healthy(); again++ {
		o, err = a.open(ctx, t)
	}
	if err != nil {
		return nil, nil, err
	}
	s = o.s
	ops := []items.Op{items.SetThread{AgentSessionID: s.id, Config: items.Raw(s.m.Config()), Title: s.title}}
	for _, note := range o.notes {
		ops = append(ops, notice("warning", note, nil))
	}
	if o.lost != "" {
		text := "The agent has lost the session it had (" + o.lost + ") and goes on in a new one."
		if a.cfg.Handover {
			var told bool
			if first, told = a.transcript(ctx, p); told {
				text += " It was told what was said so far."
			}
		}
		ops = append(ops, notice("warning", text, nil))
	}
	ops = append(ops, items.Progress{State: "running"})
	err = p.Emit(ctx, ops...)
	if err == nil {
		err = p.Sync(ctx) // the id is on the log before the agent has the prompt
	}
	if err != nil {
		a.letGo(s)
		a.pool.leave(s.pr)
		return nil, nil, err
	}
	a.keep(p.ThreadID, s)
	return s, first, nil
}

// tellID puts the id of a session on the log that was opened outside of a
// turn and did not get there.
func (s *session) tellID(ctx context.Context, p *turns.Prompt) error {
	if err := p.Emit(ctx, items.SetThread{AgentSessionID: s.id}); err != nil {
		return err
	}
	return p.Sync(ctx)
}

// untilOver is ctx until over is closed.
func untilOver(ctx context.Context, over <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stopped := make(chan struct{})
	go func() {
		select {
		case <-over:
			cancel(turns.ErrPromptOver)
		case <-stopped:
			cancel(nil)
		}
	}()
	return ctx, func() { close(stopped) }
}

// open opens the session of a thread, in the process that has the most room.
// The process has been entered if there is no error.
func (a *Agent) open(ctx context.Context, t turns.AgentThread) (o opened, err error) {
	cwd, err := a.cwd(t.Cwd)
	if err != nil {
		return o, err
	}
	pr, err := a.pool.enter(ctx)
	if err != nil {
		return o, err
	}
	defer func() {
		if errors.Is(err, errTimeout) { // it would not open the next either
			a.pool.killUnlessShared(pr)
		}
		if err != nil {
			a.pool.leave(pr)
		}
	}()
	if err = pr.wait(ctx); err != nil {
		return o, err
	}
	servers, left := mcpServers(a.cfg.MCPServers, pr.says)
	if len(left) > 0 {
		o.notes = append(o.notes, "The agent does not take MCP servers of this kind, so it was not given: "+strings.Join(left, ", "))
	}
	params := sessionParams{SessionID: t.SessionID, Cwd: cwd, Servers: servers}
	if t.SessionID != "" {
		if o.s, o.lost, err = a.goOn(ctx, pr, t, params); err != nil {
			return o, a.openError(pr, err)
		}
	}
	if o.s == nil {
		params.SessionID = ""
		if o.s, err = a.begin(ctx, pr, methodNew, t, params); err != nil {
			return o, a.openError(pr, err)
		}
	}
	s := o.s
	a.pool.opened(pr)
	notes, err := s.configure(ctx, t.Config)
	if err != nil {
		a.letGo(s)
		return o, a.openError(pr, err)
	}
	o.notes = append(o.notes, notes...)
	a.pool.offers(s.m.Config())
	return o, nil
}

// sessionParams are those of session/new, load, resume and fork.
type sessionParams struct {
	SessionID string `json:"sessionId,omitzero"`
	Cwd       string `json:"cwd"`
	Servers   []any  `json:"mcpServers"`
}

// goOn opens a session that the agent had before. Without one and without an
// error lost says why the agent does not have it any more.
func (a *Agent) goOn(ctx context.Context, pr *proc, t turns.AgentThread, params sessionParams) (s *session, lost string, err error) {
	lost = "it can neither resume nor load sessions"
	for _, way := range []struct {
		method  string
		offered bool
	}{{methodResume, pr.says.resume}, {methodLoad, pr.says.load}} {
		if !way.offered {
			continue
		}
		if s, err = a.reopen(ctx, pr, way.method, t, params); err == nil {
			return s, "", nil
		}
		rpc, said := errors.AsType[*rpcError](err)
		if !said || rpc.Code == codeAuthRequired {
			return nil, "", err
		}
		lost = shorten(rpc.Error(), 300)
	}
	return nil, lost, nil
}

// reopen loads or resumes. What the agent repeats meanwhile is not handed
// over: the log has it.
func (a *Agent) reopen(ctx context.Context, pr *proc, method string, t turns.AgentThread, params sessionParams) (*session, error) {
	s := newSession(a, pr, t.ThreadID, params.Cwd, t.Config)
	s.id, s.replaying = params.SessionID, true
	if !pr.router.add(s) {
		s.cancel()
		return nil, &Problem{Kind: ProblemFailed, Message: fmt.Sprintf("the agent's session %.80q is in use by another thread", s.id)}
	}
	result, err := pr.peer.call(ctx, method, params, a.cfg.StartTimeout, func(jsontext.Value) {
		s.mu.Lock()
		// After resume what comes is new.
		s.replaying, s.repeated = method == methodLoad, time.Now()
		s.mu.Unlock()
	})
	if err == nil {
		s.mu.Lock() // what still comes is mapped under it
		s.m.Opened(result)
		s.mu.Unlock()
		err = s.settle(ctx)
	}
	if err != nil {
		s.abandon()
		return nil, err
	}
	return s, nil
}

// How long an agent must say nothing after session/load before its history is
// taken to have been repeated, and how long that is waited for.
const (
	settled      = 300 * time.Millisecond
	settleAtMost = 10 * time.Second
)

// settle waits until a loaded session has nothing more to repeat: there is an
// agent that answers session/load first and repeats its history then, in words
// that look like new ones.
func (s *session) settle(ctx context.Context) error {
	started := time.Now()
	for {
		s.mu.Lock()
		silent := time.Since(s.repeated)
		if !s.replaying || silent >= settled || time.Since(started) >= settleAtMost {
			s.replaying = false
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		timer := time.NewTimer(settled - silent)
		select {
		case <-timer.C:
		case <-s.pr.dead:
			timer.Stop()
			return errGone
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// begin makes a new session: by session/new, or from another by session/fork.
func (a *Agent) begin(ctx context.Context, pr *proc, method string, t turns.AgentThread, params sessionParams) (*session, error) {
	s := newSession(a, pr, t.ThreadID, params.Cwd, t.Config)
	over := pr.router.expect()
	defer over()
	added := false
	result, err := pr.peer.call(ctx, method, params, a.cfg.StartTimeout, func(result jsontext.Value) {
		// In the reader, so that the agent's next message finds it.
		s.id = decode[struct {
			SessionID string `json:"sessionId"`
		}](result).SessionID
		// There is an agent that repeats the history to a fork, before it
		// tells its id.
		s.mu.Lock()
		s.replaying = method == methodFork
		s.mu.Unlock()
		added = s.id != "" && pr.router.add(s)
		s.mu.Lock()
		s.replaying = false
		s.mu.Unlock()
	})
	if err == nil && !added {
		err = &Problem{Kind: ProblemProtocol, Message: fmt.Sprintf("the agent made a new session under the id %.80q, which is empty or in use", s.id)}
	}
	if err != nil {
		s.cancel()
		return nil, err
	}
	s.m.Opened(result)
	return s, nil
}

// letGo parts from a session that nobody needs: the agent is told to close it
// where it can.
func (a *Agent) letGo(s *session) {
	s.abandon()
	if s.pr.says.closes {
		_, _ = s.pr.peer.start(methodClose, struct { // whatever it answers, we have parted
			SessionID string `json:"sessionId"`
		}{s.id}, func(jsontext.Value, error) {})
	}
}

// cwd is the absolute working directory of a session.
func (a *Agent) cwd(dir string) (string, error) {
	if dir == "" {
		dir = a.cfg.Cwd
	}
	abs, err := filepath.Abs(dir) // the server's own for ""
	if err != nil {
		return "", &Problem{Kind: ProblemCwd, Message: "the server's working directory is gone", Hint: "Give the thread a cwd"}
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return "", &Problem{Kind: ProblemCwd, Message: fmt.Sprintf("the working directory %q is no directory that can be used", abs)}
	}
	return abs, nil
}

// openError puts into words why no session could be opened.
func (a *Agent) openError(pr *proc, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, turns.ErrPromptOver) {
		return err
	}
	return diagnose(err, pr.words(), pr.says)
}

// notRun is the outcome of a prompt that the agent was not given.
func (a *Agent) notRun(ctx context.Context, err error) turns.Outcome {
	if ctx.Err() != nil || errors.Is(err, turns.ErrPromptOver) {
		return turns.Outcome{State: turns.Interrupted, StopReason: err.Error()}
	}
	if _, ok := errors.AsType[*Problem](err); ok || errors.Is(err, errStopping) {
		return failed(kindUnavailable, err.Error())
	}
	return turns.Outcome{State: turns.Interrupted, StopReason: err.Error()} // the sink takes nothing
}
