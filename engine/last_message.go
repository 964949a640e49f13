package engine

import (
	"context"
	"strings"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// lastMessage is the agent's last message that has ended; one that is still open
// is among the open items. Messages are ordered by creation. The zero value means
// that there is none.
type lastMessage struct {
	number int          // of the message within the turn, from 1
	span   *notify.Span // the try that created it
	said   items.Said   // its text is bounded by MaxEndMessageBytes
	inLog  bool         // this message is superseded, deleted or unknown: the last one must be read from the log
}

// resumeFromLog restores the state of the open items of a turn that was read from the log.
// Messages that have ended may be newer than the open ones, so the last one is read
// from the log until the agent creates another.
func (s *openItems) resumeFromLog() {
	s.messages++
	s.last = lastMessage{number: s.messages, inLog: true}
}

// noteEnded records an agent's message that has ended.
func (s *openItems) noteEnded(o *openItem) {
	if o.row.Type != items.KindAgentMessage || o.number < s.last.number {
		return
	}
	if said := o.endMessage(); said.Text != "" {
		s.last = lastMessage{number: o.number, span: o.span, said: said}
	}
}

// endMessage returns the message of the item for the end of the turn; the zero value if it has
// no text.
func (o *openItem) endMessage() items.Said {
	said := items.SaidIn(o.content)
	if o.text != nil {
		said.Text = o.text.String()
	}
	if strings.TrimSpace(said.Text) == "" {
		return items.Said{}
	}
	cut := items.NewText(said.Text, turns.MaxEndMessageBytes)
	said.Text, said.Truncated = cut.String(), o.row.Truncated || cut.Truncated() || o.text != nil && o.text.Truncated()
	return said
}

// supersede follows the marker of a path: if the last message was part of it,
// another one is the last. With an attempt all messages are superseded.
func (s *openItems) supersede(path string) {
	switch {
	case path == "":
		s.last = lastMessage{}
	case s.last.span != nil && covers(path, s.last.span.Step):
		s.last.inLog = true
	}
}

// endMessage returns the agent's last message in the live attempt and steps. It reads
// the log only if a message was deleted or superseded, or if the server was
// restarted during the turn. The unit must be committed before it then: see
// readsLogForMessage.
func (w *itemWriter) endMessage() items.Said {
	open := w.d.active().open
	for i := len(open.list) - 1; i >= 0; i-- {
		o := open.list[i]
		if o.row.Type != items.KindAgentMessage {
			continue
		}
		if o.number < open.last.number {
			break
		}
		if said := o.endMessage(); said.Text != "" {
			return said
		}
	}
	if !open.last.inLog {
		return open.last.said
	}
	act := w.d.active()
	row, err := w.d.rules.log.LastMessage(context.Background(), act.turn.TurnID)
	if err != nil { // the turn must end without it
		w.d.rules.zap.Warn("read the last message of a turn", zap.String("turn_id", act.turn.TurnID), zap.Error(err))
	}
	if err != nil || row == nil {
		return items.Said{}
	}
	content, err := items.Decode(row.Content)
	if err != nil {
		w.d.rules.zap.Warn("read the last message of a turn", zap.String("turn_id", act.turn.TurnID), zap.Error(err))
		return items.Said{}
	}
	o := open.get(row.ItemID)
	if o == nil {
		o = &openItem{row: row, content: content}
	}
	return o.endMessage()
}

// readsLogForMessage reports whether the end of the turn has to read its message
// from the log, and the unit has events that must be committed before.
func (w *itemWriter) readsLogForMessage() bool {
	return w.d.active().open.last.inLog && w.d.change.events() > 0
}
