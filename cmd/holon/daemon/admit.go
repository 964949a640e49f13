package daemon

import (
	"context"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/tokens"
)

// openTokens reads the named tokens of the log.
func openTokens(ctx context.Context, store *sqlite.Store) (*tokens.Service, error) {
	position, err := store.View().Position(ctx)
	if err != nil {
		return nil, err
	}
	return tokens.Open(ctx, tokens.Config{Log: store, LogID: position.LogID, Read: store.View().ReadToDecide})
}

// admit implements the Tokens of an admission policy: it admits the tokens of agents,
// codes, and named and console tokens.
func (d *daemon) admit(ctx context.Context, credential string) (_ context.Context, mine, ok bool) {
	if of, mine, ok := d.grants.Admit(ctx, credential); mine {
		return of, mine, ok
	}
	if c, mine, ok := d.tokens.FindCode(credential); mine {
		return api.WithCredential(ctx, api.Credential{
			Name: c.Name, Parent: c.Parent, Code: &c, Role: c.Role, ThreadIDs: c.ThreadIDs, ExpiresAt: c.ExpiresAt,
		}), true, ok
	}
	t, alive, mine, ok := d.tokens.Find(credential)
	if !ok {
		return ctx, mine, false
	}
	return api.WithCredential(ctx, api.Credential{
		Name: t.Name, Parent: t.Parent, Role: t.Role, ThreadIDs: t.ThreadIDs, ExpiresAt: t.ExpiresAt, Alive: alive,
	}), true, true
}
