package bridges

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Kind is how a bridge delivers.
type Kind string

// The kinds of bridges. KindCommand is for the configuration only.
const (
	KindWebhook Kind = "webhook"
	KindNtfy    Kind = "ntfy"
	KindSlack   Kind = "slack"
	KindGitHub  Kind = "github"
	KindCommand Kind = "command"
)

// Kinds lists all kinds, in the order of the documentation.
var Kinds = []Kind{KindWebhook, KindNtfy, KindSlack, KindGitHub, KindCommand}

// Channel is a bridge that is ready to deliver: one kind with its addresses and
// secrets. It may be used by many goroutines. Package bridges/kinds has one
// implementation for each kind.
type Channel interface {
	// Send makes one attempt to deliver. It returns within Timeout, and soon after
	// ctx is done. A Send that does not is no longer waited for: see package
	// bridges/dispatch.
	Send(ctx context.Context, o *Outgoing) Result
	// Timeout is how long Send takes at most, besides the few seconds in which it
	// ends what it has started.
	Timeout() time.Duration
	// Edits reports whether a message can be changed after it was posted. Other
	// channels get the superseded deliveries in Envelope.Supersedes.
	Edits() bool
	// CheckTarget checks where a subscription wants to send. The error is a
	// *turns.InvalidError that names the member, such as target.channel.
	CheckTarget(t Target) error
	// Own reports whether t is the bridge's own target: that of a subscription which
	// names none.
	Own(t Target) bool
}

// Target is where a bridge delivers to, by the members of its kind. The zero
// value is right for kinds whose address is all in the bridge.
type Target struct {
	Topic      string `json:"topic,omitzero"`      // ntfy; "" = that of the bridge
	Channel    string `json:"channel,omitzero"`    // slack
	ThreadTS   string `json:"thread_ts,omitzero"`  // slack; "" = no thread
	Repository string `json:"repository,omitzero"` // github: "owner/name"
	Number     int64  `json:"number,omitzero"`     // github: of the issue or pull request
}

// Outgoing is one attempt at a delivery.
type Outgoing struct {
	// ID identifies the delivery at the receiver: the last 8 characters of the
	// log's id, ":" and Envelope.DeliveryID. It is the same in all attempts.
	ID      string
	Body    []byte // an Envelope as JSON: the same bytes in all attempts
	Target  Target
	Arrived bool // an earlier attempt may have arrived
	// Cards are the messages that this delivery shows or changes, for channels
	// that edit: one for news, and one to remove with the end of a turn, one or more for what
	// is superseded, none for others.
	Cards []Card
}

// Envelope decodes Body, which many channels send as it is. It returns the zero value for
// a body that is not an envelope, which the dispatcher never sends.
func (o *Outgoing) Envelope() *Envelope {
	e := &Envelope{}
	if err := json.Unmarshal(o.Body, e, jsontext.AllowInvalidUTF8(true)); err != nil {
		return &Envelope{}
	}
	return e
}

// Card is one visible message at the target, which later news of the same thing changes.
type Card struct {
	// Key names the card at the target: [A-Za-z0-9_-]{1,64}, the same for all
	// messages of the card.
	Key string
	// RemoteID is what Result.RemoteIDs had for the card last; "" = none is known.
	// Only its channel can read it: it names the message that is shown, and those
	// that are still to be removed.
	RemoteID string
	// Post says that the news wants a person's attention: it is posted as a new
	// message, and the one that the card shows now is removed after that, where
	// the target can. Otherwise the shown message is changed, or one is posted if
	// there is none.
	Post bool
	// Remove says that the card shows nothing any more: its messages are removed, if they can be,
	// once the other cards show the news. A receipt is due for these only.
	Remove bool
}

// Outcome is the kind of result of an attempt.
type Outcome string

// The outcomes of attempts.
const (
	Delivered Outcome = "delivered"
	Failed    Outcome = "failed"  // try again later: 3xx, 5xx, transport, a program's other exit codes
	Refused   Outcome = "refused" // other 4xx, and what means the same: dead after 3 such attempts
	Wait      Outcome = "wait"    // 429, Retry-After, exit code 75: costs no attempt, holds the bridge
	Gone      Outcome = "gone"    // 410: nothing is to be sent there any more
)

// Result is the result of an attempt.
type Result struct {
	Outcome Outcome
	Status  int // of HTTP, or the exit code of a program; 0 = none
	// Error says what went wrong in words of our own: a kind such as "timeout",
	// "private_address" or "status 500". It never has an address, a header or a
	// secret. "" = nothing. With Delivered it is something to know besides that, such
	// as an earlier message that could not be removed.
	Error string
	// Unhealthy says that the target itself fails (its transport, or 5xx), not this
	// delivery.
	Unhealthy bool
	// Arrived says that the target may have accepted it although Outcome is not
	// Delivered: the answer was lost or late.
	Arrived bool
	// Answer is the beginning of the answer, at most 1 KiB, secrets removed.
	Answer     []byte
	RetryAfter time.Duration // with Wait; 0 = unknown
	// RemoteIDs are what the cards show now, in the order of Outgoing.Cards, each at
	// most 256 bytes. They are right whatever the outcome is: the caller keeps them,
	// because an attempt may fail after it has changed some cards. nil for channels
	// that do not edit, and without cards.
	RemoteIDs []string
}
