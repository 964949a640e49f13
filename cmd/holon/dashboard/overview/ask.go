package overview

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/conversation"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// callQuestion, callReview, callSubject and callEnd name the requests that read a question or
// a review, what it is about, and how it was answered.
const (
	callQuestion = "question"
	callReview   = "review"
	callSubject  = "subject"
	callEnd      = "end of a question"
)

// asked is the question or the review in the panel. It is there because the person asked
// for it.
type asked struct {
	id, thread string // the item, or the turn whose end is reviewed: "" until that is known
	review     bool
	seq        int64             // of the thread when the question was read
	ask        *conversation.Ask // nil until it was read
	sent       bool
	x, y       int // of the caret in the lines that were drawn last; x is -1 if there is none
}

// typing reports whether the answer is a text.
func (a *asked) typing() bool { return a.ask != nil && a.ask.Typed() }

// over explains why nobody can answer any more, "" as long as somebody can.
func (a *asked) over() string {
	if a.ask == nil {
		return ""
	}
	return a.ask.Over()
}

// ask opens the oldest question of a thread, else its oldest review.
func (m *Model) ask(t *Thread) []screen.Action {
	if t.group() != needsYou {
		return say("This thread asks nothing. w selects the next that waits for you.")
	}
	m.asked = &asked{thread: t.ID, seq: t.LatestSeq, x: -1, review: len(t.Summary.Waiting) == 0}
	if !m.asked.review {
		m.asked.id = t.Summary.Waiting[0].ItemID
	}
	return []screen.Action{m.asked.read(callQuestion)}
}

// read reads what is asked. Which turn of a thread waits for a review, only its list says.
func (a *asked) read(name string) screen.Action {
	switch {
	case !a.review:
		return readItem(name, a.id)
	case a.id == "":
		return screen.Call{Name: callReview, Method: "turn/list", Params: map[string]any{"thread_id": a.thread, "review": "pending", "limit": 1}}
	case name == callQuestion:
		name = callReview
	}
	return screen.Call{Name: name, Method: "turn/read", Params: map[string]any{"turn_id": a.id}}
}

func readItem(name, id string) screen.Action {
	return screen.Call{Name: name, Method: "item/read", Params: map[string]any{"item_id": id}}
}

// gotReview takes the review that was read. A list may have come too late: it has none then.
func gotReview(m *Model, now time.Time, msg screen.Done) []screen.Action {
	var r struct {
		Turn  json.RawMessage   `json:"turn"`
		Turns []json.RawMessage `json:"turns"`
	}
	_ = json.Unmarshal(msg.Result, &r) // what it does not have is missing
	if msg.Err == nil && r.Turn == nil {
		if len(r.Turns) == 0 {
			return nothingAsked(m, msg)
		}
		r.Turn = r.Turns[0]
	}
	ask := conversation.ReadReview(now, r.Turn)
	if params, _ := msg.Action.(screen.Call).Params.(map[string]any); m.asked != nil && m.asked.id == "" && params["thread_id"] == m.asked.thread {
		m.asked.id = ask.ID()
	}
	return m.gotAsk(now, msg.Err, ask)
}

// nothingAsked closes the panel if it is that of a thread without a review.
func nothingAsked(m *Model, msg screen.Done) []screen.Action {
	params, _ := msg.Action.(screen.Call).Params.(map[string]any)
	if m.asked == nil || m.asked.id != "" || params["thread_id"] != m.asked.thread {
		return nil
	}
	m.asked = nil
	return say("Nothing waits for a review here any more.")
}

// gotAsk takes what was read, and asks for what it is about.
func (m *Model) gotAsk(now time.Time, err error, ask *conversation.Ask) []screen.Action {
	if m.asked == nil {
		return nil
	}
	if err != nil {
		if m.asked.ask == nil {
			m.asked = nil
		}
		return nil
	}
	switch {
	case ask.ID() != m.asked.id:
		return nil // another question was opened meanwhile
	case m.asked.typing() && (!ask.Open() || ask.Attempt() != m.asked.ask.Attempt()):
		m.asked.ask.TakeOver(ask)
		return nil
	case !ask.Open():
		m.asked = nil
		return say(ask.End())
	case m.asked.ask == nil || !m.asked.ask.Same(ask):
		m.asked.ask = ask
	}
	if subject := m.asked.ask.Subject(); subject != "" {
		return []screen.Action{readItem(callSubject, subject)}
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
	if t == nil || m.asked.waitsIn(t) {
		if t == nil || t.LatestSeq == m.asked.seq {
			return nil
		}
		m.asked.seq = t.LatestSeq
		return []screen.Action{m.asked.read(callQuestion)}
	}
	if m.asked.typing() {
		if m.asked.over() != "" {
			return nil
		}
		m.asked.ask.TakeOver(nil)
		return []screen.Action{m.asked.read(callQuestion)} // who has answered
	}
	end := m.asked.read(callEnd)
	m.asked = nil
	m.frozen = now.Add(orderStays)
	return []screen.Action{end}
}

// waitsIn reports whether a thread as it is listed may still wait for the answer.
func (a *asked) waitsIn(t *Thread) bool {
	if a.review {
		return t.Summary.Reviews > 0
	}
	return t.Summary.WaitingCount > len(t.Summary.Waiting) ||
		slices.ContainsFunc(t.Summary.Waiting, func(w Waiting) bool { return w.ItemID == a.id })
}

// answered takes the end of an answer. One that was refused can be given again.
func answered(m *Model, id string, err error) {
	if m.asked == nil || m.asked.id != id {
		return
	}
	if m.asked.send(false); err == nil {
		m.asked = nil
	}
}

// ended reports how a question was answered whose panel has closed.
func ended(now time.Time, msg screen.Done) []screen.Action {
	if msg.Err != nil {
		return say("It was answered or withdrawn.")
	}
	var r struct {
		Turn json.RawMessage `json:"turn"`
	}
	ask := conversation.ReadAsk(now, msg.Result)
	if json.Unmarshal(msg.Result, &r) == nil && r.Turn != nil {
		ask = conversation.ReadReview(now, r.Turn)
	}
	if !ask.Open() {
		return say(ask.End())
	}
	return nil
}

// askedKey takes a key for the question.
func (m *Model) askedKey(now time.Time, key tea.KeyPressMsg) []screen.Action {
	a := m.asked
	if key.String() == "esc" {
		if a.ask == nil || !a.ask.LeaveNote() {
			m.asked = nil
		}
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
	if key.Text != "" {
		if early := a.ask.Early(now, key.Text); early != "" {
			return say(early)
		}
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

// lines returns the question in at most height lines, with a rule above it that says who asks.
func (a *asked) lines(m *Model, now time.Time, width, height int) []string {
	title, cwd := "", ""
	if t := m.list.threads[a.thread]; t != nil {
		title, cwd = t.title(), t.Summary.Cwd
	}
	asks, over := " asks ", " asks no more "
	if a.review {
		asks, over = " waits for your review ", " waits no more "
	}
	if a.over() != "" {
		asks = over
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
