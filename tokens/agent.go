package tokens

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// AgentPrefix is how every token of an agent begins, so that one that is not live any
// more is refused everywhere, instead of being ignored.
const AgentPrefix = "holon_agent_"

// MaxAgentTokens bounds the live tokens of agents. Each is of a process that runs or of an
// attempt that is claimed: a machine has far fewer.
const MaxAgentTokens = 16 << 10

// ErrTooManyAgentTokens says that MaxAgentTokens are live.
var ErrTooManyAgentTokens = errors.New("too many tokens of agents are live")

// Agent identifies the caller of a request made with the token of an agent. The token is of
// one thread and one start of the agent's process, or of one attempt of a turn.
type Agent struct {
	ThreadID string
	TurnID   string // "" = a process that may run many turns of the thread
	Attempt  int    // of TurnID
	// Alive ends when the token is revoked. Requests are refused from then on, and
	// streams end. nil = it never is.
	Alive context.Context
}

// Ended reports whether the token has been revoked.
func (a *Agent) Ended() bool { return a.Alive != nil && a.Alive.Err() != nil }

// AgentTokens are the live tokens of agents. They may be used from many goroutines. None is
// in the log or on disk.
type AgentTokens struct {
	secret func(context.Context) ([]byte, error)

	mu   sync.Mutex
	key  []byte
	live map[[sha256.Size]byte]*agentToken // by the hash of the token, so that a look-up tells nothing of it
}

type agentToken struct {
	agent  Agent
	end    context.CancelFunc
	unbind func() bool // nil = it is not bound: see Bind
}

// NewAgentTokens makes a set without tokens. secret reads a secret of the log that never
// changes, such as LeaseSecret of a store; it is read once.
func NewAgentTokens(secret func(context.Context) ([]byte, error)) *AgentTokens {
	return &AgentTokens{secret: secret, live: make(map[[sha256.Size]byte]*agentToken)}
}

// Grant makes a token live and returns it. With a TurnID it is the token of that
// attempt: always the same one, also after a restart of the server, so that a
// worker that outlasts the server can continue. Without, it is that of one start of a
// process, and every call returns another one. Alive of a is not looked at. The
// caller must Revoke it when the process or the attempt has ended. The error is
// ErrTooManyAgentTokens or that of reading the secret.
func (l *AgentTokens) Grant(ctx context.Context, a Agent) (token string, err error) {
	key, err := l.signingKey(ctx)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	if a.TurnID != "" {
		_, _ = fmt.Fprintf(mac, "attempt\x00%s\x00%s\x00%d", a.ThreadID, a.TurnID, a.Attempt) // never an error
	} else {
		start := make([]byte, 16)
		if _, err := rand.Read(start); err != nil {
			return "", fmt.Errorf("make a token of an agent: %w", err)
		}
		_, _ = fmt.Fprintf(mac, "process\x00%s\x00%x", a.ThreadID, start)
	}
	token = AgentPrefix + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))

	l.mu.Lock()
	defer l.mu.Unlock()
	hash := sha256.Sum256([]byte(token))
	if l.live[hash] != nil {
		return token, nil
	}
	if len(l.live) >= MaxAgentTokens {
		return "", ErrTooManyAgentTokens
	}
	alive, end := context.WithCancel(context.Background())
	a.Alive = alive
	l.live[hash] = &agentToken{agent: a, end: end}
	return token, nil
}

// signingKey returns a key for these tokens alone, made of the log's secret.
func (l *AgentTokens) signingKey(ctx context.Context) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key == nil {
		secret, err := l.secret(ctx)
		if err != nil {
			return nil, fmt.Errorf("read what tokens of agents are made with: %w", err)
		}
		mac := hmac.New(sha256.New, secret)
		_, _ = mac.Write([]byte("holon: tokens of agents, 1"))
		l.key = mac.Sum(nil)
	}
	return l.key, nil
}

// Revoke ends a token: its requests are refused from now on, and its streams and
// waiting requests end. A token that is not live is ignored.
func (l *AgentTokens) Revoke(token string) {
	hash := sha256.Sum256([]byte(token))
	l.mu.Lock()
	t := l.live[hash]
	delete(l.live, hash)
	l.mu.Unlock()
	if t == nil {
		return
	}
	if t.unbind != nil {
		t.unbind()
	}
	t.end()
}

// Bind revokes a token when alive ends, at the latest: a worker whose own token is
// revoked must not go on with the one that it was given. A token that is not live is
// ignored.
func (l *AgentTokens) Bind(token string, alive context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.live[sha256.Sum256([]byte(token))]
	if t == nil {
		return
	}
	if t.unbind != nil {
		t.unbind()
	}
	t.unbind = context.AfterFunc(alive, func() { l.Revoke(token) })
}

// Len returns how many tokens are live.
func (l *AgentTokens) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.live)
}

// Find returns the agent whose live token has this text. mine says that the text looks like
// the token of an agent; ok, that it is live. It neither keeps nor logs the text.
func (l *AgentTokens) Find(text string) (a Agent, mine, ok bool) {
	if !strings.Contains(text, AgentPrefix) {
		return a, false, false
	}
	hash := sha256.Sum256([]byte(text))
	l.mu.Lock()
	t := l.live[hash]
	l.mu.Unlock()
	if t == nil {
		return a, true, false
	}
	return t.agent, true, true
}
