package persist

import (
	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// readRecent reads what Now needs for the status that the summary has.
func (o *ownSummary) readRecent() (r turns.Recent, err error) {
	switch o.out.Status {
	case turns.SummaryWaiting:
	case turns.SummaryWorking:
		if o.active != nil {
			r, err = o.readWork()
		}
	default:
		r.Last, err = o.readLast()
	}
	return r, err
}

// readWork finds what the active turn does.
func (o *ownSummary) readWork() (turns.Recent, error) {
	r := turns.Recent{Active: true, Retry: o.active.Retry}
	var err error
	if o.saying != "" {
		if r.Saying, err = o.lastLine(o.saying); err != nil {
			return r, err
		}
	}
	if r.Saying != "" || o.out.Doing != nil {
		return r, nil
	}
	if r.Newest, err = o.newest(); err != nil || r.Newest != "" || o.out.Progress != "" {
		return r, err
	}
	r.Woken, err = o.woken()
	return r, err
}

// newest returns the active turn's newest message or tool, unless the turn's progress is newer.
func (o *ownSummary) newest() (text string, err error) {
	err = o.messagesAndTools(o.active.CreatedSeq, func(b *items.Brief) error {
		if b.TurnID != o.active.TurnID {
			return nil
		}
		if o.out.Progress != "" && b.UpdatedSeq < o.active.UpdatedSeq {
			return ledger.ErrEnough
		}
		if b.Type == items.KindAgentMessage {
			text, err = o.lastLine(b.ItemID)
		} else if c, e := o.content(b.ItemID); e == nil {
			text = turns.DoingOf(b.ItemID, c).Line()
		} else {
			err = e
		}
		if err == nil && text != "" {
			return ledger.ErrEnough
		}
		return err
	})
	return text, err
}

// woken counts the inbox entries that have woken the active turn.
func (o *ownSummary) woken() (n int, err error) {
	err = o.s.Scan(ledger.Range{Index: items.Input, Prefix: []any{o.active.TurnID}}, func(v ledger.Values) error {
		c, err := items.Decode(items.Read(v).Content)
		if m, ok := c.(items.UserMessage); ok && m.Origin == items.OriginWake {
			n = len(m.Entries)
		}
		if err != nil {
			return err
		}
		return ledger.ErrEnough
	})
	return n, err
}

// readLast finds the agent's last live text: among the newest items, else what the last
// turn ended with.
func (o *ownSummary) readLast() (text string, err error) {
	if err := o.messagesAndTools(0, func(b *items.Brief) error {
		if b.Type != items.KindAgentMessage {
			return nil
		}
		if b.Status.Open() { // of no turn
			text, err = o.lastLine(b.ItemID)
		} else {
			var said string
			_, said, err = o.said(b.ItemID)
			text = sanitize.Line(said, turns.MaxSummaryText)
		}
		if err == nil && text != "" {
			return ledger.ErrEnough
		}
		return err
	}); err != nil || text != "" || o.last == nil {
		return text, err
	}
	t, err := one(o.s, turns.Read, turns.ByID, o.last.TurnID)
	if err == nil && t != nil && t.State == turns.Completed {
		text = sanitize.Line(t.Message, turns.MaxSummaryText)
	}
	return text, err
}

// messagesAndTools calls f with the live messages and tools among the thread's newest
// items that were created after a seq, the newest first.
func (o *ownSummary) messagesAndTools(after int64, f func(*items.Brief) error) error {
	looked := 0
	return o.s.Scan(ledger.Range{Index: items.BriefOfThread, Prefix: []any{o.t.ThreadID}, Until: after, Newest: true}, func(v ledger.Values) error {
		b := items.ReadBrief(v)
		if looked++; looked > turns.MaxSummaryItems {
			return ledger.ErrEnough
		}
		if b.Status == items.StatusDeleted || b.Type != items.KindAgentMessage && !isTool(b.Type) {
			return nil
		}
		it := items.Item{CreatedSeq: b.CreatedSeq, Span: b.Span}
		if err := o.tries.lineage(&it); err != nil || it.Superseded {
			return err
		}
		return f(&b)
	})
}

func isTool(k items.Kind) bool {
	return k == items.KindToolCall || k == items.KindCommandExecution || k == items.KindFileChange
}

// What is read of the end of a growing message: at first, more than a line needs, and at
// most, which is not enough for a message that is mostly blank.
const (
	someTail  = 512 // bytes
	maxTail   = 8 << 10
	maxDeltas = 1000
)

// lastLine returns the last line of a message, with what is in the log of one that still
// grows: only its end is read.
func (o *ownSummary) lastLine(itemID string) (string, error) {
	it, text, err := o.said(itemID)
	if err != nil || it == nil || !it.Status.Open() {
		line, _ := turns.LastLine(end(text))
		return line, err
	}
	var deltas []string // the newest first
	size, look := 0, someTail
	join := func(before string) (string, bool) {
		all := []byte(before)
		for i := len(deltas) - 1; i >= 0; i-- {
			all = append(all, deltas[i]...)
		}
		return turns.LastLine(string(all))
	}
	line, whole := "", false
	if err := o.s.Scan(ledger.Range{Index: items.Deltas, Prefix: []any{itemID}, Until: it.UpdatedSeq, Newest: true}, func(v ledger.Values) error {
		var d items.Delta
		if err := json.Unmarshal(v.Blob(0), &d); err != nil {
			return err
		}
		deltas, size = append(deltas, d.Delta.Text), size+len(d.Delta.Text)
		if size < look && len(deltas) < maxDeltas {
			return nil
		}
		look *= 2
		if line, whole = join(""); whole || size > maxTail || len(deltas) == maxDeltas {
			whole = true
			return ledger.ErrEnough
		}
		return nil
	}); err != nil || whole {
		return line, err
	}
	line, _ = join(end(text)) // the log has no more
	return line, nil
}

// end returns the end of a text.
func end(text string) string { return text[max(0, len(text)-maxTail):] }

// said reads a message and its text as its row has it.
func (o *ownSummary) said(itemID string) (*items.Item, string, error) {
	it, err := one(o.s, itemOf, items.ByID, itemID)
	if err != nil || it == nil {
		return nil, "", err
	}
	c, err := items.Decode(it.Content)
	text, _ := items.TextOf(c)
	return it, text, err
}
