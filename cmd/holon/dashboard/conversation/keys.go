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
	{Name: "c", Does: "threads below"},
	{Name: "i", Does: "interrupt"},
	{Name: "r", Does: "retry"},
	{Name: "x", Does: "close"},
	{Name: "y", Does: "copy id"},
	{Name: "w", Does: "next that waits"},
	{Name: "Esc", Does: "back"},
	{Name: "q", Does: "quit"},
	{Name: "?", Does: "all keys"},
}

// hands do what a person does: with keys, and by pasting.
type hands struct{ m *Model }

// key takes a key.
func (h hands) key(now time.Time, msg tea.KeyPressMsg) []screen.Action {
	name := msg.String()
	h.m.status = ""
	if h.m.focus == onHelp {
		h.m.focus = onTimeline
		return nil
	}
	if h.m.focus == onChildren {
		return h.childrenKey(name)
	}
	switch name {
	case "pgup", "pgdown":
		return h.page(name)
	}
	switch h.m.focus {
	case onInput:
		return h.inputKey(name, msg.Text)
	case onQuestion:
		return h.questionKey(now, name, msg.Text)
	}
	return h.command(now, name)
}

func (h hands) page(name string) []screen.Action {
	if h.m.focus == onQuestion && drawing(h).scrollSubject(name) {
		return nil
	}
	step := max(1, h.m.view.area-2)
	if name == "pgup" {
		return h.scroll(-step)
	}
	return h.scroll(step)
}

// inputKey is a key in the input line.
func (h hands) inputKey(name, text string) []screen.Action {
	switch name {
	case "enter":
		return h.submit()
	case "alt+enter", "ctrl+j", "shift+enter":
		h.m.input.insert("\n")
	case "esc":
		h.m.asked = false
		h.m.focus = onTimeline
	case "tab":
		h.m.focus = onTimeline
	case "up":
		if !h.m.input.key(name) {
			return h.scroll(-1)
		}
	case "down":
		if !h.m.input.key(name) {
			return h.scroll(1)
		}
	default:
		if h.m.input.key(name) {
			break
		}
		if text != "" && !h.m.input.insert(text) {
			h.m.status = "The text is as long as it can be here: " + size(maxTyped)
		}
	}
	h.m.begun()
	return nil
}

// questionKey is a key for the shown question. It does nothing while the question is
// new.
func (h hands) questionKey(now time.Time, name, text string) []screen.Action {
	q := h.m.asks.front()
	if name == "esc" || q == nil {
		h.m.focus = onTimeline
		return nil
	}
	if h.m.asks.dead(now) || q.sent {
		return nil
	}
	if q.typed() {
		return h.answerKey(q, name, text)
	}
	choice := -1
	switch name {
	case "up":
		q.choice = max(0, q.choice-1)
	case "down", "tab":
		q.choice = min(len(q.content.Options)-1, q.choice+1)
	case "enter":
		choice = q.choice
	default:
		choice = q.pick(name, text)
	}
	if answer, ok := q.choose(choice); ok {
		q.sent = true
		return []screen.Action{answer}
	}
	return nil
}

// answerKey is a key of a typed answer.
func (h hands) answerKey(q *question, name, text string) []screen.Action {
	if name != "enter" {
		if !h.m.answer.key(name) && text != "" {
			h.m.answer.insert(text)
		}
		return nil
	}
	answer, ready := q.take(h.m.answer.text)
	if q.why == "" {
		h.m.answer.set("")
	}
	if !ready {
		return nil
	}
	q.sent = true
	return []screen.Action{answer}
}

// command is a key outside of what is typed.
func (h hands) command(now time.Time, name string) []screen.Action {
	if done, out := h.confirmed(name); done {
		return out
	}
	switch name {
	case "tab":
		h.m.focus = onInput
	case "enter", "space":
		return h.enter(name)
	case "esc":
		if h.m.view.selected != "" {
			h.m.view.selected = ""
			return nil
		}
		return h.leave()
	case "q":
		return append(h.closeNow(), screen.Quit{})
	case "?":
		h.m.focus = onHelp
	case "up":
		return h.scroll(-1)
	case "down":
		return h.scroll(1)
	case "g", "home":
		return h.toBegin()
	case "G", "end":
		return h.toNewest()
	case "j", "k":
		return h.selectNext(name == "j")
	case "a":
		h.answerNow()
	case "c":
		h.listChildren()
	case "i":
		h.interrupt()
	case "r":
		return h.retry()
	case "x":
		h.close(now)
	case "y":
		return h.copy()
	case "w":
		return []screen.Action{screen.Next{}}
	}
	return nil
}

// confirmed takes the key after one that asked whether one is sure.
func (h hands) confirmed(name string) (done bool, out []screen.Action) {
	sure := h.m.sure
	switch {
	case !sure.closeAt.IsZero() && name == "u":
		h.m.sure = confirm{}
		h.m.status = "The thread stays open."
		return true, nil
	case sure.key == "":
		return false, nil
	}
	h.m.sure.key, h.m.sure.turn = "", ""
	if name == sure.key {
		h.m.status = "Interrupting …"
		return true, []screen.Action{screen.Interrupt{Turn: sure.turn}}
	}
	return name == "esc", nil
}

func (h hands) interrupt() {
	t := h.m.turns.active()
	if t == nil {
		h.m.status = "Nothing runs here."
		return
	}
	h.m.sure.key, h.m.sure.turn = "i", t.TurnID
}

func (h hands) retry() []screen.Action {
	t := h.m.turns.last()
	if t == nil || !t.ended() || t.State == "completed" || h.m.turns.active() != nil {
		h.m.status = "There is no failed or interrupted turn to retry."
		return nil
	}
	h.m.status = "Retrying …"
	return []screen.Action{screen.Retry{Turn: t.TurnID}}
}

func (h hands) close(now time.Time) {
	if h.m.thread.State == "closed" {
		h.m.status = "The thread is closed already."
		return
	}
	h.m.sure.closeAt = now.Add(undoFor)
}

// closeNow carries out a close that waits for its time: the page is left.
func (h hands) closeNow() []screen.Action {
	if h.m.sure.closeAt.IsZero() {
		return nil
	}
	h.m.sure = confirm{}
	return []screen.Action{screen.Close{Thread: h.m.options.Thread}}
}

func (h hands) leave() []screen.Action {
	if h.m.options.Alone {
		h.m.status = "q quits; Tab or Enter writes."
		return nil
	}
	return append(h.closeNow(), screen.Back{})
}

func (h hands) copy() []screen.Action {
	text := h.m.options.Thread
	if e := h.m.history.byKey[h.m.view.selected]; e != nil {
		switch {
		case e.item != nil:
			text = e.item.id
		case e.child != nil:
			text = e.child.row.ThreadID
		case e.turn != "":
			text = e.turn
		}
	}
	h.m.status = "Copied " + screen.OneLine(text)
	return []screen.Action{screen.Copy{Text: text}}
}

func (h hands) answerNow() {
	if h.m.asks.front() == nil {
		h.m.status = "Nothing waits for an answer here."
		return
	}
	h.m.focus = onQuestion
}

// enter unfolds or opens the selected block. Without one Enter goes to the input line,
// and Space unfolds the newest block on the screen.
func (h hands) enter(name string) []screen.Action {
	e := h.m.history.byKey[h.m.view.selected]
	if e == nil && name == "enter" {
		h.m.focus = onInput
		return nil
	}
	if e == nil {
		if e = h.lastFoldable(); e == nil {
			return nil
		}
		h.m.view.selected = e.key
	}
	if e.child != nil {
		return append(h.closeNow(), screen.Open{Thread: e.child.row.ThreadID})
	}
	if e.foldable() {
		e.unfolded = !e.unfolded
		h.m.history.changed(e)
	}
	return nil
}
