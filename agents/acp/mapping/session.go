package mapping

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// Options says how a Session maps. The zero value is usable.
type Options struct {
	// KeepRaw collects the updates an item was made of under raw of its
	// content, at most 64 KiB an item.
	KeepRaw bool
	// Cwd is the session's working directory: the cwd of commands that name
	// none. "" = not known.
	Cwd string
	// Config is the thread's config as the log has it, so that what has not
	// changed is not told again. nil = none.
	Config jsontext.Value
}

// Session maps what one session of an agent says. Its methods are called in
// the order in which the agent's messages arrived, by one goroutine at a time.
type Session struct {
	o       Options
	out     []items.Op // what the call that runs has found so far
	speech  speech     // the message or thought that is being said
	told    []*spoken  // the newest messages with an id
	plans   map[string]*plan
	calls   calls
	usage   usage
	config  config
	outside gathering
}

// New returns a Session of which nothing is known yet but what o says.
func New(o Options) *Session {
	s := &Session{o: o, plans: map[string]*plan{}}
	s.calls.byID = map[string]*call{}
	s.config.restore(o.Config)
	return s
}

// Begin says that a prompt starts; index is its place in its turn, from 0: the
// usage of a turn is that of its prompts together. It returns what Flush would,
// to be emitted by the prompt if not before it.
func (s *Session) Begin(index int) []items.Op {
	ops := s.Flush()
	for _, c := range s.calls.order {
		c.release() // what was begun outside of a turn goes on inside of one
	}
	s.outside = gathering{}
	if index == 0 {
		s.usage.tokens, s.usage.emitted = items.Usage{}, items.Usage{}
	}
	return ops
}

// Update maps the update object of a session/update that comes while a prompt
// runs. It returns nil for what changes nothing.
func (s *Session) Update(raw jsontext.Value) []items.Op {
	s.update(raw)
	return s.take()
}

// PromptEnded ends the items that end with the prompt (messages, thoughts,
// plans) and maps the prompt's result (usage); result may be nil, and may be
// the state_update that ends a prompt in version 2. Tool calls that the agent
// left open stay so: the engine ends them with the turn or before its next
// prompt. Updates of theirs that come later make a new item.
func (s *Session) PromptEnded(result jsontext.Value, interrupted bool) []items.Op {
	status := items.StatusCompleted
	if interrupted {
		status = items.StatusInterrupted
	}
	return s.promptEnded(result, status)
}

// PromptFailed is PromptEnded for a prompt that has no result, because the
// agent has died or answered with an error: what ends with it ends failed.
func (s *Session) PromptFailed() []items.Op { return s.promptEnded(nil, items.StatusFailed) }

func (s *Session) promptEnded(result jsontext.Value, status items.Status) []items.Op {
	s.endSpeech(status)
	s.endPlans(status)
	for _, c := range s.calls.order {
		s.leave(c)
	}
	s.promptUsage(result)
	return s.take()
}

// CommandRuns reports whether a command has not ended, as far as the agent has
// said.
func (s *Session) CommandRuns() bool {
	for _, c := range s.calls.order {
		if c.kind == items.KindCommandExecution && c.item != "" {
			return true
		}
	}
	return false
}

// State tells what a state_update of version 2 says: running, idle (the prompt
// has ended; stopReason may be "") or requires_action, or a state of the
// agent's own. ok is false for every other update.
func State(raw jsontext.Value) (state, stopReason string, ok bool) {
	f, err := fieldsOf(raw)
	if err != nil || f.text("sessionUpdate") != "state_update" {
		return "", "", false
	}
	return f.text("state"), f.text("stopReason"), true
}

// update maps one update into s.out.
func (s *Session) update(raw jsontext.Value) {
	var c chunk
	if err := unmarshal(raw, &c); err != nil {
		s.strange("unknown", raw)
		return
	}
	switch c.Kind {
	case "agent_message_chunk":
		s.chunk(items.KindAgentMessage, c, raw)
	case "agent_thought_chunk":
		s.chunk(items.KindReasoning, c, raw)
	default:
		f, err := fieldsOf(raw)
		if err != nil {
			s.strange("unknown", raw)
			return
		}
		s.other(c.Kind, f, raw)
	}
}

// other maps what is no chunk of a message or thought.
func (s *Session) other(kind string, f fields, raw jsontext.Value) {
	ok := false
	switch kind {
	case "agent_message":
		ok = s.wholeMessage(items.KindAgentMessage, f, raw)
	case "agent_thought":
		ok = s.wholeMessage(items.KindReasoning, f, raw)
	case "tool_call":
		ok = s.toolCall(f, raw, true)
	case "tool_call_update":
		ok = s.toolCall(f, raw, false)
	case "tool_call_content_chunk":
		ok = s.toolContent(f, raw)
	case "terminal_update":
		ok = s.terminal(f, raw)
	case "terminal_output_chunk":
		ok = s.terminalOutput(f, raw)
	case "plan":
		ok = s.entriesPlan("", f, raw)
	case "plan_update":
		ok = s.planUpdate(f, raw)
	case "plan_removed":
		ok = s.planRemoved(f)
	case "usage_update":
		ok = s.usageUpdate(f)
	case "notice":
		ok = s.notice(f)
	case "state_update":
		ok = s.stateUpdate(f)
	default:
		ok = s.aboutThread(kind, f)
	}
	if !ok {
		s.strange(kind, raw)
	}
}

// emit adds ops to what the running call returns.
func (s *Session) emit(ops ...items.Op) { s.out = append(s.out, ops...) }

func (s *Session) take() []items.Op {
	ops := s.out
	s.out = nil
	return ops
}

// strange keeps what has no place among the items as it came.
func (s *Session) strange(kind string, raw jsontext.Value) {
	s.endSpeech(items.StatusCompleted) // it comes between what is said before and after
	s.emit(extension(kind, raw))
}

func extension(kind string, raw jsontext.Value) items.Op {
	if kind == "" {
		kind = "unknown"
	}
	return items.Create{
		ItemID: items.NewID(), Status: items.StatusCompleted,
		Content: items.Extension{Type: items.KindExtension, NativeKind: kind, Payload: clean(raw)},
	}
}

// notice maps a draft: something the agent wants its user to know.
func (s *Session) notice(f fields) bool {
	message, about := f.text("title"), f.text("description")
	if message == "" {
		return false
	}
	if about != "" {
		message += "\n" + about
	}
	severity := f.text("severity")
	if severity == "" {
		severity = "info"
	}
	s.emit(items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: items.NewNotice(severity, message)})
	return true
}

// stateUpdate makes no item of what the peer acts upon; see State.
func (s *Session) stateUpdate(f fields) bool {
	switch f.text("state") {
	case "running", "idle", "requires_action":
		return true
	}
	return false
}
