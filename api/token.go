package api

import (
	"cmp"
	"context"
	"time"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// Token is the named token that a request carries, or a console token, or a code
// that makes one. The server's own user, and who has the server's own token, has none; for
// the token of an agent see AgentOf.
type Token struct {
	Name   string
	Parent string       // of a console token and of a code: see tokens.Token
	Code   *tokens.Code // nil = it is a token
	Role   tokens.Role
	// ThreadIDs are the threads that it is limited to, with those below them; none =
	// it is not limited.
	ThreadIDs []string
	ExpiresAt notify.Time // zero = never
	// Alive ends when the token does. Requests are refused from then on, and streams
	// end. nil = it never does.
	Alive context.Context
}

// person returns the name of whose token it is: a console token is its parent's.
func (t *Token) person() string {
	return cmp.Or(t.Parent, t.Name, tokens.OwnerName)
}

func (t *Token) limited() bool { return len(t.ThreadIDs) > 0 }

// ended reports whether the token has ended. It looks at the clock too: Alive ends a
// moment late, and seconds late if the machine slept meanwhile.
func (t *Token) ended() bool {
	expired := !t.ExpiresAt.IsZero() && t.ExpiresAt.Milli() <= time.Now().UnixMilli()
	return expired || t.Alive != nil && t.Alive.Err() != nil
}

type tokenKey struct{}

// WithToken returns the context of the requests of a named token. Call then
// executes what its role and its threads allow, and streams carry only those threads.
func WithToken(ctx context.Context, t Token) context.Context {
	return context.WithValue(ctx, tokenKey{}, t)
}

// TokenOf returns the named token of a request; false if it has none.
func TokenOf(ctx context.Context) (Token, bool) {
	t, ok := ctx.Value(tokenKey{}).(Token)
	return t, ok
}

// AliveOf returns a context that ends when the token of the request does, that of an
// agent or a named one; nil if there is none that can end.
func AliveOf(ctx context.Context) context.Context {
	if agent, ok := AgentOf(ctx); ok {
		return agent.Alive
	}
	t, _ := TokenOf(ctx)
	return t.Alive
}

// endOf returns the error of a request whose token has ended; nil if it has not, or if there
// is none that can.
func endOf(ctx context.Context) *Error {
	if agent, ok := AgentOf(ctx); ok && agent.Ended() {
		return errAgentEnded()
	}
	if t, ok := TokenOf(ctx); ok && t.ended() {
		return errTokenEnded()
	}
	return nil
}

// Limited reports whether the token of the request is limited to threads, that of an
// agent or a named one.
func Limited(ctx context.Context) bool {
	if _, ok := AgentOf(ctx); ok {
		return true
	}
	t, _ := TokenOf(ctx)
	return t.limited()
}

// OpensPath reports whether the token of the request opens a path of the server: one that
// is limited to threads opens those in which threads are told apart, and a code only that
// of single requests.
func OpensPath(ctx context.Context, path string) bool {
	t, _ := TokenOf(ctx)
	switch {
	case path == "/healthz", path == "/readyz":
		return true
	case t.Code != nil:
		return path == "/rpc"
	}
	return !Limited(ctx) || path == "/rpc" || path == "/rpc/stream" || path == "/events" || path == "/mcp"
}

// ShareOf returns the named token in whose share of the server a request is counted, that
// of a console token in its parent's. "" = it has no share: the owner and agents have none.
func ShareOf(ctx context.Context) string {
	if t, ok := TokenOf(ctx); ok && t.person() != tokens.OwnerName {
		return t.person()
	}
	return ""
}

// personOf returns the name of whose request it is.
func personOf(ctx context.Context) string {
	t, _ := TokenOf(ctx)
	return t.person()
}

// clientOf returns the name that events give to the caller: a client, one with a named token, or an
// agent, which is no person: what it interrupts does not hold a thread.
func clientOf(ctx context.Context) turns.By {
	if _, ok := AgentOf(ctx); ok {
		return turns.ByOwner
	}
	if t, ok := TokenOf(ctx); ok {
		return turns.By(turns.ByTokenPrefix + t.Name)
	}
	return turns.ByClient
}

// onceOnly reports whether the request may not choose an option that may allow more than
// this once: that widens what the agent may do.
func onceOnly(ctx context.Context) bool {
	t, ok := TokenOf(ctx)
	return ok && !t.Role.Covers(tokens.RoleWork)
}

// mayStream checks the threads that the stream or page of a named token names, if it is
// limited.
func (a *API) mayStream(ctx context.Context, t Token, lists []namedThreads) error {
	switch {
	case t.ended():
		return errTokenEnded()
	case t.Code != nil:
		return errCode("a stream")
	case !t.limited():
		return nil
	}
	h := &holder{ctx, a, t}
	for _, l := range lists {
		for i, id := range l.ids {
			if err := h.ownsThread(l.at(i), id); err != nil {
				return err
			}
		}
	}
	return nil
}
