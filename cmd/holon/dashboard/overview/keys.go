package overview

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/conversation"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// Keys of the list, in the order of the help line: as many as fit are named
// there.
var listKeys = []screen.Key{
	{Name: "Enter", Does: "open"},
	{Name: "a", Does: "answer"},
	{Name: "w", Does: "next that waits", Short: "next"},
	{Name: "n", Does: "new"},
	{Name: "i", Does: "interrupt"},
	{Name: "r", Does: "retry"},
	{Name: "x", Does: "close"},
	{Name: "/", Does: "filter"},
	{Name: "q", Does: "quit"},
	{Name: "?", Does: "keys"},
}

// allKeys is the page of help.
var allKeys = []screen.Key{
	{Name: "↑ ↓  j k", Does: "select a thread"},
	{Name: "PgUp PgDn", Does: "a page"},
	{Name: "g G  Home End", Does: "the first, the last"},
	{Name: "Enter", Does: "open the selected thread"},
	{Name: "w", Does: "select the next thread that waits for you"},
	{Name: "a", Does: "answer its question"},
	{Name: "n", Does: "start a new thread"},
	{Name: "i", Does: "interrupt the turn of the thread, after a confirmation"},
	{Name: "r", Does: "retry a turn that failed or was interrupted"},
	{Name: "x", Does: "close the thread …"},
	{Name: "u", Does: "… and keep it open, within 5 s"},
	{Name: "/", Does: "filter by title, agent, directory, branch, status or id"},
	{Name: "c", Does: "show or fold closed threads"},
	{Name: "y", Does: "copy the id of the thread"},
	{Name: "v", Does: "mark what happened while you were away as seen"},
	{Name: "Esc", Does: "leave a question, a form, the filter or this page"},
	{Name: "q  Ctrl-C", Does: "quit; agents continue"},
	{Name: "?", Does: "these keys"},
	{Does: ""},
	{Does: "While you answer"},
	{Name: "1-9", Does: "choose an option"},
	{Name: "y n", Does: "allow, reject"},
	{Name: "Enter", Does: "open the thread"},
	{Name: "Esc", Does: "answer later"},
	{Does: ""},
	{Does: "What the signs mean"},
	{Name: "?", Does: "asks you something"},
	{Name: ">", Does: "works"},
	{Name: "✓", Does: "done"},
	{Name: "!  ■", Does: "failed, interrupted"},
	{Name: "-", Does: "closed"},
	{Name: "!!", Does: "another thread writes in the same directory"},
}

// key takes a key. What is open gets it first.
func (m *Model) key(now time.Time, key tea.KeyPressMsg) []screen.Action {
	switch {
	case m.help.Open:
		m.help.Key(key.String(), m.screen.height-2)
		return nil
	case m.form != nil:
		return m.formKey(key)
	case m.sure != nil:
		sure := m.sure
		m.sure = nil
		return sure.Key(key.String())
	case m.asked != nil:
		return m.askedKey(now, key)
	case m.filter.open:
		m.filterKey(key)
		return nil
	}
	if m.list.moveKey(key, max(m.screen.rows-1, 1)) {
		return nil
	}
	return m.command(now, key)
}

// moveKey takes keys that move the selection.
func (l *list) moveKey(key tea.KeyPressMsg, page int) bool {
	steps := map[string]int{
		"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -page, "pgdown": page,
		"g": -len(l.rows), "home": -len(l.rows), "G": len(l.rows), "end": len(l.rows),
	}
	n, ok := steps[key.String()]
	if ok {
		l.move(n)
	}
	return ok
}

// command takes the letters of the list.
func (m *Model) command(now time.Time, key tea.KeyPressMsg) []screen.Action {
	switch key.String() {
	case "q":
		return []screen.Action{screen.Quit{}}
	case "?":
		m.help.Open = true
	case "n":
		return m.openForm()
	case "/":
		m.filter.begin(m.list.filter, m.list.selected)
	case "esc":
		m.setFilter("")
	case "c":
		m.list.unfolded = !m.list.unfolded
		m.arrangeNow()
	case "v":
		return m.seen()
	case "w":
		return []screen.Action{screen.Next{}}
	}
	t := m.list.current()
	if t == nil {
		return nil
	}
	switch key.String() {
	case "enter":
		return m.opened(t)
	case "y":
		return []screen.Action{screen.Copy{Text: t.ID}, screen.Say{Text: "Copied " + screen.OneLine(t.ID)}}
	case "a":
		return m.ask(t)
	case "i":
		var actions []screen.Action
		m.sure, actions = interrupt(t)
		return actions
	case "r":
		return retry(t)
	case "x":
		return m.close(now, t)
	case "u":
		if _, ok := m.closing[t.ID]; ok {
			delete(m.closing, t.ID)
			return say("Kept: " + t.title())
		}
		return say("Nothing to undo: u keeps a thread open for 5 s after x.")
	}
	return nil
}

func say(text string) []screen.Action { return []screen.Action{screen.Say{Text: text}} }

// interrupt asks whether to interrupt the turn of a thread.
func interrupt(t *Thread) (*screen.Sure, []screen.Action) {
	if t.group() > working || t.Summary.TurnID == "" {
		return nil, say("Nothing to interrupt: " + t.title() + " does not work.")
	}
	return screen.SureInterrupt(t.title(), t.Summary.TurnID), nil
}

func retry(t *Thread) []screen.Action {
	if !t.retryable() {
		return say(screen.NothingToRetry)
	}
	return []screen.Action{screen.Retry{Turn: t.Summary.TurnID}}
}

// close closes a thread soon, unless the person changes their mind.
func (m *Model) close(now time.Time, t *Thread) []screen.Action {
	if t.group() == closed {
		return say("It is closed already.")
	}
	if _, ok := m.closing[t.ID]; ok {
		return nil
	}
	m.closing[t.ID] = now.Add(undoTime)
	if t.group() == done {
		return say("Closing “" + t.title() + "”. u keeps it.")
	}
	return say("Closing “" + t.title() + "” also interrupts its turn. u keeps it.")
}

// paste puts a pasted text where the person types: all of it, or nothing if it is too
// long. It never sends anything.
func (m *Model) paste(msg tea.PasteMsg) []screen.Action {
	switch {
	case m.form != nil:
		return m.form.paste(msg)
	case m.asked != nil && m.asked.ask != nil:
		if !m.asked.ask.Paste(msg.Content) {
			return say(conversation.TooLong(msg.Content) + ".")
		}
	case m.filter.open && !fits(m.filter.input, msg.Content):
		return say("That is too long for a filter.")
	case m.filter.open:
		m.filter.input, _ = m.filter.input.Update(msg)
		m.setFilter(m.filter.input.Value())
	}
	return nil
}

// arrangeNow puts the rows in order for a key that asks for it.
func (m *Model) arrangeNow() {
	m.list.arrange()
	m.stale = false
}

// keysOf are the keys that the help line names.
func (m *Model) keysOf() []screen.Key {
	switch {
	case m.help.Open:
		return screen.HelpKeys
	case m.form != nil:
		return []screen.Key{{Name: "Enter", Does: "start"}, {Name: "Alt-Enter", Does: "new line"}, {Name: "Tab", Does: "next field"}, {Name: "Esc", Does: "leave"}}
	case m.sure != nil:
		return screen.SureKeys
	case m.asked != nil && m.asked.over() != "":
		return []screen.Key{{Name: "Esc", Does: "leave"}}
	case m.asked != nil && m.asked.typing():
		return []screen.Key{{Name: "Enter", Does: "send"}, {Name: "Esc", Does: "leave it open"}}
	case m.asked != nil:
		return []screen.Key{{Name: "1–9", Does: "choose"}, {Name: "y", Does: "allow"}, {Name: "n", Does: "reject"}, {Name: "Enter", Does: "the thread"}, {Name: "Esc", Does: "leave"}}
	case m.filter.open:
		return []screen.Key{{Name: "Enter", Does: "keep"}, {Name: "Esc", Does: "all threads"}}
	}
	if t := m.list.current(); t != nil {
		if _, ok := m.closing[t.ID]; ok {
			return slices.Concat([]screen.Key{{Name: "u", Does: "keep it"}}, m.list.keys())
		}
	}
	return m.list.keys()
}

// keys are the keys of the list without those that can do nothing now.
func (l *list) keys() []screen.Key {
	t := l.current()
	idle := l.totals().waiting == 0
	return slices.DeleteFunc(slices.Clone(listKeys), func(k screen.Key) bool {
		return idle && (k.Name == "a" || k.Name == "w") || k.Name == "r" && !t.retryable()
	})
}
