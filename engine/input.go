package engine

import (
	"context"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// readInput reads the user messages of a turn: all of them or, if the turn went on
// after it had waited for child turns, those since. What an earlier attempt was told of
// child turns, or of answers, is left out.
func (r *rules) readInput(t *turns.Turn) ([]*openItem, error) {
	rows, err := r.log.Input(context.Background(), t.TurnID)
	if err != nil {
		return nil, err
	}
	list := make([]*openItem, 0, len(rows))
	for _, row := range rows {
		if row.Status == items.StatusDeleted || row.UpdatedSeq <= t.PromptSeq {
			continue
		}
		content, err := items.Decode(row.Content)
		if err != nil {
			return nil, err
		}
		if ofItsAttempt(content) && row.Attempt < t.Attempt {
			continue
		}
		list = append(list, &openItem{row: row, content: content})
	}
	return list, nil
}

// ofItsAttempt reports whether a user message tells what only its own attempt must know:
// the child turns of earlier attempts with their states, or answers after a restart.
func ofItsAttempt(c items.Content) bool {
	m, ok := c.(items.UserMessage)
	return ok && (m.Origin == items.OriginWake && len(m.Entries) == 0 || m.Origin == items.OriginResume)
}

// addInput adds user messages to a turn. They are never superseded. A message of the engine
// may be too large for an item: then the log has less of it than the agent. steeredBy is who has
// steered them; "" = they are not steered: the events of the turn say who asked for it.
func (w *itemWriter) addInput(turnID string, attempt int, msgs []items.UserMessage, status items.Status, steeredBy turns.By) []*items.Item {
	rows := make([]*items.Item, 0, len(msgs))
	for _, m := range msgs {
		raw, cut, total, err := items.Fit(m, w.d.rules.cfg.MaxItemBytes)
		if err != nil && w.d.change.err == nil {
			w.d.change.err = err
		}
		id := items.NewID()
		rows = append(rows, w.d.change.item(nil, turnID, notify.ItemCreated, id, scope{attempt: attempt}, &items.Created{
			ItemID: id, Type: "created", Status: status, Content: raw, Truncated: cut, TotalBytes: total, Kind: items.KindUserMessage, RequestedBy: requestedBy(steeredBy),
		}))
	}
	return rows
}

// completeInput completes the messages that no agent has received before.
func (w *itemWriter) completeInput(input []*openItem) {
	for _, o := range input {
		if o.row.Status.Open() {
			_ = w.addUpdated(o, items.StatusCompleted)
		}
	}
}

// inputItems returns user messages as the state has them.
func inputItems(rows []*items.Item, msgs []items.UserMessage) []*openItem {
	list := make([]*openItem, len(rows))
	for i, row := range rows {
		list[i] = &openItem{row: row, content: msgs[i]}
	}
	return list
}

// messages returns the contents of user messages, in their order.
func messages(input []*openItem) []items.UserMessage {
	list := make([]items.UserMessage, 0, len(input))
	for _, o := range input {
		if m, ok := o.content.(items.UserMessage); ok {
			list = append(list, m)
		}
	}
	return list
}
