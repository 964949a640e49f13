package exec

import (
	"context"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// access is how the process of a prompt calls the server.
type access struct {
	variables []string
	revoke    func() // must be called when the process has ended
}

// access grants a prompt's process access to the server. Without Config.Tools it
// is the server's address alone.
//
// If it cannot be granted, the process runs without any, and a notice says so: most
// commands do not call the server. It does not get the address then: a call without
// a token would not be limited to the turn's thread.
func (a *Agent) access(ctx context.Context, p *turns.Prompt) (access, error) {
	without := access{revoke: func() {}}
	if a.cfg.Tools == nil {
		if a.cfg.URL != nil {
			without.set(process.EnvURL, a.cfg.URL())
		}
		return without, nil
	}
	given, revoke, err := a.cfg.Tools.GrantAttempt(ctx, p.ThreadID, p.TurnID, p.Attempt)
	if err != nil {
		text := "The command has no access to the server's tools: " + err.Error()
		return without, p.Emit(ctx, items.Create{
			ItemID: items.NewID(), Status: items.StatusCompleted,
			Content: items.Notice{Type: items.KindNotice, Severity: "warning", Message: text},
		})
	}
	with := access{revoke: revoke}
	with.set(process.EnvURL, given.URL)
	with.set(process.EnvMCPURL, given.MCPURL)
	with.set(process.EnvToken, given.Token)
	return with, nil
}

// set adds a variable unless its value is empty.
func (a *access) set(variable, value string) {
	if value != "" {
		a.variables = append(a.variables, variable+"="+value)
	}
}
