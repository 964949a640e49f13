package api

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// agentRule is a rule about what an agent may ask of a method. It makes the check for the
// type of the method's params, and panics if they lack what it is about: such a table never
// gets as far as a server.
type agentRule func(params reflect.Type) agentCheck

// agentCheck checks the params of one request. It may set members.
type agentCheck func(v *viewer, p reflect.Value) error

// viewer is the agent whose request is checked.
type viewer struct {
	ctx   context.Context
	api   *API
	agent tokens.Agent
}

// agents declares that the token of an agent may call the method, and which rules
// hold for its params. A method without this declaration is refused to agents.
func agents(rules ...agentRule) option {
	return func(m *Method) {
		m.ForAgents = true
		for _, r := range rules {
			m.agentChecks = append(m.agentChecks, r(m.Params))
		}
	}
}

// checkAgent executes the agent rules of the method, if an agent asks.
func (m *Method) checkAgent(ctx context.Context, s *shape, p reflect.Value) error {
	agent, ok := AgentOf(ctx)
	if !ok {
		return nil
	}
	a, _ := ctx.Value(apiKey{}).(*API)
	switch {
	case a == nil:
		return notAllowed("", "the request came past the table of methods")
	case agent.Ended():
		if q, ok := p.Addr().Interface().(*TurnStartParams); ok && q.Job != "" && agent.TurnID != "" {
			return errAttemptEnded(agent)
		}
		return errAgentEnded()
	case !m.ForAgents:
		return notAllowed("", "an agent may not call %s", m.Name)
	}
	v := &viewer{ctx, a, agent}
	for _, check := range m.agentChecks {
		if err := check(v, p); err != nil {
			return err
		}
	}
	return nil
}

// notAllowed makes the error of a request that the token of an agent does not allow. field is ""
// if it is about the method.
func notAllowed(field, format string, args ...any) *Error {
	e := Errorf(KindForbidden, format, args...)
	e.Data.Field, e.Data.Reason = field, "agent_token"
	if field != "" {
		e.Message = field + ": " + e.Message
	}
	return e
}

// errAttemptEnded returns the error of a program that asks for a job when its attempt is over.
func errAttemptEnded(a tokens.Agent) *Error {
	e := Errorf(KindAttemptSuperseded, "attempt %d of the turn is over: its program has nothing to ask for any more", a.Attempt)
	e.Data.Reason, e.Data.TurnID, e.Data.Attempt = "agent_ended", a.TurnID, a.Attempt
	return e
}

func errAgentEnded() *Error {
	e := Errorf(KindUnauthorized, "the token is of a process or attempt that has ended")
	e.Data.Reason = "agent_ended"
	return e
}

// harmless makes the rule of methods that name no thread and tell nothing of one.
func harmless(reflect.Type) agentCheck { return func(*viewer, reflect.Value) error { return nil } }

// narrowed returns the rule of methods whose handler forces the filter of an agent, by
// API.narrow.
func narrowed(reflect.Type) agentCheck { return func(*viewer, reflect.Value) error { return nil } }

// own requires that a member names the agent's own thread.
func own(member string) agentRule {
	return named([]string{member}, func(r relation) bool { return r == ownThread }, "it must be the agent's own thread")
}

// below requires that what the members name is of threads below the agent's. At
// least one of them must be there.
func below(members ...string) agentRule {
	return named(members, func(r relation) bool { return r == belowOwn }, "it must be of a thread below the agent's own")
}

// within requires that what the members name is of the agent's own thread or of
// threads below it. At least one of them must be there.
func within(members ...string) agentRule {
	return named(members, func(r relation) bool { return r != unrelated }, "it must be of the agent's own thread or of one below it")
}

// named requires that every thread that the members name is allowed. At least one
// member must be there.
func named(members []string, allowed func(relation) bool, why string) agentRule {
	return func(params reflect.Type) agentCheck {
		index := make([][]int, len(members))
		for i, name := range members {
			index[i] = memberOf(params, name)
		}
		return func(v *viewer, p reflect.Value) error {
			any := false
			for i, name := range members {
				for _, id := range idsIn(p.FieldByIndex(index[i])) {
					any = true
					threadID, err := v.api.threadOf(v.ctx, name, id)
					if err != nil {
						return err
					}
					r, err := v.api.relate(v.ctx, v.agent.ThreadID, threadID)
					if err != nil {
						return err
					}
					if !allowed(r) {
						return notAllowed(name, "%s", why)
					}
				}
			}
			if !any {
				return notAllowed(members[0], "an agent must name it")
			}
			return nil
		}
	}
}

// on makes a rule of one method, about more than the threads that it names.
func on[P any](check func(v *viewer, p *P) error) agentRule {
	return func(params reflect.Type) agentCheck {
		if params != reflect.TypeFor[P]() {
			panic(fmt.Sprintf("a rule for %s is declared for %s", reflect.TypeFor[P](), params))
		}
		return func(v *viewer, p reflect.Value) error { return check(v, p.Addr().Interface().(*P)) }
	}
}

// memberOf finds a member of params by its name on the wire.
func memberOf(params reflect.Type, name string) []int {
	for _, f := range reflect.VisibleFields(params) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			return f.Index
		}
	}
	panic(fmt.Sprintf("%s has no member %s, which its rule for agents is about", params, name))
}

// idsIn returns the ids of a member: one, several or none.
func idsIn(f reflect.Value) []string {
	if f.Kind() == reflect.Pointer {
		if f.IsNil() {
			return nil
		}
		f = f.Elem()
	}
	if list, ok := f.Interface().([]string); ok {
		return list
	}
	if s := f.String(); s != "" {
		return []string{s}
	}
	return nil
}

// threadOf returns the thread of what a member names; "" if it does not exist.
func (a *API) threadOf(ctx context.Context, member, id string) (string, error) {
	switch strings.TrimSuffix(member, "s") {
	case "turn_id":
		s, err := a.Reader.ReadTurn(ctx, turns.TurnQuery{TurnID: id})
		if err != nil || s.Turn == nil {
			return "", err
		}
		return s.Turn.ThreadID, nil
	case "item_id":
		it, _, err := a.Reader.ReadItem(ctx, id)
		if err != nil || it == nil {
			return "", err
		}
		return it.ThreadID, nil
	}
	return id, nil
}
