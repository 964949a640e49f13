package acp

import (
	"context"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// loginStatus is what an agent has said of who is logged in, in a notification
// of two agents' own: {"authStatus": {"kind": "none" or how, "label": …}}.
type loginStatus struct {
	mu    sync.Mutex
	kind  string
	label string
	once  sync.Once
	told  chan struct{} // closed when it has said so
}

// nobodyLoggedIn is the kind of login that is none.
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

// loginWithin is how long an agent that tells its login may take to do so. It
// was seen to say it around the answer to session/new.
const loginWithin = 3 * time.Second

// loggedIn returns a *Problem if the agent says that nobody is logged in: it
// opens sessions all the same, and fails every prompt.
func (pr *proc) loggedIn(ctx context.Context) error {
	if !pr.says.tellsLogin {
		return nil
	}
	timer := time.NewTimer(loginWithin)
	defer timer.Stop()
	select {
	case <-pr.login.told:
	case <-timer.C:
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
