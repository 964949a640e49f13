package turns

import (
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
)

// Stats is what one commit has done to the turns of a thread, for metrics.
type Stats struct {
	Agent string          // of the thread, which may no longer be configured
	Ends  []State         // of the accepted ends; a rejected turn that another one continues has none
	Took  []time.Duration // of turns that ran and have ended: see Turn.took
	Waits []time.Duration // of questions that no longer wait for a person, answered or not
	Used  []Use
}

// Use is what an attempt had used when it ended, or was superseded while it ran.
type Use struct {
	TurnID string
	items.Usage
}

// Empty reports whether nothing is to be counted.
func (s *Stats) Empty() bool {
	return len(s.Ends) == 0 && len(s.Took) == 0 && len(s.Waits) == 0 && len(s.Used) == 0
}

// Turn adds what an event has done to a turn. prev and next are its rows before and
// after.
func (s *Stats) Turn(prev, next *Turn, body any) {
	switch b := body.(type) {
	case *EndedEvent:
		if !next.InReview() {
			s.Ends = append(s.Ends, next.State)
		}
		if !next.StartedAt.IsZero() {
			s.Took = append(s.Took, next.took())
		}
		s.used(next.TurnID, b.Usage)
	case *ReviewedEvent:
		if b.ContinuedBy == "" {
			s.Ends = append(s.Ends, next.State)
		}
	case *RewindEvent:
		if prev != nil && prev.State == Active { // else its end has been counted
			s.used(next.TurnID, b.Usage)
		}
	}
}

// Item adds what an event at this time has done to an item. prev is its row before it,
// nil if it is new.
func (s *Stats) Item(prev, next *items.Item, at notify.Time) {
	if prev != nil && prev.Status == items.StatusPending && next.Status != items.StatusPending {
		s.Waits = append(s.Waits, max(0, at.Sub(prev.CreatedAt.Time)))
	}
}

func (s *Stats) used(turnID string, u *items.Usage) {
	if u != nil {
		s.Used = append(s.Used, Use{TurnID: turnID, Usage: *u})
	}
}

// took returns how long the turn has run, with its waits and with the attempts that its
// policy has superseded. A turn that was retried after an end counts from the start of
// the attempt: nothing ran in between.
func (t *Turn) took() time.Duration {
	from := t.StartedAt
	if !t.FirstStartedAt.IsZero() && !t.QueuedAt.After(t.FirstStartedAt.Time) {
		from = t.FirstStartedAt
	}
	return max(0, t.CompletedAt.Sub(from.Time))
}
