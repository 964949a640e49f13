// Package rows makes the events and rows that a server stores for turns of
// finished messages, so that a baseline writes the same bytes without a server.
// The server's own types and encoder make the bodies, once per thread; an event
// is then two copies and a number.
package rows

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
)

// Params is the encoded params of one kind of event of one thread, cut at the
// position of the item id.
type Params struct{ before, after []byte }

// placeholder stands for the item id in the bodies of this package. It is as
// long as every item id.
var placeholder = items.NewID()

// Make encodes the params of an event of this thread and turn. A body of this
// package may hold placeholder as its item id.
func Make(method, threadID, turnID string, body any) (Params, error) {
	d := notify.Draft{
		Method: method,
		Header: notify.Header{ThreadID: threadID, TurnID: turnID, Attempt: 1, Timestamp: notify.TimeOf(time.Now())},
		Body:   body,
	}
	if turnID == "" {
		d.Header.Attempt = 0
	}
	if err := d.Encode(); err != nil {
		return Params{}, err
	}
	before, after, _ := bytes.Cut(d.Rest, []byte(placeholder))
	return Params{before: before, after: after}, nil
}

// Append appends the params of the event at this position of the log. itemID is
// "" for events without an item.
func (p Params) Append(b []byte, seq, threadSeq int64, itemID string) []byte {
	b = append(b, `{"seq":`...)
	b = strconv.AppendInt(b, seq, 10)
	b = append(b, `,"thread_seq":`...)
	b = strconv.AppendInt(b, threadSeq, 10)
	b = append(b, ',')
	b = append(b, p.before...)
	b = append(b, itemID...)
	return append(b, p.after...)
}

// Message returns a finished agent_message of size bytes: its content and the
// params of its item/created.
func Message(threadID, turnID string, size int) (Params, []byte, error) {
	return created(threadID, turnID, items.NewAgentMessage(strings.Repeat("x", size)))
}

// Prompt returns the user_message that began a turn.
func Prompt(threadID, turnID, text string) (Params, []byte, error) {
	return created(threadID, turnID, items.UserMessage{
		Type: items.KindUserMessage, Role: "user", Content: []items.Part{{Type: "input_text", Text: text}}, Origin: "client",
	})
}

func created(threadID, turnID string, c items.Content) (Params, []byte, error) {
	content, err := items.Encode(c)
	if err != nil {
		return Params{}, nil, fmt.Errorf("encode content: %w", err)
	}
	p, err := Make(notify.ItemCreated, threadID, turnID, &items.Created{
		ItemID: placeholder, Type: "created", Status: items.StatusCompleted, Content: content,
	})
	return p, content, err
}

// IDs makes n ids with this prefix.
func IDs(prefix string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = prefix + uuid.Must(uuid.NewV7()).String()
	}
	return ids
}
