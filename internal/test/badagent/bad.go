package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	defaultHuge  = 20 << 20 // more than any client accepts as one line
	defaultFlood = 50_000
	floodBatch   = 64 << 10 // the size of a pipe's buffer
	nesting      = 10_000
)

// bad holds the commands of an agent that misbehaves.
var bad = map[string]func(p *prompt, rest string){
	"late":  func(p *prompt, rest string) { p.late, _ = strconv.Atoi(rest) },
	"junk":  func(p *prompt, _ string) { p.junk() },
	"huge":  func(p *prompt, rest string) { p.say(strings.Repeat("x", count(rest, defaultHuge))) },
	"flood": func(p *prompt, rest string) { p.flood(count(rest, defaultFlood)) },
	"no-ids": func(p *prompt, _ string) {
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		p.s.noIDs = true
	},
	"deaf": func(p *prompt, _ string) {
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		p.s.deaf = true
	},
	"stubborn": func(p *prompt, _ string) {
		ignoreSignals()
		p.a.mu.Lock()
		defer p.a.mu.Unlock()
		p.a.ignoring = true
	},
	"lose": func(p *prompt, _ string) {
		p.a.mu.Lock()
		defer p.a.mu.Unlock()
		delete(p.a.sessions, p.s.ID)
	},
	"stop-reading": func(p *prompt, _ string) {
		p.a.mu.Lock()
		defer p.a.mu.Unlock()
		p.a.unread = true
	},
	"grandchild": (*prompt).grandchild,
	"command":    (*prompt).command,
	"die": func(p *prompt, rest string) {
		code, text, _ := strings.Cut(rest, " ")
		p.a.die(count(code, 1), text)
	},
	"kill": func(_ *prompt, rest string) {
		sig, text, _ := strings.Cut(rest, " ")
		fmt.Fprintln(os.Stderr, text)
		_ = syscall.Kill(os.Getpid(), syscall.Signal(count(sig, 9)))
		time.Sleep(lifetime)
	},
	"half": func(p *prompt, _ string) {
		p.a.write([]byte(`{"jsonrpc":"2.0","method":"session/upd`))
		os.Exit(1)
	},
	"close-stdout": func(_ *prompt, _ string) { os.Stdout.Close() },
	"last-words":   func(p *prompt, rest string) { p.last = rest },
	"hang-ask":     (*prompt).hangAsk,
	"drop-ask": func(p *prompt, rest string) {
		id, _ := p.a.newID(nil)
		p.a.send(object{"id": id, "method": "session/request_permission", "params": p.permission(p.callID(), rest)})
		p.stop = "end_turn"
	},
	"open-tool": func(p *prompt, rest string) {
		p.update(object{"sessionUpdate": "tool_call", "toolCallId": p.callID(), "title": rest, "kind": "other", "status": "in_progress"})
	},
	"unknown": func(p *prompt, _ string) {
		p.update(object{"sessionUpdate": "hologram_update", "frames": 3, "nested": object{"a": []int{1, 2}}})
		p.update(object{"sessionUpdate": "_vendor/mood", "mood": "good"})
		p.update(object{"something": "without a kind"})
	},
	"unknown-request": func(p *prompt, _ string) {
		p.a.notify("_vendor/noted", object{"sessionId": p.s.ID, "a": 1})
		r, ok := p.a.call(p.ctx, "_vendor/strange", object{"sessionId": p.s.ID}, nil)
		p.sayResponse(r, ok)
	},
	"wrong-types": (*prompt).wrongTypes,
	"twice":       func(p *prompt, _ string) { p.twice = true },
	"ghost-response": func(p *prompt, _ string) {
		p.a.line([]byte(`{"jsonrpc":"2.0","id":987654321,"result":{"sessionId":"ghost"}}`))
		p.a.line([]byte(`{"jsonrpc":"2.0","id":"nobody","error":{"code":-32603,"message":"ghost"}}`))
		p.a.line([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"ghost"}}`))
	},
	"ghost-session": (*prompt).ghostSession,
	"same-id":       (*prompt).sameID,
	"bad-utf8":      func(p *prompt, _ string) { p.rawText("a@@b", "\xff\xfe\xc3") },
	"halves": func(p *prompt, _ string) {
		p.message = p.newMessage()
		p.rawChunk("a@@", `\ud83d`)
		p.rawChunk("@@b", `\ude00`)
	},
	"nul": func(p *prompt, _ string) { p.rawText("a@@b", `\u0000\ud800\u2028`) },
	"deep": func(p *prompt, _ string) {
		p.update(object{"sessionUpdate": "deep_update", "nest": json.RawMessage(strings.Repeat("[", nesting) + strings.Repeat("]", nesting))})
	},
	"split":  (*prompt).split,
	"stderr": func(_ *prompt, rest string) { fmt.Fprintln(os.Stderr, rest) },
	"stderr-flood": func(_ *prompt, rest string) {
		line := []byte(strings.Repeat("e", 99) + "\n")
		for n := count(rest, 1<<20); n > 0; n -= len(line) {
			_, _ = os.Stderr.Write(line[:min(n, len(line))])
		}
	},
	"line": func(p *prompt, rest string) { p.a.rawLine(rest, p.id, p.s.ID) },
	"answer": func(p *prompt, rest string) {
		p.a.rawLine(rest, p.id, p.s.ID)
		p.silent, p.stop = true, "end_turn"
	},
	"no-result": func(p *prompt, _ string) { p.silent, p.stop = true, "end_turn" },
}

func count(text string, otherwise int) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return otherwise
}

func (p *prompt) junk() {
	p.say("before junk")
	for _, line := range []string{
		"Debugger listening on ws://127.0.0.1:9229", "", "   ", "{", "}", "[]", `[{"jsonrpc":"2.0","method":"x"}]`, "null", "5", `"text"`, "{}", `{"jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","method":5}`, `{"jsonrpc":"1.0","method":"session/update","params":{}}`, `{"jsonrpc":"2.0","id":{},"result":1}`, "\x00\x01\x1b[2J", "\xff\xfe",
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + p.s.ID + `","update":{"sessionUpdate":"agent_message_chunk"`,
	} {
		p.a.line([]byte(line))
	}
	p.say("after junk")
}

// flood sends many chunks in each write, because one write per chunk is slow.
func (p *prompt) flood(n int) {
	p.message = p.newMessage()
	u := object{"sessionUpdate": "agent_message_chunk", "content": textBlock("@@")}
	if p.ids() {
		u["messageId"] = p.message
	}
	line, err := json.Marshal(object{"jsonrpc": "2.0", "method": "session/update", "params": object{"sessionId": p.s.ID, "update": u}})
	if err != nil {
		panic(err)
	}
	before, after, _ := bytes.Cut(append(line, p.a.lineEnd()...), []byte("@@"))
	batch := make([]byte, 0, floodBatch+len(line)+64)
	for i := 1; i <= n && !p.over(); i++ {
		batch = append(batch, before...)
		batch = fmt.Appendf(batch, "%010d ", i)
		batch = append(batch, after...)
		if len(batch) >= floodBatch || i == n {
			p.a.write(batch)
			batch = batch[:0]
		}
	}
}

func (p *prompt) grandchild(mark string) {
	self, err := os.Executable()
	if err != nil {
		p.fail = err.Error()
		return
	}
	child := exec.Command(self, "grandchild", mark)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		p.fail = err.Error()
		return
	}
	p.say(strconv.Itoa(child.Process.Pid))
}

// command starts a process that outlives a cancel, as commands of a real agent
// do. The tool call ends when the process ends.
func (p *prompt) command(how string) {
	self, err := os.Executable()
	if err != nil {
		p.fail = err.Error()
		return
	}
	child := exec.Command(self, "command")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: how != "inside"}
	if how == "named" {
		child.Env = append(os.Environ(), "BAD_SESSION="+p.s.ID)
	}
	id := p.callID()
	p.update(object{"sessionUpdate": "tool_call", "toolCallId": id, "title": "a long command", "kind": "execute", "status": "in_progress"})
	if err := child.Start(); err != nil {
		p.fail = err.Error()
		return
	}
	go func() {
		_ = child.Wait() // its state has the result
		p.progress(id, "failed", object{"rawOutput": object{"signal": child.ProcessState.String()}})
	}()
	p.say(strconv.Itoa(child.Process.Pid))
}

func (p *prompt) hangAsk(title string) {
	p.s.mu.Lock()
	p.hang = true
	p.s.mu.Unlock()
	p.ask(title, true)
	p.s.mu.Lock()
	hung := p.hung
	p.s.mu.Unlock()
	if hung {
		time.Sleep(lifetime)
	}
}

func (p *prompt) wrongTypes(string) {
	for _, u := range []string{
		`{"sessionUpdate":"agent_message_chunk","content":"text"}`, `{"sessionUpdate":"agent_message_chunk","content":null}`, `{"sessionUpdate":"agent_message_chunk"}`,
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":5},"messageId":7}`, `{"sessionUpdate":"tool_call","toolCallId":5,"title":null}`,
		`{"sessionUpdate":"tool_call_update"}`, `{"sessionUpdate":"tool_call","toolCallId":"odd","title":"odd","kind":[],"status":"strange","content":{},"locations":"x"}`,
		`{"sessionUpdate":"plan","entries":{}}`, `{"sessionUpdate":"plan","entries":[null,5,{"content":[]}]}`, `{"sessionUpdate":"usage_update","used":-1,"size":"x"}`,
		`{"sessionUpdate":"available_commands_update","availableCommands":"none"}`, `{"sessionUpdate":"current_mode_update","currentModeId":{}}`, `{"sessionUpdate":5}`, `[]`, `null`, `"text"`,
	} {
		p.a.line(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":%s}}`, p.s.ID, u))
	}
	p.a.line(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q}}`, p.s.ID))
	p.a.line([]byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":5,"update":{}}}`))
	p.a.line([]byte(`{"jsonrpc":"2.0","method":"session/update","params":[]}`))
	p.a.line([]byte(`{"jsonrpc":"2.0","method":"session/update"}`))
	p.say("still here")
}

func (p *prompt) ghostSession(string) {
	ghost := &session{ID: "ghost"}
	p.a.update(ghost, object{"sessionUpdate": "agent_message_chunk", "content": textBlock("boo")})
	params := p.permission("ghost-call", "Boo")
	params["sessionId"] = ghost.ID
	r, ok := p.a.call(p.ctx, "session/request_permission", params, nil)
	if ok {
		said, _ := outcome(r)
		p.say("ghost " + said)
	}
}

// sameID sends two requests with one id.
func (p *prompt) sameID(title string) {
	id, answers := p.a.newID(nil)
	for _, which := range []string{"first", "second"} {
		p.a.send(object{"id": id, "method": "session/request_permission", "params": p.permission(p.callID(), title+" "+which)})
	}
	var said []string
	ctx, stop := context.WithTimeout(p.ctx, lifetime)
	defer stop()
	for range 2 {
		select {
		case r := <-answers:
			text, _ := outcome(r)
			said = append(said, text)
		case <-ctx.Done():
			return
		}
	}
	p.say(strings.Join(said, ", "))
}

// rawText sends a message of one chunk, with raw in place of @@ in the encoded
// line.
func (p *prompt) rawText(text, raw string) {
	p.message = p.newMessage()
	p.rawChunk(text, raw)
}

// rawChunk sends a chunk of the current message, with raw in place of @@ in the
// encoded line.
func (p *prompt) rawChunk(text, raw string) {
	u := object{"sessionUpdate": "agent_message_chunk", "content": textBlock(text)}
	if p.ids() {
		u["messageId"] = p.message
	}
	line, err := json.Marshal(object{"jsonrpc": "2.0", "method": "session/update", "params": object{"sessionId": p.s.ID, "update": u}})
	if err != nil {
		panic(err)
	}
	p.a.line(bytes.Replace(line, []byte("@@"), []byte(raw), 1))
}

func (p *prompt) split(string) {
	line, err := json.Marshal(object{"jsonrpc": "2.0", "method": "session/update", "params": object{
		"sessionId": p.s.ID, "update": object{"sessionUpdate": "agent_message_chunk", "content": textBlock("byte by byte: é"), "messageId": p.newMessage()},
	}})
	if err != nil {
		panic(err)
	}
	p.a.out.Lock()
	defer p.a.out.Unlock()
	for _, b := range append(line, p.a.lineEnd()...) {
		_, _ = os.Stdout.Write([]byte{b})
	}
}
