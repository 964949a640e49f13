package daemon

import (
	"context"
	"os"
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// granter gives agents access to this server. It implements turns.Granter.
type granter struct {
	tokens  *tokens.AgentTokens
	address func() string // "" before the server listens
}

// GrantProcess implements turns.Granter.
func (g granter) GrantProcess(ctx context.Context, threadID string) (turns.Access, func(), error) {
	return g.grant(ctx, tokens.Agent{ThreadID: threadID})
}

// GrantAttempt implements turns.Granter.
func (g granter) GrantAttempt(ctx context.Context, threadID, turnID string, attempt int) (turns.Access, func(), error) {
	return g.grant(ctx, tokens.Agent{ThreadID: threadID, TurnID: turnID, Attempt: attempt})
}

func (g granter) grant(ctx context.Context, a tokens.Agent) (turns.Access, func(), error) {
	token, err := g.tokens.Grant(ctx, a)
	if err != nil {
		return turns.Access{}, nil, err
	}
	out := turns.Access{URL: g.address(), Token: token}
	if strings.HasPrefix(out.URL, "http") { // not a unix socket
		out.MCPURL = strings.TrimSuffix(out.URL, "/") + "/mcp"
	}
	return out, func() { g.tokens.Revoke(token) }, nil
}

// Command implements turns.Granter.
func (granter) Command() (argv []string, env map[string]string) {
	path, err := os.Executable()
	if err != nil {
		return nil, nil // then only agents that use HTTP have the tools
	}
	return []string{path, "tools"}, nil
}

// workIn returns, by agent, the threads in which it may start outside work.
func workIn(cfg *config.Config) map[string][]string {
	list := map[string][]string{}
	for name, a := range cfg.Agents {
		list[name] = a.WorkIn
	}
	return list
}

// childAgents returns, by agent, those that it may start children with.
func childAgents(cfg *config.Config) map[string][]string {
	list := map[string][]string{}
	for name, a := range cfg.Agents {
		if a.ChildAgents != nil {
			list[name] = a.ChildAgents
		}
	}
	return list
}
