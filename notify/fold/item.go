package fold

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/notify"
)

// Item is an item as its live events leave it. If none of its events is live any
// more, Live is false and the item is as it was before it was superseded. Its
// fields belong to the View and change with its next Apply.
type Item struct {
	ItemID string
	Live   bool
	Type   string // content.type; "" if the view began after it was made
	Status string
	// Content is that of the last item/created or item/updated. Text appended
	// since is only in Text.
	Content    jsontext.Value
	Truncated  bool
	CreatedSeq int64 // of its first event that was read
	UpdatedSeq int64 // of its last live event

	from  int64 // where text begins in the field
	text  []byte
	parts []itemPart
	dirty bool // a part was superseded: refold
}

type itemPart struct {
	seq    int64
	text   string // of a delta
	offset int64
	method string
	body   *Body // nil for a delta
	live   bool
}

// Text returns the text that grows by deltas: content[0].text of an agent_message,
// text of reasoning, output of tool_call and command_execution. Other kinds
// have no text. from is the offset in that field at which text begins: above 0
// if the view began in the middle of the item.
func (it *Item) Text() (text string, from int64) { return string(it.text), it.from }

// add adds an event of the item and returns its index in parts.
func (it *Item) add(e *Event, live bool) int32 {
	p := itemPart{seq: e.Seq, method: e.Method, live: live}
	if e.Method == notify.ItemDelta {
		p.text, p.offset = e.Body.Text, e.Body.Offset
	} else {
		p.body = &e.Body
	}
	if len(it.parts) == 0 {
		it.CreatedSeq, it.Live = e.Seq, live
	}
	it.parts = append(it.parts, p)
	switch {
	case live == it.Live:
		it.apply(&it.parts[len(it.parts)-1])
	case live: // a superseded item has a live event after all
		it.refold()
	}
	return int32(len(it.parts) - 1)
}

// refold rebuilds the item from its live parts, or from all if none is live.
func (it *Item) refold() {
	parts, created := it.parts, it.CreatedSeq
	wasLive := it.Live
	live := false
	for i := range parts {
		live = live || parts[i].live
	}
	it.dirty = false
	if wasLive && !live {
		it.Live = false // all else stays as it was
		return
	}
	*it = Item{ItemID: it.ItemID, Live: live, CreatedSeq: created, parts: parts}
	for i := range parts {
		if parts[i].live || !live {
			it.apply(&parts[i])
		}
	}
}

// apply folds one event.
func (it *Item) apply(p *itemPart) {
	it.UpdatedSeq = p.seq
	switch p.method {
	case notify.ItemDelta:
		it.grow(p.offset, p.text)
	case notify.ItemDeleted:
		it.Status = "deleted"
	default:
		it.Status, it.Truncated = p.body.Status, p.body.Truncated
		if len(p.body.Content) > 0 {
			var text string
			it.Content = p.body.Content
			it.Type, text = growing(it.Content)
			it.from, it.text = 0, append([]byte(nil), text...)
		}
	}
}

// grow puts text at its offset, usually the end of the text so far. If the view
// began in the middle, or a server repeats itself, the offset decides.
func (it *Item) grow(offset int64, text string) {
	switch at := offset - it.from; {
	case at == int64(len(it.text)):
	case at >= 0 && at < int64(len(it.text)):
		it.text = it.text[:at]
	default:
		it.from, it.text = offset, nil
	}
	it.text = append(it.text, text...)
}

// growing reads the type of content and the text in it that deltas append to.
func growing(content jsontext.Value) (kind, text string) {
	var head struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(content, &head, lenient) != nil {
		return "", "" // content of another shape is kept as it is
	}
	switch head.Type {
	case "agent_message":
		var c struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		}
		if json.Unmarshal(content, &c, lenient) == nil && len(c.Content) > 0 {
			text = c.Content[0].Text
		}
	case "reasoning":
		var c struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(content, &c, lenient) == nil {
			text = c.Text
		}
	case "tool_call", "command_execution":
		var c struct {
			Output string `json:"output"`
		}
		if json.Unmarshal(content, &c, lenient) == nil {
			text = c.Output
		}
	}
	return head.Type, text
}
