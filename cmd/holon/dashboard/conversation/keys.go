package conversation

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// undoFor is how long a close can be undone.
const undoFor = 5 * time.Second

// lineKeys are the keys that the help line names, outside of the input line: what matters most
// first.
var lineKeys = []screen.Key{
	{Name: "Tab", Does: "write"},
	{Name: "a", Does: "answer"},
	{Name: "i", Does: "interrupt"},
	{Name: "r", Does: "retry"},
	{Name: screen.WakeKey, Does: "tell it", Short: "tell"},
	{Name: "w", Does: "next that waits", Short: "next"},
	{Name: "j k", Does: "select"},
	{Name: "Space", Does: "unfold"},
	{Name: "↑ ↓", Does: "scroll"},
	{Name: "g G", Does: "begin, end"},
	{Name: "c", Does: "threads below", Short: "below"},
	{Name: "x", Does: "close"},
	{Name: "t", Does: "title"},
	{Name: "y", Does: "copy id"},
	{Name: "Esc", Does: "back"},
	{Name: "q", Does: "quit"},
	{Name: "?", Does: "all keys"},
}

// allKeys is the page of help. The keys of a part are below its heading, which has no
// name.
var allKeys = []screen.Key{
	{Name: "Tab", Does: "write to the agent"},
	{Name: "a", Does: "answer the question, review the result"},
	{Name: "w", Does: "open the next thread that waits for you"},
	{Name: "↑ ↓  PgUp PgDn", Does: "scroll"},
	{Name: "g G  Home End", Does: "the beginning, the end"},
	{Name: "j k", Does: "select a block that can be opened"},
	{Name: "Enter", Does: "open the selected block; write if none is"},
	{Name: "Space", Does: "unfold or fold it, else the last one"},
	{Name: "c", Does: "list the threads below"},
	{Name: "i", Does: "interrupt the turn, after a confirmation"},
	{Name: "r", Does: "retry a turn that did not complete, after a confirmation"},
	{Name: screen.WakeKey, Does: "tell the agent what is new in its inbox, after a confirmation"},
	{Name: "x", Does: "close the thread, after a confirmation …"},
	{Name: "u", Does: "… and keep it open, within 5 s; to write does so, too"},
	{Name: "t", Does: "give the thread a title, which its agent does not replace"},
	{Name: "y", Does: "copy the id of the selected block or the thread"},
	{Name: "Esc", Does: "select nothing; back"},
	{Name: "q  Ctrl-C", Does: "quit; agents continue"},
	{Name: "?", Does: "these keys"},
	{Does: ""},
	{Does: "While you write"},
	{Name: "Enter", Does: "send"},
	{Name: "Alt-Enter  Ctrl-J", Does: "a new line"},
	{Name: "← →  ↑ ↓  Home End", Does: "move; ↑ ↓ scroll from the first and last line"},
	{Name: "Alt-← Alt-→", Does: "move by a word, also Ctrl-← Ctrl-→ Alt-B Alt-F"},
	{Name: "Backspace Delete", Does: "delete a character, also Ctrl-H"},
	{Name: "Ctrl-W", Does: "delete the word before, also Alt-Backspace"},
	{Name: "Ctrl-U Ctrl-K", Does: "delete to the start or the end of the line"},
	{Name: "Ctrl-E", Does: "the end of the line"},
	{Name: "PgUp PgDn", Does: "scroll"},
	{Name: "Tab", Does: "complete a command of the agent, such as /compact"},
	{Name: "Tab  Esc", Does: "leave the line; the text stays"},
	{Does: ""},
	{Does: "While you answer"},
	{Name: "1-9", Does: "choose an option"},
	{Name: "y n", Does: "allow or approve, reject"},
	{Name: "↑ ↓  Tab  Enter", Does: "choose an option, take it"},
	{Name: "PgUp PgDn", Does: "scroll what it is about"},
	{Name: "Esc", Does: "answer later"},
	{Does: ""},
	{Does: "In the list of threads below"},
	{Name: "↑ ↓  j k  PgUp PgDn", Does: "choose"},
	{Name: "g G  Home End", Does: "the first, the last"},
	{Name: "Enter", Does: "open"},
	{Name: "Esc  c", Does: "back"},
	{Name: "q  ?", Does: "quit, these keys"},
}

// keyboard does what a person asks for with keys and by pasting.
type keyboard struct{ m *Model }

// key takes a key.
func (h keyboard) key(now time.Time, msg tea.KeyPressMsg) []screen.Action {
	name := msg.String()
	h.m.status = ""
	switch {
	case h.m.help.Open:
		h.m.help.Key(name, h.m.view.height-2)
		return nil
	case h.m.sure != nil:
		sure := h.m.sure
		h.m.sure = nil
		return sure.Key(now, name)
	case h.m.naming != nil:
		actions, left := h.m.naming.Key(msg)
		if left {
			h.m.naming = nil
		}
		return actions
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
	return h.command(now, name, msg.Text)
}

func (h keyboard) page(name string) []screen.Action {
	if h.m.focus == onQuestion && drawing(h).scrollSubject(name) {
		return nil
	}
	step := max(1, h.m.view.area-2)
	if name == "pgup" {
		return h.scroll(-step)
	}
	return h.scroll(step)
}

// inputKey handles a key in the input line.
func (h keyboard) inputKey(name, text string) []screen.Action {
	switch name {
	case "enter":
		return h.submit()
	case "alt+enter", "ctrl+j", "shift+enter":
		h.m.input.insert("\n")
	case "esc":
		h.m.asked = false
		h.m.focus = onTimeline
	case "tab":
		if !h.m.completes() {
			h.m.focus = onTimeline
		}
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
			h.m.status = "The text is as long as it can be here: " + size(MaxTyped)
		}
	}
	h.m.begun()
	return nil
}

// questionKey returns a key for the shown question. It does nothing while the question is
// new.
func (h keyboard) questionKey(now time.Time, name, text string) []screen.Action {
	q := h.m.asks.front()
	if name == "esc" && q != nil && q.leaveNote() {
		return nil
	}
	if name == "esc" || q == nil {
		h.m.focus = onTimeline
		if h.m.asks.left != nil {
			h.m.asks.left = nil
			h.m.asks.touched(now)
		}
		return nil
	}
	if q.over != "" {
		if name == "enter" {
			h.m.status = "Nothing was sent. " + q.over + " Esc leaves."
			return nil
		}
		return h.answerKey(q, name, text)
	}
	switch meant := text != "" || name == "enter"; {
	case h.m.asks.dead(now) || q.sent:
		if meant {
			h.m.asks.strays(now, name)
		}
		return nil
	case q.typed():
		return h.answerKey(q, name, text)
	case meant && h.m.asks.within(now, name):
		h.m.asks.strays(now, name)
		h.m.status = strayedHere
		return nil
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
		if choice = q.pick(name, text); text != "" && !q.chooses(choice) {
			h.m.status = NoAnswer
			h.m.asks.strays(now, name)
		}
	}
	if why := q.holds(choice); why != "" {
		all := "holon respond "
		if q.review != nil {
			all = "holon review "
		}
		h.m.status = why + " PgDn shows them. All at once: " + all + screen.OneLine(q.id)
		return nil
	}
	if answer, ok := q.choose(choice); ok {
		q.sent = true
		return []screen.Action{answer}
	}
	return nil
}

// answerKey handles a key of a typed answer.
func (h keyboard) answerKey(q *question, name, text string) []screen.Action {
	if name != "enter" {
		if !h.m.answer.key(name) && text != "" {
			h.m.answer.insert(text)
		}
		return nil
	}
	q.line = h.m.answer.text
	answer, ready := q.take(q.line)
	if q.why == "" {
		h.m.answer.set("")
	}
	if !ready {
		return nil
	}
	q.sent = true
	return []screen.Action{answer}
}

// command returns a key outside of what is typed. text is what it would type. Somebody may believe
// to write already, so no letter changes anything by itself: what stops, retries or closes
// something asks for y first. A letter that is no key does not begin a text either: of a text
// whose first letters were keys the agent would get the rest.
func (h keyboard) command(now time.Time, name, text string) []screen.Action {
	if text != "" && h.m.asks.within(now, name) { // “say no” has an a, but is no answer
		h.m.asks.strays(now, name)
	}
	switch name {
	case "tab":
		h.write()
	case "enter", "space":
		return h.enter(name)
	case "esc":
		if h.m.view.selected != "" {
			h.m.view.selected = ""
			return nil
		}
		return h.leave()
	case "q":
		return []screen.Action{screen.Quit{}}
	case "?":
		h.m.help.Open = true
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
	case "u":
		if !h.keepOpen() {
			h.m.status = screen.NothingToUndo
		}
	case "r":
		h.retry()
	case screen.WakeKey:
		if h.m.notTold(now) == "" {
			h.m.status = screen.NothingToTell
			return nil
		}
		h.m.sure = screen.SureWake(h.m.Title(), h.m.options.Thread)
	case "x":
		h.close()
	case "t":
		if h.m.thread.State == "closed" {
			h.m.status = screen.TitleStays
			return nil
		}
		h.keepOpen() // u is a letter there
		h.m.naming = screen.NewNaming(h.m.options.Thread, screen.OneLine(h.m.thread.Title))
	case "y":
		return h.copy()
	case "w":
		return []screen.Action{screen.Next{}}
	default:
		if text != "" {
			h.m.asks.strays(now, name)
		}
		h.noCommand(text)
	}
	return nil
}

// writesHere says where a text is written: a letter that is no command was meant for it.
const writesHere = "Tab writes to the agent."

// noCommand shows what to do instead of a key that does nothing here. The sentence stays
// as long as such keys follow each other.
func (h keyboard) noCommand(text string) {
	switch {
	case text == "":
	case h.m.thread.State == "closed":
		h.m.status = screen.KeysHere
	default:
		h.m.status = writesHere
	}
}

// keepOpen takes a close back, if one is pending.
func (h keyboard) keepOpen() bool {
	if h.m.closeAt.IsZero() {
		return false
	}
	h.m.closeAt = time.Time{}
	h.m.status = screen.StaysOpen(h.m.Title())
	return true
}

// write enters the input line. A close that is pending is taken back: u is a letter there,
// and who writes to the agent does not want it closed.
func (h keyboard) write() {
	h.m.focus = onInput
	h.keepOpen()
}

func (h keyboard) interrupt() {
	t := h.m.turns.active()
	if t == nil {
		h.m.status = "Nothing runs here."
		return
	}
	h.m.sure = screen.SureInterrupt(h.m.Title(), t.TurnID)
}

func (h keyboard) retry() {
	t := h.m.turns.retryable()
	if t == nil {
		h.m.status = screen.NothingToRetry
		return
	}
	h.m.sure = screen.SureRetry(h.m.Title(), t.TurnID)
}

// close closes the thread soon, unless the person changes their mind. It always asks first,
// unlike in the list: here is a line to write in, and x is a letter of many words.
func (h keyboard) close() {
	if h.m.thread.State == "closed" {
		h.m.status = "The thread is closed already."
		return
	}
	if !h.m.closeAt.IsZero() {
		return
	}
	does, q := screen.Interrupts, h.m.asks.front()
	switch {
	case !h.m.loader.ready || h.m.turns.active() != nil: // it may work, while the thread is being read
	case q != nil && q.review != nil:
		does = screen.Blocks
	case h.m.turns.queued() > 0:
		does = screen.DropsQueue
	case len(h.m.asks.open) == 0:
		does = screen.Ends
	}
	h.m.sure = screen.SureClose(h.m.Title(), does, func(now time.Time) []screen.Action {
		h.m.closeAt = now.Add(undoFor)
		return nil
	})
}

func (h keyboard) leave() []screen.Action {
	if h.m.options.Alone {
		h.m.status = "q quits; Tab or Enter writes."
		return nil
	}
	return []screen.Action{screen.Back{}}
}

func (h keyboard) copy() []screen.Action {
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

func (h keyboard) answerNow() {
	if h.m.asks.front() == nil {
		h.m.status = "Nothing waits for an answer here."
		return
	}
	h.m.focus = onQuestion
	h.keepOpen() // as in the input line
}

// enter expands or opens the selected block. Without one Enter goes to the input line,
// and Space expands the newest block on the screen.
func (h keyboard) enter(name string) []screen.Action {
	e := h.m.history.byKey[h.m.view.selected]
	if e == nil && name == "enter" {
		h.write()
		return nil
	}
	if e == nil {
		if e = h.lastExpandable(); e == nil {
			h.m.status = "Nothing here can be unfolded."
			return nil
		}
		h.m.view.selected = e.key
	}
	if e.child != nil {
		return []screen.Action{screen.Open{Thread: e.child.row.ThreadID}}
	}
	if e.expandable() {
		e.expanded = !e.expanded
		h.m.history.changed(e)
	}
	return nil
}
