package overview

import (
	"slices"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// closing are the threads that the person has closed, in this order, which is also the
// order in which that is sent. Until then it can be undone.
type closing []closeAt

type closeAt struct {
	thread string
	at     time.Time
}

// of returns when the close of a thread is sent; ok is false if none is pending.
func (c closing) of(id string) (at time.Time, ok bool) {
	i := slices.IndexFunc(c, func(one closeAt) bool { return one.thread == id })
	if i < 0 {
		return at, false
	}
	return c[i].at, true
}

func (c *closing) add(id string, at time.Time) { *c = append(*c, closeAt{id, at}) }

// keep takes back the close of a thread, else the newest one. It returns the thread that
// stays open, "" if none is closing.
func (c *closing) keep(id string) string {
	if len(*c) == 0 {
		return ""
	}
	i := slices.IndexFunc(*c, func(one closeAt) bool { return one.thread == id })
	if i < 0 {
		i = len(*c) - 1
	}
	id = (*c)[i].thread
	*c = slices.Delete(*c, i, i+1)
	return id
}

// due takes the closes whose time for undoing is over; with a zero time all of
// them.
func (c *closing) due(now time.Time) []screen.Action {
	var actions []screen.Action
	*c = slices.DeleteFunc(*c, func(one closeAt) bool {
		over := now.IsZero() || !now.Before(one.at)
		if over {
			actions = append(actions, screen.Close{Thread: one.thread})
		}
		return over
	})
	return actions
}

// next returns when the next one is due, zero if there is none.
func (c closing) next() time.Time {
	if len(c) == 0 {
		return time.Time{}
	}
	return c[0].at
}

// keep keeps the selected thread open, else the one that was closed last.
func keep(m *Model) []screen.Action {
	id := m.closing.keep(m.list.selected)
	if id == "" {
		return say(screen.NothingToUndo)
	}
	return say(screen.StaysOpen(titleOf(m, id)))
}

// keepAll keeps all threads open that are being closed.
func keepAll(m *Model) []screen.Action {
	if len(m.closing) == 1 {
		return keep(m)
	}
	n := len(m.closing)
	m.closing = nil
	return say(screen.Plural(n, "thread") + " stay open.")
}

func titleOf(m *Model, id string) string {
	if t := m.list.threads[id]; t != nil {
		return t.title()
	}
	return screen.ShortID(id)
}
