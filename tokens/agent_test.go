package tokens_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/seed82539d15/holon/tokens"
)

func agentTokens(secret string) *tokens.AgentTokens {
	return tokens.NewAgentTokens(func(context.Context) ([]byte, error) { return []byte(secret), nil })
}

func grantTo(t *testing.T, g *tokens.AgentTokens, a tokens.Agent) string {
	t.Helper()
	token, err := g.Grant(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestATokenOfAnAgentSaysWhoseItIs(t *testing.T) {
	g := agentTokens("secret")
	for _, a := range []tokens.Agent{{ThreadID: "a"}, {ThreadID: "b"}, {ThreadID: "a", TurnID: "turn_1", Attempt: 2}} {
		got, mine, ok := g.Find(grantTo(t, g, a))
		got.Alive = nil
		if !mine || !ok || got != a {
			t.Errorf("the token of %+v is %+v, %v %v", a, got, mine, ok)
		}
	}
}

func TestATokenOfAnAgentEndsWhenItIsRevoked(t *testing.T) {
	g := agentTokens("secret")
	token, other := grantTo(t, g, tokens.Agent{ThreadID: "a"}), grantTo(t, g, tokens.Agent{ThreadID: "a"})
	if token == other {
		t.Fatal("two starts of a process have one token")
	}
	agent, _, _ := g.Find(token)
	g.Revoke(token)
	g.Revoke(token)
	if _, mine, ok := g.Find(token); !mine || ok || !agent.Ended() {
		t.Errorf("a revoked token: mine %v, ok %v; alive %v", mine, ok, !agent.Ended())
	}
	if _, _, ok := g.Find(other); !ok || g.Len() != 1 {
		t.Error("the other token ended with it")
	}
}

// A worker lives longer than the server.
func TestABoundTokenEndsWithWhatItIsBoundTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := agentTokens("secret")
		attempt := tokens.Agent{ThreadID: "t", TurnID: "u", Attempt: 1}
		live := func() bool { _, _, ok := g.Find(grantTo(t, agentTokens("secret"), attempt)); return ok }
		alive, end := context.WithCancel(t.Context())
		g.Bind("none", alive) // ignored

		token := grantTo(t, g, attempt)
		g.Bind(token, alive)
		if !live() {
			t.Fatal("it ended too soon")
		}
		g.Revoke(token) // and is made again: what it was bound to does not concern this one
		grantTo(t, g, attempt)
		end()
		if synctest.Wait(); !live() {
			t.Error("a token that is not bound has ended")
		}
		alive, end = context.WithCancel(t.Context())
		g.Bind(token, alive)
		end()
		if synctest.Wait(); live() || g.Len() != 0 {
			t.Error("it is live after the end")
		}
		grantTo(t, g, attempt)
		g.Bind(token, alive)
		if synctest.Wait(); live() {
			t.Error("what it is bound to has ended before, and it is live")
		}
	})
}

func TestTheTokenOfAnAttemptIsTheSameAfterARestart(t *testing.T) {
	a := tokens.Agent{ThreadID: "a", TurnID: "turn_1", Attempt: 1}
	first := grantTo(t, agentTokens("secret"), a)
	again := agentTokens("secret")
	if _, mine, ok := again.Find(first); !mine || ok {
		t.Error("the token is live before anybody granted it again")
	}
	if got := grantTo(t, again, a); got != first || grantTo(t, again, a) != first || again.Len() != 1 {
		t.Error("the token has changed")
	}
	seen := map[string]bool{first: true}
	for _, other := range []tokens.Agent{{ThreadID: "b", TurnID: "turn_1", Attempt: 1}, {ThreadID: "a", TurnID: "turn_2", Attempt: 1}, {ThreadID: "a", TurnID: "turn_1", Attempt: 2}} {
		if token := grantTo(t, again, other); seen[token] {
			t.Errorf("%+v has a token of another", other)
		} else {
			seen[token] = true
		}
	}
	if grantTo(t, agentTokens("another log"), a) == first {
		t.Error("two logs give one token")
	}
}

func TestForgedTokensOfAgentsAreRefused(t *testing.T) {
	g := agentTokens("secret")
	token := grantTo(t, g, tokens.Agent{ThreadID: "a"})
	for name, forged := range map[string]string{
		"one character":   token[:len(token)-1] + "A",
		"cut":             token[:len(token)-1],
		"longer":          token + "A",
		"prefix alone":    tokens.AgentPrefix,
		"twice":           token + token,
		"in other text":   "x" + token,
		"of another log":  grantTo(t, agentTokens("another"), tokens.Agent{ThreadID: "a"}),
		"in another case": tokens.AgentPrefix + strings.ToUpper(strings.TrimPrefix(token, tokens.AgentPrefix)),
	} {
		if forged == token {
			forged = token[:len(token)-1] + "B"
		}
		if a, mine, ok := g.Find(forged); !mine || ok {
			t.Errorf("%s: mine %v, ok %v", name, mine, ok)
		} else if a != (tokens.Agent{}) {
			t.Errorf("%s: it names an agent", name)
		}
	}
	if _, mine, ok := g.Find("the token of the server"); mine || ok {
		t.Error("another token counts as one of an agent")
	}
}

func TestTokensOfAgentsAreBounded(t *testing.T) {
	g := agentTokens("secret")
	for range tokens.MaxAgentTokens {
		grantTo(t, g, tokens.Agent{ThreadID: "a"})
	}
	_, err := g.Grant(context.Background(), tokens.Agent{ThreadID: "a"})
	if !errors.Is(err, tokens.ErrTooManyAgentTokens) {
		t.Errorf("got %v, want ErrTooManyAgentTokens", err)
	}
}

func TestASecretThatCannotBeReadIsReadAgain(t *testing.T) {
	fails := true
	g := tokens.NewAgentTokens(func(context.Context) ([]byte, error) {
		if fails {
			return nil, errors.New("the disk")
		}
		return []byte("secret"), nil
	})
	if token, err := g.Grant(context.Background(), tokens.Agent{ThreadID: "a"}); err == nil || token != "" || g.Len() != 0 {
		t.Errorf("a token without a secret: %q %v", token, err)
	}
	fails = false
	grantTo(t, g, tokens.Agent{ThreadID: "a"})
}

func TestTokensOfAgentsComeAndGoFromManyGoroutines(t *testing.T) {
	g := agentTokens("secret")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				token, err := g.Grant(context.Background(), tokens.Agent{ThreadID: "a"})
				if _, _, ok := g.Find(token); !ok || err != nil {
					t.Error("a live token is refused")
				}
				g.Revoke(token)
			}
		})
	}
	all.Wait()
	if g.Len() != 0 {
		t.Errorf("%d tokens are left", g.Len())
	}
}
