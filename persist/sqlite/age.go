package sqlite

import (
	"context"
	"math"
	"time"
)

// Times of events need not rise: the clock may have been wrong and corrected,
// and threads date their events before these get their seqs. Seqs do rise, so an
// event is older than every later one. Age is therefore judged by the events
// whose times rise: those whose time is not below a believable earlier time. All
// events up to the last of these that is old are old. Events after it with lower
// times, written while the clock was behind, may be recent. They are kept until
// a later event shows their age.
//
// To read every event each time would take too long when a waiting turn keeps
// old events in the log. So times are stored for runs of events (table
// event_times). ExpiredBefore writes the row of a run when it first passes it.

// believedAhead is how far in the future a time may be. A later time comes from
// a clock that was ahead and is ignored, so that it does not keep the events
// around it in the log until that time. believedAhead is also how much the times
// of a run may differ, so that a run is believable as a whole or not at all.
const believedAhead = 24 * time.Hour

// runEvents is how many events a run has at most: reading them takes some
// milliseconds.
const runEvents = 4096

// aging reads through the log and finds where its recent events begin.
type aging struct {
	at, ahead int64 // milliseconds: times before at are old, times after ahead are not believed
	from      int64 // seq up to which the log was read
	rising    int64 // the highest believed time up to from
	old       int64 // all events up to this seq are old
}

// recent reports whether the event, or run of events, that ends with this seq is
// recent. If it is, everything from it on is kept; if not, a moves past it.
func (a *aging) recent(seq, time int64) bool {
	believed := time <= a.ahead && time >= a.rising
	if believed && time >= a.at {
		return true
	}
	if a.from = seq; believed {
		a.rising, a.old = time, seq
	}
	return false
}

// run is a run of events: the seq of its last event and its highest time.
type run struct{ seq, time int64 }

const (
	runsAfter  = "SELECT seq, time FROM event_times WHERE seq > ? ORDER BY seq"
	timesAfter = "SELECT seq, time FROM events WHERE seq > ? ORDER BY seq LIMIT ?"
	insertRun  = "INSERT OR REPLACE INTO event_times (seq, time) VALUES (?, ?)"
	dropRuns   = "DELETE FROM event_times WHERE seq < ?"
)

// ExpiredBefore implements persist.Pruner. It stores the runs that it finds in
// separate transactions, so it needs Run.
func (s *Store) ExpiredBefore(ctx context.Context, at, now time.Time) (int64, error) {
	a := aging{at: at.UnixMilli(), ahead: now.Add(believedAhead).UnixMilli(), from: -1, rising: math.MinInt64}
	for {
		more, err := s.age(ctx, &a)
		if err != nil || !more {
			return a.old + 1, err
		}
	}
}

// age reads the stored runs and the next events after them. It returns true if
// it has stored these events as runs and there may be more.
func (s *Store) age(ctx context.Context, a *aging) (more bool, err error) {
	var made []run
	var open runs
	found, events := false, 0
	if err := s.reader.read(ctx, func(c *conn) error {
		var first, latest int64
		if err := ends(c, &first, &latest); err != nil {
			return err
		}
		if a.from < first-1 { // at the first call, or after a prune meanwhile
			a.from, a.old = first-1, max(a.old, first-1)
		}
		look := func(r row) error {
			if a.recent(r.Int(0), r.Int(1)) {
				found = true
				return errEnough
			}
			return nil
		}
		if err := c.query(runsAfter, look, a.from); err != nil {
			return err
		}
		// The events of the recent run, or of the first run without a row.
		found = false
		if err := c.query(timesAfter, func(r row) error {
			events++
			open.add(r.Int(0), r.Int(1))
			return look(r)
		}, a.from, int64(s.runEvents)); err != nil {
			return err
		}
		if !found && events == s.runEvents {
			made = open.all()
		}
		return nil
	}); err != nil || len(made) == 0 {
		return false, err
	}
	return true, s.Do(ctx, func() error {
		err := s.w.unsynced(func() error {
			for _, r := range made {
				if _, err := s.w.conn.exec(insertRun, r.seq, r.time); err != nil {
					return err
				}
			}
			return nil
		})
		s.w.failIfLost(err)
		return err
	})
}

// runs collects events into runs. It begins a new run when times would differ by
// too much.
type runs struct {
	ended    []run
	last     int64 // seq of the newest event; 0 = none yet
	min, max int64 // of the open run
}

func (r *runs) add(seq, time int64) {
	low, high := min(r.min, time), max(r.max, time)
	if r.last == 0 {
		low, high = time, time
	} else if high-low > believedAhead.Milliseconds() {
		r.ended = append(r.ended, run{r.last, r.max})
		low, high = time, time
	}
	r.last, r.min, r.max = seq, low, high
}

// all ends the open run too.
func (r *runs) all() []run { return append(r.ended, run{r.last, r.max}) }
