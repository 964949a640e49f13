package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
)

// openItem is an item of the active turn that has not ended: its row, its
// content and, if it streams, the text so far.
type openItem struct {
	row      *items.Item
	span     *notify.Span // the try that created it; nil without a lineage
	content  items.Content
	text     *items.Text      // nil if the kind does not stream
	question *pendingQuestion // of a question whose agent waits for the answer
	expires  time.Time        // of a question; zero = never
	shared   bool             // text is shared with another state: it must be copied before it grows
	number   int              // of an agent's message: its number among those of the turn, from 1
	cut      int64            // the size of the whole content, if content is what the log has kept of it; else 0
}

// scope returns the scope of the item's events.
func (o *openItem) scope() scope { return scope{o.span, o.row.Attempt} }

// isInput reports whether the item is a user message.
func (o *openItem) isInput() bool { return o.row.Type == items.KindUserMessage }

// contentOverhead is what content takes at least besides its text: names, quotes
// and the line that says what was left out.
const contentOverhead = 256

func newOpenItem(row *items.Item, span *notify.Span, content items.Content, maxBytes int) *openItem {
	o := &openItem{row: row, span: span}
	o.setContent(content, maxBytes)
	o.expires, _ = items.Expiry(content)
	if o.text != nil && row != nil && row.Truncated {
		o.text = items.ResumeText(o.text.String(), row.TotalBytes-o.sizeWithoutText(), o.text.Max())
	}
	return o
}

// setContent sets the content, including its text.
func (o *openItem) setContent(content items.Content, maxBytes int) {
	o.content, o.text, o.cut = content, nil, 0
	text, ok := items.TextOf(content)
	if !ok || !content.Kind().Streams() {
		return
	}
	// The text gets what the rest of the content leaves. The rest of a message is
	// negligible, and messages are frequent.
	rest := contentOverhead
	if content.Kind() != items.KindAgentMessage {
		if raw, err := items.Encode(items.WithoutRaw(items.WithText(content, ""))); err == nil { // encode reports the error
			rest += len(raw)
		}
	}
	// Offsets count what is stored, and only UTF-8 is.
	o.text = items.NewText(strings.ToValidUTF8(text, "\uFFFD"), max(0, maxBytes-rest))
}

// sizeWithoutText returns the encoded size of the content without its text.
func (o *openItem) sizeWithoutText() int64 {
	raw, err := items.Encode(items.WithText(o.content, ""))
	if err != nil {
		return 0 // cannot happen: the content was decoded before
	}
	return int64(len(raw))
}

// encoded is content as it is stored. total is the size of the whole content if
// it is truncated, else 0.
type encoded struct {
	raw       items.Raw
	truncated bool
	total     int64
}

func fit(c items.Content, maxBytes int) (e encoded, err error) {
	e.raw, e.truncated, e.total, err = items.Fit(c, maxBytes)
	return e, err
}

// fit encodes a content that was made from the current one within the bound.
func (o *openItem) fit(c items.Content, maxBytes int) (encoded, error) {
	e, err := fit(c, maxBytes)
	if !e.truncated && o.cut > 0 {
		e.truncated, e.total = true, o.cut
	}
	return e, err
}

// encode encodes the current content, with its text, within the bound.
func (o *openItem) encode(maxBytes int) (encoded, error) {
	c := o.content
	if o.text != nil {
		c = items.WithText(c, o.text.String())
	}
	e, err := o.fit(c, maxBytes)
	if o.text != nil && o.text.Truncated() {
		bare, err := items.Encode(items.WithText(o.content, ""))
		if err != nil {
			return e, err
		}
		e.truncated, e.total = true, int64(len(bare))+o.text.Total()
	}
	return e, err
}

// appendText adds text to the item. offset is where it begins; fits is false if
// the item's bound cuts it.
func (o *openItem) appendText(text string) (offset int64, fits bool) {
	if o.shared {
		o.text, o.shared = o.text.Clone(), false
	}
	offset = o.text.Len()
	return offset, o.text.Add(text)
}

// openItems are the open items of a turn in the order of their creation.
type openItems struct {
	byID     map[string]*openItem
	list     []*openItem
	messages int         // messages of the agent so far
	last     lastMessage // the last of them that has ended
}

// clone copies the items. Texts are shared until they grow.
func (s *openItems) clone() *openItems {
	next := &openItems{
		byID: make(map[string]*openItem, len(s.list)), list: slices.Clone(s.list), messages: s.messages, last: s.last,
	}
	for i, o := range s.list {
		cp := *o
		cp.shared = o.text != nil
		next.list[i], next.byID[o.row.ItemID] = &cp, &cp
	}
	return next
}

// unshareTexts notes that the state from which the items were cloned is gone, so
// that texts are no longer shared.
func (s *openItems) unshareTexts() {
	for _, o := range s.list {
		o.shared = false
	}
}

func (s *openItems) get(id string) *openItem { return s.byID[id] }

func (s *openItems) add(o *openItem) {
	s.count(o)
	if s.byID == nil {
		s.byID = map[string]*openItem{}
	}
	s.byID[o.row.ItemID] = o
	s.list = append(s.list, o)
}

// count numbers an agent's message.
func (s *openItems) count(o *openItem) {
	if o.row.Type == items.KindAgentMessage {
		s.messages++
		o.number = s.messages
	}
}

func (s *openItems) remove(id string) {
	o := s.byID[id]
	if o == nil {
		return
	}
	delete(s.byID, id)
	for i := range s.list {
		if s.list[i] == o {
			s.list = append(s.list[:i:i], s.list[i+1:]...)
			return
		}
	}
}
