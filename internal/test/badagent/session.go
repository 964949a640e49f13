package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// exchange is one prompt of a session and its answer.
type exchange struct {
	User  string `json:"user"`
	Agent string `json:"agent"`
}

// session is one conversation. The state file holds its exported fields.
type session struct {
	ID       string          `json:"id"`
	Cwd      string          `json:"cwd"`
	Servers  json.RawMessage `json:"mcp_servers,omitempty"`
	Mode     string          `json:"mode"`
	Options  map[string]any  `json:"options"`
	History  []exchange      `json:"history"`
	origin   string          // new, loaded, resumed, forked
	meta     json.RawMessage // of the request that opened it
	messages int             // how many message ids were made

	mu      sync.Mutex // guards the fields below
	cancel  context.CancelFunc
	running *prompt
	deaf    bool // to session/cancel
	noIDs   bool
}

// state is the state file. Each change rewrites it.
type state struct {
	Sessions map[string]*session `json:"sessions"`
}

// load reads the sessions in the state file, which earlier processes have left.
func (a *agent) load() map[string]*session {
	path := a.options["state"]
	if path == "" || a.on("forget") {
		return nil
	}
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	var s state
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		a.die(1, "read the state: "+err.Error())
	}
	return s.Sessions
}

// save adds the sessions of this process to the state file. The caller holds
// a.mu.
func (a *agent) save() {
	path := a.options["state"]
	if path == "" {
		return
	}
	all := a.load()
	if all == nil {
		all = map[string]*session{}
	}
	for id, s := range a.sessions {
		all[id] = s
	}
	b, err := json.Marshal(state{Sessions: all})
	if err == nil {
		temp := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d", filepath.Base(path), os.Getpid()))
		if err = os.WriteFile(temp, b, 0o600); err == nil {
			err = os.Rename(temp, path)
		}
	}
	if err != nil {
		a.die(1, "write the state: "+err.Error())
	}
}

// find returns a session of this process.
func (a *agent) find(id string) *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions[id]
}

// known returns a session of this or an earlier process. The caller holds a.mu.
func (a *agent) known(id string) *session {
	if s := a.sessions[id]; s != nil {
		return s
	}
	return a.load()[id]
}

// open makes a session. The caller holds a.mu.
func (a *agent) open(cwd string, servers json.RawMessage) *session {
	a.opened++
	s := &session{
		ID: fmt.Sprintf("bad-session-%07d-%d", os.Getpid(), a.opened), Cwd: cwd, Servers: servers, origin: "new",
		Mode: a.ownMode(), Options: map[string]any{"model": "small", "effort": "medium", "verbose": false},
	}
	a.sessions[s.ID] = s
	return s
}

// ownMode returns the mode in which sessions open.
func (a *agent) ownMode() string {
	if a.on("opens") {
		return a.options["opens"]
	}
	return "ask"
}

// modes returns the modes of every session.
func (a *agent) modes() []object {
	all := []object{{"id": "ask", "name": "Ask", "description": "Asks before it changes anything"}, {"id": "code", "name": "Code"}}
	if !a.on("opens") {
		return all
	}
	return append(all, object{"id": "auto", "name": "Auto", "description": "Decides by itself"})
}

// fork makes a session with the history of s. The caller holds a.mu.
func (a *agent) fork(s *session, cwd string, servers json.RawMessage) *session {
	twin := a.open(cwd, servers)
	twin.origin, twin.History = "forked", slices.Clone(s.History)
	if !a.on("opens") {
		twin.Mode = s.Mode
	}
	for id, value := range s.Options {
		twin.Options[id] = value
	}
	return twin
}

// settings returns the members that the results of session/new, load, resume
// and fork have besides the id.
func (a *agent) settings(s *session) object {
	if a.on("plain") {
		return object{}
	}
	o := object{"configOptions": a.configOptions(s)}
	if !a.on("mode-option") {
		o["modes"] = object{"currentModeId": s.Mode, "availableModes": a.modes()}
	}
	if a.on("old-models") {
		o["models"] = object{"currentModelId": s.Options["model"], "availableModels": []object{
			{"modelId": "small", "name": "Small"}, {"modelId": "large", "name": "Large", "description": "Slower"},
		}}
	}
	return o
}

func (a *agent) configOptions(s *session) []object {
	choice := func(id, name, category string, values ...string) object {
		options := []object{}
		for _, v := range values {
			options = append(options, object{"value": v, "name": "The " + v + " one"})
		}
		return object{"id": id, "name": name, "category": category, "type": "select", "currentValue": s.Options[id], "options": options}
	}
	all := []object{}
	if of := a.options["effort-of"]; of == "" || of == s.Options["model"] {
		all = append(all, choice("effort", "Effort", "thought_level", "low", "medium", "high"))
	}
	all = append(all, object{"id": "verbose", "name": "Verbose", "type": "boolean", "currentValue": s.Options["verbose"]})
	if a.on("mode-option") {
		mode := choice("agent_mode", "Mode", "mode", "ask", "code", "auto")
		mode["currentValue"] = s.Mode
		all = append(all, mode)
	}
	if !a.on("old-models") {
		all = append(all, choice("model", "Model", "model", "small", "large"))
	}
	return all
}

// set changes an option; false = there is no such option or value. The caller
// holds a.mu.
func (s *session) set(id string, value any) bool {
	allowed := map[string][]any{
		"model": {"small", "large"}, "effort": {"low", "medium", "high"}, "verbose": {true, false},
	}
	if !slices.Contains(allowed[id], value) {
		return false
	}
	s.Options[id] = value
	return true
}
