package acp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// opened is a session that was just opened. It is held: nothing is emitted for
// it until release.
type opened struct {
	s     *session
	lost  string   // why the former session could not be continued; "" = there was none
	notes []string // for the log
}

// maxReopens is how often opening a session is repeated because its process has
// ended meanwhile, through the work of another thread.
const maxReopens = 3

// openFor opens the session of a prompt and makes its id durable, so that a
// restart finds it. first are the blocks to send before the input. The
// session's process has been entered.
func (a *Agent) openFor(ctx context.Context, p *turns.Prompt) (s *session, first []block, err error) {
	ctx, stop := untilOver(ctx, p.Over)
	defer stop()
	if err := p.Emit(ctx, items.Progress{State: "starting", Message: "starting " + a.name}); err != nil {
		return nil, nil, err
	}
	t := turns.AgentThread{ThreadID: p.ThreadID, Cwd: p.Cwd, SessionID: p.SessionID, Config: p.Config}
	waits := func(whatFor string) { // an error ends ctx too
		_ = p.Emit(ctx, items.Progress{State: "starting", Message: whatFor})
	}
	o, err := a.open(ctx, t, waits, nil)
	for n := 0; n < maxReopens && errors.Is(err, errGone) && a.pool.healthy(); n++ {
		o, err = a.open(ctx, t, waits, nil)
	}
	if err != nil {
		return nil, nil, err
	}
	s = o.s
	if o.lost != "" && goesOn(p) {
		a.closeSession(s)
		a.pool.leave(s.pr)
		return nil, nil, &lostError{o.lost}
	}
	ops := []items.Op{items.SetThread{AgentSessionID: s.id, Config: items.Raw(s.m.Config()), Title: s.title}}
	for _, note := range o.notes {
		ops = append(ops, notice("warning", note, nil))
	}
	if p.SessionID == "" && len(p.Config) == 0 { // before it does the first thing unasked
		if warning := a.Info().Warning; warning != "" && !a.warned.Swap(true) {
			ops = append(ops, notice("warning", "Nobody is asked first: "+warning+".", nil))
		}
	}
	if o.lost != "" {
		text := "The agent has lost the session it had (" + o.lost + ") and continues in a new one."
		if a.cfg.Handover {
			var ok bool
			if first, ok = a.transcript(ctx, p); ok {
				text += " It was told what was said so far."
			}
		}
		ops = append(ops, notice("warning", text, nil))
	}
	ops = append(ops, items.Progress{State: "running"})
	err = p.Emit(ctx, ops...)
	if err == nil {
		err = p.Sync(ctx) // the id is in the log before the agent has the prompt
	}
	if err != nil {
		a.closeSession(s)
		a.pool.leave(s.pr)
		return nil, nil, err
	}
	a.keep(p.ThreadID, s)
	return s, first, nil
}

// goesOn reports whether the prompt continues a turn that has waited over a restart.
func goesOn(p *turns.Prompt) bool {
	return len(p.Input) > 0 && p.Input[0].Origin == items.OriginResume
}

// lostError says that a turn cannot go on after a restart, because the agent no longer has
// the session in which it had begun.
type lostError struct{ why string }

// Error implements error.
func (e *lostError) Error() string {
	return "the agent has lost the session of this turn (" + e.why + ")"
}

// recordID writes the id of a session to the log that was opened outside of a
// turn and is not there yet.
func (s *session) recordID(ctx context.Context, p *turns.Prompt) error {
	if err := p.Emit(ctx, items.SetThread{AgentSessionID: s.id}); err != nil {
		return err
	}
	return p.Sync(ctx)
}

// untilOver returns ctx, ended when over is closed. The caller must call the
// function.
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

// open opens the session of a thread, in the process that the pool chooses; waits is
// as in pool.enter. What is set instead goes before what the thread is configured
// with. The process has been entered if there is no error.
func (a *Agent) open(ctx context.Context, t turns.AgentThread, waits func(whatFor string), instead []setting) (o opened, err error) {
	cwd, err := a.cwd(t.Cwd)
	if err != nil {
		return o, err
	}
	pr, err := a.pool.enter(ctx, t.ThreadID, waits)
	if err != nil {
		return o, err
	}
	defer func() {
		if errors.Is(err, errTimeout) { // it would not open the next session either
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
		if o.s, o.lost, err = a.continueSession(ctx, pr, t, params); err != nil {
			return o, a.openError(ctx, pr, err)
		}
	}
	if o.s == nil {
		params.SessionID = ""
		own := a.equip(ctx, pr, t.ThreadID, &params)
		if o.s, err = a.begin(ctx, pr, methodNew, t, params, own); err != nil {
			return o, a.openError(ctx, pr, err)
		}
		a.pool.begins(o.s)
	}
	s := o.s
	if s.own.why != "" {
		o.notes = append(o.notes, "The agent was not given the tools of the server: "+s.own.why)
	}
	a.pool.opened(pr)
	notes, err := configure(ctx, s, t.Config, instead)
	if err != nil {
		a.closeSession(s)
		if invalid, ok := errors.AsType[*turns.InvalidError](err); ok { // of instead
			return o, invalid
		}
		return o, a.openError(ctx, pr, err)
	}
	o.notes = append(o.notes, notes...)
	a.pool.offers(s.m.Config())
	return o, nil
}

// sessionParams are the params of session/new, load, resume and fork.
type sessionParams struct {
	SessionID string       `json:"sessionId,omitzero"`
	Cwd       string       `json:"cwd"`
	Servers   []any        `json:"mcpServers"`
	Meta      *sessionMeta `json:"_meta,omitzero"`
}

// continueSession opens a session that the agent had before. If it returns
// neither a session nor an error, lost says why the agent no longer has it.
func (a *Agent) continueSession(ctx context.Context, pr *proc, t turns.AgentThread, params sessionParams) (s *session, lost string, err error) {
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

// reopen loads or resumes a session. The history that the agent repeats
// meanwhile is not emitted: the log has it.
func (a *Agent) reopen(ctx context.Context, pr *proc, method string, t turns.AgentThread, params sessionParams) (*session, error) {
	s := newSession(a, pr, t.ThreadID, params.Cwd, t.Config)
	s.own = a.equip(ctx, pr, t.ThreadID, &params)
	s.id, s.replaying = params.SessionID, true
	if !pr.router.add(s) {
		s.forgo()
		return nil, &Problem{Kind: ProblemFailed, Message: fmt.Sprintf("the agent's session %.80q is in use by another thread", s.id)}
	}
	result, err := pr.peer.call(ctx, method, params, a.cfg.StartTimeout, func(jsontext.Value) {
		s.mu.Lock()
		// After resume all messages are new.
		s.replaying, s.repeated = method == methodLoad, time.Now()
		s.mu.Unlock()
	})
	if err == nil {
		s.mu.Lock() // later messages are mapped under it too
		s.m.Opened(result)
		s.mu.Unlock()
		err = s.waitUntilQuiet(ctx)
	}
	if err != nil {
		s.abandon()
		return nil, err
	}
	return s, nil
}

// How long an agent must be silent after session/load until its history counts
// as repeated, and the longest wait for that.
const (
	quietFor    = 300 * time.Millisecond
	quietAtMost = 10 * time.Second
)

// waitUntilQuiet waits until a loaded session has repeated its history. One agent
// answers session/load first and then repeats its history, in messages that
// look like new ones.
func (s *session) waitUntilQuiet(ctx context.Context) error {
	started := time.Now()
	for {
		s.mu.Lock()
		silent := time.Since(s.repeated)
		if !s.replaying || silent >= quietFor || time.Since(started) >= quietAtMost {
			s.replaying = false
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		select {
		case <-time.After(quietFor - silent):
		case <-s.pr.dead:
			return errGone
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// begin makes a new session: with session/new, or from another with
// session/fork. own are the tools in params; they end with the session.
func (a *Agent) begin(ctx context.Context, pr *proc, method string, t turns.AgentThread, params sessionParams, own ownTools) (*session, error) {
	s := newSession(a, pr, t.ThreadID, params.Cwd, t.Config)
	s.own = own
	over := pr.router.expect()
	defer over()
	added := false
	result, err := pr.peer.call(ctx, method, params, a.cfg.StartTimeout, func(result jsontext.Value) {
		// In the reader's goroutine, so that the agent's next message finds the
		// session.
		s.id = decode[struct {
			SessionID string `json:"sessionId"`
		}](result).SessionID
		// One agent repeats the history to a fork before it sends its id.
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
		s.forgo()
		return nil, err
	}
	s.m.Opened(result)
	return s, nil
}

// closeSession abandons a session that is no longer needed. An agent that can
// close sessions is asked to close it.
func (a *Agent) closeSession(s *session) {
	s.abandon()
	if s.pr.says.closes {
		_, _ = s.pr.peer.start(methodClose, closeParams{s.id}, func(jsontext.Value, error) {}) // the answer does not matter: the session is abandoned
	}
}

// closeParams are the params of session/close.
type closeParams struct {
	SessionID string `json:"sessionId"`
}

// Directory implements turns.Local.
func (a *Agent) Directory(cwd string) (string, error) {
	dir, err := process.Directory(cwd, a.cfg.Cwd)
	if err != nil {
		return "", err
	}
	return filepath.Clean(dir), nil
}

// KeepsDirectory implements turns.DirectoryKeeper.
func (a *Agent) KeepsDirectory() bool { return a.cfg.KeepsDirectory }

// cwd returns the absolute working directory of a session.
func (a *Agent) cwd(dir string) (string, error) {
	abs, err := a.Directory(dir)
	if err != nil {
		return "", &Problem{Kind: ProblemCwd, Message: "the server's working directory is gone", Hint: "Give the thread a cwd"}
	}
	if !utf8.ValidString(abs) { // JSON cannot name it, and what it would name may be another one
		return "", &Problem{Kind: ProblemCwd, Message: fmt.Sprintf("the name of the working directory %q is not UTF-8", abs), Hint: "Give the thread a cwd, or rename the directory"}
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return "", &Problem{Kind: ProblemCwd, Message: fmt.Sprintf("the working directory %q is no directory that can be used", abs)}
	}
	return abs, nil
}

// openError explains why no session could be opened.
func (a *Agent) openError(ctx context.Context, pr *proc, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, turns.ErrPromptOver) {
		return err
	}
	return diagnose(pr.howEnded(ctx, err), pr.otherOutput(), pr.says)
}

// notRun returns the outcome of a prompt that was not sent to the agent.
func (a *Agent) notRun(ctx context.Context, err error) turns.Outcome {
	out := turns.Outcome{State: turns.Interrupted, StopReason: err.Error()} // cancelled, or the sink takes nothing
	if ctx.Err() == nil && !errors.Is(err, turns.ErrPromptOver) {
		_, lost := errors.AsType[*lostError](err)
		_, problem := errors.AsType[*Problem](err)
		if lost || problem || errors.Is(err, errStopping) {
			out = turns.FailedWith(turns.KindAgentUnavailable, err.Error())
		}
		if lost {
			out.Cause = turns.CauseServer
		}
	}
	out.Unread = true
	return out
}
