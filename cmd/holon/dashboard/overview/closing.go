package overview

import (
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// closing are the threads that the person has closed, and when that is sent. Until
// then it can be undone.
type closing map[string]time.Time

// due takes the closes whose time for undoing is over; with a zero time all of
// them.
func (c closing) due(now time.Time) []screen.Action {
	var actions []screen.Action
	for id, at := range c {
		if now.IsZero() || !now.Before(at) {
			delete(c, id)
			actions = append(actions, screen.Close{Thread: id})
		}
	}
	return actions
}

// next is when the next one is due, zero if there is none.
func (c closing) next() time.Time {
	var next time.Time
	for _, at := range c {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}
