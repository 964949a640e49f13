package engine_test

import (
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

func kindOf(e event) items.Kind {
	c, err := items.Decode(e.Content)
	if err != nil {
		return ""
	}
	return c.Kind()
}

// item checks an event of an item against the item's life cycle.
func (c *checker) item(e event, body any) {
	c.t.Helper()
	prev := c.items[e.ItemID]
	t := c.turns[e.TurnID]
	if e.TurnID == "" {
		if prev != nil || e.Method != notify.ItemCreated || e.Attempt != 0 || e.Status.Open() {
			c.errorf(e, "an item of no turn is written ended, in one event")
			return
		}
		c.items[e.ItemID] = items.Apply(nil, e.header(), body)
		c.take(e, e.Content, e.Truncated)
		return
	}
	switch {
	case t == nil || t.ThreadID != e.ThreadID:
		c.errorf(e, "of an unknown turn")
		return
	case t.State != turns.Active && (t.State != turns.Queued || kindOf(e) != items.KindUserMessage):
		c.errorf(e, "the turn is %s", t.State)
	case t.State == turns.Queued && e.Method != notify.ItemCreated && t.Attempt == 1:
		c.errorf(e, "input of a turn that has not started")
	case (prev == nil) != (e.Method == notify.ItemCreated):
		c.errorf(e, "item/created is not the item's first event")
		return
	case prev != nil && (prev.TurnID != e.TurnID || prev.ThreadID != e.ThreadID):
		c.errorf(e, "the item is of %s", prev.TurnID)
	case prev == nil && e.Attempt != t.Attempt, prev != nil && e.Attempt != prev.Attempt, len(e.Lineage) > 0 && e.Attempt != t.Attempt:
		c.errorf(e, "attempt is %d", e.Attempt)
	case prev != nil && !slices.Equal(prev.Lineage, e.Lineage):
		c.errorf(e, "the item was made as part of %v", prev.Lineage)
	}
	next := items.Apply(prev, e.header(), body)
	switch b := body.(type) {
	case *items.Created:
		c.created(e, b, next)
	case *items.Updated:
		c.updated(e, b, prev)
	case *items.Deleted:
		if prev.Status == items.StatusDeleted {
			c.errorf(e, "is deleted already")
		}
	case *items.Delta:
		c.delta(e, b, prev)
		return
	}
	c.items[e.ItemID] = next
}

func (c *checker) created(e event, b *items.Created, it *items.Item) {
	c.t.Helper()
	c.order[e.TurnID] = append(c.order[e.TurnID], e.ItemID)
	if it.Type == "" {
		c.errorf(e, "has no content.type")
	}
	var answered struct {
		Outcome *items.Outcome `json:"outcome"`
	}
	if err := json.Unmarshal(b.Content, &answered); err != nil {
		c.errorf(e, "%v", err)
	}
	if waits := it.Type.IsQuestion() && answered.Outcome == nil; (b.Status == items.StatusPending) != waits {
		c.errorf(e, "a %s begins %s", it.Type, b.Status)
	}
	c.take(e, b.Content, b.Truncated)
}

func (c *checker) updated(e event, b *items.Updated, prev *items.Item) {
	c.t.Helper()
	reopened := prev.Type == items.KindUserMessage && prev.Status == items.StatusInterrupted && b.Status == items.StatusInProgress &&
		c.turns[e.TurnID].State == turns.Queued
	if !prev.Status.Open() && !reopened {
		c.errorf(e, "the item has ended as %s", prev.Status)
	}
	switch b.Status {
	case items.StatusCompleted, items.StatusFailed, items.StatusInterrupted, items.StatusInProgress:
		if prev.Type.IsQuestion() && b.Status != items.StatusCompleted {
			c.errorf(e, "a question becomes %s", b.Status)
		}
	case items.StatusDeclined, items.StatusCancelled:
	default:
		c.errorf(e, "has status %q", b.Status)
	}
	if kind := kindOf(e); kind != prev.Type && !b.Truncated {
		c.errorf(e, "a %s becomes a %s", prev.Type, kind)
	}
	if so := c.texts[e.ItemID]; so != nil && !b.Truncated && !c.replaces {
		content, err := items.Decode(b.Content)
		if err != nil {
			c.errorf(e, "content: %v", err)
			return
		}
		if text, _ := items.TextOf(content); text != so.text {
			c.errorf(e, "the deltas add up to %d bytes %.80q, the update has %d bytes %.80q", len(so.text), so.text, len(text), text)
		}
	}
	c.take(e, b.Content, b.Truncated)
}

// take remembers the text of an event that has the whole content.
func (c *checker) take(e event, raw items.Raw, truncated bool) {
	c.t.Helper()
	if len(raw) == 0 || (truncated && e.TotalBytes == 0) || (!truncated && e.TotalBytes != 0) {
		c.errorf(e, "content of %d bytes, truncated %v, total_bytes %d", len(raw), truncated, e.TotalBytes)
	}
	content, err := items.Decode(raw)
	if err != nil {
		c.errorf(e, "content: %v", err)
		return
	}
	if text, ok := items.TextOf(content); ok {
		c.texts[e.ItemID] = &textSoFar{text: text, cut: truncated}
	}
}

func (c *checker) delta(e event, b *items.Delta, it *items.Item) {
	c.t.Helper()
	so := c.texts[e.ItemID]
	switch {
	case so == nil || !it.Type.Streams():
		c.errorf(e, "a %s has no text", it.Type)
	case it.Status != items.StatusInProgress:
		c.errorf(e, "the item is %s", it.Status)
	case so.cut:
		c.errorf(e, "the text was cut already")
	case b.Offset != int64(len(so.text)):
		c.errorf(e, "offset %d, the text has %d bytes", b.Offset, len(so.text))
	case b.Delta.Text == "" || !utf8.ValidString(b.Delta.Text):
		c.errorf(e, "delta %q", b.Delta.Text)
	default:
		so.text += b.Delta.Text
	}
}

// folded is the item's row with the text of its deltas, as reads return it and as
// a deleted item keeps it.
func (c *checker) folded(id string) *items.Item {
	it := c.items[id]
	so := c.texts[id]
	if it == nil || so == nil || so.cut || !it.Status.Open() && it.Status != items.StatusDeleted {
		return it
	}
	content, err := items.Decode(it.Content)
	if err != nil {
		c.t.Errorf("content of %s: %v", id, err)
		return it
	}
	if text, _ := items.TextOf(content); text == so.text {
		return it
	}
	cp := *it
	if cp.Content, err = items.Encode(items.WithText(content, so.text)); err != nil {
		c.t.Errorf("content of %s: %v", id, err)
	}
	return &cp
}
