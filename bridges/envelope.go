package bridges

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// EventType says what a delivery is about, whatever its channel.
type EventType string

// The types of deliveries.
const (
	TypeFinal      EventType = "final"      // the accepted end of a turn
	TypeQuestion   EventType = "question"   // an item waits for a person
	TypeAnswer     EventType = "answer"     // a question was answered, or its end
	TypeProgress   EventType = "progress"   // a turn or a step has begun or ended
	TypeSuperseded EventType = "superseded" // what was delivered is no longer true
	TypeInbox      EventType = "inbox"      // an entry was posted in an inbox
	TypeStalled    EventType = "stalled"    // nothing wakes a thread before a client does: Data.Reason says why
	TypeEvent      EventType = "event"      // an event that was chosen by its method
	TypeTest       EventType = "test"       // bridge/test
)

// EventTypes lists the types of what subscriptions choose, in the order of the
// documentation.
var EventTypes = []EventType{TypeFinal, TypeQuestion, TypeAnswer, TypeProgress, TypeSuperseded, TypeInbox, TypeStalled, TypeEvent}

// Envelope is what every channel is given, and the body of a webhook. It has no
// prompt and no output of tools; the agent's last message is in Data.Text only if
// the subscription asks for it.
type Envelope struct {
	DeliveryID string      `json:"delivery_id"`
	LogID      string      `json:"log_id"`
	EventType  EventType   `json:"event_type"`
	Final      bool        `json:"final"` // true for TypeFinal only
	Seq        int64       `json:"seq"`
	Type       string      `json:"type"` // such as "turn.completed"
	Timestamp  notify.Time `json:"timestamp"`
	// Supersedes are the ids of deliveries that no longer hold; never nil.
	Supersedes []string `json:"supersedes"`
	Data       Data     `json:"data"`
}

// Data is what has happened. Which members are present depends on the type.
type Data struct {
	SubscriptionID string         `json:"subscription_id"`
	ThreadID       string         `json:"thread_id,omitzero"`
	TurnID         string         `json:"turn_id,omitzero"`
	Title          string         `json:"title"` // one line; never empty
	State          turns.State    `json:"state,omitzero"`
	Attempt        int            `json:"attempt,omitzero"`
	Text           string         `json:"text,omitzero"`   // with include_text: at most 16 KiB
	Format         items.Format   `json:"format,omitzero"` // of Text
	Error          *turns.Failure `json:"error,omitzero"`
	Reason         string         `json:"reason,omitzero"`
	StopReason     string         `json:"stop_reason,omitzero"` // why the agent stopped: one line
	Usage          jsontext.Value `json:"usage,omitzero"`
	Method         string         `json:"method"` // of the event, such as "turn/completed"
	Review         *Review        `json:"review,omitzero"`
	Question       *Question      `json:"question,omitzero"`
	Outcome        jsontext.Value `json:"outcome,omitzero"`
	ResolvedBy     string         `json:"resolved_by,omitzero"`
	Progress       *Progress      `json:"progress,omitzero"`
	Entry          jsontext.Value `json:"entry,omitzero"`
	Event          jsontext.Value `json:"event,omitzero"`
	// NewAttempt, of TypeSuperseded, is the attempt that has begun instead; 0 if
	// it is not the turn that is tried again but a step of it.
	NewAttempt int `json:"new_attempt,omitzero"`
	// URL shows the thread, or its inbox, in the console; absent where the server has no
	// address that browsers reach.
	URL string `json:"url,omitzero"`
}

// Review is the verdict of a reviewed end.
type Review struct {
	Verdict string `json:"verdict"`
	Note    string `json:"note,omitzero"`
}

// Question is what waits for a person.
type Question struct {
	ItemID  string   `json:"item_id"`
	Title   string   `json:"title"`
	Options []Option `json:"options,omitzero"`
}

// Option is one of the answers that a question offers.
type Option struct {
	ID    string `json:"option_id"`
	Label string `json:"label"`
}

// States of Progress of a turn that has ended. They are shown only where a message can be changed,
// in the place of its progress.
const (
	ProgressEnded    = "ended"     // the rest of Data says how
	ProgressInReview = "in_review" // its end waits for a review
	ProgressRejected = "rejected"  // another turn continues it
)

// Progress is how far a turn has come.
type Progress struct {
	State   string `json:"state,omitzero"`
	Message string `json:"message,omitzero"`
	Step    string `json:"step,omitzero"`
	Status  string `json:"status,omitzero"`
}
