package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// good holds the commands of an agent that behaves. Commands that use the table
// themselves are added in init.
var good = map[string]func(p *prompt, rest string){
	"say":   (*prompt).say,
	"add":   func(p *prompt, rest string) { p.chunk("agent_message_chunk", rest) },
	"think": func(p *prompt, rest string) { p.message = p.newMessage(); p.chunk("agent_thought_chunk", rest) },
	"stream": func(p *prompt, rest string) {
		n, _ := strconv.Atoi(rest)
		p.message = p.newMessage()
		for i := 1; i <= n && !p.over(); i++ {
			p.chunk("agent_message_chunk", strconv.Itoa(i)+" ")
		}
	},
	"plan":      func(p *prompt, _ string) { p.plan("pending"); p.plan("completed") },
	"tool":      func(p *prompt, rest string) { p.tool(rest, "completed") },
	"fail-tool": func(p *prompt, rest string) { p.tool(rest, "failed") },
	"execute":   (*prompt).execute,
	"edit":      (*prompt).edit,
	"ask":       func(p *prompt, rest string) { p.ask(rest, true) },
	"ask-first": func(p *prompt, rest string) { p.ask(rest, false) },
	"ask-two":   (*prompt).askTwo,
	"usage": func(p *prompt, _ string) {
		p.usage = true
		p.update(object{"sessionUpdate": "usage_update", "used": 1290, "size": 200000, "cost": object{"amount": 0.02, "currency": "USD"}})
	},
	"mode": func(p *prompt, rest string) {
		p.change(func(s *session) { s.Mode = rest })
		p.update(object{"sessionUpdate": "current_mode_update", "currentModeId": rest})
	},
	"model": func(p *prompt, rest string) { p.option("model", rest) },
	"option": func(p *prompt, rest string) {
		id, value, _ := strings.Cut(rest, " ")
		p.option(id, value)
	},
	"title": func(p *prompt, rest string) {
		p.update(object{"sessionUpdate": "session_info_update", "title": rest, "updatedAt": time.Now().UTC().Format(time.RFC3339)})
	},
	"commands":     func(p *prompt, _ string) { p.update(commandsUpdate()) },
	"fail":         func(p *prompt, rest string) { p.failSoftly("error", rest) },
	"fail-warning": func(p *prompt, rest string) { p.failSoftly("warning", rest) },
	"elicit":       (*prompt).elicit,
	"read-file":    (*prompt).readFile,
	"settings": func(p *prompt, _ string) {
		p.a.mu.Lock()
		now := object{"mode": p.s.Mode, "options": p.s.Options}
		b, _ := json.Marshal(now)
		p.a.mu.Unlock()
		p.say(string(b))
	},
	"env":     func(p *prompt, rest string) { p.say(os.Getenv(rest)) },
	"cwd":     func(p *prompt, _ string) { p.say(p.s.Cwd) },
	"pid":     func(p *prompt, _ string) { p.say(strconv.Itoa(os.Getpid())) },
	"mcp":     func(p *prompt, _ string) { p.say(string(p.s.Servers)) },
	"meta":    func(p *prompt, _ string) { p.say(string(p.s.meta)) },
	"all-mcp": (*prompt).allServers,
	"update":  func(p *prompt, rest string) { p.update(parsed(rest)) },
	"permit":  (*prompt).permit,
	"session": func(p *prompt, _ string) { p.say(p.s.ID + " " + p.s.origin) },
	"blocks": func(p *prompt, _ string) {
		types := []string{}
		for _, b := range p.blocks {
			types = append(types, b.Type)
		}
		p.say(strings.Join(types, " "))
	},
	"history": func(p *prompt, _ string) {
		texts := []string{}
		p.a.mu.Lock()
		for _, e := range p.s.History {
			texts = append(texts, e.User)
		}
		p.a.mu.Unlock()
		p.sayJSON(texts)
	},
	"client": func(p *prompt, _ string) {
		p.a.mu.Lock()
		told := string(p.a.client)
		p.a.mu.Unlock()
		p.say(told)
	},
	"await-steer": func(p *prompt, _ string) {
		select {
		case text := <-p.steered:
			p.say("steered: " + text)
		case <-p.ctx.Done():
		}
	},
	"sleep": func(p *prompt, rest string) {
		n, _ := strconv.Atoi(rest)
		p.wait(time.Duration(n) * time.Millisecond)
	},
	"wait":  func(p *prompt, _ string) { p.wait(0) },
	"stop":  func(p *prompt, rest string) { p.stop = rest },
	"error": func(p *prompt, rest string) { p.fail = rest },
	"violations": func(p *prompt, _ string) {
		p.a.mu.Lock()
		said := strings.Join(p.a.violations, "; ")
		p.a.mu.Unlock()
		if said == "" {
			said = "none"
		}
		p.say(said)
	},
}

func init() {
	good["good"] = func(p *prompt, _ string) {
		for _, line := range []string{
			"think Let me see.", "say I begin.", "plan", "tool Reading main.go", "execute make test", "edit main.go", "ask Push to main", "usage", "say Done.",
		} {
			if !p.over() {
				p.do(line)
			}
		}
	}
}

// allServers sets what an agent can show a session that shows it the servers of all.
func (p *prompt) allServers(string) {
	all := object{}
	p.a.mu.Lock()
	for id, s := range p.a.sessions {
		all[id] = s.Servers
	}
	p.a.mu.Unlock()
	p.sayJSON(all)
}

func parsed(text string) object {
	o := object{}
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return object{"sessionUpdate": "agent_message_chunk", "content": textBlock(err.Error())}
	}
	return o
}

// permit requests a permission with params of the caller and says the outcome.
func (p *prompt) permit(params string) {
	o := parsed(params)
	o["sessionId"] = p.s.ID
	if o["options"] == nil {
		o["options"] = p.permission("", "")["options"]
	}
	p.asks(1)
	answered := sync.OnceFunc(func() { p.asks(-1) })
	defer answered()
	if r, ok := p.a.call(p.ctx, "session/request_permission", o, answered); ok {
		said, _ := outcome(r)
		p.say(said)
	}
}

func (p *prompt) change(f func(s *session)) {
	p.a.mu.Lock()
	defer p.a.mu.Unlock()
	f(p.s)
	p.a.save()
}

func (p *prompt) option(id, word string) {
	var value any = word
	if b, err := strconv.ParseBool(word); err == nil {
		value = b
	}
	var all []object
	p.change(func(s *session) {
		s.set(id, value)
		all = p.a.configOptions(s)
	})
	p.update(object{"sessionUpdate": "config_option_update", "configOptions": all})
}

func commandsUpdate() object {
	return object{"sessionUpdate": "available_commands_update", "availableCommands": []object{
		{"name": "review", "description": "Reviews a change", "input": object{"hint": "which one"}}, {"name": "compact", "description": "Makes the context smaller"},
	}}
}

func (p *prompt) plan(first string) {
	p.update(object{"sessionUpdate": "plan", "entries": []object{
		{"content": "Read the code", "priority": "high", "status": first}, {"content": "Change it", "priority": "medium", "status": "in_progress"},
	}})
}

// callID returns the id of a new tool call.
func (p *prompt) callID() string { return strings.Replace(p.newMessage(), "-m", "-call", 1) }

func content(text string) []object { return []object{{"type": "content", "content": textBlock(text)}} }

func (p *prompt) progress(id, status string, more object) {
	u := object{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status}
	for k, v := range more {
		u[k] = v
	}
	p.update(u)
}

func (p *prompt) tool(title, end string) {
	id := p.callID()
	p.update(object{
		"sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": "read", "status": "pending",
		"locations": []object{{"path": p.s.Cwd + "/main.go", "line": 3}}, "rawInput": object{"path": "main.go"},
	})
	p.progress(id, "in_progress", nil)
	p.progress(id, end, object{"content": content("package main"), "rawOutput": object{"text": "package main"}})
}

func (p *prompt) execute(command string) {
	id := p.callID()
	p.update(object{
		"sessionUpdate": "tool_call", "toolCallId": id, "title": "`" + command + "`", "kind": "execute", "status": "pending",
		"rawInput": object{"command": command, "cwd": p.s.Cwd},
	})
	output := "one\ntwo\nthree\n"
	if n := 0; strings.HasPrefix(command, "seq ") {
		fmt.Sscanf(command, "seq %d", &n)
		for i := range n {
			output += fmt.Sprintf("%d\n", i+1)
		}
	}
	p.progress(id, "in_progress", object{"content": content("one\n")})
	p.progress(id, "in_progress", object{"content": content("one\ntwo\n")})
	p.progress(id, "completed", object{"content": content(output), "rawOutput": object{"exit_code": 0, "output": output}})
}

func (p *prompt) edit(path string) {
	id := p.callID()
	if !strings.HasPrefix(path, "/") {
		path = p.s.Cwd + "/" + path
	}
	diff := []object{{"type": "diff", "path": path, "oldText": "old\n", "newText": "new\n"}}
	p.update(object{
		"sessionUpdate": "tool_call", "toolCallId": id, "title": "Edit " + path, "kind": "edit", "status": "pending",
		"locations": []object{{"path": path}}, "content": diff,
	})
	p.progress(id, "completed", object{"content": diff})
}

// permission returns the params of a request to run a command. The ids of its
// options are not their kinds, as in real agents.
func (p *prompt) permission(call, title string) object {
	return object{
		"sessionId": p.s.ID,
		"toolCall": object{
			"toolCallId": call, "title": title, "kind": "execute", "status": "pending", "rawInput": object{"command": "git push", "cwd": p.s.Cwd},
		},
		"options": []object{
			{"optionId": "once", "name": "Yes", "kind": "allow_once"}, {"optionId": "ever", "name": "Yes, always", "kind": "allow_always"},
			{"optionId": "no", "name": "No", "kind": "reject_once"}, {"optionId": "never", "name": "No, never", "kind": "reject_always"},
		},
	}
}

// outcome returns how a permission request ended, as text, and whether it
// allows the call.
func outcome(r response) (said string, allowed bool) {
	if r.err != nil {
		return fmt.Sprintf("error %d", r.err.Code), false
	}
	var result struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
	if err := json.Unmarshal(r.result, &result); err != nil {
		return err.Error(), false
	}
	o := result.Outcome
	return strings.TrimSpace(o.Outcome + " " + o.OptionID), o.OptionID == "once" || o.OptionID == "ever"
}

// ask requests a permission and says the outcome.
func (p *prompt) ask(title string, seen bool) {
	id := p.callID()
	if seen {
		p.update(object{"sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": "execute", "status": "pending", "rawInput": object{"command": "git push"}})
	}
	said, allowed := p.request(id, title)
	end := "failed"
	if allowed {
		p.progress(id, "in_progress", nil)
		end = "completed"
	}
	if allowed || !p.a.on("mute-reject") {
		p.progress(id, end, nil)
	}
	if said != "" {
		p.say(said)
	}
}

// request requests a permission and waits; "" = the prompt was cancelled before
// the answer came.
func (p *prompt) request(call, title string) (said string, allowed bool) {
	p.asks(1)
	answered := sync.OnceFunc(func() { p.asks(-1) })
	defer answered()
	r, ok := p.a.call(p.ctx, "session/request_permission", p.permission(call, title), answered)
	if !ok {
		return "", false
	}
	return outcome(r)
}

func (p *prompt) asks(n int) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.asking += n
}

func (p *prompt) askTwo(title string) {
	first := make(chan string, 1)
	go func() {
		said, _ := p.request(p.callID(), title+" first")
		first <- said
	}()
	second, _ := p.request(p.callID(), title+" second")
	p.say("first " + <-first + ", second " + second)
}

func (p *prompt) elicit(text string) {
	r, ok := p.a.call(p.ctx, "elicitation/create", object{
		"sessionId": p.s.ID, "mode": "form", "message": text,
		"requestedSchema": object{"type": "object", "properties": object{"name": object{"type": "string", "title": "Name"}}, "required": []string{"name"}},
	}, nil)
	if text != "" {
		p.sayResponse(r, ok)
	}
}

func (p *prompt) readFile(path string) {
	r, ok := p.a.call(p.ctx, "fs/read_text_file", object{"sessionId": p.s.ID, "path": path}, nil)
	p.sayResponse(r, ok)
}

func (p *prompt) sayResponse(r response, ok bool) {
	switch {
	case !ok:
	case r.err != nil:
		p.say(fmt.Sprintf("error %d", r.err.Code))
	default:
		p.say(string(r.result))
	}
}

// failSoftly ends the prompt as Codex does when its model fails.
func (p *prompt) failSoftly(severity, rest string) {
	action, title, _ := strings.Cut(rest, " ")
	p.stop = "end_turn"
	if !p.a.readsFailures() {
		p.say(title)
		return
	}
	category, known := map[string]string{"retry": "service", "login": "access"}[action]
	actions := []string{action}
	if !known {
		category, actions = "limit", []string{}
	}
	p.failure = object{"id": p.s.ID + ":error", "revision": 1, "category": category, "severity": severity, "title": title, "actions": actions}
}
