package api

import (
	"context"
	"errors"
	"reflect"

	"github.com/seed82539d15/holon/tokens"
)

// reading, responding, working, operating and owning set the role that a method needs. Every
// method declares one.
func reading(m *Method)    { m.Role = tokens.RoleRead }
func responding(m *Method) { m.Role = tokens.RoleRespond }
func working(m *Method)    { m.Role = tokens.RoleWork }
func operating(m *Method)  { m.Role = tokens.RoleOperate }
func owning(m *Method)     { m.Role = tokens.RoleOwner }

// codes checks that a code opens the method. It opens no other.
func codes(m *Method) { m.ForCodes = true }

// holder is the named token whose request is checked.
type holder struct {
	ctx context.Context
	api *API
	Token
}

// tokenCheck checks the params of one request.
type tokenCheck func(h *holder, p reflect.Value) error

// unless makes a rule about a request that needs more than the role of its method.
func unless[P any](check func(h *holder, p *P) error) option {
	return func(m *Method) { m.roleCheck = tokenRule(m.Params, check) }
}

// Limit says what a method does for a token that is limited to threads.
type Limit string

// The limits. Without a declaration it is LimitRefused for methods about the server,
// and LimitNamed for all others.
const (
	// LimitNamed: every thread that the request names, itself or by a turn or an item,
	// must be one of the token's, and it must name one.
	LimitNamed Limit = "named"
	// LimitAny: the answer tells nothing of a thread.
	LimitAny Limit = "any"
	// LimitNarrowed: the answer has only the token's threads.
	LimitNarrowed Limit = "narrowed"
	// LimitRule: a rule of the method decides.
	LimitRule Limit = "rule"
	// LimitRefused: the method is for tokens that are not limited.
	LimitRefused Limit = "refused"
)

func whenLimited(l Limit) option { return func(m *Method) { m.Limit = l } }

// limitedBy returns a rule for tokens that are limited, besides what the Limit demands.
func limitedBy[P any](check func(h *holder, p *P) error) option {
	return func(m *Method) { m.limitCheck = tokenRule(m.Params, check) }
}

// tokenRule makes the check of a rule for the type of the method's params, and panics if the
// rule is about another type.
func tokenRule[P any](params reflect.Type, check func(h *holder, p *P) error) tokenCheck {
	if params != reflect.TypeFor[P]() {
		panic("a rule for " + reflect.TypeFor[P]().String() + " is declared for " + params.String())
	}
	return func(h *holder, p reflect.Value) error { return check(h, p.Addr().Interface().(*P)) }
}

// checkToken refuses what a named token may not ask.
func (m *Method) checkToken(ctx context.Context, s *shape, p reflect.Value) error {
	t, ok := TokenOf(ctx)
	if !ok {
		return nil
	}
	a, _ := ctx.Value(apiKey{}).(*API)
	switch {
	case a == nil:
		return forbidden("", "role", "the request came past the table of methods")
	case t.ended():
		return errTokenEnded()
	case t.Code != nil && !m.ForCodes:
		return errCode(m.Name)
	case !t.Role.Covers(m.Role):
		return needing(m.Role, forbidden("", "role", "the token %s has the role %s, and %s needs %s", t.Name, t.Role, m.Name, m.Role))
	}
	h := &holder{ctx, a, t}
	if m.roleCheck != nil {
		if err := m.roleCheck(h, p); err != nil {
			return needing(tokens.RoleOperate, err) // which passes all of these rules
		}
	}
	if !t.limited() {
		return nil
	}
	switch m.Limit {
	case LimitNamed:
		if err := h.names(m, s, p); err != nil {
			return err
		}
		fallthrough
	case LimitAny, LimitNarrowed:
		if err := h.ownsAll(s.named(p)); err != nil {
			return err
		}
	case LimitRefused:
		return forbidden("", "threads", "the token %s is limited to threads, and %s is not about one", t.Name, m.Name)
	}
	if m.limitCheck != nil {
		return m.limitCheck(h, p)
	}
	return nil
}

// names requires that the request names what the method is about.
func (h *holder) names(m *Method, s *shape, p reflect.Value) error {
	n := s.named(p)
	named, field := len(n.ThreadIDs) > 0 || n.TurnID != "" || n.ItemID != "", "thread_id"
	if m.Scope == ScopeThread {
		named = s.id(p, idThread) != "" // a parent alone names no thread that is the token's
	}
	if !named {
		return forbidden(field, "threads", "the token %s is limited to threads: name one of them", h.Name)
	}
	return nil
}

// ownsAll requires that every thread that is named is one of the token's.
func (h *holder) ownsAll(n Named) error {
	for i, id := range n.ThreadIDs {
		if err := h.ownsThread(n.members[i], id); err != nil {
			return err
		}
	}
	for field, id := range map[string]string{"turn_id": n.TurnID, "item_id": n.ItemID} {
		if id == "" {
			continue
		}
		threadID, err := h.api.threadOf(h.ctx, field, id)
		if err != nil {
			return err
		}
		if err := h.ownsThread(field, threadID); err != nil {
			return err
		}
	}
	return nil
}

func (h *holder) ownsThread(field, threadID string) error {
	own, err := h.api.below(h.ThreadIDs...).Has(h.ctx, threadID)
	if err == nil && !own {
		return forbidden(field, "threads", "it is not of the threads that the token %s is limited to", h.Name)
	}
	return err
}

// forbidden returns the error of a request that a named token does not allow.
func forbidden(field, reason, format string, args ...any) *Error {
	e := Errorf(KindForbidden, format, args...)
	e.Data.Field, e.Data.Reason = field, reason
	if field != "" {
		e.Message = field + ": " + e.Message
	}
	return e
}

// needing adds the role that is enough to the error of a request that another one does
// not allow.
func needing(role tokens.Role, err error) error {
	var e *Error
	if errors.As(err, &e) && e.Data.Reason == "role" {
		e.Data.Role = role
	}
	return err
}

// errCode returns the error of what a code does not open.
func errCode(what string) *Error {
	return forbidden("", "code", "a code opens initialize and signin/create only, not %s", what)
}

func errTokenEnded() *Error {
	e := Errorf(KindUnauthorized, "the token was revoked, or has expired")
	e.Data.Reason = "token_ended"
	return e
}
