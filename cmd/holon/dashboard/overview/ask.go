package overview

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/conversation"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// callQuestion, callSubject and callEnd name the requests that read a question, what it is
// about, and how it was answered.
const (
	callQuestion = "question"
	callSubject  = "subject"
	callEnd      = "end of a question"
)

// asked is the question in the panel. It is there because the person asked for
// it.
type asked struct {
	item, thread string
	seq          int64             // of the thread when the question was read
	ask          *conversation.Ask // nil until it was read
	sent         bool
	x, y         int // of the cursor in the lines that were drawn last; x is -1 if there is none
}

// typing reports whether the answer is a text.
func (a *asked) typing() bool { return a.ask != nil && a.ask.Typed() }

// over says why nobody can answer any more, "" as long as somebody can.
func (a *asked) over() string {
	if a.ask == nil {
		return ""
	}
	return a.ask.Over()
}

// ask opens the oldest question of a thread.
func (m *Model) ask(t *Thread) []screen.Action {
	switch {
	case t.group() != needsYou:
		return say("This thread asks nothing. w selects the next that waits for you.")
	case len(t.Summary.Waiting) == 0:
		return say("The end of its turn waits for a review: holon review " + screen.OneLine(t.Summary.TurnID))
	}
	m.asked = &asked{item: t.Summary.Waiting[0].ItemID, thread: t.ID, seq: t.LatestSeq, x: -1}
	return []screen.Action{m.asked.read(callQuestion, m.asked.item)}
}

func (a *asked) read(name, item string) screen.Action {
	return screen.Call{Name: name, Method: "item/read", Params: map[string]any{"item_id": item}}
}

// gotQuestion takes the question that was read, and asks for what it is about.
func (m *Model) gotQuestion(now time.Time, msg screen.Done) []screen.Action {
	if m.asked == nil {
		return nil
	}
	if msg.Err != nil {
		if m.asked.ask == nil {
			m.asked = nil
		}
		return nil
	}
	ask := conversation.ReadAsk(now, msg.Result)
	switch {
	case ask.Item() != m.asked.item:
		return nil // another question was opened meanwhile
	case !ask.Open() && m.asked.typing():
		m.asked.ask.TakeOver(ask)
		return nil
	case !ask.Open():
		m.asked = nil
		return say(ask.End())
	case m.asked.ask == nil || !m.asked.ask.Same(ask):
		m.asked.ask = ask
	}
	if subject := m.asked.ask.Subject(); subject != "" {
		return []screen.Action{m.asked.read(callSubject, subject)}
	}
	return nil
}

// gotSubject takes what a question is about.
func (m *Model) gotSubject(now time.Time, action screen.Call, msg screen.Done) {
	params, _ := action.Params.(map[string]any)
	if m.asked != nil && m.asked.ask != nil && params["item_id"] == m.asked.ask.Subject() {
		m.asked.ask.TakeSubject(now, msg.Result, msg.Err)
	}
}

// checkAsked closes the panel if its question was answered elsewhere, unless the person
// types into it: what they type must not become commands. Then the answer is read, to say
// it. If something else has happened in the thread, the question is read again: it may have
// changed.
func (m *Model) checkAsked(now time.Time) []screen.Action {
	if m.asked == nil || m.asked.sent {
		return nil
	}
	t := m.list.threads[m.asked.thread]
	if t == nil || t.Summary.WaitingCount > len(t.Summary.Waiting) ||
		slices.ContainsFunc(t.Summary.Waiting, func(w Waiting) bool { return w.ItemID == m.asked.item }) {
		if t == nil || t.LatestSeq == m.asked.seq {
			return nil
		}
		m.asked.seq = t.LatestSeq
		return []screen.Action{m.asked.read(callQuestion, m.asked.item)}
	}
	if m.asked.typing() {
		if m.asked.over() != "" {
			return nil
		}
		m.asked.ask.TakeOver(nil)
		return []screen.Action{m.asked.read(callQuestion, m.asked.item)} // who has answered
	}
	end := m.asked.read(callEnd, m.asked.item)
	m.asked = nil
	m.frozen = now.Add(settle)
	return []screen.Action{end}
}

// ended says how a question was answered whose panel has closed.
func ended(now time.Time, msg screen.Done) []screen.Action {
	if msg.Err != nil {
		return say("It was answered or withdrawn.")
	}
	if ask := conversation.ReadAsk(now, msg.Result); !ask.Open() {
		return say(ask.End())
	}
	return nil
}

// askedKey takes a key for the question.
func (m *Model) askedKey(now time.Time, key tea.KeyPressMsg) []screen.Action {
	a := m.asked
	if key.String() == "esc" {
		m.asked = nil
		return nil
	}
	if a.ask == nil && key.Text != "" {
		return say(conversation.Reading)
	}
	if a.ask == nil || a.sent {
		return nil
	}
	if t := m.list.threads[a.thread]; t != nil && key.String() == "enter" && !a.typing() {
		m.asked = nil
		return m.opened(t)
	}
	if over := a.over(); over != "" && key.String() == "enter" {
		return say("Nothing was sent. " + over + " Esc leaves.")
	}
	if early := a.ask.Early(now); early != "" && key.Text != "" {
		return say(early)
	}
	answer, ok := a.ask.Key(now, key)
	if why := a.ask.Why(); !ok && why != "" {
		return say(why)
	}
	if !ok {
		return nil
	}
	a.send(true)
	return []screen.Action{answer}
}

// send notes that an answer is on its way, or that it was not taken.
func (a *asked) send(sent bool) {
	a.sent = sent
	a.ask.Sent(sent)
}

// lines are the question in at most height lines, with a rule above it that says who asks.
func (a *asked) lines(m *Model, now time.Time, width, height int) []string {
	title, cwd := "", ""
	if t := m.list.threads[a.thread]; t != nil {
		title, cwd = t.title(), t.Summary.Cwd
	}
	asks := " asks "
	if a.over() != "" {
		asks = " asks no more "
	}
	rule := "─ " + screen.Fit(title, max(width-len("──")-len(asks), 4)) + asks
	rule = m.styles.Waiting.Paint(screen.Fit(rule, width) + strings.Repeat("─", max(width-screen.Width(rule), 0)))
	if a.x = -1; a.ask == nil {
		return []string{rule, "Reading the question …"}
	}
	lines, x, y := a.ask.Lines(now, m.styles, cwd, width, height-1)
	a.x, a.y = x, y
	return append([]string{rule}, lines...)
}
