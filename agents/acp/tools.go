package acp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/agents/process"
)

// ownPrefix begins the names of the MCP servers with our own tools.
const ownPrefix = "holon_"

// ownServer returns the name of the MCP server with our own tools in the sessions of a
// thread. It differs between threads because one agent (opencode) shows the servers
// of one session to all sessions of its process; and it is short because agents
// prefix the tools with it, whose names must not be longer than 64 characters.
func ownServer(threadID string) string {
	sum := sha256.Sum256([]byte(threadID))
	return ownPrefix + hex.EncodeToString(sum[:3])
}

// ownTools are what one session gets of our own tools.
type ownTools struct {
	server string // its name; "" = the session has none
	why    string // why it has none, for a notice; "" = none are configured
	revoke func() // ends its token; may be called more than once
}

// sessionMeta is the _meta of the params that open a session.
type sessionMeta struct {
	ClaudeCode struct {
		Options struct {
			AllowedTools []string `json:"allowedTools"`
		} `json:"options"`
	} `json:"claudeCode"`
}

// equip adds our own tools to the params that open a session of the thread in pr.
// The caller calls revoke when the session has ended, or was not opened. Each
// opening gets a token of its own.
//
// Without them the session is opened all the same: a conversation is worth more than
// the tools.
func (a *Agent) equip(ctx context.Context, pr *proc, threadID string, params *sessionParams) ownTools {
	none := ownTools{revoke: func() {}}
	if a.cfg.Tools == nil {
		return none
	}
	given, revoke, err := a.cfg.Tools.GrantProcess(ctx, threadID)
	if err != nil {
		pr.log().Warn("an agent gets no tools of the server", zap.String("thread", threadID), zap.Error(err))
		none.why = err.Error()
		return none
	}
	argv, env := a.cfg.Tools.Command()
	overHTTP := pr.says.mcpHTTP && given.MCPURL != ""
	if !overHTTP && len(argv) == 0 {
		revoke()
		none.why = "it takes no MCP server over HTTP"
		return none
	}
	own := ownTools{server: ownServer(threadID), revoke: revoke}
	servers := params.Servers[:len(params.Servers):len(params.Servers)] // it is used for further tries
	if overHTTP {
		params.Servers = append(servers, urlServer{
			Type: "http", Name: own.server, URL: given.MCPURL, Headers: pairs(map[string]string{"Authorization": "Bearer " + given.Token}),
		})
	} else {
		env = maps.Clone(env)
		if env == nil {
			env = map[string]string{}
		}
		env[process.EnvURL], env[process.EnvToken] = given.URL, given.Token
		params.Servers = append(servers, stdioServer{Name: own.server, Command: argv[0], Args: append([]string{}, argv[1:]...), Env: pairs(env)})
	}
	// This extension is for the agent that announces it alone: another one may have
	// another meaning for it. The agent then runs our tools without asking.
	if pr.says.claudeCode && a.cfg.OwnTools == OwnToolsAllow {
		params.Meta = &sessionMeta{}
		params.Meta.ClaudeCode.Options.AllowedTools = []string{"mcp__" + own.server}
	}
	return own
}
