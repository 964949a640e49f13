package mapping

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

const (
	// maxRaw bounds the updates under raw of one item.
	maxRaw = 64 << 10
	// maxKept bounds the text kept of one item, four times the limit of an item
	// in the log (max_item_bytes, 1 MiB). Text that does not fit here does not
	// fit there, and the log says that the item is cut.
	maxKept = 4 << 20
)

// truncatedRaw replaces all updates of an item past maxRaw.
var truncatedRaw = jsontext.Value(`{"truncated":true}`)

// rawList collects the updates of one item. The zero value is ready.
type rawList struct {
	updates []items.Raw
	bytes   int
	full    bool
}

func (l *rawList) add(raw jsontext.Value) {
	if l.full {
		return
	}
	if l.bytes+len(raw) > maxRaw {
		l.full = true
		l.updates = append(l.updates, truncatedRaw)
		return
	}
	l.bytes += len(raw)
	l.updates = append(l.updates, clean(raw))
}

// list returns the collected updates; the slice does not change later.
func (l *rawList) list() []items.Raw { return l.updates[:len(l.updates):len(l.updates)] }

// withRaw adds the updates to the content they were mapped to.
func withRaw(c items.Content, raw []items.Raw) items.Content {
	if len(raw) == 0 {
		return c
	}
	switch c := c.(type) {
	case items.AgentMessage:
		c.Raw = raw
		return c
	case items.Reasoning:
		c.Raw = raw
		return c
	case items.Plan:
		c.Raw = raw
		return c
	case items.ToolCall:
		c.Raw = raw
		return c
	case items.CommandExecution:
		c.Raw = raw
		return c
	case items.FileChange:
		c.Raw = raw
		return c
	}
	return c
}
