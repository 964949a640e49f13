package grants

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

	"github.com/seed82539d15/holon/api"
)

// Prefix is how every token of an agent begins, so that one that is not live any
// more is refused everywhere, instead of being ignored.
const Prefix = "holon_agent_"

// Max bounds the live tokens. Each is of a process that runs or of an attempt that
// is claimed: a machine has far fewer.
const Max = 16 << 10

// ErrTooMany says that Max tokens are live.
var ErrTooMany = errors.New("too many tokens of agents are live")

// Grants are the live tokens of agents. They may be used from many goroutines.
type Grants struct {
	secret func(context.Context) ([]byte, error)

	mu   sync.Mutex
	key  []byte
	live map[[sha256.Size]byte]*grant // by the hash of the token, so that a look-up tells nothing of it
}

type grant struct {
	agent  api.Agent
	end    context.CancelFunc
	unbind func() bool // nil = it is not bound: see Bind
}

// New makes a set without tokens. secret reads a secret of the log that never
// changes, such as LeaseSecret of a store; it is read once.
func New(secret func(context.Context) ([]byte, error)) *Grants {
	return &Grants{secret: secret, live: make(map[[sha256.Size]byte]*grant)}
}

// Grant makes a token live and returns it. With a TurnID it is the token of that
// attempt: always the same one, also after a restart of the server, so that a
// worker that outlasts the server can continue. Without, it is that of one start of a
// process, and every call returns another one. Alive of a is not looked at. The
// caller must Revoke it when the process or the attempt has ended. The error is
// ErrTooMany or that of reading the secret.
func (g *Grants) Grant(ctx context.Context, a api.Agent) (token string, err error) {
	key, err := g.signingKey(ctx)
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
	token = Prefix + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))

	g.mu.Lock()
	defer g.mu.Unlock()
	hash := sha256.Sum256([]byte(token))
	if g.live[hash] != nil {
		return token, nil
	}
	if len(g.live) >= Max {
		return "", ErrTooMany
	}
	alive, end := context.WithCancel(context.Background())
	a.Alive = alive
	g.live[hash] = &grant{agent: a, end: end}
	return token, nil
}

// signingKey returns a key of this package alone, made of the log's secret.
func (g *Grants) signingKey(ctx context.Context) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.key == nil {
		secret, err := g.secret(ctx)
		if err != nil {
			return nil, fmt.Errorf("read what tokens of agents are made with: %w", err)
		}
		mac := hmac.New(sha256.New, secret)
		_, _ = mac.Write([]byte("holon: tokens of agents, 1"))
		g.key = mac.Sum(nil)
	}
	return g.key, nil
}

// Revoke ends a token: its requests are refused from now on, and its streams and
// waiting requests end. A token that is not live is ignored.
func (g *Grants) Revoke(token string) {
	hash := sha256.Sum256([]byte(token))
	g.mu.Lock()
	gr := g.live[hash]
	delete(g.live, hash)
	g.mu.Unlock()
	if gr == nil {
		return
	}
	if gr.unbind != nil {
		gr.unbind()
	}
	gr.end()
}

// Bind revokes a token when alive ends, at the latest: a worker whose own credential is
// revoked must not go on with the one that it was given. A token that is not live is
// ignored.
func (g *Grants) Bind(token string, alive context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	gr := g.live[sha256.Sum256([]byte(token))]
	if gr == nil {
		return
	}
	if gr.unbind != nil {
		gr.unbind()
	}
	gr.unbind = context.AfterFunc(alive, func() { g.Revoke(token) })
}

// Len returns how many tokens are live.
func (g *Grants) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.live)
}

// Admit implements the Agents of an admission policy. mine reports that the credential looks
// like the token of an agent; ok, that it is live. Requests of the context that it
// returns can do what that agent may, and nothing else.
func (g *Grants) Admit(ctx context.Context, credential string) (_ context.Context, mine, ok bool) {
	if !strings.Contains(credential, Prefix) {
		return ctx, false, false
	}
	hash := sha256.Sum256([]byte(credential))
	g.mu.Lock()
	gr := g.live[hash]
	g.mu.Unlock()
	if gr == nil {
		return ctx, true, false
	}
	return api.WithAgent(ctx, gr.agent), true, true
}
