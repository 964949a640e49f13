package acp

import (
	"context"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// loginStatus is whether someone is logged in, from an extension notification
// that two agents send: {"authStatus": {"kind": "none" or how, "label": …}}.
type loginStatus struct {
	mu    sync.Mutex
	kind  string
	label string
	once  sync.Once
	told  chan struct{} // closed when the notification has come
}

// nobodyLoggedIn is the kind that means no login.
const nobodyLoggedIn = "none"

func (l *loginStatus) set(params jsontext.Value) {
	status := decode[struct {
		Kind  string `json:"kind"`
		Label string `json:"label"`
	}](member(params, "authStatus"))
	if status.Kind == "" {
		return
	}
	l.mu.Lock()
	l.kind, l.label = status.Kind, shorten(status.Label, 128)
	l.mu.Unlock()
	l.once.Do(func() { close(l.told) })
}

// loginWithin is how long an agent that reports its login may take to do so.
// Agents send it around the answer to session/new.
const loginWithin = 3 * time.Second

// loggedIn returns a *Problem if the agent says that no one is logged in: it
// opens sessions anyway, and fails every prompt.
func (pr *proc) loggedIn(ctx context.Context) error {
	if !pr.says.tellsLogin {
		return nil
	}
	select {
	case <-pr.login.told:
	case <-time.After(loginWithin):
		return nil
	case <-pr.dead:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	pr.login.mu.Lock()
	kind, label := pr.login.kind, pr.login.label
	pr.login.mu.Unlock()
	if kind != nobodyLoggedIn {
		return nil
	}
	p := &Problem{Kind: ProblemLogin, Message: "the agent is not logged in", Hint: pr.says.login()}
	if label != "" {
		p.Message += ": it says " + label
	}
	return p
}
