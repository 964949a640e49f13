package mapping

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// Options configures a Session. The zero value is usable.
type Options struct {
	// KeepRaw collects the updates of an item under raw of its content, at most
	// 64 KiB an item.
	KeepRaw bool
	// Cwd is the session's working directory: the cwd of commands that name
	// none. "" = unknown.
	Cwd string
	// Config is the thread's config in the log, so that unchanged values are
	// not emitted again. nil = none.
	Config jsontext.Value
}

// Session maps the messages of one session of an agent. Its methods are called
// in the order of the messages, by one goroutine at a time.
type Session struct {
	out      output
	messages messages
	calls    calls
	plans    plans
	usage    usage
	thread   thread
	failures failures
	outside  gathering
}

// New returns a Session with the options o and no other state.
func New(o Options) *Session {
	s := &Session{out: output{keepRaw: o.KeepRaw}}
	s.messages.out = &s.out
	s.calls = calls{out: &s.out, messages: &s.messages, cwd: o.Cwd, byID: map[string]*call{}}
	s.plans = plans{out: &s.out, byID: map[string]*plan{}}
	s.usage.out, s.thread.out, s.failures.out = &s.out, &s.out, &s.out
	s.thread.restore(o.Config)
	return s
}

// Begin records that a prompt starts. index is its index in its turn, from 0: the
// usage of a turn is the sum of its prompts. It returns what Flush would; the
// prompt may emit it.
func (s *Session) Begin(index int) []items.Op {
	ops := s.Flush()
	s.calls.promptBegins()
	s.outside = gathering{}
	if index == 0 {
		s.usage.turnBegins()
	}
	return ops
}

// Update maps the update object of a session/update that comes while a prompt
// runs. It returns nil for an update that changes nothing.
func (s *Session) Update(raw jsontext.Value) []items.Op {
	s.update(raw)
	return s.out.take()
}

// PromptEnded ends the items that end with the prompt (messages, thoughts,
// plans) and maps the prompt's result (usage); result may be nil; in version 2
// it may be the state_update that ends the prompt. Tool calls that the agent
// left open stay open: the engine ends them with the turn or before its next
// prompt. Their later updates make a new item.
func (s *Session) PromptEnded(result jsontext.Value, interrupted bool) []items.Op {
	status := items.StatusCompleted
	if interrupted {
		status = items.StatusInterrupted
	}
	return s.promptEnded(result, status)
}

// PromptFailed works like PromptEnded for a prompt that has failed: its result has a Failure,
// or it has none, because the agent has died or answered with an error. The items that
// end with the prompt end failed.
func (s *Session) PromptFailed(result jsontext.Value) []items.Op {
	return s.promptEnded(result, items.StatusFailed)
}

func (s *Session) promptEnded(result jsontext.Value, status items.Status) []items.Op {
	s.messages.end(status)
	s.plans.end(status)
	s.calls.promptEnded()
	f, _ := fieldsOf(result)
	if status != items.StatusFailed { // else the turn's error tells of it
		s.failures.tell(f)
	}
	s.usage.add(f)
	return s.out.take()
}

// CommandRuns reports whether a command runs, according to the agent.
func (s *Session) CommandRuns() bool { return s.calls.commandRuns() }

// State reads a state_update of version 2: running, idle (the prompt has ended;
// stopReason may be "") or requires_action, or a state that the agent defines.
// ok is false for every other update.
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
		s.keep("unknown", raw)
		return
	}
	ok := false
	switch c.Kind {
	case "agent_message_chunk":
		ok = s.messages.chunk(items.KindAgentMessage, c, raw)
	case "agent_thought_chunk":
		ok = s.messages.chunk(items.KindReasoning, c, raw)
	default:
		f, err := fieldsOf(raw)
		if err != nil {
			s.keep("unknown", raw)
			return
		}
		ok = s.other(c.Kind, f, raw)
	}
	if !ok {
		s.keep(c.Kind, raw)
	}
}

// other maps an update that is no chunk of a message or thought. It reports
// false for one that is to be kept as received.
func (s *Session) other(kind string, f fields, raw jsontext.Value) bool {
	switch kind {
	case "agent_message":
		return s.messages.whole(items.KindAgentMessage, f, raw)
	case "agent_thought":
		return s.messages.whole(items.KindReasoning, f, raw)
	case "tool_call":
		return s.calls.update(f, raw, true)
	case "tool_call_update":
		return s.calls.update(f, raw, false)
	case "tool_call_content_chunk":
		return s.calls.addContent(f, raw)
	case "terminal_update":
		return s.calls.terminal(f, raw)
	case "terminal_output_chunk":
		return s.calls.terminalOutput(f, raw)
	case "plan":
		return s.plans.set("", f, raw)
	case "plan_update":
		return s.plans.update(f, raw)
	case "plan_removed":
		return s.plans.remove(f)
	case "usage_update":
		return s.usage.update(f)
	case "notice":
		return s.notice(f)
	case "state_update":
		return stateKnown(f)
	case "session_info_update":
		s.failures.tell(f)
	}
	return s.thread.update(kind, f)
}

// keep makes an extension item of an update that fits no other item. It ends nothing: who
// knows that it is content has seen to that.
func (s *Session) keep(kind string, raw jsontext.Value) {
	s.out.emit(extension(kind, raw))
}

func extension(kind string, raw jsontext.Value) items.Op {
	kind = cmp.Or(kind, "unknown")
	return items.Create{
		ItemID: items.NewID(), Status: items.StatusCompleted,
		Content: items.Extension{Type: items.KindExtension, NativeKind: kind, Payload: clean(raw)},
	}
}

// notice maps a draft: a message of the agent to its user.
func (s *Session) notice(f fields) bool {
	message, about := f.text("title"), f.text("description")
	if message == "" {
		return false
	}
	if about != "" {
		message += "\n" + about
	}
	severity := cmp.Or(f.text("severity"), "info")
	s.out.emit(items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: items.NewNotice(severity, message)})
	return true
}

// stateKnown reports whether the caller handles this state_update, which then
// makes no item; see State.
func stateKnown(f fields) bool {
	switch f.text("state") {
	case "running", "idle", "requires_action":
		return true
	}
	return false
}
