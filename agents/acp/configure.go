package acp

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/agents/acp/mapping"
	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// chosen are the chosen values of a thread's config, without the possible ones.
type chosen struct {
	Mode       string                    `json:"mode"`
	Model      string                    `json:"model"`
	Options    map[string]jsontext.Value `json:"options"`
	Configured []string                  `json:"configured"`
}

// settings returns the names and values in the order in which they are set: the
// model first, because modes and options may depend on it.
func (c chosen) settings() (out []setting) {
	if c.Model != "" {
		out = append(out, setting{"model", quote(c.Model)})
	}
	if c.Mode != "" {
		out = append(out, setting{"mode", quote(c.Mode)})
	}
	for _, id := range slices.Sorted(maps.Keys(c.Options)) {
		out = append(out, setting{id, c.Options[id]})
	}
	return out
}

type setting struct {
	name  string
	value jsontext.Value
}

func quote(s string) jsontext.Value {
	raw, _ := json.Marshal(s, jsontext.AllowInvalidUTF8(true)) // a string always encodes
	return raw
}

// isRefusal reports whether err is a refusal of the value, by the agent or by
// us on its behalf, and no other failure.
func isRefusal(err error) bool {
	switch err := err.(type) {
	case *rpcError:
		return err.Code != codeAuthRequired
	case *turns.InvalidError:
		return true
	}
	return false
}

// settingOf returns the setting of a session that is to be changed, if it can have the value.
func settingOf(m *mapping.Session, want setting) (mapping.Setting, error) {
	is, ok := m.Setting(want.name)
	invalid := func(reason, text string) (mapping.Setting, error) {
		return is, &turns.InvalidError{Field: "config." + want.name, Reason: reason, Text: text}
	}
	if !ok {
		return invalid("unknown", "the agent has no setting of this name"+nearest.Hint(want.name, append(m.SettingNames(), "cwd")))
	}
	if is.Boolean {
		if k := want.value.Kind(); k != jsontext.KindTrue && k != jsontext.KindFalse {
			return invalid("type", "it is either true or false")
		}
		return is, nil
	}
	var value string
	if json.Unmarshal(want.value, &value) != nil {
		return invalid("type", "it is a string")
	}
	if len(is.Choices) > 0 && !slices.Contains(is.Choices, value) {
		return invalid("unknown_value", shorten(nearest.NoneOf(value, is.Choices), 500))
	}
	return is, nil
}

// change makes the agent change a setting. do calls a function in a goroutine
// that may use the mapping.
func (s *session) change(ctx context.Context, want setting, is mapping.Setting, do func(func()) error) error {
	var params any
	value := decode[string](want.value)
	switch is.Via {
	case methodSetMode:
		params = struct {
			SessionID string `json:"sessionId"`
			ModeID    string `json:"modeId"`
		}{s.id, value}
	case methodSetModel:
		params = struct {
			SessionID string `json:"sessionId"`
			ModelID   string `json:"modelId"`
		}{s.id, value}
	default:
		kind := ""
		if is.Boolean {
			kind = "boolean"
		}
		params = struct {
			SessionID string         `json:"sessionId"`
			ConfigID  string         `json:"configId"`
			Type      string         `json:"type,omitzero"`
			Value     jsontext.Value `json:"value"`
		}{s.id, is.ConfigID, kind, want.value}
	}
	earlier := 0
	result, err := s.pr.peer.call(ctx, is.Via, params, s.a.cfg.StartTimeout, func(jsontext.Value) { earlier = waiting(s) })
	if err != nil {
		return err
	}
	return do(func() {
		catchUp(s, earlier)
		switch is.Via {
		case methodSetMode:
			s.m.ModeSet(value)
		case methodSetModel:
			s.m.ModelSet(value)
		default:
			s.m.Opened(result)
		}
	})
}

// same reports whether two JSON values are equal.
func same(x, y jsontext.Value) bool {
	if x == nil || y == nil {
		return false
	}
	x, y = x.Clone(), y.Clone()
	return x.Canonicalize() == nil && y.Canonicalize() == nil && string(x) == string(y)
}

// Configure implements turns.Configurer. A thread without a session gets one,
// because only a running agent says what can be set. If one of several settings
// is refused, those before it stay, and the thread's config says so.
func (a *Agent) Configure(ctx context.Context, t turns.AgentThread, set map[string]jsontext.Value) (turns.AgentThread, error) {
	want := ordered(set)
	s, err := a.reach(ctx, t, want)
	if err != nil {
		return t, agentError(err)
	}
	defer a.pool.leave(s.pr)
	s.release()
	use := func(f func()) error { return s.do(ctx, f) }
	changed, err := s.set(ctx, want, use)
	if err != nil {
		if changed { // without a session id: the caller has not taken it yet
			_ = use(func() { s.outside([]items.Op{items.SetThread{Config: s.m.Config()}}) })
		}
		return t, agentError(err)
	}
	t.SessionID = s.id
	err = use(func() { t.Config = s.m.Config() })
	return t, agentError(err)
}

// set makes the agent apply the changes of a client, up to the first one that fails.
// It reports whether any was made.
func (s *session) set(ctx context.Context, list []setting, use func(func()) error) (changed bool, err error) {
	for _, want := range list {
		var is mapping.Setting
		var refused error
		if err := use(func() { is, refused = settingOf(s.m, want) }); err != nil {
			return changed, err
		}
		if refused != nil {
			return changed, refused
		}
		if !same(is.Value, want.value) {
			if err := s.change(ctx, want, is, use); err != nil {
				return changed, err
			}
		}
		if err := use(func() { s.m.Configured(want.name) }); err != nil {
			return changed, err
		}
		changed = true
	}
	return changed, nil
}

// ordered lists what Configure is to set, in the order of settings. Options may
// be given by their ids or, as in the config, under options.
func ordered(set map[string]jsontext.Value) []setting {
	c := chosen{Options: map[string]jsontext.Value{}}
	var rest []setting
	for name, value := range set {
		switch name {
		case "options":
			maps.Copy(c.Options, decode[map[string]jsontext.Value](value))
		case "mode", "model":
			rest = append(rest, setting{name, value})
		default:
			c.Options[name] = value
		}
	}
	slices.SortFunc(rest, func(x, y setting) int { return strings.Compare(y.name, x.name) }) // model, mode
	return append(rest, c.settings()...)
}

// reach returns the thread's session and enters its process. It opens the
// session if necessary: if the agent no longer takes how the thread is configured,
// with what a client sets in place of that; nil = nothing.
func (a *Agent) reach(ctx context.Context, t turns.AgentThread, instead []setting) (*session, error) {
	if s := a.live(t.ThreadID, t.SessionID, t.Cwd); s != nil {
		return s, nil
	}
	locked, err := a.lock(ctx, t.ThreadID)
	if err != nil {
		return nil, err
	}
	defer a.unlock(t.ThreadID, locked)
	if s := a.live(t.ThreadID, t.SessionID, t.Cwd); s != nil {
		return s, nil
	}
	a.leaveDirectory(ctx, locked, t.Cwd)
	o, err := a.open(ctx, t, nil, nil)
	if p, ok := errors.AsType[*Problem](err); ok && p.Kind == ProblemSetting && len(instead) > 0 {
		o, err = a.open(ctx, t, nil, instead)
	}
	if err != nil {
		return nil, err
	}
	o.s.lost = o.lost
	a.keep(t.ThreadID, o.s)
	if o.lost != "" {
		o.s.push(noticeEvent("The agent has lost the session it had (" + o.lost + ") and continues in a new one."))
	}
	return o.s, nil
}

// Fork implements turns.Forker.
func (a *Agent) Fork(ctx context.Context, t turns.AgentThread, newThreadID string) (turns.AgentThread, error) {
	out := turns.AgentThread{ThreadID: newThreadID, Cwd: t.Cwd}
	if t.SessionID == "" {
		return out, &turns.AgentError{Kind: turns.KindAgentUnavailable, Message: "the thread has no session of the agent yet, so there is nothing to fork"}
	}
	from, err := a.reach(ctx, t, nil)
	if err != nil {
		return out, agentError(err)
	}
	pr := from.pr
	defer a.pool.leave(pr)
	if !pr.says.fork {
		return out, &turns.UnsupportedError{Agent: a.name, What: "cannot fork a conversation"}
	}
	if a.cfg.ProcessPerThread && !pr.says.resume && !pr.says.load {
		return out, &turns.UnsupportedError{Agent: a.name, What: "cannot fork a conversation into a process of its own"}
	}
	servers, _ := mcpServers(a.cfg.MCPServers, pr.says)
	params := sessionParams{SessionID: from.id, Cwd: from.cwd, Servers: servers}
	own := ownTools{revoke: func() {}}
	if !a.cfg.ProcessPerThread {
		own = a.equip(ctx, pr, newThreadID, &params)
	}
	s, err := a.begin(ctx, pr, methodFork, turns.AgentThread{ThreadID: newThreadID, Config: t.Config}, params, own)
	if err != nil {
		return out, agentError(a.openError(ctx, pr, err))
	}
	if _, err := configure(ctx, s, t.Config, nil); err != nil { // some agents open a fork in their own mode
		a.closeSession(s)
		return out, agentError(a.openError(ctx, pr, err))
	}
	if a.cfg.ProcessPerThread {
		// This process has made the session, without the new thread's tools. The new
		// thread continues it in a process of its own.
		out.SessionID, out.Config = s.id, s.m.Config()
		a.closeSession(s)
		return out, nil
	}
	// It stays held, because the log does not have the new thread yet. Its
	// first prompt or change of settings releases it.
	out.SessionID, out.Config = s.id, s.m.Config()
	a.keep(newThreadID, s)
	return out, nil
}
