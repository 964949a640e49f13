package cursors

import (
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// Events are the events of cursors. They are of the whole log, because the thread
// that a cursor is about may have closed.
var Events = []ledger.EventType{
	ledger.Event[ResetEvent](notify.CursorReset, ledger.OfLog, nil, "A cursor was set to another sequence, without its last delivery and error."),
	ledger.Event[DeletedEvent](notify.CursorDeleted, ledger.OfLog, nil, "A cursor was deleted."),
}

// By says who has changed a cursor: one of these values, or a named token ("token:"
// and its name).
type By string

// The values of By.
const (
	ByClient By = "client"
	ByServer By = "server"
)

// ResetEvent is the body of cursor/reset. SubjectThreadID is the subject, if the
// stream is events and the subject is a thread.
type ResetEvent struct {
	ConsumerID      string `json:"consumer_id"`
	StreamName      string `json:"stream_name"`
	SubjectID       string `json:"subject_id"`
	SubjectThreadID string `json:"subject_thread_id,omitzero"`
	FromSequence    int64  `json:"from_sequence"`
	ToSequence      int64  `json:"to_sequence"`
	Reason          string `json:"reason"`
	By              By     `json:"by"`
}

// DeletedEvent is the body of cursor/deleted. Its members are those of ResetEvent;
// ToSequence is 0, which is what a read says from now on.
type DeletedEvent ResetEvent

// ResetDraft returns the event of a reset, for the unit that writes the cursor after.
// index is the number of drafts that the unit has already. The draft is not encoded.
func ResetDraft(index int, before, after Cursor, reason string, by By, now notify.Time) notify.Draft {
	body := changed(before, after.LastSequence, reason, by)
	return draft(index, notify.CursorReset, &body, now)
}

// deletedDraft returns the event of a deletion, for a unit without other drafts.
func deletedDraft(before Cursor, reason string, by By, now notify.Time) notify.Draft {
	body := DeletedEvent(changed(before, 0, reason, by))
	return draft(0, notify.CursorDeleted, &body, now)
}

func changed(before Cursor, to int64, reason string, by By) ResetEvent {
	e := ResetEvent{
		ConsumerID: before.ConsumerID, StreamName: before.StreamName, SubjectID: before.SubjectID,
		FromSequence: before.LastSequence, ToSequence: to, Reason: reason, By: by,
	}
	if before.StreamName == StreamEvents && threads.ValidID(before.SubjectID) {
		e.SubjectThreadID = before.SubjectID
	}
	return e
}

func draft(index int, method string, body any, now notify.Time) notify.Draft {
	return notify.Draft{Method: method, Header: notify.Header{Seq: notify.Provisional(index), Timestamp: now}, Body: body}
}
