package conversation

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// confirm is something that stops work and waits for a second press, or for its time.
type confirm struct {
	key     string // the key that carries it out
	turn    string
	closeAt time.Time // when the thread is closed
}

// undoFor is how long a close can be undone.
const undoFor = 5 * time.Second

// keys are the keys outside the input line.
var keys = []screen.Key{
	{Name: "Tab", Does: "write"},
	{Name: "a", Does: "answer"},
	{Name: "j k", Does: "select"},
	{Name: "Space", Does: "unfold"},
	{Name: "↑ ↓", Does: "scroll"},
	{Name: "g G", Does: "begin, end"},
	{Name: "i", Does: "interrupt"},
	{Name: "r", Does: "retry"},
	{Name: "x", Does: "close"},
	{Name: "y", Does: "copy id"},
	{Name: "w", Does: "next that waits"},
	{Name: "Esc", Does: "back"},
	{Name: "q", Does: "quit"},
	{Name: "?", Does: "all keys"},
}

// key takes a key.
func (m *Model) key(now time.Time, msg tea.KeyPressMsg) []screen.Action {
	name := msg.String()
	m.status = ""
	if m.focus == onHelp {
		m.focus = onTimeline
		return nil
	}
	switch name {
	case "pgup", "pgdown":
		return m.page(name)
	}
	switch m.focus {
	case onInput:
		return m.inputKey(name, msg.Text)
	case onQuestion:
		return m.questionKey(now, name, msg.Text)
	}
	return m.command(now, name)
}

func (m *Model) page(name string) []screen.Action {
	if m.focus == onQuestion && m.scrollSubject(name) {
		return nil
	}
	step := max(1, m.view.area-2)
	if name == "pgup" {
		return m.scroll(-step)
	}
	return m.scroll(step)
}

// inputKey is a key in the input line.
func (m *Model) inputKey(name, text string) []screen.Action {
	switch name {
	case "enter":
		return m.submit()
	case "alt+enter", "ctrl+j", "shift+enter":
		m.input.insert("\n")
	case "esc":
		m.asked = false
		m.focus = onTimeline
	case "tab":
		m.focus = onTimeline
	case "up":
		if !m.input.key(name) {
			return m.scroll(-1)
		}
	case "down":
		if !m.input.key(name) {
			return m.scroll(1)
		}
	default:
		if m.input.key(name) {
			break
		}
		if text != "" && !m.input.insert(text) {
			m.status = "the text is as long as it can be here: " + size(maxTyped)
		}
	}
	m.begun()
	return nil
}

// questionKey is a key for the shown question. It does nothing while the question is
// new.
func (m *Model) questionKey(now time.Time, name, text string) []screen.Action {
	q := m.asks.front()
	if name == "esc" || q == nil {
		m.focus = onTimeline
		return nil
	}
	if m.asks.dead(now) || q.sent {
		return nil
	}
	if q.typed() {
		return m.answerKey(q, name, text)
	}
	choice := -1
	switch name {
	case "up":
		q.choice = max(0, q.choice-1)
	case "down", "tab":
		q.choice = min(len(q.content.Options)-1, q.choice+1)
	case "enter":
		choice = q.choice
	case "y":
		choice = q.optionOf("allow")
	case "n":
		choice = q.optionOf("reject")
	default:
		if len(text) == 1 && text[0] >= '1' && text[0] <= '9' {
			choice = int(text[0] - '1')
		}
	}
	if answer, ok := q.choose(choice); ok {
		q.sent = true
		return []screen.Action{answer}
	}
	return nil
}

// answerKey is a key of a typed answer.
func (m *Model) answerKey(q *question, name, text string) []screen.Action {
	if name != "enter" {
		if !m.answer.key(name) && text != "" {
			m.answer.insert(text)
		}
		return nil
	}
	answer, ready := q.take(m.answer.text)
	if q.why == "" {
		m.answer.set("")
	}
	if !ready {
		return nil
	}
	q.sent = true
	return []screen.Action{answer}
}

// command is a key outside of what is typed.
func (m *Model) command(now time.Time, name string) []screen.Action {
	if done, out := m.confirmed(name); done {
		return out
	}
	switch name {
	case "tab":
		m.focus = onInput
	case "enter", "space":
		return m.enter(name)
	case "esc":
		if m.view.selected != "" {
			m.view.selected = ""
			return nil
		}
		return m.leave()
	case "q":
		return append(m.closeNow(), screen.Quit{})
	case "?":
		m.focus = onHelp
	case "up":
		return m.scroll(-1)
	case "down":
		return m.scroll(1)
	case "g", "home":
		return m.toBegin()
	case "G", "end":
		return m.toNewest()
	case "j", "k":
		return m.selectNext(name == "j")
	case "a":
		m.answerNow()
	case "i":
		m.interrupt()
	case "r":
		return m.retry()
	case "x":
		m.close(now)
	case "y":
		return m.copy()
	case "w":
		return []screen.Action{screen.Next{}}
	}
	return nil
}

// confirmed takes the key after one that asked whether one is sure.
func (m *Model) confirmed(name string) (done bool, out []screen.Action) {
	sure := m.sure
	switch {
	case !sure.closeAt.IsZero() && name == "u":
		m.sure = confirm{}
		m.status = "the thread stays open"
		return true, nil
	case sure.key == "":
		return false, nil
	}
	m.sure.key, m.sure.turn = "", ""
	if name == sure.key {
		m.status = "interrupting …"
		return true, []screen.Action{screen.Interrupt{Turn: sure.turn}}
	}
	return name == "esc", nil
}

func (m *Model) interrupt() {
	t := m.turns.active()
	if t == nil {
		m.status = "nothing runs here"
		return
	}
	m.sure.key, m.sure.turn = "i", t.TurnID
}

func (m *Model) retry() []screen.Action {
	t := m.turns.last()
	if t == nil || !t.ended() || t.State == "completed" || m.turns.active() != nil {
		m.status = "there is no failed or interrupted turn to retry"
		return nil
	}
	m.status = "retrying …"
	return []screen.Action{screen.Retry{Turn: t.TurnID}}
}

func (m *Model) close(now time.Time) {
	if m.thread.State == "closed" {
		m.status = "the thread is closed already"
		return
	}
	m.sure.closeAt = now.Add(undoFor)
}

// closeNow carries out a close that waits for its time: the page is left.
func (m *Model) closeNow() []screen.Action {
	if m.sure.closeAt.IsZero() {
		return nil
	}
	m.sure = confirm{}
	return []screen.Action{screen.Close{Thread: m.options.Thread}}
}

func (m *Model) leave() []screen.Action {
	if m.options.Alone {
		m.status = "q quits; Tab or Enter writes"
		return nil
	}
	return append(m.closeNow(), screen.Back{})
}

func (m *Model) copy() []screen.Action {
	text := m.options.Thread
	if e := m.history.byKey[m.view.selected]; e != nil {
		switch {
		case e.item != nil:
			text = e.item.id
		case e.child != nil:
			text = e.child.row.ThreadID
		case e.turn != "":
			text = e.turn
		}
	}
	m.status = "copied " + screen.OneLine(text)
	return []screen.Action{screen.Copy{Text: text}}
}

func (m *Model) answerNow() {
	if m.asks.front() == nil {
		m.status = "nothing waits for an answer here"
		return
	}
	m.focus = onQuestion
}

// enter unfolds or opens the selected block. Without one Enter goes to the input line,
// and Space unfolds the newest block on the screen.
func (m *Model) enter(name string) []screen.Action {
	e := m.history.byKey[m.view.selected]
	if e == nil && name == "enter" {
		m.focus = onInput
		return nil
	}
	if e == nil {
		if e = m.lastFoldable(); e == nil {
			return nil
		}
		m.view.selected = e.key
	}
	if e.child != nil {
		return append(m.closeNow(), screen.Open{Thread: e.child.row.ThreadID})
	}
	if e.foldable() {
		e.unfolded = !e.unfolded
		m.history.changed(e)
	}
	return nil
}
