package api

import (
	"context"

	"github.com/seed82539d15/holon/tokens"
)

// SigninCodeParams are the params of signin/code.
type SigninCodeParams struct {
	tokens.MakeCode
	Extra
}

// SigninCodeResult answers signin/code.
type SigninCodeResult = tokens.CodeResult

// SigninCode answers signin/code.
func (h *Handlers) SigninCode(ctx context.Context, p SigninCodeParams) (SigninCodeResult, error) {
	token, named := TokenOf(ctx)
	if named && tokens.RoleOperate.Covers(p.Role) && !token.Role.Covers(p.Role) {
		return SigninCodeResult{}, needing(p.Role, forbidden("role", "role", "the token %s has the role %s, and gives no more", token.Name, token.Role))
	}
	in, err := h.api.namedTokens()
	if err != nil {
		return SigninCodeResult{}, err
	}
	p.Parent = token.person()
	return in.MakeCode(ctx, p.MakeCode)
}

// SigninCreateParams are the params of signin/create.
type SigninCreateParams struct {
	Keyed
	Extra
}

// SigninCreateResult answers signin/create.
type SigninCreateResult = tokens.Result

// SigninCreate answers signin/create.
func (h *Handlers) SigninCreate(ctx context.Context, p SigninCreateParams) (SigninCreateResult, error) {
	in, err := h.api.namedTokens()
	if err != nil {
		return SigninCreateResult{}, err
	}
	token, _ := TokenOf(ctx)
	return in.SignIn(ctx, tokens.SignIn{Parent: token.person(), Code: token.Code, Key: p.key})
}

// SigninListParams are the params of signin/list.
type SigninListParams struct {
	Page
	Extra
}

// SignIn is a console token as signin/list returns it.
type SignIn struct {
	tokens.Token
	Current bool `json:"current,omitzero"` // it is that of the request
}

// SigninListResult answers signin/list. Only a page without NextCursor is the last.
type SigninListResult struct {
	SignIns    []SignIn `json:"signins"`
	NextCursor string   `json:"next_cursor,omitzero"`
	LatestSeq  int64    `json:"latest_seq"`
}

// SigninList answers signin/list.
func (h *Handlers) SigninList(ctx context.Context, p SigninListParams) (SigninListResult, error) {
	in, err := h.api.namedTokens()
	if err != nil {
		return SigninListResult{}, err
	}
	limit, err := p.limit()
	if err != nil {
		return SigninListResult{}, err
	}
	token, _ := TokenOf(ctx)
	r := SigninListResult{SignIns: []SignIn{}, LatestSeq: h.api.Head()}
	l, err := in.SignIns(ownSignIns(ctx), p.Cursor, limit, p.Order == OrderDesc)
	for _, t := range l.Rows {
		r.SignIns = append(r.SignIns, SignIn{t, t.Name == token.Name})
	}
	r.NextCursor = l.Next
	return r, err
}

// SigninDeleteParams are the params of signin/delete.
type SigninDeleteParams struct {
	tokens.SignOut
	Keyed
	Extra
}

// SigninDeleteResult answers signin/delete.
type SigninDeleteResult = tokens.SignOutResult

// SigninDelete answers signin/delete.
func (h *Handlers) SigninDelete(ctx context.Context, p SigninDeleteParams) (SigninDeleteResult, error) {
	in, err := h.api.namedTokens()
	if err != nil {
		return SigninDeleteResult{}, err
	}
	token, named := TokenOf(ctx)
	p.Of, p.By = ownSignIns(ctx), tokens.ByOwner
	if named {
		p.By = tokens.ByName(token.Name)
	}
	return in.SignOut(ctx, p.SignOut)
}

// ownSignIns returns the parent whose console tokens the requester sees and ends; "" = all.
func ownSignIns(ctx context.Context) string {
	token, named := TokenOf(ctx)
	if !named {
		return ""
	}
	return token.person()
}
