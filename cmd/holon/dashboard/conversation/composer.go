package conversation

import (
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

// composer is the line in which a person writes to the agent. A text either starts a
// turn or steers the one that runs; the person sees which when the text begins. If that
// has changed when it is sent, the text stays and the person is asked.
type composer struct {
	input     editor
	meant     aim    // what the text was begun for
	asked     bool   // the aim has changed: the next Enter sends with the new one
	outbox    string // the text that is on its way
	answer    editor // what is typed into the shown question …
	answering string // … which is this
}

// aim is what a text will do: steer a turn, or start one ("").
type aim struct {
	set  bool
	turn string
}

// draft returns the text that is written and not sent, also what is on its way.
func (c *composer) draft() string {
	if c.outbox == "" {
		return c.input.text
	}
	return strings.TrimSuffix(c.outbox+"\n"+c.input.text, "\n")
}

// aim returns what a text would do now.
func (m *Model) aim() aim {
	if t := m.turns.active(); t != nil {
		return aim{set: true, turn: t.TurnID}
	}
	return aim{set: true}
}

// begun notes what the text is for when its first character comes.
func (m *Model) begun() {
	switch {
	case strings.TrimSpace(m.input.text) == "":
		m.meant, m.asked = aim{}, false
	case !m.meant.set:
		m.meant = m.aim()
	}
}

// ask returns the question about a text whose aim has changed, "" if there is none.
func (m *Model) ask() string {
	switch {
	case !m.asked:
		return ""
	case m.aim().turn == "":
		return "The turn has ended. Enter starts a new turn with this text; Esc keeps it here."
	case m.meant.turn == "":
		return "A turn has begun meanwhile. Enter steers it with this text; Esc keeps it here."
	}
	return "Another turn runs now. Enter steers it with this text; Esc keeps it here."
}

// submit sends the text, or asks first.
func (h keyboard) submit() []screen.Action {
	text := strings.TrimSpace(h.m.input.text)
	switch {
	case text == "":
		return nil
	case text == helpCommand:
		h.m.input.set("")
		h.m.help.Open = true
		return nil
	case h.m.outbox != "":
		h.m.status = "The text before is still on its way."
		return nil
	case !h.m.loader.ready:
		h.m.status = "The thread is still being read."
		return nil
	case h.m.thread.State == "closed":
		h.m.status = "The thread is closed: the text stays here."
		return nil
	}
	now := h.m.aim()
	if h.m.meant.set && h.m.meant != now && !h.m.asked {
		h.m.asked = true
		return nil
	}
	h.m.outbox = h.m.input.text
	h.m.input.set("")
	h.m.meant, h.m.asked = aim{}, false
	h.m.view.toEnd()
	if now.turn != "" {
		return []screen.Action{screen.Steer{Turn: now.turn, Text: text}}
	}
	return []screen.Action{screen.Start{Thread: h.m.options.Thread, Text: text}}
}

// sent takes the answer to a submit. A text that was not taken is put back.
func (m *Model) sent(d screen.Done) {
	text := m.outbox
	m.outbox = ""
	if d.Err == nil {
		return
	}
	if rest := m.input.text; rest != "" {
		text += "\n" + rest
	}
	m.input.set(text)
	m.meant = m.aim()
	if steer, ok := d.Action.(screen.Steer); ok && client.IsKind(d.Err, "turn_not_active") {
		m.meant, m.asked = aim{set: true, turn: steer.Turn}, true
		return
	}
	m.status = "Not sent, the text stays. " + screen.Words(d.Err)
}

// paste puts a pasted text where a person types. It never submits.
func (h keyboard) paste(text string) {
	h.m.status = ""
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	if h.m.focus == onQuestion && h.m.typing() {
		if !h.m.answer.insert(strings.ReplaceAll(text, "\n", " ")) {
			h.m.status = TooLong(text) + "."
		}
		return
	}
	h.write()
	if !h.m.input.insert(text) {
		h.m.status = TooLong(text) + ": holon run --thread " + h.m.options.Thread + " - < FILE"
	}
	h.m.begun()
}

// typing reports whether the shown question takes a typed answer.
func (m *Model) typing() bool {
	q := m.asks.front()
	return q != nil && q.typed()
}
