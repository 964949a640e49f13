package items

import (
	"github.com/seed82539d15/holon/notify"
)

// Item is the row of an item and what reads return. It is the fold of the
// item's events except deltas: the text of an open item stays in the log until
// the item ends (docs/architecture.md, I2).
//
// TurnID and Attempt are zero for an item made outside any turn. TotalBytes
// is the size of the whole content if Truncated, else 0.
//
// Step, Epoch and Lineage are those of the item's creation (notify.Header) and
// never change. Without a Lineage nothing supersedes the item. Span is the seq
// of the first event of its try, 0 without a try. Superseded and SupersededBySeq
// (the marker that superseded the try) come from no event of the item. They are
// set by reads of one item, and by lists that include superseded items.
type Item struct {
	ItemID          string       `json:"item_id"`
	ThreadID        string       `json:"thread_id"`
	TurnID          string       `json:"turn_id,omitzero"`
	Attempt         int          `json:"attempt,omitzero"`
	Step            string       `json:"step,omitzero"`
	Epoch           int          `json:"epoch,omitzero"`
	Lineage         []notify.Ref `json:"lineage,omitzero"`
	Type            Kind         `json:"type"`
	Status          Status       `json:"status"`
	Content         Raw          `json:"content"`
	Truncated       bool         `json:"truncated,omitzero"`
	TotalBytes      int64        `json:"total_bytes,omitzero"`
	CreatedAt       notify.Time  `json:"created_at"`
	UpdatedAt       notify.Time  `json:"updated_at"`
	CreatedSeq      int64        `json:"created_seq"`
	UpdatedSeq      int64        `json:"updated_seq"`
	Superseded      bool         `json:"superseded,omitzero"`
	SupersededBySeq int64        `json:"superseded_by_seq,omitzero"`
	Span            int64        `json:"-"`
}

// Created is the body of item/created.
type Created struct {
	ItemID     string `json:"item_id"`
	Type       string `json:"type"`
	Status     Status `json:"status"`
	Content    Raw    `json:"content"`
	Truncated  bool   `json:"truncated,omitzero"`
	TotalBytes int64  `json:"total_bytes,omitzero"`
	Changed    *Lines `json:"changed,omitzero"` // by a file_change that has completed

	RequestedBy string `json:"requested_by,omitzero"` // of steered text: the named token ("token:" and its name) that sent it; "" = none

	Kind Kind `json:"-"` // of Content; if "", Apply reads it from Content
}

// Updated is the body of item/updated; it has the whole content.
type Updated struct {
	ItemID     string `json:"item_id"`
	Type       string `json:"type"`
	Status     Status `json:"status"`
	Content    Raw    `json:"content"`
	Truncated  bool   `json:"truncated,omitzero"`
	TotalBytes int64  `json:"total_bytes,omitzero"`
	Changed    *Lines `json:"changed,omitzero"` // by a file_change that has completed
}

// Deleted is the body of item/deleted.
type Deleted struct {
	ItemID string `json:"item_id"`
	Type   string `json:"type"`
	Status Status `json:"status"`
}

// Delta is the body of item/delta. Offset is the number of bytes of UTF-8 in the
// field before the text.
type Delta struct {
	ItemID string    `json:"item_id"`
	Type   string    `json:"type"`
	Delta  DeltaText `json:"delta"`
	Offset int64     `json:"offset"`
}

// DeltaText is what a Delta appends.
type DeltaText struct {
	Text string `json:"text"`
}

// Apply returns the row that the event leaves: prev with the event applied,
// or a new one for *Created. It returns nil if the event changes no row (*Delta,
// or an event of an item that does not exist). prev is not changed.
func Apply(prev *Item, h notify.Header, body any) *Item {
	if c, ok := body.(*Created); ok {
		kind := c.Kind
		if kind == "" {
			kind = kindOf(c.Content)
		}
		return &Item{
			ItemID: c.ItemID, ThreadID: h.ThreadID, TurnID: h.TurnID, Attempt: h.Attempt,
			Step: h.Step, Epoch: h.Epoch, Lineage: h.Lineage, Span: h.Span,
			Type: kind, Status: c.Status, Content: c.Content,
			Truncated: c.Truncated, TotalBytes: c.TotalBytes,
			CreatedAt: h.Timestamp, UpdatedAt: h.Timestamp, CreatedSeq: h.Seq, UpdatedSeq: h.Seq,
		}
	}
	if prev == nil {
		return nil
	}
	next := *prev
	switch b := body.(type) {
	case *Updated:
		next.Status, next.Content, next.Truncated, next.TotalBytes = b.Status, b.Content, b.Truncated, b.TotalBytes
	case *Deleted:
		next.Status = StatusDeleted
	default:
		return nil
	}
	next.UpdatedAt, next.UpdatedSeq = h.Timestamp, h.Seq
	return &next
}

// Query selects items for item/list. Empty fields select everything. Items
// come in the order of their creation, and Cursor is the created_seq after which
// the page begins, as text. Newest reverses the order: the page then begins
// before Cursor. IncludeSuperseded adds superseded items. Within leaves only items
// of its threads; nil leaves all.
type Query struct {
	Within            notify.Members
	ThreadID          string
	TurnID            string
	Status            Status
	Type              Kind
	Cursor            string
	Limit             int
	Newest            bool
	IncludeSuperseded bool
}
