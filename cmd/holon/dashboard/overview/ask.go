package overview

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// callQuestion names the request that reads a question.
const callQuestion = "question"

// asked is the question in the panel. It is there because the person asked for
// it.
type asked struct {
	item, thread string
	seq          int64 // of the thread when the question was read
	content      question
	loaded       bool
	sent         bool
	alive        time.Time // its keys are dead until then
	input        textinput.Model
}

// question is the content of an item that asks.
type question struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Message     string `json:"message"`
	URL         string `json:"url"`
	Subject     struct {
		ItemID  string `json:"item_id"` // the tool call that it is about
		Command string `json:"command"`
		Cwd     string `json:"cwd"`
	} `json:"subject"`
	Options []option `json:"options"`
}

type option struct {
	ID   string `json:"option_id"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// typing tells whether the answer is a text.
func (a *asked) typing() bool { return a.loaded && len(a.content.Options) == 0 }

// ask opens the oldest question of a thread.
func (m *Model) ask(t *Thread) []screen.Action {
	switch {
	case t.group() != needsYou:
		return say("This thread asks nothing. w selects the next that waits for you.")
	case len(t.Summary.Waiting) == 0:
		return say("The end of its turn waits for a review: holon review " + screen.OneLine(t.Summary.TurnID))
	}
	m.asked = &asked{item: t.Summary.Waiting[0].ItemID, thread: t.ID, seq: t.LatestSeq, input: newInput(10_000)}
	return []screen.Action{m.asked.read()}
}

func (a *asked) read() screen.Action {
	return screen.Call{Name: callQuestion, Method: "item/read", Params: map[string]any{"item_id": a.item}}
}

// gotQuestion takes the question that was read.
func (m *Model) gotQuestion(now time.Time, msg screen.Done) []screen.Action {
	var result struct {
		Item struct {
			ID      string   `json:"item_id"`
			Status  string   `json:"status"`
			Content question `json:"content"`
		} `json:"item"`
	}
	if m.asked == nil {
		return nil
	}
	if msg.Err == nil && json.Unmarshal(msg.Result, &result) == nil && result.Item.ID != m.asked.item {
		return nil // another question was opened meanwhile
	}
	if msg.Err != nil || result.Item.Status != "pending" {
		m.asked = nil
		if msg.Err == nil {
			return say("It was answered already.")
		}
		return nil
	}
	if !m.asked.loaded || !reflect.DeepEqual(m.asked.content, result.Item.Content) {
		m.asked.content, m.asked.loaded = result.Item.Content, true
		m.asked.alive = now.Add(deadTime)
	}
	return nil
}

// checkAsked closes the panel if its question was answered elsewhere. If something
// else has happened in the thread, the question is read again: it may have changed.
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
		return []screen.Action{m.asked.read()}
	}
	m.asked = nil
	m.frozen = now.Add(settle)
	return say("It was answered elsewhere.")
}

// askedKey takes a key for the question.
func (m *Model) askedKey(now time.Time, key tea.KeyPressMsg) []screen.Action {
	a := m.asked
	if key.String() == "esc" {
		m.asked = nil
		return nil
	}
	if !a.loaded || a.sent || now.Before(a.alive) {
		return nil
	}
	if a.typing() {
		if key.String() != "enter" {
			a.input, _ = a.input.Update(key)
			return nil
		}
		text := strings.TrimSpace(a.input.Value())
		if text == "" {
			return say("Type an answer first. Esc leaves the question open.")
		}
		a.sent = true
		return []screen.Action{screen.Respond{Item: a.item, Answer: answerOf(text)}}
	}
	if t := m.list.threads[a.thread]; t != nil && key.String() == "enter" {
		m.asked = nil
		return m.opened(t)
	}
	n := strings.Index("123456789", key.String())
	if n < 0 || n >= len(a.content.Options) {
		return nil
	}
	a.sent = true
	return []screen.Action{screen.Respond{Item: a.item, Option: a.content.Options[n].ID}}
}

// answerOf is JSON as it was typed, or else the text.
func answerOf(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return json.RawMessage(`""`) // a string always encodes
	}
	return quoted
}

// lines are the question and its options. The options are never cut away.
func (a *asked) lines(m *Model, now time.Time, width, height int) []string {
	if !a.loaded {
		return []string{"Reading the question …"}
	}
	c := &a.content
	var text []string
	add := func(label, s string) {
		if s = screen.Clean(s); strings.TrimSpace(s) != "" {
			text = append(text, screen.Wrap(label+strings.TrimRight(s, "\n"), width)...)
		}
	}
	title := ""
	if t := m.list.threads[a.thread]; t != nil {
		title = t.title() + " asks: "
	}
	add(title, screen.OneLine(c.Title+" "+c.Message))
	// What is decided about comes first: the end is cut off where there is no room.
	add("command: ", c.Subject.Command)
	add("in: ", c.Subject.Cwd)
	add("open: ", c.URL)
	if c.Subject.ItemID != "" && c.Subject.Command == "" {
		add("", "Enter shows in the thread what it is about.")
	}
	add("", c.Description)
	answers := a.answers(m, now, width, height-2)
	if room := max(height-len(answers), 1); len(text) > room {
		text = text[:room]
		text[room-1] = screen.Fit(text[room-1], width-2) + " …"
	}
	text[0] = m.styles.Strong.Paint(text[0])
	return append(text, answers...)
}

// answers are the lines with the options, or the line to type in. Options that
// are longer than a line are wrapped if room lines are enough for that.
func (a *asked) answers(m *Model, now time.Time, width, room int) []string {
	var lines []string
	var texts []string
	for i, o := range a.content.Options {
		text := fmt.Sprintf("%d %s", i+1, screen.OneLine(o.Name))
		if strings.HasSuffix(o.Kind, "_always") {
			text += " (from now on too: the agent will not ask again)"
		}
		texts = append(texts, text)
	}
	wrapped := screen.Wrap(strings.Join(texts, "\n"), width)
	if len(texts) == 0 || len(wrapped) > room {
		wrapped = texts
	}
	for _, line := range wrapped {
		if line = screen.Fit(line, width); a.sent || now.Before(a.alive) {
			line = m.styles.Dim.Paint(line)
		}
		lines = append(lines, line)
	}
	if a.typing() {
		a.input.SetWidth(max(width-len(answerPrompt)-1, 1))
		lines = append(lines, screen.Fit(answerPrompt+screen.Clean(a.input.View()), width))
	}
	if a.sent {
		lines = append(lines, "Sending the answer …")
	}
	return lines
}

const answerPrompt = "Answer: "

// cursor is where the person types an answer, from the top of the panel.
func (a *asked) cursor(m *Model, width int) (x, y int, show bool) {
	c := a.input.Cursor()
	if !a.typing() || a.sent || c == nil {
		return 0, 0, false
	}
	lines := a.lines(m, time.Time{}, width, max(m.screen.height-3, 3))
	return len(answerPrompt) + c.X, len(lines), true
}
