package bridges

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// Event is an event of the log as a follower brings it.
type Event struct {
	Seq              int64
	ThreadID, Method string
	Params           []byte
}

// Chosen is an event that a subscription chooses, or a marker.
type Chosen struct {
	Event
	Header notify.Header
	Type   EventType
	Body   Body
	Marker bool // it may supersede what was delivered
	Named  bool // it was chosen by its name
}

// Body has the members of all events that deliveries look at.
type Body struct {
	State       turns.State    `json:"state"`
	CompletedAt notify.Time    `json:"completed_at"`
	Message     string         `json:"message"`
	Format      items.Format   `json:"format"`
	Reason      string         `json:"reason"`
	StopReason  string         `json:"stop_reason"`
	Error       *turns.Failure `json:"error"`
	Usage       items.Raw      `json:"usage"`
	Review      *struct {
		State string `json:"state"`
	} `json:"review"`

	// Of turn/reviewed.
	Verdict     string `json:"verdict"`
	Note        string `json:"note"`
	ContinuedBy string `json:"continued_by"`

	// Of items.
	ItemID  string       `json:"item_id"`
	Status  items.Status `json:"status"`
	Content items.Raw    `json:"content"`

	// Of the marker.
	NewEpoch int `json:"new_epoch"`

	// Of inbox/posted.
	Entry items.Raw `json:"entry"`
}

// Choose decides whether the event concerns the subscription, from the event
// alone. It returns nil if not: the event is ignored, or it is the end of a turn
// whose review is open or has rejected it. The accepted end is a later event then.
func (s *Subscription) Choose(e Event) (*Chosen, error) {
	c := &Chosen{Event: e, Marker: e.Method == notify.StreamRewind, Named: s.names(e.Method)}
	on := s.groupOf(e)
	if on == "" && !c.Marker && !c.Named {
		return nil, nil
	}
	if err := json.Unmarshal(e.Params, &c.Header); err != nil {
		return nil, fmt.Errorf("header of event %d: %w", e.Seq, err)
	}
	if err := c.decodeBody(); err != nil {
		return nil, fmt.Errorf("event %d: %w", e.Seq, err)
	}
	switch {
	case on == OnFinal && c.accepted():
		c.Type = TypeFinal
	case c.Ends() && !c.Named && slices.Contains(s.On, OnProgress):
		c.Type = TypeProgress
	case on == OnQuestions && c.question():
	case on == OnProgress && !c.Ends():
		c.Type = TypeProgress
	case on == OnInbox && c.Method == notify.InboxPosted && c.Body.Reason != string(inbox.ReasonJob): // a program asks for that
		c.Type = TypeInbox
	case on == OnInbox && inbox.Stall(c.Body.Reason).NeedsSomebody():
		c.Type = TypeStalled
	case c.Named:
		c.Type = TypeEvent
	case c.Marker:
		c.Type = TypeSuperseded
	default:
		return nil, nil
	}
	return c, nil
}

// ChosenAs makes a Chosen of an event with the type that it was chosen as before, even if
// its subscription has changed since.
func ChosenAs(e Event, as EventType) (*Chosen, error) {
	c := &Chosen{Event: e, Type: as, Marker: e.Method == notify.StreamRewind}
	if err := json.Unmarshal(e.Params, &c.Header); err != nil {
		return nil, fmt.Errorf("header of event %d: %w", e.Seq, err)
	}
	if err := c.decodeBody(); err != nil {
		return nil, fmt.Errorf("event %d: %w", e.Seq, err)
	}
	return c, nil
}

// groupOf returns the group of the subscription to which the event may belong; "" = none.
// Most items are not questions, which is found out without decoding them.
func (s *Subscription) groupOf(e Event) On {
	if slices.Contains(s.On, OnFinal) && slices.Contains(ends, e.Method) {
		return OnFinal
	}
	for _, on := range s.On {
		for _, m := range methodsOf[on] {
			if m != e.Method || on == OnQuestions && !mayBeQuestion(e) {
				continue
			}
			return on
		}
	}
	return ""
}

var (
	permissionRequest = []byte(`"permission_request"`)
	askedQuestion     = []byte(`"question"`)
)

func mayBeQuestion(e Event) bool {
	return e.Method == notify.ItemDeleted || bytes.Contains(e.Params, permissionRequest) || bytes.Contains(e.Params, askedQuestion)
}

// decodeBody decodes the body as far as the method has a known one.
func (c *Chosen) decodeBody() error {
	switch c.Method {
	case notify.TurnCompleted, notify.TurnFailed, notify.TurnInterrupted, notify.TurnReviewed, notify.ItemCreated, notify.ItemUpdated,
		notify.ItemDeleted, notify.StreamRewind, notify.InboxPosted, notify.InboxStalled, notify.TurnProgress:
		return json.Unmarshal(c.Params, &c.Body)
	case notify.StepStarted, notify.StepEnded:
		var b struct {
			Status items.Status `json:"status"`
		}
		err := json.Unmarshal(c.Params, &b)
		c.Body.Status = b.Status
		return err
	}
	return nil
}

// Ends reports whether the event may end a turn.
func (c *Chosen) Ends() bool { return MayEndTurn(c.Method) }

// MayEndTurn reports whether events of this name may end a turn.
func MayEndTurn(method string) bool { return slices.Contains(ends, method) }

// accepted reports whether the event is the accepted end of a turn, if the rows
// agree with it. An end that is reviewed is not the accepted one, whatever the verdict:
// turn/reviewed is.
func (c *Chosen) accepted() bool {
	if c.Method == notify.TurnReviewed {
		return c.Body.ContinuedBy == ""
	}
	return c.Body.Review == nil
}

// question reports whether the event is a question to a person or its end, and
// sets the type.
func (c *Chosen) question() bool {
	switch {
	case c.Method == notify.ItemDeleted:
		c.Type = TypeAnswer // if it was a question: see Decide
		return true
	case !kindOf(c.Body.Content).IsQuestion():
		return false
	case c.Method == notify.ItemCreated:
		c.Type = TypeQuestion
		return c.Body.Status == items.StatusPending
	}
	c.Type = TypeAnswer
	return c.Body.Status != items.StatusPending
}

func kindOf(content items.Raw) items.Kind {
	var c struct {
		Type items.Kind `json:"type"`
	}
	_ = json.Unmarshal(content, &c) // invalid content has no kind
	return c.Type
}

// Card returns the card of the turn that the event is shown in; "" if in none.
func (c *Chosen) Card() string {
	switch c.Type {
	case TypeFinal:
		return CardEnd
	case TypeProgress:
		return CardProgress
	case TypeQuestion, TypeAnswer:
		return c.Body.ItemID
	}
	return ""
}

// Tried reports whether a marker can supersede the event.
func (c *Chosen) Tried() bool { return len(c.Header.Lineage) > 0 }
