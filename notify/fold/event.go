package fold

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/notify"
)

// Ref is one try of a step.
type Ref = notify.Ref

// Event is what a fold reads of a notification. Step and Epoch are those of
// the step the event belongs to; Lineage is that step and all above it, the
// turn itself first. Without a Lineage an event is never superseded. An Event
// must not be changed once it has been given to a View, which keeps parts of
// it.
type Event struct {
	Seq      int64 // 0: it is not in the log
	Method   string
	ThreadID string
	TurnID   string // "" outside any turn
	ItemID   string
	Attempt  int
	Step     string
	Epoch    int
	Lineage  []Ref
	Body     Body
}

// Body is the rest of an event's params, as far as a fold reads it. Fields that
// events of the method do not have are zero.
type Body struct {
	// Of item/created and item/updated. Status is also that of item/deleted
	// and step/ended.
	Status    string
	Content   jsontext.Value
	Truncated bool

	// Of item/delta.
	Text   string
	Offset int64

	// Of turn/queued, turn/started and the ends of a turn. Of turn/progress:
	// State is what the turn is doing.
	State   string
	Message string
	Reason  string // of stream/rewind too
	Origin  string

	// Of stream/rewind.
	NewEpoch int
	After    int64 // superseded_after_seq
}

// lenient matches names exactly, but accepts duplicate names and invalid UTF-8
// of another server: they are no reason to lose an event.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

type head struct {
	Seq      int64  `json:"seq"`
	ThreadID string `json:"thread_id"`
	TurnID   string `json:"turn_id"`
	ItemID   string `json:"item_id"`
	Attempt  int    `json:"attempt"`
	Step     string `json:"step"`
	Epoch    int    `json:"epoch"`
	Lineage  []Ref  `json:"lineage"`
}

// Parse reads a notification. Params may be nil. It ignores members that it does
// not know. Of an unknown method it reads only the head that all events share.
// The Event may refer to the bytes of params.
func Parse(method string, params []byte) (Event, error) {
	e := Event{Method: method}
	if len(params) == 0 {
		return e, nil
	}
	var h head
	if err := json.Unmarshal(params, &h, lenient); err != nil {
		return e, fmt.Errorf("read %s: %w", method, err)
	}
	e.Seq, e.ThreadID, e.TurnID, e.ItemID, e.Attempt = h.Seq, h.ThreadID, h.TurnID, h.ItemID, h.Attempt
	e.Step, e.Epoch, e.Lineage = h.Step, h.Epoch, h.Lineage
	if err := e.Body.parse(method, params); err != nil {
		return e, fmt.Errorf("read %s %d: %w", method, e.Seq, err)
	}
	return e, nil
}

func (b *Body) parse(method string, params []byte) error {
	switch method {
	case notify.ItemDelta:
		var p struct {
			Delta struct {
				Text string `json:"text"`
			} `json:"delta"`
			Offset int64 `json:"offset"`
		}
		if err := json.Unmarshal(params, &p, lenient); err != nil {
			return err
		}
		b.Text, b.Offset = p.Delta.Text, p.Offset
	case notify.ItemCreated, notify.ItemUpdated, notify.ItemDeleted, notify.StepEnded:
		var p struct {
			Status    string         `json:"status"`
			Content   jsontext.Value `json:"content"`
			Truncated bool           `json:"truncated"`
		}
		if err := json.Unmarshal(params, &p, lenient); err != nil {
			return err
		}
		b.Status, b.Content, b.Truncated = p.Status, p.Content, p.Truncated
	case notify.TurnQueued, notify.TurnStarted, notify.TurnProgress, notify.TurnCompleted, notify.TurnInterrupted, notify.TurnFailed:
		var p struct {
			State   string `json:"state"`
			Message string `json:"message"`
			Reason  string `json:"reason"`
			Origin  string `json:"origin"`
		}
		if err := json.Unmarshal(params, &p, lenient); err != nil {
			return err
		}
		b.State, b.Message, b.Reason, b.Origin = p.State, p.Message, p.Reason, p.Origin
	case notify.StreamRewind:
		var p struct {
			NewEpoch int    `json:"new_epoch"`
			After    int64  `json:"superseded_after_seq"`
			Reason   string `json:"reason"`
		}
		if err := json.Unmarshal(params, &p, lenient); err != nil {
			return err
		}
		b.NewEpoch, b.After, b.Reason = p.NewEpoch, p.After, p.Reason
	}
	return nil
}
