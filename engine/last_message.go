package engine

import (
	"context"
	"strings"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// lastMessage is the agent's last message as far as it has ended; one that is
// still open is among the open items. Messages are in the order of their
// making. The zero value says that there is none.
type lastMessage struct {
	number    int          // of the message within the turn, from 1
	span      *notify.Span // the try that made it
	text      string       // bounded by MaxEndMessageBytes
	truncated bool
	inLog     bool // this message no longer counts, or is not known: the log has the one before it
}

// resumeFromLog is for the open items of a turn that was read from the log. Messages
// that have ended may be newer than those which are still open: the log knows,
// as long as no further one is made.
func (s *openItems) resumeFromLog() {
	s.messages++
	s.last = lastMessage{number: s.messages, inLog: true}
}

// noteEnded notes an agent's message that has ended.
func (s *openItems) noteEnded(o *openItem) {
	if o.row.Type != items.KindAgentMessage || o.number < s.last.number {
		return
	}
	if text, truncated := o.endMessage(); text != "" {
		s.last = lastMessage{number: o.number, span: o.span, text: text, truncated: truncated}
	}
}

// endMessage is what the item contributes to the end of the turn; "" if it has no
// text.
func (o *openItem) endMessage() (text string, truncated bool) {
	text, _ = items.TextOf(o.content)
	if o.text != nil {
		text = o.text.String()
	}
	if strings.TrimSpace(text) == "" {
		return "", false
	}
	cut := items.NewText(text, turns.MaxEndMessageBytes)
	return cut.String(), cut.Truncated() || o.text != nil && o.text.Truncated()
}

// supersede is for a step that is superseded: if the last message was part of it,
// another one is the last. An attempt takes all messages with it.
func (s *openItems) supersede(path string) {
	switch {
	case path == "":
		s.last = lastMessage{}
	case s.last.span != nil && covers(path, s.last.span.Step):
		s.last.inLog = true
	}
}

// endMessage is the agent's last message among the live attempt and steps. It
// reads the log only if a message was deleted or superseded, or the server was
// restarted in the turn; what the unit has must then be committed before: see
// mustReadMessage.
func (w *itemWriter) endMessage() (text string, truncated bool) {
	open := w.d.active().open
	for i := len(open.list) - 1; i >= 0; i-- {
		o := open.list[i]
		if o.row.Type != items.KindAgentMessage {
			continue
		}
		if o.number < open.last.number {
			break
		}
		if text, truncated = o.endMessage(); text != "" {
			return text, truncated
		}
	}
	if !open.last.inLog {
		return open.last.text, open.last.truncated
	}
	act := w.d.active()
	row, err := w.d.rules.log.LastMessage(context.Background(), act.turn.TurnID)
	if err != nil { // the end of the turn matters more
		w.d.rules.zap.Warn("read the last message of a turn", zap.String("turn_id", act.turn.TurnID), zap.Error(err))
	}
	if err != nil || row == nil {
		return "", false
	}
	content, err := items.Decode(row.Content)
	if err != nil {
		w.d.rules.zap.Warn("read the last message of a turn", zap.String("turn_id", act.turn.TurnID), zap.Error(err))
		return "", false
	}
	o := open.get(row.ItemID)
	if o == nil {
		o = &openItem{row: row, content: content}
	}
	text, truncated = o.endMessage()
	return text, truncated || row.Truncated
}

// readsLogForMessage reports whether the end of the turn reads the log for its
// message, which therefore has to have everything first.
func (w *itemWriter) readsLogForMessage() bool {
	return w.d.active().open.last.inLog && w.d.change.events() > 0
}
