package persist

import (
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// Head is what is read of a log so often, such as by every holon/status, that it
// is kept in memory. It is published as a whole after each commit.
type Head struct {
	LogID        string
	First        int64
	Latest       int64
	LastEventAt  notify.Time
	Runtime      turns.Runtime
	Threads      int64
	LastThreadID string
	Queued       int64
	Active       int64
	Waiting      int64
}

// Position returns where the log begins and ends.
func (h *Head) Position() turns.Position {
	return turns.Position{LogID: h.LogID, First: h.First, Latest: h.Latest}
}

// Counts returns what the log holds, without the sizes of its files.
func (h *Head) Counts() turns.Counts {
	return turns.Counts{
		Position: h.Position(), LastEventAt: h.LastEventAt, LastThreadID: h.LastThreadID,
		Threads: h.Threads, TurnsQueued: h.Queued, TurnsActive: h.Active, TurnsWaiting: h.Waiting,
	}
}

// Count adds an unfinished turn of a log that is being opened.
func (h *Head) Count(t *turns.Turn) { turnCounts{}.count(h, t) }

// turnCounts has the turns that have not ended, as they are counted in a Head.
type turnCounts map[string]countedTurn

type countedTurn struct{ active, waiting bool }

func (c turnCounts) count(h *Head, t *turns.Turn) {
	if old, ok := c[t.TurnID]; ok {
		old.add(h, -1)
		delete(c, t.TurnID)
	}
	if t.State == turns.Queued || t.State == turns.Active {
		now := countedTurn{active: t.State == turns.Active, waiting: t.Progress == turns.Waiting && !t.WaitsForChildren()}
		now.add(h, 1)
		c[t.TurnID] = now
	}
}

func (t countedTurn) add(h *Head, n int64) {
	if !t.active {
		h.Queued += n
		return
	}
	h.Active += n
	if t.waiting {
		h.Waiting += n
	}
}
