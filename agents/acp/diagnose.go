package acp

import (
	"context"
	"errors"
	"strings"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/turns"
)

// Problem says why an agent cannot be used, for a person.
type Problem struct {
	Kind    string // one of the Problem constants
	Message string // what is wrong
	Hint    string // what to do; "" = unknown

	err error
}

// Unwrap returns the cause, nil if there is none.
func (p *Problem) Unwrap() error { return p.err }

// The kinds of Problem.
const (
	ProblemInstall  = "not_installed"
	ProblemLogin    = "not_logged_in"
	ProblemNode     = "wrong_node_version"
	ProblemCwd      = "wrong_cwd"
	ProblemProtocol = "wrong_protocol"
	ProblemTimeout  = "timeout"
	ProblemSetting  = "wrong_setting" // it does not take a mode, model or option that is configured
	ProblemFailed   = "failed"
)

// Error implements error: the message and the hint.
func (p *Problem) Error() string {
	if p.Hint == "" {
		return p.Message
	}
	return p.Message + ". " + p.Hint
}

// exitError says how a process ended, with the end of its stderr.
type exitError struct {
	state string
	tail  string
}

// Error implements error.
func (e *exitError) Error() string {
	text := "the agent's process ended: " + e.state
	if e.tail != "" {
		text += ": " + e.tail
	}
	return text
}

// Unwrap returns errGone.
func (e *exitError) Unwrap() error { return errGone }

// diagnose finds the Problem behind an error in starting a process or opening a
// session. tail is the end of stderr. says is what the agent has said in its
// answer to initialize.
func diagnose(err error, tail string, says agentSays) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	p := problem(err, tail, says)
	p.err = err
	return p
}

func problem(err error, tail string, says agentSays) *Problem {
	if start, ok := errors.AsType[*process.StartError](err); ok {
		p := &Problem{Kind: ProblemInstall, Message: start.Message}
		switch start.Reason {
		case process.NotFound:
			p.Hint = "Install the agent, or give the whole path of its command"
		case process.NotExecutable:
			p.Hint = "Make it executable (chmod +x)"
		case process.BadCwd:
			p.Kind = ProblemCwd
		case process.NotStarted:
			p.Kind = ProblemFailed
		}
		return p
	}
	silent := false // it ended without any output
	if e, ok := errors.AsType[*exitError](err); ok {
		tail = e.tail
		silent = tail == "" && says.protocol == ""
	}
	said := err.Error() + "\n" + tail
	switch rpc, isRPC := errors.AsType[*rpcError](err); {
	case isRPC && rpc.Code == codeAuthRequired, mentions(said, notLoggedIn):
		return loginProblem(err, says)
	case mentions(said, wrongNode):
		return &Problem{Kind: ProblemNode, Message: "the agent needs another version of Node.js: " + err.Error(), Hint: "Install the version of Node.js that the agent asks for and put it first in PATH"}
	case mentions(said, asRoot):
		return &Problem{
			Kind: ProblemFailed, Message: "the agent does not run as root while it has a mode that asks for nothing: " + err.Error(),
			Hint: `Run the server as another user, or forbid that mode: {"permissions":{"disableBypassPermissionsMode":"disable"}} in ~/.claude/settings.json`,
		}
	case mentions(said, badCwd):
		return &Problem{Kind: ProblemCwd, Message: "the agent does not take the working directory: " + err.Error(), Hint: "Give an absolute path of a directory that exists"}
	case isRPC && rpc.Code == codeMethodNotFound && says.protocol == "":
		return &Problem{
			Kind: ProblemProtocol, Message: "the command does not speak the Agent Client Protocol: " + err.Error(),
			Hint: "Give the command, or the option (often --acp), with which the agent does",
		}
	case silent:
		return &Problem{Kind: ProblemFailed, Message: err.Error(), Hint: "Run its command by hand to see why, and that it is the one that speaks the Agent Client Protocol"}
	case errors.Is(err, errTimeout):
		p := &Problem{Kind: ProblemTimeout, Message: err.Error(), Hint: "Run its command by hand to see whether it waits for something, and that it is the one that speaks the Agent Client Protocol"}
		if tail != "" {
			p.Message += "; it wrote to stderr: " + tail
		}
		return p
	}
	return &Problem{Kind: ProblemFailed, Message: err.Error()}
}

// loginProblem returns the Problem of an agent that says so with err.
func loginProblem(err error, says agentSays) *Problem {
	return &Problem{Kind: ProblemLogin, Message: "the agent is not logged in: " + err.Error(), Hint: says.login()}
}

// Texts that agents, and the programs they run, write.
var (
	notLoggedIn = []string{"authentication required", "auth_required", "not logged in", "please log in", "please login", "invalid api key", "missing api key", "api key not"}
	wrongNode   = []string{"unsupported engine", "requires node", "node.js version", "node version", "unsupported node", "syntaxerror: unexpected token '??='", "err_unknown_builtin_module", "err_require_esm"}
	asRoot      = []string{"root/sudo privileges"}
	noSession   = []string{"session not found", "unknown session", "no such session"}
	badCwd      = []string{"cwd must be absolute", "cwd must be an absolute", "must be an absolute path", "not an absolute path", "path is not absolute"}
)

func mentions(text string, words []string) bool {
	text = strings.ToLower(text)
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// agentError returns err in the form for callers outside of turns.
func agentError(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*turns.InvalidError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*turns.AgentError](err); ok {
		return e
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	kind := turns.KindAgentFailed
	switch p, isProblem := errors.AsType[*Problem](err); {
	case errors.Is(err, errTimeout), isProblem && p.Kind == ProblemTimeout:
		kind = "timeout"
	case isProblem, errors.Is(err, errStopping):
		kind = turns.KindAgentUnavailable
	}
	return &turns.AgentError{Kind: kind, Message: err.Error()}
}
