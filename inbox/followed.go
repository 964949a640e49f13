package inbox

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Words that Subscribe.Methods may have besides names of events.
const (
	OnFinal     = "final"     // the accepted ends of turns
	OnQuestions = "questions" // items that wait for a person
)

// Event is an event that a follower has found for a subscription.
type Event struct {
	SubscriptionID   string
	Seq              int64
	ThreadID, Method string
	About            EventAbout
}

// EventAbout is what, besides its method, decides whether an event is wanted.
type EventAbout struct {
	Question bool // it is an item that waits for a person
	NoEnd    bool // it is an end that waits for a review, or the verdict about one that another turn continues
}

// checkFollowed checks which events of other threads a subscription wants.
func checkFollowed(c *Subscribe) error {
	for i, id := range c.ThreadIDs {
		if !threads.ValidID(id) {
			return turns.Invalid(fmt.Sprintf("thread_ids[%d]", i), turns.ReasonInvalid, "is no thread id")
		}
		if id == c.ThreadID {
			return turns.Invalid(fmt.Sprintf("thread_ids[%d]", i), turns.ReasonInvalid, "a thread's own events never enter its inbox")
		}
	}
	for i, m := range c.Methods {
		field := fmt.Sprintf("methods[%d]", i)
		switch {
		case m == OnFinal || m == OnQuestions:
		case !notify.ValidMethod(m):
			return turns.Invalid(field, turns.ReasonInvalid, "must be final, questions, or the name or kind of an event")
		case m == notify.ItemDelta || strings.HasPrefix(m, "inbox/") || strings.HasPrefix(m, "stream/"):
			return turns.Invalid(field, turns.ReasonInvalid, "events of this kind enter no inbox")
		}
	}
	return nil
}

// Followed returns the methods that a follower must see for a subscription. Some of them,
// such as item/delta, never become an item: see Wants.
func (s *Subscription) Followed() []string {
	var methods []string
	for _, m := range s.wants() {
		switch m {
		case OnFinal:
			methods = append(methods, finals...)
		case OnQuestions:
			methods = append(methods, notify.ItemCreated)
		default:
			methods = append(methods, m)
		}
	}
	slices.Sort(methods)
	return slices.Compact(methods)
}

// finals are the events that can be the accepted end of a turn.
var finals = []string{notify.TurnCompleted, notify.TurnFailed, notify.TurnInterrupted, notify.TurnReviewed}

func (s *Subscription) wants() []string {
	if len(s.Methods) == 0 {
		return []string{OnFinal}
	}
	return s.Methods
}

// counted reports whether the event of an item did not fit before and was counted. Followers
// bring events in order, and again after a crash. So every wanted event up to the newest
// counted one of a subscription was stored or counted.
func (v *overlay) counted(it *Item) bool {
	e := it.Event
	if e == nil {
		return false
	}
	passed := func(id string, through int64) bool {
		switch {
		case e.Seq > through:
			return false
		case id == e.SubscriptionID:
			return true
		}
		s, ok := v.Row(SubscriptionTable, SubscriptionKey(v.threadID, id)).(*Subscription)
		return ok && s.CreatedSeq < e.Seq && (len(s.ThreadIDs) == 0 || slices.Contains(s.ThreadIDs, e.ThreadID)) && s.Wants(e.ThreadID, e.Method, e.About)
	}
	for id, through := range v.inbox().LaggedThrough {
		if passed(id, through) {
			return v.stored(it) == nil
		}
	}
	return false
}

// Wants reports whether an event enters the inbox of the subscription.
func (s *Subscription) Wants(threadID, method string, about EventAbout) bool {
	if threadID == "" || threadID == s.ThreadID || method == notify.ItemDelta || method == notify.StreamRewind ||
		strings.HasPrefix(method, "inbox/") {
		return false
	}
	for _, m := range s.wants() {
		switch m {
		case OnFinal:
			if slices.Contains(finals, method) && !about.NoEnd {
				return true
			}
		case OnQuestions:
			if method == notify.ItemCreated && about.Question {
				return true
			}
		default:
			f := notify.Filter{Methods: []string{m}}
			if f.Match("", method) {
				return true
			}
		}
	}
	return false
}
