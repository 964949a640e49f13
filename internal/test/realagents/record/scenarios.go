package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// late is how long messages are recorded after the agent's last answer.
const late = 700 * time.Millisecond

// scenario is one recorded conversation.
type scenario struct {
	name string
	run  func(p *play) error
}

// notOffered means that the agent does not have the feature of a scenario.
type notOffered struct{ what string }

func (e *notOffered) Error() string { return "not offered: " + e.what }

var scenarios = []scenario{
	{"text", prompting("hello", "")},
	{"think", prompting("THINK and answer", "")},
	{"tool-allow", prompting("TOOL please", "allow_once")},
	{"tool-reject", prompting("TOOL please", "reject_once")},
	{"write", func(p *play) error {
		return prompting("WRITE "+filepath.Join(p.cwd, "notes.txt"), "allow_once")(p)
	}},
	{"plan", prompting("PLAN please", "allow_once")},
	{"question", prompting("ASK me", "allow_once")},
	{"cancel", cancelStream},
	{"cancel-permission", cancelPermission},
	{"steer", steer},
	{"mode", setMode},
	{"fork", fork},
	{"load", reopen("load")},
	{"resume", reopen("resume")},
}

// open starts the agent and a session.
func (p *play) open() error {
	if err := p.initialize(); err != nil {
		return err
	}
	err := p.call("session/new", map[string]any{"cwd": p.cwd, "mcpServers": []any{}}, &p.opened)
	p.session = p.opened.SessionID
	return err
}

func (p *play) initialize() error {
	if err := p.start(); err != nil {
		return err
	}
	return p.call("initialize", map[string]any{
		"protocolVersion": 1,
		"clientInfo":      map[string]any{"name": "holon", "title": "Holon", "version": "dev"},
		"clientCapabilities": map[string]any{
			"fs": map[string]any{"readTextFile": false, "writeTextFile": false}, "terminal": false,
			"elicitation": map[string]any{"form": map[string]any{}, "url": map[string]any{}},
			"_meta": map[string]any{
				"terminal_output_delta": true,
				"jetbrains":             map[string]any{"air": map[string]any{"version": 1, "capabilities": []string{"sessionFailure"}}},
			},
		},
	}, &p.agent)
}

func textPrompt(session, text string) map[string]any {
	return map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}}}
}

func (p *play) prompt(text string) error {
	if err := p.call("session/prompt", textPrompt(p.session, text), nil); err != nil {
		return err
	}
	return p.linger(late)
}

// choose makes the scenario answer permission requests with the first option of
// a kind.
func (p *play) choose(kind string) {
	p.permission = func(params json.RawMessage) (any, error) {
		var request struct {
			Options []struct {
				ID   string `json:"optionId"`
				Kind string `json:"kind"`
			} `json:"options"`
		}
		if err := json.Unmarshal(params, &request); err != nil {
			return nil, err
		}
		for _, o := range request.Options {
			if o.Kind == kind {
				return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": o.ID}}, nil
			}
		}
		return nil, fmt.Errorf("no option of kind %q in %s", kind, params)
	}
}

func prompting(text, kind string) func(*play) error {
	return func(p *play) error {
		p.choose(kind)
		if err := p.open(); err != nil {
			return err
		}
		return p.prompt(text)
	}
}

// cancelStream cancels after the third piece of a text.
func cancelStream(p *play) error {
	p.choose("")
	if err := p.open(); err != nil {
		return err
	}
	chunks := 0
	var failed error
	p.update = func(kind string) {
		if kind != "agent_message_chunk" {
			return
		}
		if chunks++; chunks == 3 {
			failed = p.notify("session/cancel", map[string]any{"sessionId": p.session})
		}
	}
	if err := p.prompt("SLOW please"); err != nil {
		return err
	}
	return failed
}

var cancelled = map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}

// cancelPermission cancels while a permission request is open. It answers the
// request first, because one agent hangs otherwise.
func cancelPermission(p *play) error {
	if err := p.open(); err != nil {
		return err
	}
	asked := false
	p.permission = func(json.RawMessage) (any, error) {
		asked = true
		return cancelled, nil
	}
	id, err := p.send("session/prompt", textPrompt(p.session, "TOOL please"))
	if err != nil {
		return err
	}
	for !asked {
		if _, err := p.next(p.ctx); err != nil {
			return err
		}
	}
	if err := p.notify("session/cancel", map[string]any{"sessionId": p.session}); err != nil {
		return err
	}
	if _, err := p.wait(id); err != nil {
		return err
	}
	return p.linger(late)
}

// steer adds to a prompt while a text streams.
func steer(p *play) error {
	p.choose("allow_once")
	if err := p.open(); err != nil {
		return err
	}
	if !p.agent.Meta.Steering.Supported && !strings.Contains(string(p.agent.AgentCapabilities.Meta), "steering") {
		return &notOffered{"steering"}
	}
	chunks := 0
	var failed error
	p.update = func(kind string) {
		if kind != "agent_message_chunk" {
			return
		}
		if chunks++; chunks == 3 {
			params := textPrompt(p.session, "SAY steered")
			params["_meta"] = map[string]any{"steering": map[string]any{"idleBehavior": "promptRequired"}}
			_, failed = p.send("_session/steering", params)
		}
	}
	if err := p.prompt("SLOW 12"); err != nil {
		return err
	}
	return failed
}

// reopen continues a session in a new process.
func reopen(how string) func(*play) error {
	return func(p *play) error {
		p.choose("allow_once")
		if err := p.open(); err != nil {
			return err
		}
		_, resumes := p.agent.AgentCapabilities.SessionCapabilities["resume"]
		if how == "load" && !p.agent.AgentCapabilities.LoadSession || how == "resume" && !resumes {
			return &notOffered{"session/" + how}
		}
		if err := p.prompt("SAY apple"); err != nil {
			return err
		}
		p.end()
		if p.byMinute {
			if err := p.nextMinute(); err != nil {
				return err
			}
		}
		if err := p.initialize(); err != nil {
			return err
		}
		params := map[string]any{"sessionId": p.session, "cwd": p.cwd, "mcpServers": []any{}}
		if err := p.call("session/"+how, params, nil); err != nil {
			return err
		}
		if err := p.linger(late); err != nil {
			return err
		}
		return p.prompt("RECALL")
	}
}

// nextMinute waits until the clock's minute has changed.
func (p *play) nextMinute() error {
	now := time.Now()
	timer := time.NewTimer(now.Truncate(time.Minute).Add(61 * time.Second).Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
}

// setMode changes the mode, first with session/set_mode and then as one of the
// agent's options, as far as the agent offers them.
func setMode(p *play) error {
	if err := p.open(); err != nil {
		return err
	}
	if err := p.linger(late); err != nil {
		return err
	}
	tried := false
	for _, mode := range p.opened.Modes.Available {
		if mode.ID == p.opened.Modes.Current {
			continue
		}
		tried = true
		if err := p.call("session/set_mode", map[string]any{"sessionId": p.session, "modeId": mode.ID}, nil); err != nil {
			return err
		}
		break
	}
	for _, option := range p.opened.Options {
		if option.Category != "mode" || option.Type != "select" {
			continue
		}
		tried = true
		params := map[string]any{"sessionId": p.session, "configId": option.ID, "value": option.Options[len(option.Options)-1].Value}
		if err := p.call("session/set_config_option", params, nil); err != nil {
			return err
		}
	}
	if !tried {
		return &notOffered{"modes"}
	}
	return p.linger(late)
}

// fork continues a conversation in a second session.
func fork(p *play) error {
	if err := p.open(); err != nil {
		return err
	}
	if _, forks := p.agent.AgentCapabilities.SessionCapabilities["fork"]; !forks {
		return &notOffered{"session/fork"}
	}
	if err := p.prompt("SAY apple"); err != nil {
		return err
	}
	if err := p.call("session/fork", map[string]any{"sessionId": p.session, "cwd": p.cwd, "mcpServers": []any{}}, &p.opened); err != nil {
		return err
	}
	p.session = p.opened.SessionID
	if err := p.linger(late); err != nil {
		return err
	}
	return p.prompt("RECALL")
}
