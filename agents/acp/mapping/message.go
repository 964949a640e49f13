package mapping

import (
	"hash/maphash"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// maxTold is how many messages with an id are remembered, to know a message
// that the agent repeats whole.
const maxTold = 64

// speech is the message or thought that is being said. item is "" as long as
// nothing can be said: of none, or of one that has begun with half a character.
type speech struct {
	item string
	half rune // of a character, which the last piece has ended with; 0 = none
	kind items.Kind
	id   string
	text *items.Text // kept only for raw, which the end puts beside the text
	raw  rawList
	of   *spoken // nil without an id
}

// spoken is how much has been said of a message with an id, in however many
// items: enough to know whether a repetition says more.
type spoken struct {
	kind items.Kind
	id   string
	size int
	hash maphash.Hash
}

func (t *spoken) add(text string) {
	t.size += len(text)
	t.hash.WriteString(text)
}

// begins reports whether text begins with what has been said.
func (t *spoken) begins(text string) bool {
	return len(text) >= t.size && maphash.String(t.hash.Seed(), text[:t.size]) == t.hash.Sum64()
}

// chunk maps a piece of a message or thought: text is appended to the item
// that is being said, anything else is an item of its own between two.
func (s *Session) chunk(kind items.Kind, c chunk, raw jsontext.Value) {
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
		s.strange(c.Kind, raw)
		return
	}
	if text == "" {
		return
	}
	s.speak(kind, id)
	text, s.speech.half = join(s.speech.half, block.Text, text)
	s.say(kind, id, text, raw)
}

// speak makes the message or thought of this kind and id the one that is being
// said. Without ids, whatever ends the speech (a tool call seen first, a
// question, the end of the prompt) ends the message.
func (s *Session) speak(kind items.Kind, id string) {
	sp := &s.speech
	if sp.kind != kind || sp.id != id {
		s.endSpeech(items.StatusCompleted)
	}
	sp.kind, sp.id = kind, id
}

// say appends text to what is being said, or begins anew when the kind or the
// message id is another. raw is the update that says it, nil for none.
func (s *Session) say(kind items.Kind, id, text string, raw jsontext.Value) {
	if text == "" && s.speech.half == 0 {
		return
	}
	s.speak(kind, id)
	sp := &s.speech
	if s.o.KeepRaw && raw != nil {
		sp.raw.add(raw)
	}
	if text == "" {
		return
	}
	begins := sp.item == ""
	if begins {
		sp.item, sp.of = items.NewID(), s.spokenOf(kind, id, true)
	}
	if sp.of != nil {
		sp.of.add(text)
	}
	if s.o.KeepRaw {
		if sp.text == nil {
			sp.text = items.NewText("", maxKept)
		}
		sp.text.Add(text)
	}
	if begins {
		s.emit(items.Create{ItemID: sp.item, Content: withRaw(said(kind, text), sp.raw.list())})
		return
	}
	s.emit(items.Append{ItemID: sp.item, Text: text})
}

// endSpeech ends the message or thought that is being said, if any.
func (s *Session) endSpeech(status items.Status) {
	sp := &s.speech
	if sp.half != 0 { // the other half does not come
		sp.half = 0
		s.say(sp.kind, sp.id, replacement, nil)
	}
	if sp.item == "" {
		*sp = speech{}
		return
	}
	end := items.Update{ItemID: sp.item, Status: status}
	if s.o.KeepRaw {
		end.Content = withRaw(said(sp.kind, sp.text.String()), sp.raw.list())
	}
	s.emit(end)
	*sp = speech{}
}

// wholeMessage maps the messages of version 2 that come whole: what is new of
// one that has been said already is appended, another text takes its place.
func (s *Session) wholeMessage(kind items.Kind, f fields, raw jsontext.Value) bool {
	id := f.text("messageId")
	if id == "" {
		return false
	}
	if _, told := f["content"]; !told {
		return s.spokenOf(kind, id, false) != nil // nothing of it has changed
	}
	blocks, ok := f.list("content")
	if !ok && f.has("content") {
		return false
	}
	text := ""
	for _, b := range blocks {
		t, ok := blockText(b)
		if !ok {
			return false // an image or the like: the message is kept as it came
		}
		text += t
	}
	if s.speech.kind == kind && s.speech.id == id {
		s.speech.half = 0 // the whole has it
	}
	before := s.spokenOf(kind, id, false)
	switch {
	case before == nil:
		s.say(kind, id, text, raw)
	case before.begins(text):
		s.say(kind, id, text[before.size:], raw)
	case s.speech.of == before:
		before.size = 0
		before.hash.Reset()
		before.add(text)
		if s.o.KeepRaw {
			s.speech.raw.add(raw)
			s.speech.text = items.NewText(text, maxKept)
		}
		s.emit(items.Update{ItemID: s.speech.item, Content: withRaw(said(kind, text), s.speech.raw.list())})
	default: // what has ended stays; the correction stands after it
		s.endSpeech(items.StatusCompleted)
		before.size = 0
		before.hash.Reset()
		s.say(kind, id, text, raw)
	}
	return true
}

// spokenOf finds what has been said of a message; without an id nil.
func (s *Session) spokenOf(kind items.Kind, id string, add bool) *spoken {
	if id == "" {
		return nil
	}
	for i := len(s.told) - 1; i >= 0; i-- {
		if t := s.told[i]; t.id == id && t.kind == kind {
			return t
		}
	}
	if !add {
		return nil
	}
	if len(s.told) == maxTold {
		s.told = append(s.told[:0], s.told[1:]...)
	}
	t := &spoken{kind: kind, id: id}
	s.told = append(s.told, t)
	return t
}

func said(kind items.Kind, text string) items.Content {
	if kind == items.KindReasoning {
		return items.Reasoning{Type: items.KindReasoning, Text: text}
	}
	return items.NewAgentMessage(text)
}

// blockText is the text of a content block; ok is false for every other block.
func blockText(raw jsontext.Value) (text string, ok bool) {
	f, err := fieldsOf(raw)
	if err != nil || f.text("type") != "text" {
		return "", false
	}
	return textOf(f["text"])
}
