package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// params holds the params of every method. An absent member is zero.
type params struct {
	ProtocolVersion *int            `json:"protocolVersion"`
	Client          json.RawMessage `json:"clientCapabilities"`
	MethodID        string          `json:"methodId"`
	SessionID       string          `json:"sessionId"`
	Cwd             string          `json:"cwd"`
	McpServers      json.RawMessage `json:"mcpServers"`
	ModeID          string          `json:"modeId"`
	ModelID         string          `json:"modelId"`
	ConfigID        string          `json:"configId"`
	Value           any             `json:"value"`
	Prompt          []block         `json:"prompt"`
	Meta            json.RawMessage `json:"_meta"`
}

// readsFailures reports whether the client has announced that it reads
// sessionFailure.
func (a *agent) readsFailures() bool {
	var can struct {
		Meta struct {
			Jetbrains struct {
				Air struct {
					Version      int      `json:"version"`
					Capabilities []string `json:"capabilities"`
				} `json:"air"`
			} `json:"jetbrains"`
		} `json:"_meta"`
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = json.Unmarshal(a.client, &can) // what cannot be read is not announced
	air := can.Meta.Jetbrains.Air
	return air.Version >= 1 && slices.Contains(air.Capabilities, "sessionFailure")
}

func airMeta(members object) object {
	members["version"] = 1
	return object{"jetbrains": object{"air": members}}
}

type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func text(blocks []block) string {
	var all []string
	for _, b := range blocks {
		if b.Type == "text" {
			all = append(all, b.Text)
		}
	}
	return strings.Join(all, "\n")
}

func (a *agent) notified(m message) {
	var p params
	_ = json.Unmarshal(m.Params, &p) // what cannot be read names no session
	switch m.Method {
	case "session/cancel":
		s := a.find(p.SessionID)
		if s == nil {
			a.violation("session/cancel of the unknown session %q", p.SessionID)
			return
		}
		s.cancelled()
	case "$/cancel_request":
	default:
		a.violation("the unknown notification %s", m.Method)
	}
}

// request answers quick methods at once and slow ones in goroutines.
func (a *agent) request(m message) {
	var p params
	if err := json.Unmarshal(m.Params, &p); err != nil {
		a.violation("%s: params: %v", m.Method, err)
		a.reply(m.ID, nil, &rpcError{Code: codeParams, Message: err.Error()})
		return
	}
	a.mu.Lock()
	early := !a.initialized && m.Method != "initialize"
	a.mu.Unlock()
	if early {
		a.violation("%s before initialize", m.Method)
	}
	switch m.Method {
	case "session/prompt":
		a.prompted(m.ID, p) // in order: it counts as running from now on
	case "initialize", "session/new", "session/load", "session/resume", "session/fork", "_session/steering":
		go a.answer(m, p)
	default:
		a.answer(m, p)
	}
}

// noAnswer is a result that is never sent.
type noAnswer struct{}

func (a *agent) answer(m message, p params) {
	if text := a.options[map[string]string{"initialize": "init", "session/new": "new"}[m.Method]]; text != "" {
		a.rawLine(text, m.ID, "")
		return
	}
	result, err := a.handle(m.Method, p)
	if _, never := result.(noAnswer); !never {
		a.reply(m.ID, result, err)
	}
	if m.Method == "session/new" && a.on("login") {
		a.notify("_auth/status_update", object{"authStatus": object{"kind": a.options["login"], "label": "So says the agent"}})
	}
	if m.Method == "session/load" && err == nil && a.on("late-replay") {
		a.mu.Lock()
		s := a.known(p.SessionID)
		a.mu.Unlock()
		a.replay(s)
	}
}

// replay sends the history of a session again.
func (a *agent) replay(s *session) {
	a.mu.Lock()
	history := slices.Clone(s.History)
	a.mu.Unlock()
	for _, e := range history {
		a.pause("replay-ms")
		a.update(s, object{"sessionUpdate": "user_message_chunk", "content": textBlock(e.User)})
		a.update(s, object{"sessionUpdate": "agent_message_chunk", "content": textBlock(e.Agent)})
	}
}

func (a *agent) handle(method string, p params) (any, *rpcError) {
	switch method {
	case "initialize":
		return a.initialize(p)
	case "authenticate":
		return a.authenticate(p)
	case "session/new", "session/load", "session/resume", "session/fork":
		return a.openSession(strings.TrimPrefix(method, "session/"), p)
	case "_session/steering":
		return a.steer(p)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sessions[p.SessionID]
	if s == nil && strings.HasPrefix(method, "session/") && method != "session/list" {
		return nil, notFound(p.SessionID)
	}
	invalid := &rpcError{Code: codeParams, Message: "there is no such value"}
	switch {
	case method == "session/set_mode":
		offered := slices.ContainsFunc(a.modes(), func(m object) bool { return m["id"] == p.ModeID })
		if !offered || a.options["refuses"] == p.ModeID {
			return nil, invalid
		}
		if a.on("opens") { // what it says of before must not count as said after
			a.update(s, object{"sessionUpdate": "current_mode_update", "currentModeId": s.Mode})
		}
		s.Mode = p.ModeID
	case method == "session/set_model" && a.on("old-models"):
		if !s.set("model", p.ModelID) {
			return nil, invalid
		}
	case method == "session/set_config_option":
		if mode, ok := p.Value.(string); ok && p.ConfigID == "agent_mode" && a.on("mode-option") {
			if a.options["mode-option"] != "stays" {
				s.Mode = mode
			}
		} else if !s.set(p.ConfigID, p.Value) {
			return nil, invalid
		}
		a.save()
		return object{"configOptions": a.configOptions(s)}, nil
	case method == "session/close" && !a.on("no-close"):
		s.cancelled()
		delete(a.sessions, p.SessionID)
		return object{}, nil
	case method == "session/list":
		list := []object{}
		for id, s := range a.sessions {
			list = append(list, object{"sessionId": id, "cwd": s.Cwd})
		}
		return object{"sessions": list}, nil
	default:
		return nil, &rpcError{Code: codeNoMethod, Message: "there is no method " + method}
	}
	a.save()
	return object{}, nil
}

func notFound(id string) *rpcError {
	return &rpcError{Code: codeNotFound, Message: "session not found", Data: object{"sessionId": id}}
}

func (a *agent) initialize(p params) (any, *rpcError) {
	if p.ProtocolVersion == nil {
		a.violation("initialize without protocolVersion")
	}
	if a.on("no-init") {
		return noAnswer{}, nil
	}
	a.pause("start-ms")
	a.mu.Lock()
	a.initialized, a.client = true, p.Client
	a.mu.Unlock()
	version := 1
	if a.on("protocol") {
		version = a.number("protocol")
	}
	can := object{}
	for _, name := range []string{"resume", "fork", "close"} {
		if !a.on("no-" + name) {
			can[name] = object{}
		}
	}
	can["list"] = object{}
	capabilities := object{
		"loadSession":         !a.on("no-load"),
		"promptCapabilities":  object{"image": !a.on("no-image"), "audio": false, "embeddedContext": false},
		"mcpCapabilities":     object{"http": !a.on("no-mcp-http"), "sse": false},
		"sessionCapabilities": can,
	}
	meta := object{}
	if a.on("login") {
		meta["authStatus"] = object{}
	}
	if a.on("claude-code") {
		meta["claudeCode"] = object{"promptQueueing": true}
	}
	if len(meta) > 0 {
		capabilities["_meta"] = meta
	}
	result := object{
		"protocolVersion":   version,
		"agentInfo":         object{"name": a.options["name"], "title": "Bad agent", "version": a.options["version"]},
		"agentCapabilities": capabilities,
		"authMethods":       []object{},
	}
	if a.on("auth") {
		result["authMethods"] = []object{{"id": "login", "name": "Log in", "description": "Run `badagent login` in a terminal"}}
	}
	if a.on("steering") {
		result["_meta"] = object{"steering": object{"supported": true}}
	}
	return result, nil
}

func (a *agent) authenticate(p params) (any, *rpcError) {
	if p.MethodID != "login" {
		return nil, &rpcError{Code: codeParams, Message: "there is no such authentication method"}
	}
	if a.options["auth"] == "never" {
		return nil, &rpcError{Code: codeInternal, Message: "the login has expired"}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.loggedIn = true
	return object{}, nil
}

// openSession handles session/new, load, resume and fork.
func (a *agent) openSession(how string, p params) (any, *rpcError) {
	if a.on("no-" + how) {
		return nil, &rpcError{Code: codeNoMethod, Message: "there is no method session/" + how}
	}
	if !filepath.IsAbs(p.Cwd) {
		a.violation("session/%s with the relative cwd %q", how, p.Cwd)
		return nil, &rpcError{Code: codeParams, Message: "cwd must be absolute"}
	}
	if p.McpServers == nil {
		a.violation("session/%s without mcpServers", how)
	}
	a.pause("new-ms")
	a.mu.Lock()
	if a.on("auth") && !a.loggedIn {
		a.mu.Unlock()
		return nil, &rpcError{Code: codeAuthRequired, Message: "Authentication required"}
	}
	if how == "new" && a.on("one-session") && len(a.sessions) > 0 {
		a.mu.Unlock()
		return nil, &rpcError{Code: codeInternal, Message: "this agent has one session"}
	}
	s := a.known(p.SessionID)
	if s != nil && s.Cwd != p.Cwd && a.on("by-cwd") {
		s = nil
	}
	if how != "new" && s == nil {
		a.mu.Unlock()
		return nil, notFound(p.SessionID)
	}
	switch how {
	case "new":
		s = a.open(p.Cwd, p.McpServers)
	case "fork":
		s = a.fork(s, p.Cwd, p.McpServers)
	case "load", "resume":
		s.origin = map[string]string{"load": "loaded", "resume": "resumed"}[how]
		s.Cwd, s.Servers = p.Cwd, p.McpServers
		if a.on("opens") {
			s.Mode = a.ownMode()
		}
		a.sessions[s.ID] = s
	}
	s.meta = p.Meta
	a.save()
	result := a.settings(s)
	a.mu.Unlock()

	if how == "new" || how == "fork" {
		result["sessionId"] = s.ID
	}
	if how == "load" && !a.on("late-replay") || how == "fork" && a.on("fork-replay") {
		a.replay(s)
	}
	if a.on("early") {
		a.update(s, commandsUpdate())
		a.update(s, object{"sessionUpdate": "session_info_update", "title": "Early", "updatedAt": time.Now().UTC().Format(time.RFC3339)})
	}
	return result, nil
}
