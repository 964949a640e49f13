package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// steersAhead is how many steered texts can wait for the prompt's own lines.
const steersAhead = 64

// prompt is a running session/prompt. One goroutine runs it.
type prompt struct {
	a      *agent
	s      *session
	id     json.RawMessage
	blocks []block
	ctx    context.Context // ends with session/cancel

	steered chan string
	said    strings.Builder
	message string // the current messageId
	stop    string // "" = end_turn or cancelled
	fail    string // the text of an error result
	failure object // in the result; nil = none
	last    string // what to say when cancelled
	usage   bool
	late    int
	twice   bool
	silent  bool // no result
	asking  int  // open permission requests; guarded by s.mu
	hang    bool // a cancel while one is open hangs; guarded by s.mu
	hung    bool // that cancel has come; guarded by s.mu
}

// prompted starts a prompt.
func (a *agent) prompted(id json.RawMessage, p params) {
	s := a.find(p.SessionID)
	if s == nil {
		a.reply(id, nil, notFound(p.SessionID))
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		cancel()
		a.violation("session/prompt while a prompt runs in %s", s.ID)
		a.reply(id, nil, &rpcError{Code: codeInvalid, Message: "a prompt is running"})
		return
	}
	run := &prompt{a: a, s: s, id: id, blocks: p.Prompt, ctx: ctx, steered: make(chan string, steersAhead)}
	s.running, s.cancel = run, cancel
	go run.run(text(p.Prompt))
}

// cancelled handles session/cancel.
func (s *session) cancelled() {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.running
	if run == nil || s.deaf {
		return
	}
	if run.asking > 0 {
		if run.hang {
			run.hung = true
		}
		run.a.violation("session/cancel of %s before the answer to its permission request", s.ID)
	}
	s.cancel()
}

// steer handles _session/steering.
func (a *agent) steer(p params) (any, *rpcError) {
	s := a.find(p.SessionID)
	switch {
	case !a.on("steering"):
		return nil, &rpcError{Code: codeNoMethod, Message: "there is no method _session/steering"}
	case s == nil:
		return nil, notFound(p.SessionID)
	case len(p.Prompt) == 0:
		a.violation("_session/steering without a prompt")
		return nil, &rpcError{Code: codeParams, Message: "prompt is missing"}
	}
	switch a.options["steering"] {
	case "failed":
		return object{"outcome": "failed"}, nil
	case "error":
		return nil, &rpcError{Code: codeInternal, Message: "steering is broken"}
	case "hang":
		return noAnswer{}, nil
	case "end":
		s.cancelled()
		for a.busy(s) {
			time.Sleep(time.Millisecond)
		}
		return object{"outcome": "promptRequired"}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		if !strings.Contains(string(p.Meta), `"idleBehavior":"promptRequired"`) {
			a.violation("_session/steering of an idle session without idleBehavior promptRequired")
		}
		return object{"outcome": "promptRequired"}, nil
	}
	select {
	case s.running.steered <- text(p.Prompt):
		return object{"outcome": "injected"}, nil
	default:
		return object{"outcome": "failed"}, nil
	}
}

func (a *agent) busy(s *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running != nil
}

// run runs the lines, then the steered text, then sends the result.
func (p *prompt) run(input string) {
	for more := true; more; input, more = p.next() {
		for line := range strings.SplitSeq(input, "\n") {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			if p.over() {
				break
			}
			p.do(line)
		}
	}
	if p.ctx.Err() != nil && p.last != "" {
		p.say(p.last)
	}
	p.a.mu.Lock()
	p.s.History = append(p.s.History, exchange{User: text(p.blocks), Agent: p.said.String()})
	p.a.save()
	p.a.mu.Unlock()
	p.finish()
	for i := range p.late {
		p.message = p.newMessage()
		p.chunk("agent_message_chunk", fmt.Sprintf("late %d", i+1))
	}
}

// over reports whether the prompt must run no further line.
func (p *prompt) over() bool { return p.ctx.Err() != nil || p.stop != "" || p.fail != "" }

// next returns the next steered text. If there is none, the prompt accepts no
// more.
func (p *prompt) next() (string, bool) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if !p.over() {
		select {
		case text := <-p.steered:
			return text, true
		default:
		}
	}
	p.s.running = nil
	return "", false
}

func (p *prompt) finish() {
	if p.silent {
		return
	}
	result := object{"stopReason": "end_turn"}
	switch {
	case p.fail != "":
		p.a.reply(p.id, nil, &rpcError{Code: codeInternal, Message: p.fail})
		return
	case p.stop != "":
		result["stopReason"] = p.stop
	case p.ctx.Err() != nil:
		result["stopReason"] = "cancelled"
	}
	if p.usage {
		result["usage"] = object{"inputTokens": 1200, "outputTokens": 80, "totalTokens": 1290, "cachedReadTokens": 1000, "thoughtTokens": 10}
	}
	if p.failure != nil {
		result["_meta"] = airMeta(object{"sessionFailure": p.failure})
	}
	p.a.reply(p.id, result, nil)
	if p.twice {
		p.a.reply(p.id, result, nil)
	}
}

// do runs one line.
func (p *prompt) do(line string) {
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.ReplaceAll(strings.TrimSpace(rest), `\n`, "\n")
	if f := good[word]; f != nil {
		f(p, rest)
		return
	}
	if f := bad[word]; f != nil {
		f(p, rest)
		return
	}
	p.say("you said: " + line)
}

// update sends a session/update.
func (a *agent) update(s *session, u object) {
	a.notify("session/update", object{"sessionId": s.ID, "update": u})
}

func (p *prompt) update(u object) { p.a.update(p.s, u) }

func textBlock(text string) object { return object{"type": "text", "text": text} }

func (p *prompt) newMessage() string {
	p.a.mu.Lock()
	defer p.a.mu.Unlock()
	p.s.messages++
	return fmt.Sprintf("%s-m%d", p.s.ID, p.s.messages)
}

// chunk sends a chunk of the current message.
func (p *prompt) chunk(kind, text string) {
	u := object{"sessionUpdate": kind, "content": textBlock(text)}
	if p.ids() {
		u["messageId"] = p.message
	}
	p.update(u)
	p.said.WriteString(text)
}

func (p *prompt) ids() bool {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return !p.s.noIDs
}

// say sends a message of one chunk.
func (p *prompt) say(text string) {
	p.message = p.newMessage()
	p.chunk("agent_message_chunk", text)
}

func (p *prompt) sayJSON(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		b = []byte(err.Error())
	}
	p.say(string(b))
}

// wait returns at a cancel, or after d; 0 = after lifetime.
func (p *prompt) wait(d time.Duration) {
	if d == 0 {
		d = lifetime
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.ctx.Done():
	case <-timer.C:
	}
}
