package cursors

import (
	"strings"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// Commands are the requests of clients. Check trims and checks one; its error is a
// *turns.InvalidError or ErrServers. A Service takes commands that were checked.

// Advance confirms everything up to LastSequence. It is a real delivery if it has
// a DeliveryID or a DeliveredAt. It keeps no idempotency key: a repetition succeeds
// because the cursor is there already. It is also the most frequent command, and one
// of every token.
type Advance struct {
	Name
	LastSequence *int64           `json:"last_sequence"`
	DeliveryID   string           `json:"delivery_id,omitzero"`
	DeliveredAt  notify.Time      `json:"delivered_at,omitzero"`
	Requester    ledger.Requester `json:"-"` // in whose share a new cursor counts
}

// Check trims and checks the command.
func (c *Advance) Check() error {
	if err := c.checkOwn(); err != nil {
		return err
	}
	if len(c.DeliveryID) > MaxName {
		return turns.Invalid("delivery_id", turns.ReasonTooLarge, "at most %d bytes", MaxName)
	}
	return checkSequence(*c.LastSequence)
}

func (c *Advance) delivery() *Delivery {
	if c.DeliveryID == "" && c.DeliveredAt.IsZero() {
		return nil
	}
	return &Delivery{ID: c.DeliveryID, At: c.DeliveredAt}
}

// RecordError records a failure, and nothing else.
type RecordError struct {
	Name
	Error     string           `json:"error"`
	Requester ledger.Requester `json:"-"` // in whose share a new cursor counts
	Key       *ledger.Key      `json:"-"`
}

// Check trims and checks the command.
func (c *RecordError) Check() error {
	if err := c.checkOwn(); err != nil {
		return err
	}
	if strings.TrimSpace(c.Error) == "" { // it would clear the error, which only a success does
		return turns.Invalid("error", turns.ReasonRequired, "say what failed")
	}
	return nil
}

// Reset sets a cursor to a sequence: the only way down.
type Reset struct {
	Name
	LastSequence *int64      `json:"last_sequence"`
	Reason       string      `json:"reason"`
	By           By          `json:"-"` // "" = ByClient
	Key          *ledger.Key `json:"-"`
}

// Check trims and checks the command.
func (c *Reset) Check() error {
	if err := c.checkOwn(); err != nil {
		return err
	}
	if err := checkSequence(*c.LastSequence); err != nil {
		return err
	}
	return checkReason(&c.Reason)
}

// Delete deletes a cursor.
type Delete struct {
	Name
	Reason string      `json:"reason"`
	By     By          `json:"-"` // "" = ByClient
	Key    *ledger.Key `json:"-"`
}

// Check trims and checks the command.
func (c *Delete) Check() error {
	if err := c.checkOwn(); err != nil {
		return err
	}
	return checkReason(&c.Reason)
}

// Result answers the commands with the cursor as it is now. Seq is that of the
// event, or the log's newest if there is none.
type Result struct {
	Cursor Cursor `json:"cursor"`
	Seq    int64  `json:"seq"`
}

// SetSeq sets the seq of the response: see ledger.Result.
func (r *Result) SetSeq(seq int64) { r.Seq = seq }

// Query selects cursors for cursor/list: those with all members that are not nil.
// They come in the order in which they were made; Newest reverses it. Cursor is the
// position after which the page begins, as text.
type Query struct {
	ConsumerID, StreamName, SubjectID *string

	Cursor string
	Limit  int
	Newest bool
}

// Check trims and checks the filters of the query.
func (q *Query) Check() error {
	for _, f := range []struct {
		value **string
		field string
		empty bool
	}{{&q.ConsumerID, "consumer_id", false}, {&q.StreamName, "stream_name", false}, {&q.SubjectID, "subject_id", true}} {
		if *f.value == nil {
			continue
		}
		text := **f.value
		if err := checkName(f.field, &text, f.empty); err != nil {
			return err
		}
		*f.value = &text
	}
	return nil
}

// Check trims and checks a name. The error is a *turns.InvalidError.
func (n *Name) Check() error {
	if err := checkName("consumer_id", &n.ConsumerID, false); err != nil {
		return err
	}
	if err := checkName("stream_name", &n.StreamName, false); err != nil {
		return err
	}
	return checkName("subject_id", &n.SubjectID, true)
}

// checkOwn makes the same checks, and refuses cursors of the server.
func (n *Name) checkOwn() error {
	if err := n.Check(); err != nil {
		return err
	}
	if n.OfServer() {
		return ErrServers
	}
	return nil
}

// checkName trims a part of a name and checks its length.
func checkName(field string, text *string, mayBeEmpty bool) error {
	*text = strings.TrimSpace(*text)
	if *text == "" && !mayBeEmpty {
		return turns.Invalid(field, turns.ReasonRequired, "must not be empty")
	}
	if len(*text) > MaxName {
		return turns.Invalid(field, turns.ReasonTooLarge, "at most %d bytes", MaxName)
	}
	return nil
}

func checkSequence(n int64) error {
	if n < 0 {
		return turns.Invalid("last_sequence", turns.ReasonRange, "a sequence is not negative")
	}
	return nil
}

func checkReason(text *string) error {
	*text = strings.TrimSpace(*text)
	if *text == "" {
		return turns.Invalid("reason", turns.ReasonRequired, "say why")
	}
	if len(*text) > MaxText {
		return turns.Invalid("reason", turns.ReasonTooLarge, "at most %d bytes", MaxText)
	}
	return nil
}
