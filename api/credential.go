package api

import (
	"context"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// Credential is the named token that a request carries. The server's own user, and
// who has the server's own token, has none.
type Credential struct {
	Name string
	Role tokens.Role
	// ThreadIDs are the threads that it is limited to, with those below them; none =
	// it is not limited.
	ThreadIDs []string
	ExpiresAt notify.Time // zero = never
	// Alive ends when the token does. Requests are refused from then on, and streams
	// end. nil = it never does.
	Alive context.Context
}

func (c *Credential) ended() bool   { return c.Alive != nil && c.Alive.Err() != nil }
func (c *Credential) limited() bool { return len(c.ThreadIDs) > 0 }

type credentialKey struct{}

// WithCredential returns the context of the requests of a named token. Call then
// executes what its role and its threads allow, and streams carry only those threads.
func WithCredential(ctx context.Context, c Credential) context.Context {
	return context.WithValue(ctx, credentialKey{}, c)
}

// CredentialOf returns the named token of a request; false if it has none.
func CredentialOf(ctx context.Context) (Credential, bool) {
	c, ok := ctx.Value(credentialKey{}).(Credential)
	return c, ok
}

// AliveOf returns a context that ends when the token of the request does, that of an
// agent or a named one; nil if there is none that can end.
func AliveOf(ctx context.Context) context.Context {
	if agent, ok := AgentOf(ctx); ok {
		return agent.Alive
	}
	c, _ := CredentialOf(ctx)
	return c.Alive
}

// Limited reports whether the token of the request is limited to threads, that of an
// agent or a named one.
func Limited(ctx context.Context) bool {
	if _, ok := AgentOf(ctx); ok {
		return true
	}
	c, _ := CredentialOf(ctx)
	return c.limited()
}

// nameOf is the name of the request's credential.
func nameOf(ctx context.Context) string {
	if c, ok := CredentialOf(ctx); ok {
		return c.Name
	}
	return tokens.OwnerName
}

// clientOf says in events who made a request: a client, one with a named token, or an
// agent, which is no person: what it interrupts does not hold a thread.
func clientOf(ctx context.Context) turns.By {
	if _, ok := AgentOf(ctx); ok {
		return turns.ByOwner
	}
	if c, ok := CredentialOf(ctx); ok {
		return turns.By(turns.ByTokenPrefix + c.Name)
	}
	return turns.ByClient
}

// onceOnly reports whether the request may not choose an answer that holds for later
// questions too: that widens what the agent may do.
func onceOnly(ctx context.Context) bool {
	c, ok := CredentialOf(ctx)
	return ok && !c.Role.Covers(tokens.RoleWork)
}

// covers reports whether the thread is one of roots or below one of them.
func (a *API) covers(ctx context.Context, roots []string, threadID string) (bool, error) {
	for _, root := range roots {
		if r, err := a.relate(ctx, root, threadID); err != nil || r != unrelated {
			return err == nil, err
		}
	}
	return false, nil
}

// forest are threads and those below them: see subtree.
type forest struct {
	api   *API
	roots []string
}

// Has implements notify.Members.
func (f forest) Has(ctx context.Context, threadID string) (bool, error) {
	return f.api.covers(ctx, f.roots, threadID)
}

// threadsOf are the threads that the request's named token is limited to; nil if it is
// not limited.
func (a *API) threadsOf(ctx context.Context) notify.Members {
	if c, ok := CredentialOf(ctx); ok && c.limited() {
		return forest{a, c.ThreadIDs}
	}
	return nil
}

// narrowToken is narrow for named tokens.
func (a *API) narrowToken(ctx context.Context, f *notify.Filter, field string) error {
	c, ok := CredentialOf(ctx)
	if !ok {
		return nil
	}
	if c.ended() {
		return errTokenEnded()
	}
	if !c.limited() {
		return nil
	}
	h := &holder{ctx, a, c}
	for i, id := range f.ThreadIDs {
		name := field
		if field == "thread_ids" {
			name = indexed(field, i)
		}
		if err := h.ownsThread(name, id); err != nil {
			return err
		}
	}
	f.Within = forest{a, c.ThreadIDs}
	return nil
}
