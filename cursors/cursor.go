package cursors

import (
	"strings"
	"unicode/utf8"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// The bounds of cursors.
const (
	// MaxCursors is how many cursors there are at most. 100,000 rows are about
	// 30 MiB, and more consumers than one server has.
	MaxCursors = 100_000
	// MaxCursorsEach is how many of them one requester makes that is not the owner: a
	// quarter, so that a token leaves room for the others, and a person who looks at
	// thousands of threads has enough.
	MaxCursorsEach = MaxCursors / 4
	// MaxName bounds consumer_id, stream_name, subject_id and delivery_id, in bytes.
	MaxName = 256
	// MaxText bounds the last error, which is cut, and the reason of a reset or a
	// deletion, in bytes.
	MaxText = 2048
)

// StreamEvents is the stream of the log's events: its sequences are seqs.
const StreamEvents = "events"

// SeenPrefix begins the ids of consumers that are people. Their cursors of StreamEvents say
// what they have looked at, and that of StreamRestarts, which has no subject, up to which
// seq they know the turns that ended with a restart.
const (
	SeenPrefix     = "seen:"
	StreamRestarts = "restarts"
)

// ServerPrefix begins the ids of consumers that belong to the server. Clients can
// only read their cursors.
const ServerPrefix = "subscription:"

// Name is what a cursor is found by. SubjectID is "" for none.
type Name struct {
	ConsumerID string `json:"consumer_id"`
	StreamName string `json:"stream_name"`
	SubjectID  string `json:"subject_id,omitzero"`
}

// OfServer reports whether the consumer belongs to the server.
func (n Name) OfServer() bool { return strings.HasPrefix(n.ConsumerID, ServerPrefix) }

// OfLog reports whether the sequences of the cursor are seqs of the log. Those of all other
// cursors are the consumer's own.
func (n Name) OfLog() bool {
	return n.StreamName == StreamEvents || n.StreamName == StreamRestarts && strings.HasPrefix(n.ConsumerID, SeenPrefix)
}

// Cursor is how far a consumer has come. Where there is no row, Exists is false
// and everything but the name is zero: nothing was delivered yet.
type Cursor struct {
	ConsumerID string `json:"consumer_id"`
	StreamName string `json:"stream_name"`
	SubjectID  string `json:"subject_id"` // "" = none
	Exists     bool   `json:"exists"`
	// LastSequence is the highest confirmed sequence; 0 = none yet.
	LastSequence int64 `json:"last_sequence"`
	// LastDeliveryID and LastDeliveredAt are of the last real delivery. What was
	// passed without one does not change them.
	LastDeliveryID  string      `json:"last_delivery_id,omitzero"`
	LastDeliveredAt notify.Time `json:"last_delivered_at,omitzero"`
	// LastError is that of the last failure; "" after a success.
	LastError string `json:"last_error,omitzero"`
	// ScannedSeq is how far a consumer of the server has looked. It is not stored
	// here: see Config.Scanned.
	ScannedSeq int64       `json:"scanned_seq,omitzero"`
	UpdatedAt  notify.Time `json:"updated_at,omitzero"`

	// deliveredSeq is the sequence that LastDeliveryID was given for. At another
	// LastSequence that sequence was confirmed without a delivery.
	deliveredSeq int64
	// requester has made the cursor, and has it in its share; "" = the owner or the server.
	requester ledger.Requester
}

// Zero returns the state of a cursor that has no row.
func Zero(n Name) Cursor {
	return Cursor{ConsumerID: n.ConsumerID, StreamName: n.StreamName, SubjectID: n.SubjectID}
}

// Name returns what the cursor is found by.
func (c Cursor) Name() Name { return Name{c.ConsumerID, c.StreamName, c.SubjectID} }

// Delivery is a real delivery, which an advance confirms. ID is "" if it has none.
// At is the time of the advance if it is zero.
type Delivery struct {
	ID string
	At notify.Time
}

// Advance returns the cursor with everything up to the sequence to confirmed. d is
// nil if nothing was delivered: what was ignored or suppressed advances a cursor
// and leaves its last delivery as it was. The same advance again is a repetition,
// which clears the error and keeps the time of the delivery. The error is a
// *NotMonotonicError if to is lower, or equal with another delivery id.
func (c Cursor) Advance(to int64, d *Delivery, now notify.Time) (Cursor, error) {
	id := ""
	if d != nil {
		id = d.ID
	}
	if to < c.LastSequence || to == c.LastSequence && id != c.confirmedBy() {
		return c, &NotMonotonicError{Cursor: c}
	}
	if to > c.LastSequence && d != nil {
		c.LastDeliveryID, c.LastDeliveredAt, c.deliveredSeq = d.ID, d.At, to
		if d.At.IsZero() {
			c.LastDeliveredAt = now
		}
	}
	c.LastSequence, c.LastError = to, ""
	return c.at(now), nil
}

// Late returns the cursor after a real delivery of what it has passed already: the
// sequence stays, and the delivery is the last one.
func (c Cursor) Late(d Delivery, now notify.Time) Cursor {
	c.LastDeliveryID, c.LastDeliveredAt, c.LastError = d.ID, d.At, ""
	c.deliveredSeq = 0 // it has not confirmed LastSequence
	return c.at(now)
}

// confirmedBy returns the delivery id that LastSequence was confirmed with, "" without.
func (c Cursor) confirmedBy() string {
	if c.deliveredSeq == c.LastSequence {
		return c.LastDeliveryID
	}
	return ""
}

// Fail returns the cursor with an error recorded, cut to MaxText bytes. Nothing
// else changes.
func (c Cursor) Fail(text string, now notify.Time) Cursor {
	c.LastError = cut(text)
	return c.at(now)
}

// Reset returns the cursor at the sequence to, lower or higher, without delivery
// and error. Whoever resets a cursor appends a ResetEvent in the same unit.
func (c Cursor) Reset(to int64, now notify.Time) Cursor {
	c.LastSequence, c.LastDeliveryID, c.LastDeliveredAt, c.LastError, c.deliveredSeq = to, "", notify.Time{}, "", 0
	return c.at(now)
}

func (c Cursor) at(now notify.Time) Cursor {
	c.Exists, c.UpdatedAt = true, now
	return c
}

// cut cuts a text at a rune boundary. What is not UTF-8 is replaced first: JSON
// has no other text.
func cut(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= MaxText {
		return text
	}
	end := MaxText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
