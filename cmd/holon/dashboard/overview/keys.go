package overview

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/conversation"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// allKeys is the page of help.
var allKeys = []screen.Key{
	{Name: "↑ ↓  j k", Does: "select a thread"},
	{Name: "PgUp PgDn", Does: "a page"},
	{Name: "g G  Home End", Does: "the first, the last"},
	{Name: "Enter", Does: "open the selected thread"},
	{Name: "w", Does: "select the next thread that waits for you"},
	{Name: "a", Does: "answer its question, review its result"},
	{Name: "n", Does: "start a new thread"},
	{Name: "i", Does: "interrupt the turn of the thread, after a confirmation"},
	{Name: "r", Does: "retry a turn that failed, was blocked or interrupted"},
	{Name: "R  D", Does: "retry all turns that ended with a restart, dismiss them"},
	{Name: screen.WakeKey, Does: "tell its agent what is new in its inbox"},
	{Name: "x", Does: "close the thread, after a confirmation if it has work …"},
	{Name: "u", Does: "… and keep it open, within 5 s; Esc keeps all"},
	{Name: "/", Does: "filter by title, agent, directory, branch, status or id"},
	{Name: "t", Does: "give the thread a title, which its agent does not replace"},
	{Name: "c", Does: "show or fold closed threads"},
	{Name: "y", Does: "copy the id of the thread"},
	{Name: "v", Does: "mark what happened while you were away as seen"},
	{Name: "Esc", Does: "leave a question, a form, the filter or this page"},
	{Name: "q  Ctrl-C", Does: "quit; agents continue"},
	{Name: "?", Does: "these keys"},
	{Does: ""},
	{Does: "While you answer"},
	{Name: "1-9", Does: "choose an option"},
	{Name: "y n", Does: "allow or approve, reject"},
	{Name: "Enter", Does: "open the thread"},
	{Name: "Esc", Does: "answer later"},
	{Does: ""},
	{Does: "What the signs mean"},
	{Name: "?", Does: "asks you something"},
	{Name: ">", Does: "works"},
	{Name: "✓", Does: "has done its last turn"},
	{Name: "!  ⊘", Does: "failed, blocked or rejected by its review"},
	{Name: "■", Does: "interrupted or stopped early"},
	{Name: "…", Does: "not told what is new"},
	{Name: "-", Does: "closed"},
	{Name: "!!", Does: "another thread works in the same directory"},
	{Name: "+3 −1", Does: "lines that the thread itself has changed"},
	{Name: "(+3 −1)", Does: "what is not committed in its directory, by anybody"},
}

// key takes a key. What is open gets it first.
func (m *Model) key(now time.Time, key tea.KeyPressMsg) []screen.Action {
	switch {
	case m.help.Open:
		m.help.Key(key.String(), m.screen.height-2)
		return nil
	case m.form != nil:
		return m.formKey(key)
	case m.naming != nil:
		actions, left := m.naming.Key(key)
		if left {
			m.naming = nil
		}
		return actions
	case m.sure != nil:
		sure := m.sure
		m.sure = nil
		return sure.Key(now, key.String())
	case m.asked != nil:
		return m.askedKey(now, key)
	case m.filter.open:
		m.filterKey(key)
		return nil
	}
	if m.list.moveKey(key, max(m.screen.rows-1, 1)) {
		m.turned = time.Time{} // now the person has chosen
		return nil
	}
	if now.Sub(m.turned) < deadFor && wasMeant(m.turnedFrom, key) {
		return say(justTurned)
	}
	return m.command(now, key)
}

// wasMeant reports whether a key may have been meant for what keys acted on before, as
// actsOn says. A key that means the same as before is not dropped: least of all one that
// opens a line to type in, since the rest of the text would be commands.
func wasMeant(from string, key tea.KeyPressMsg) bool {
	switch key.String() {
	case "/", "?", "q", "w", "c", "v", "u", "R", "D":
		return false
	case "n":
		return from == theQuestion // it rejects there
	}
	return key.Text != "" || key.String() == "enter"
}

// justTurned is said of a key that was meant for what was there until just now.
const justTurned = "This has just changed: the key did nothing."

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
		return nil
	case "n":
		return m.openForm()
	case "/":
		m.filter.begin(m.list.filter, m.list.selected)
		return nil
	case "esc":
		if len(m.closing) > 0 {
			return keepAll(m)
		}
		m.setFilter("")
		return nil
	case "c":
		if why := m.list.noClosed(); why != "" {
			return say(why)
		}
		m.list.closedShown = !m.list.closedShown
		m.arrangeNow()
		if i := slices.Index(m.list.in, closed); i >= 0 { // what was asked for comes into sight
			m.Select(m.list.rows[i].ID)
			m.offset = len(m.list.entries()) // from where the list scrolls up to it
		}
		return nil
	case "v":
		if len(m.away) == 0 {
			return say("Nothing is new since you were away.")
		}
		return m.seen()
	case "w":
		return []screen.Action{screen.Next{}}
	case "u":
		return keep(m)
	case "R", "D":
		var actions []screen.Action
		m.sure, actions = m.ended.command(now, key.String())
		return actions
	}
	if t := m.list.current(); t != nil {
		return threadCommand(m, now, t, key)
	}
	return noCommand(key)
}

// noClosed returns why c shows and hides nothing, "" if it does.
func (l *list) noClosed() string {
	switch {
	case l.filter != "":
		return "A filter shows closed threads too: Esc leaves it."
	case l.counts[closed]+l.beyond.Closed == 0:
		return "No thread is closed."
	}
	return ""
}

// noCommand reports where the keys are for a letter that does nothing.
func noCommand(key tea.KeyPressMsg) []screen.Action {
	if key.Text == "" {
		return nil
	}
	return say(screen.KeysHere)
}

// threadCommand takes the letters that are for the selected thread.
func threadCommand(m *Model, now time.Time, t *Thread, key tea.KeyPressMsg) []screen.Action {
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
	case screen.WakeKey:
		return wake(t)
	case "x":
		return m.close(now, t)
	case "t":
		if t.group() == closed {
			return say(screen.TitleStays)
		}
		m.naming = screen.NewNaming(t.ID, t.Summary.Title)
		return nil
	}
	return noCommand(key)
}

func say(text string) []screen.Action { return []screen.Action{screen.Say{Text: text}} }

// interrupt asks whether to interrupt the turn of a thread.
func interrupt(t *Thread) (*screen.Sure, []screen.Action) {
	if !t.interruptible() {
		why := "Nothing to interrupt: " + t.title() + " does not work."
		if t.onlyQueued() {
			why = "Nothing to interrupt: no turn of " + t.title() + " has started. x closes it, with what is queued."
		} else if t.inReview() {
			why = t.title() + " waits for a review. If it works on, i on its page interrupts that: Enter opens it."
		}
		return nil, say(why)
	}
	return screen.SureInterrupt(t.title(), t.Summary.TurnID), nil
}

func retry(t *Thread) []screen.Action {
	if !t.retryable() {
		return say(screen.NothingToRetry)
	}
	return []screen.Action{screen.Retry{Turn: t.Summary.TurnID}}
}

// wake makes the server tell a thread what is new in its inbox.
func wake(t *Thread) []screen.Action {
	if t.notTold(time.UTC) == "" {
		return say(screen.NothingToTell)
	}
	return []screen.Action{screen.Wake{Thread: t.ID}}
}

// close closes a thread soon, unless the person changes their mind. If that interrupts
// work, it asks first.
func (m *Model) close(now time.Time, t *Thread) []screen.Action {
	if t.group() == closed {
		return say("It is closed already.")
	}
	if _, ok := m.closing.of(t.ID); ok {
		return nil
	}
	closes := func(now time.Time) []screen.Action {
		m.closing.add(t.ID, now.Add(undoTime))
		return say("Closing “" + t.title() + "”. u keeps it.")
	}
	if t.group() <= working || t.Summary.Queued > 0 {
		does := screen.Interrupts
		if t.inReview() {
			does = screen.Blocks
		} else if t.onlyQueued() || t.group() > working {
			does = screen.DropsQueue
		}
		m.sure = screen.SureClose(t.title(), does, closes)
		return nil
	}
	return closes(now)
}

// paste puts a pasted text where the person types: all of it, or nothing if it is too
// long. It never sends anything.
func (m *Model) paste(msg tea.PasteMsg) []screen.Action {
	switch {
	case m.form != nil:
		return m.form.paste(msg)
	case m.naming != nil:
		if why := m.naming.Paste(msg); why != "" {
			return say(why)
		}
	case m.asked != nil && m.asked.ask != nil:
		if !m.asked.ask.Paste(msg.Content) {
			return say(conversation.TooLong(msg.Content) + ".")
		}
	case m.filter.open && !screen.Fits(m.filter.input, msg.Content):
		return say("That is too long for a filter.")
	case m.filter.open:
		m.filter.input, _ = m.filter.input.Update(msg)
		m.setFilter(m.filter.input.Value())
	case m.asked == nil && m.sure == nil && !m.help.Open:
		return say("Nothing is typed here: n starts a thread, Enter opens one to write in it.")
	}
	return nil
}

// arrangeNow puts the rows in order for a key that asks for it.
func (m *Model) arrangeNow() {
	m.list.arrange()
	m.stale = false
}

// keysOf returns the keys that the help line names.
func (m *Model) keysOf() []screen.Key {
	switch {
	case m.help.Open:
		return screen.HelpKeys
	case m.form != nil:
		return []screen.Key{{Name: "Enter", Does: "start"}, {Name: "Alt-Enter", Does: "new line"}, {Name: "Tab", Does: "next field"}, {Name: "Esc", Does: "leave"}}
	case m.naming != nil:
		return screen.NamingKeys
	case m.sure != nil:
		return m.sure.Keys
	case m.asked != nil && m.asked.over() != "":
		return []screen.Key{{Name: "Esc", Does: "leave"}}
	case m.asked != nil && m.asked.ask != nil:
		return m.asked.ask.Keys()
	case m.asked != nil: // it is being read
		return []screen.Key{{Name: "Esc", Does: "later"}}
	case m.filter.open:
		return []screen.Key{{Name: "Enter", Does: "keep"}, {Name: "Esc", Does: "all threads"}}
	}
	if len(m.closing) > 0 {
		return slices.Concat([]screen.Key{{Name: "u", Does: "keep it"}}, m.list.keys())
	}
	return m.list.keys()
}

// keys returns the keys of the list that do something for the selected thread, in the order of the
// help line, which names as many as fit: what matters most where the thread is comes first.
func (l *list) keys() (keys []screen.Key) {
	add := func(does bool, name, what, short string) {
		if does {
			keys = append(keys, screen.Key{Name: name, Does: what, Short: short})
		}
	}
	t, n := l.current(), l.totals()
	needed := n.NeedsYou + n.stuck
	asks, is := t != nil && t.group() == needsYou, t != nil
	waits := asks || is && t.stuck()
	add(asks && t.inReview(), "a", "review", "")
	add(asks && !t.inReview(), "a", "answer", "")
	add(needed > 0 && !waits, "w", "what waits", "waits")
	add(is, "Enter", "open", "")
	add(needed > 1 && waits, "w", "next that waits", "next")
	add(is && t.notTold(time.UTC) != "", screen.WakeKey, "tell it", "tell")
	add(t.retryable(), "r", "retry", "")
	add(true, "n", "new", "")
	add(is && t.interruptible(), "i", "interrupt", "")
	add(is && t.group() != closed, "x", "close", "")
	add(true, "/", "filter", "")
	add(is && t.group() != closed, "t", "title", "")
	add(true, "q", "quit", "")
	add(true, "?", "keys", "")
	return keys
}
