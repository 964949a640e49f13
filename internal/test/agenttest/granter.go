package agenttest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed82539d15/holon/turns"
)

// Granter is a turns.Granter that remembers what it gave. The zero value is ready.
// Its methods may be called from many goroutines.
type Granter struct {
	// Err is the error of every grant; nil = grants are given.
	Err error
	// NoHTTP leaves Access.MCPURL empty.
	NoHTTP bool

	mu      sync.Mutex
	given   []Grant
	live    map[string]int // how often a token was given and not revoked
	changed chan struct{}  // closed and replaced at each change
}

// Grant is one grant of a Granter. TurnID is "" for one of a process.
type Grant struct {
	ThreadID, TurnID string
	Attempt          int
	Token            string
}

var _ turns.Granter = (*Granter)(nil)

// GrantProcess implements turns.Granter.
func (g *Granter) GrantProcess(_ context.Context, threadID string) (turns.Access, func(), error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.give(Grant{ThreadID: threadID, Token: fmt.Sprintf("token-%d-of-%s", len(g.given)+1, threadID)})
}

// GrantAttempt implements turns.Granter.
func (g *Granter) GrantAttempt(_ context.Context, threadID, turnID string, attempt int) (turns.Access, func(), error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	token := fmt.Sprintf("token-of-%s-%s-%d", threadID, turnID, attempt)
	return g.give(Grant{ThreadID: threadID, TurnID: turnID, Attempt: attempt, Token: token})
}

// Command implements turns.Granter.
func (g *Granter) Command() (argv []string, env map[string]string) {
	return []string{"/opt/holon", "tools"}, map[string]string{"HOLON_DATA": "/data"}
}

// give runs with the lock held.
func (g *Granter) give(grant Grant) (turns.Access, func(), error) {
	if g.Err != nil {
		return turns.Access{}, nil, g.Err
	}
	g.given = append(g.given, grant)
	if g.live == nil {
		g.live = map[string]int{}
	}
	g.live[grant.Token]++
	g.wake()
	a := turns.Access{URL: "http://127.0.0.1:8080", MCPURL: "http://127.0.0.1:8080/mcp", Token: grant.Token}
	if g.NoHTTP {
		a.MCPURL = ""
	}
	return a, sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.live[grant.Token]--; g.live[grant.Token] == 0 {
			delete(g.live, grant.Token)
		}
		g.wake()
	}), nil
}

// Given returns all grants so far, oldest first.
func (g *Granter) Given() []Grant {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.given)
}

// Live returns the tokens that are not revoked, in the order in which they were given.
func (g *Granter) Live() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.liveNow()
}

func (g *Granter) liveNow() (tokens []string) {
	for _, grant := range g.given {
		if g.live[grant.Token] > 0 && !slices.Contains(tokens, grant.Token) {
			tokens = append(tokens, grant.Token)
		}
	}
	return tokens
}

// untilAtMost is long because a loaded machine is no failure.
const untilAtMost = 30 * time.Second

// Until returns when ok is true for the live tokens. It fails the test if that does
// not come.
func (g *Granter) Until(t testing.TB, ok func(live []string) bool) {
	t.Helper()
	limit := time.After(untilAtMost)
	for {
		g.mu.Lock()
		live := g.liveNow()
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		changed := g.changed
		g.mu.Unlock()
		if ok(live) {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("it did not come; live are %q", live)
		}
	}
}

func (g *Granter) wake() {
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}
