package api

import (
	"context"

	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// Tokens is what the methods of named tokens and of sign-ins work on; *tokens.Service implements it.
// Errors are those of package tokens.
type Tokens interface {
	Create(ctx context.Context, c tokens.Create) (tokens.Result, error)
	Revoke(ctx context.Context, c tokens.Revoke) (tokens.Result, error)
	List(cursor string, limit int, newest bool) (turns.List[tokens.Token], error)

	MakeCode(ctx context.Context, c tokens.MakeCode) (tokens.CodeResult, error)
	SignIn(ctx context.Context, c tokens.SignIn) (tokens.Result, error)
	SignOut(ctx context.Context, c tokens.SignOut) (tokens.SignOutResult, error)
	SignIns(parent, cursor string, limit int, newest bool) (turns.List[tokens.Token], error)
}

var _ Tokens = (*tokens.Service)(nil)

// namedTokens returns the Tokens of the server, or an error if it has none.
func (a *API) namedTokens() (Tokens, error) {
	if a.Tokens == nil {
		return nil, Errorf(KindUnavailable, "this server has no named tokens")
	}
	return a.Tokens, nil
}

// TokenCreateParams are the params of token/create.
type TokenCreateParams struct {
	tokens.Create
	Keyed
	Extra
}

// TokenCreateResult answers token/create.
type TokenCreateResult = tokens.Result

// TokenCreate answers token/create.
func (h *Handlers) TokenCreate(ctx context.Context, p TokenCreateParams) (TokenCreateResult, error) {
	in, err := h.api.namedTokens()
	if err != nil {
		return TokenCreateResult{}, err
	}
	return in.Create(ctx, p.Create)
}

// TokenListParams are the params of token/list.
type TokenListParams struct {
	Page
	Extra
}

// TokenListResult answers token/list. Only a page without NextCursor is the last.
type TokenListResult struct {
	Tokens     []tokens.Token `json:"tokens"`
	NextCursor string         `json:"next_cursor,omitzero"`
	LatestSeq  int64          `json:"latest_seq"`
}

// TokenList answers token/list.
func (h *Handlers) TokenList(ctx context.Context, p TokenListParams) (TokenListResult, error) {
	in, err := h.api.namedTokens()
	if err != nil {
		return TokenListResult{}, err
	}
	limit, err := p.limit()
	if err != nil {
		return TokenListResult{}, err
	}
	latest := h.api.Head()
	l, err := in.List(p.Cursor, limit, p.Order == OrderDesc)
	return TokenListResult{Tokens: append([]tokens.Token{}, l.Rows...), NextCursor: l.Next, LatestSeq: latest}, err
}

// TokenRevokeParams are the params of token/revoke.
type TokenRevokeParams struct {
	tokens.Revoke
	Keyed
	Extra
}

// TokenRevokeResult answers token/revoke.
type TokenRevokeResult = tokens.Result

// TokenRevoke answers token/revoke.
func (h *Handlers) TokenRevoke(ctx context.Context, p TokenRevokeParams) (TokenRevokeResult, error) {
	in, err := h.api.namedTokens()
	if err != nil {
		return TokenRevokeResult{}, err
	}
	return in.Revoke(ctx, p.Revoke)
}
