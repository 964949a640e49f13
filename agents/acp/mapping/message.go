package mapping

import (
	"hash/maphash"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/mend"
	"github.com/seed82539d15/holon/items"
)

// maxRecent is how many messages with an id are remembered, to recognize a
// message that the agent repeats whole.
const maxRecent = 64

// messages maps messages and thoughts, one of which is open at a time.
type messages struct {
	out    *output
	open   openMessage
	recent []*sentMessage // the newest with an id
}

// openMessage is the message or thought that is being received. item is "" as
// long as it has no item: no message is open, or it has begun with half a
// character.
type openMessage struct {
	item string
	half rune // half of a character at the end of the last piece; 0 = none
	kind items.Kind
	id   string
	text *items.Text // kept only for raw, which end adds to the text
	raw  rawList
	sent *sentMessage // nil without an id
}

// sentMessage is how much the agent has sent of a message with an id, in any
// number of items: enough to see whether a repetition has more.
type sentMessage struct {
	kind items.Kind
	id   string
	size int
	hash maphash.Hash
}

func (t *sentMessage) add(text string) {
	t.size += len(text)
	t.hash.WriteString(text)
}

// reset sets the sent text.
func (t *sentMessage) reset(text string) {
	t.size = 0
	t.hash.Reset()
	t.add(text)
}

// begins reports whether text begins with the sent text.
func (t *sentMessage) begins(text string) bool {
	return len(text) >= t.size && maphash.String(t.hash.Seed(), text[:t.size]) == t.hash.Sum64()
}

// chunk maps a piece of a message or thought: text is appended to the open
// item. It reports false for other content, which becomes a separate item, and for what
// is no content at all.
func (m *messages) chunk(kind items.Kind, c chunk, raw jsontext.Value) bool {
	var block struct {
		Type string         `json:"type"`
		Text jsontext.Value `json:"text"`
	}
	text, ok := "", false
	if err := unmarshal(c.Content, &block); err == nil && block.Type == "text" {
		text, ok = textOf(block.Text)
	}
	id, isText := textOf(c.MessageID)
	if !ok || present(c.MessageID) && !isText {
		if block.Type != "" && block.Type != "text" {
			m.between(kind, id)
		}
		return false
	}
	if text == "" {
		return true
	}
	m.turnTo(kind, id)
	text, m.open.half = mend.Join(m.open.half, block.Text, text)
	m.append(kind, id, text, raw)
	return true
}

// turnTo makes the message or thought of this kind and id the open one.
func (m *messages) turnTo(kind items.Kind, id string) {
	if m.open.kind != kind || m.open.id != id {
		m.end(items.StatusCompleted)
	}
	m.open.kind, m.open.id = kind, id
}

// between follows content that is no text, of a message or thought of this kind and id. A
// message with an id goes on behind its own. One without an id ends: nothing else would
// say that the next text begins another.
func (m *messages) between(kind items.Kind, id string) {
	if id == "" || m.open.kind != kind || m.open.id != id {
		m.end(items.StatusCompleted)
	}
}

// beside follows content that belongs to no message: a new tool call, a question.
func (m *messages) beside() { m.between(m.open.kind, m.open.id) }

// append appends text to the open message, or opens a new one if the kind or
// the message id differs. raw is the update with the text, nil for none.
func (m *messages) append(kind items.Kind, id, text string, raw jsontext.Value) {
	open := &m.open
	if text == "" && open.half == 0 {
		return
	}
	m.turnTo(kind, id)
	if m.out.keepRaw && raw != nil {
		open.raw.add(raw)
	}
	if text == "" {
		return
	}
	begins := open.item == ""
	if begins {
		open.item, open.sent = items.NewID(), m.sent(kind, id)
		if id != "" && open.sent == nil {
			open.sent = m.remember(kind, id)
		}
	}
	if open.sent != nil {
		open.sent.add(text)
	}
	if m.out.keepRaw {
		if open.text == nil {
			open.text = items.NewText("", maxKept)
		}
		open.text.Add(text)
	}
	if begins {
		m.out.emit(items.Create{ItemID: open.item, Content: withRaw(contentOf(kind, text), open.raw.list())})
		return
	}
	m.out.emit(items.Append{ItemID: open.item, Text: text})
}

// end ends the open message or thought, if any.
func (m *messages) end(status items.Status) {
	open := &m.open
	if open.half != 0 { // the other half does not come
		open.half = 0
		m.append(open.kind, open.id, mend.Replacement, nil)
	}
	if open.item == "" {
		*open = openMessage{}
		return
	}
	end := items.Update{ItemID: open.item, Status: status}
	if m.out.keepRaw {
		end.Content = withRaw(contentOf(open.kind, open.text.String()), open.raw.list())
	}
	m.out.emit(end)
	*open = openMessage{}
}

// whole maps the messages of version 2, which come whole. If the agent has sent
// part of the message, the rest is appended; a different text replaces it. It
// reports false for a message that is to be kept as received.
func (m *messages) whole(kind items.Kind, f fields, raw jsontext.Value) bool {
	id := f.text("messageId")
	if id == "" {
		m.between(kind, id)
		return false
	}
	before := m.sent(kind, id)
	if _, given := f["content"]; !given {
		return before != nil // nothing of it has changed
	}
	blocks, ok := f.list("content")
	if !ok && f.has("content") {
		return false
	}
	text := ""
	for _, b := range blocks {
		t, ok := blockText(b)
		if !ok {
			m.between(kind, id)
			return false // an image or the like: the message is kept as received
		}
		text += t
	}
	if m.open.kind == kind && m.open.id == id {
		m.open.half = 0 // the whole text has it
	}
	switch {
	case before == nil:
		m.append(kind, id, text, raw)
	case before.begins(text):
		m.append(kind, id, text[before.size:], raw)
	case m.open.sent == before:
		before.reset(text)
		if m.out.keepRaw {
			m.open.raw.add(raw)
			m.open.text = items.NewText(text, maxKept)
		}
		m.out.emit(items.Update{ItemID: m.open.item, Content: withRaw(contentOf(kind, text), m.open.raw.list())})
	default: // the ended item stays; the correction follows it
		m.end(items.StatusCompleted)
		before.reset("")
		m.append(kind, id, text, raw)
	}
	return true
}

// sent finds what the agent has sent of a message; nil = nothing, or it has no
// id.
func (m *messages) sent(kind items.Kind, id string) *sentMessage {
	if id == "" {
		return nil
	}
	for i := len(m.recent) - 1; i >= 0; i-- {
		if t := m.recent[i]; t.id == id && t.kind == kind {
			return t
		}
	}
	return nil
}

// remember starts to track a message, in place of the oldest one.
func (m *messages) remember(kind items.Kind, id string) *sentMessage {
	if len(m.recent) == maxRecent {
		m.recent = append(m.recent[:0], m.recent[1:]...)
	}
	t := &sentMessage{kind: kind, id: id}
	m.recent = append(m.recent, t)
	return t
}

func contentOf(kind items.Kind, text string) items.Content {
	if kind == items.KindReasoning {
		return items.Reasoning{Type: items.KindReasoning, Text: text}
	}
	return items.NewAgentMessage(text)
}

// blockText returns the text of a content block; ok is false for every other block.
func blockText(raw jsontext.Value) (text string, ok bool) {
	f, err := fieldsOf(raw)
	if err != nil || f.text("type") != "text" {
		return "", false
	}
	return textOf(f["text"])
}
