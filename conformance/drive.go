package conformance

import (
	"maps"
	"strings"
)

// input returns the smallest input of a turn: one message with one text.
func input(text string) []any {
	return []any{obj{"type": "message", "role": "user", "content": []any{obj{"type": "input_text", "text": text}}}}
}

// thread starts a thread and closes it at the end of the check.
func (p *probe) thread(c caller, params obj) object {
	t := p.call(c, "thread/start", params)
	id := t.str("thread_id")
	p.must(id != "", "thread/start gave no thread_id")
	p.later(func() { p.http().try("thread/close", obj{"thread_id": id}) })
	return t
}

// echoThread starts a thread with the echo agent and returns its id.
func (p *probe) echoThread(c caller) string {
	return p.thread(c, obj{"agent": "echo", "title": "conformance"}).str("thread_id")
}

// startParams returns the params of turn/start; more are merged in.
func startParams(thread, text string, more ...obj) obj {
	params := obj{"thread_id": thread, "input": input(text)}
	for _, m := range more {
		maps.Copy(params, m)
	}
	return params
}

// turn starts a turn and returns the result.
func (p *probe) turn(c caller, thread, text string, more ...obj) object {
	r := p.call(c, "turn/start", startParams(thread, text, more...))
	p.must(r.str("turn_id") != "", "turn/start gave no turn_id")
	return r
}

// isTerminal reports whether the event ends a turn.
func isTerminal(m *message) bool {
	return m.isNotification() && notifications[m.method] == ending
}

// outcome waits for the terminal event of a turn.
func (in *received) outcome(turn string) *message {
	return in.await("the end of turn "+turn, 0, func(m *message) bool {
		return isTerminal(m) && m.args().str("turn_id") == turn
	})
}

// completed waits for the end of a turn, which must be turn/completed.
func (in *received) completed(turn string) *message {
	m := in.outcome(turn)
	in.p.must(m.method == "turn/completed", "turn %s ended with %s, want turn/completed", turn, m.method)
	return m
}

// ofTurn returns the events of a turn so far.
func (in *received) ofTurn(turn string) []*message {
	return in.events(func(m *message) bool { return m.args().str("turn_id") == turn })
}

// ofThread returns the events of a thread so far.
func (in *received) ofThread(thread string) []*message {
	return in.events(func(m *message) bool { return m.args().str("thread_id") == thread })
}

// itemOf waits for the creation of an item of the type within a turn.
func (in *received) itemOf(turn, kind string) object {
	return in.await("item/created of a "+kind, 0, func(m *message) bool {
		a := m.args()
		return m.method == "item/created" && a.str("turn_id") == turn && a.str("content.type") == kind
	}).args()
}

// running starts a turn with the echo agent and returns when the agent has
// visibly begun: it has sent a first word, and then follows the commands.
func (p *probe) running(d *duplex, thread, commands string, more ...obj) string {
	turn := p.turn(d, thread, "/say begun\n"+commands, more...).str("turn_id")
	d.itemOf(turn, "agent_message")
	return turn
}

// methodsOf lists the methods of events, for messages.
func methodsOf(events []*message) string {
	var names []string
	for _, m := range events {
		names = append(names, m.method)
	}
	return strings.Join(names, ", ")
}

// firstText returns the text of an agent_message's content.
func firstText(o object) string { return o.str("content.content.0.text") }

// oldest returns the cursor before the first event: 0 until a prefix of the log has
// been pruned. For a server that does not report its first seq it is 0.
func (p *probe) oldest() int64 {
	m := p.http().try("holon/status", nil)
	if m.failure != nil {
		return 0
	}
	return max(0, int64(decode(m.result).num("first_seq"))-1)
}

// fromOldest returns a query for the whole log.
func (p *probe) fromOldest() string { return "?after_seq=" + itoa(p.oldest()) }
