package grants

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/seed82539d15/holon/api"
)

func of(secret string) *Grants {
	return New(func(context.Context) ([]byte, error) { return []byte(secret), nil })
}

func grantTo(t *testing.T, g *Grants, a api.Agent) string {
	t.Helper()
	token, err := g.Grant(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestATokenSaysWhoseItIs(t *testing.T) {
	g := of("secret")
	for _, a := range []api.Agent{{ThreadID: "a"}, {ThreadID: "b"}, {ThreadID: "a", TurnID: "turn_1", Attempt: 2}} {
		ctx, mine, ok := g.Admit(context.Background(), grantTo(t, g, a))
		got, is := api.AgentOf(ctx)
		got.Alive = nil
		if !mine || !ok || !is || got != a {
			t.Errorf("the token of %+v is %+v, %v %v", a, got, mine, ok)
		}
	}
}

func TestATokenEndsWhenItIsRevoked(t *testing.T) {
	g := of("secret")
	token, other := grantTo(t, g, api.Agent{ThreadID: "a"}), grantTo(t, g, api.Agent{ThreadID: "a"})
	if token == other {
		t.Fatal("two starts of a process have one token")
	}
	ctx, _, _ := g.Admit(context.Background(), token)
	agent, _ := api.AgentOf(ctx)
	g.Revoke(token)
	g.Revoke(token)
	if _, mine, ok := g.Admit(context.Background(), token); !mine || ok || agent.Alive.Err() == nil {
		t.Errorf("a revoked token: mine %v, ok %v; alive %v", mine, ok, agent.Alive.Err() == nil)
	}
	if _, _, ok := g.Admit(context.Background(), other); !ok || g.Len() != 1 {
		t.Error("the other token ended with it")
	}
}

// A worker lives longer than the server.
func TestABoundTokenEndsWithWhatItIsBoundTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := of("secret")
		attempt := api.Agent{ThreadID: "t", TurnID: "u", Attempt: 1}
		live := func() bool { _, _, ok := g.Admit(t.Context(), grantTo(t, of("secret"), attempt)); return ok }
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
	a := api.Agent{ThreadID: "a", TurnID: "turn_1", Attempt: 1}
	first := grantTo(t, of("secret"), a)
	again := of("secret")
	if _, mine, ok := again.Admit(context.Background(), first); !mine || ok {
		t.Error("the token is live before anybody granted it again")
	}
	if got := grantTo(t, again, a); got != first || grantTo(t, again, a) != first || again.Len() != 1 {
		t.Error("the token has changed")
	}
	seen := map[string]bool{first: true}
	for _, other := range []api.Agent{{ThreadID: "b", TurnID: "turn_1", Attempt: 1}, {ThreadID: "a", TurnID: "turn_2", Attempt: 1}, {ThreadID: "a", TurnID: "turn_1", Attempt: 2}} {
		if token := grantTo(t, again, other); seen[token] {
			t.Errorf("%+v has a token of another", other)
		} else {
			seen[token] = true
		}
	}
	if grantTo(t, of("another log"), a) == first {
		t.Error("two logs give one token")
	}
}

func TestForgedTokensAreRefused(t *testing.T) {
	g := of("secret")
	token := grantTo(t, g, api.Agent{ThreadID: "a"})
	for name, forged := range map[string]string{
		"one character":   token[:len(token)-1] + "A",
		"cut":             token[:len(token)-1],
		"longer":          token + "A",
		"prefix alone":    Prefix,
		"twice":           token + token,
		"in other text":   "x" + token,
		"of another log":  grantTo(t, of("another"), api.Agent{ThreadID: "a"}),
		"in another case": Prefix + strings.ToUpper(strings.TrimPrefix(token, Prefix)),
	} {
		if forged == token {
			forged = token[:len(token)-1] + "B"
		}
		if ctx, mine, ok := g.Admit(context.Background(), forged); !mine || ok {
			t.Errorf("%s: mine %v, ok %v", name, mine, ok)
		} else if _, is := api.AgentOf(ctx); is {
			t.Errorf("%s: it names an agent", name)
		}
	}
	if _, mine, ok := g.Admit(context.Background(), "the token of the server"); mine || ok {
		t.Error("another credential counts as one of an agent")
	}
}

func TestTokensAreBounded(t *testing.T) {
	g := of("secret")
	for range Max {
		grantTo(t, g, api.Agent{ThreadID: "a"})
	}
	_, err := g.Grant(context.Background(), api.Agent{ThreadID: "a"})
	if !errors.Is(err, ErrTooMany) {
		t.Errorf("got %v, want ErrTooMany", err)
	}
}

func TestASecretThatCannotBeReadIsReadAgain(t *testing.T) {
	fails := true
	g := New(func(context.Context) ([]byte, error) {
		if fails {
			return nil, errors.New("the disk")
		}
		return []byte("secret"), nil
	})
	if token, err := g.Grant(context.Background(), api.Agent{ThreadID: "a"}); err == nil || token != "" || g.Len() != 0 {
		t.Errorf("a token without a secret: %q %v", token, err)
	}
	fails = false
	grantTo(t, g, api.Agent{ThreadID: "a"})
}

func TestTokensComeAndGoFromManyGoroutines(t *testing.T) {
	g := of("secret")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				token, err := g.Grant(context.Background(), api.Agent{ThreadID: "a"})
				if _, _, ok := g.Admit(context.Background(), token); !ok || err != nil {
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
