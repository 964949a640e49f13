package daemon

import (
	"context"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/tokens"
)

// openTokens reads the named tokens of the log.
func openTokens(ctx context.Context, store *sqlite.Store) (*tokens.Service, error) {
	position, err := store.Reader().Position(ctx)
	if err != nil {
		return nil, err
	}
	return tokens.Open(ctx, tokens.Config{Log: store, LogID: position.LogID, Read: store.Reader().ReadToDecide})
}

// admit implements Tokens of an admission policy: it finds the tokens of agents, codes, and named and
// console tokens.
func (d *daemon) admit(ctx context.Context, text string) (_ context.Context, mine, ok bool) {
	if a, mine, ok := d.agentTokens.Find(text); mine {
		return api.WithAgent(ctx, a), true, ok
	}
	if c, mine, ok := d.tokens.FindCode(text); mine {
		return api.WithToken(ctx, api.Token{
			Name: c.Name, Parent: c.Parent, Code: &c, Role: c.Role, ThreadIDs: c.ThreadIDs, ExpiresAt: c.ExpiresAt,
		}), true, ok
	}
	t, alive, mine, ok := d.tokens.Find(text)
	if !ok {
		return ctx, mine, false
	}
	return api.WithToken(ctx, api.Token{
		Name: t.Name, Parent: t.Parent, Role: t.Role, ThreadIDs: t.ThreadIDs, ExpiresAt: t.ExpiresAt, Alive: alive,
	}), true, true
}
