package follow

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed82539d15/holon/ledger"
)

// Positions are saved when a follower has handled something, after saveEvents
// events, and when retention asks, but at most every ten seconds: stored
// positions only bound what is searched after a crash.
const (
	saveEvery  = 10 * time.Second
	saveEvents = 1 << 16
)

// saveRows is how many rows go into one unit.
const saveRows = 500

func (d *Dispatcher) saveSoon() {
	select {
	case d.due <- struct{}{}:
	default:
	}
}

// saveLoop saves positions as they become due.
func (d *Dispatcher) saveLoop(ctx context.Context) {
	for {
		select {
		case <-d.due:
		case <-ctx.Done():
			return
		}
		d.save()
		select {
		case <-time.After(saveEvery):
		case <-ctx.Done():
			return
		}
	}
}

// save writes what the database does not have yet, and moves the floor.
func (d *Dispatcher) save() {
	d.writes.Lock()
	defer d.writes.Unlock()
	if err := d.write(); err != nil {
		d.reread = true
		d.cfg.Report("", fmt.Errorf("save the positions of followers: %w", err))
		d.saveSoon()
	} else if err := d.moveFloor(); err != nil {
		d.cfg.Report("", fmt.Errorf("find the events that are too old for followers: %w", err))
	}
}

// write stores what is unsaved. It is called by one goroutine at a time.
func (d *Dispatcher) write() error {
	if d.reread { // what counts after a crash is what the database has
		rows, err := d.rows(context.Background())
		if err != nil {
			return err
		}
		d.wrote(rows)
		d.reread = false
	}
	for rows := range slices.Chunk(d.unsaved(), saveRows) {
		u := ledger.Unit{}
		for i := range rows {
			u.Rows = append(u.Rows, &rows[i])
		}
		if _, err := d.cfg.Store.Append(&u); err != nil {
			return err
		}
		d.wrote(rows)
	}
	return nil
}

// wrote notes what the database has.
func (d *Dispatcher) wrote(rows []row) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range rows {
		r.fresh = false
		if l := d.followers[r.name]; l != nil {
			r.position = l.stored.position // the follower may have moved it meanwhile
			l.stored = r
		} else if r.name == "" {
			d.saved = r
		}
	}
}

// unsaved returns the rows to write. Rows that lag come before the dispatcher's
// row, which must not count for them after a crash in between. Only a new
// dispatcher's row comes first: until it exists, all rows lag.
func (d *Dispatcher) unsaved() (rows []row) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.followers {
		r := l.stored
		r.behind = !l.live() || l.pending()
		if r.behind { // otherwise the dispatcher's row has it
			r.scanned = l.handledUpTo()
		}
		if !l.restored {
			r.logID = d.cfg.LogID
		}
		if r != l.stored {
			rows = append(rows, r)
		}
	}
	if own := d.saved; len(d.followers) > 0 && (d.at > own.scanned || own.fresh || len(rows) > 0) {
		own.scanned = d.at
		if d.saved.fresh {
			return append([]row{own}, rows...)
		}
		rows = append(rows, own)
	}
	return rows
}

// moveFloor moves the floor, and computes the limit: how far a follower may lag
// before retention no longer waits for it.
func (d *Dispatcher) moveFloor() error {
	d.mu.Lock()
	behind := d.setFloor()
	d.mu.Unlock()
	if !behind {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveEvery)
	defer cancel()
	now := d.cfg.Now()
	byAge, err := d.cfg.Store.ExpiredBefore(ctx, now.Add(-d.cfg.MaxLagAge), now)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.limit = max(d.limit, byAge, d.cfg.Tail.Head()-d.cfg.MaxLagEvents+1)
	d.setFloor()
	return err
}

// setFloor computes the floor from stored positions, because they count after a
// crash. It reports whether a follower lags. d.mu is held.
func (d *Dispatcher) setFloor() (behind bool) {
	if len(d.followers) == 0 {
		d.floor.Store(noFloor)
		return false
	}
	low := d.saved.scanned
	if d.saved.fresh { // all rows lag
		low = d.cfg.Tail.Head()
	}
	for _, l := range d.followers {
		if l.stored.behind {
			behind, low = true, min(low, l.stored.handled())
		}
	}
	d.floor.Store(max(low+1, d.limit))
	return behind
}

// lowerFloor does what setFloor does, after a follower was added, which can only lower it: 20,000
// followers are added without looking at all of them each time. d.mu is held.
func (d *Dispatcher) lowerFloor(l *Progress) {
	switch {
	case len(d.followers) == 1:
		d.setFloor()
	case l.stored.behind:
		d.floor.Store(min(d.floor.Load(), max(l.stored.handled()+1, d.limit)))
	}
}

// Status is the state of a follower.
type Status struct {
	Name string
	// Following is false for a position whose follower has not been added.
	Following bool
	Position  int64         // all wanted events up to it are handled
	Lag       int64         // number of events of the log after Position
	Waiting   time.Duration // since when there is something to handle; 0: there is nothing
	Failures  int           // in a row, the last of them Err
	Err       error
	Ended     bool // by a panic
}

// Followers lists all followers by name, for metrics.
func (d *Dispatcher) Followers() []Status {
	head := d.cfg.Tail.Head()
	d.mu.Lock()
	list := make([]Status, 0, len(d.followers))
	for _, l := range d.followers {
		list = append(list, l.status(head))
	}
	d.mu.Unlock()
	slices.SortFunc(list, func(a, b Status) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// Status returns the present state of the follower.
func (l *Progress) Status() Status {
	head := l.d.cfg.Tail.Head()
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	return l.status(head)
}

func (l *Progress) status(head int64) Status {
	s := Status{Name: l.name, Following: l.f.Handle != nil, Position: l.handledUpTo(), Failures: l.fails, Err: l.err, Ended: l.ended}
	s.Lag = max(0, head-s.Position)
	if l.last > l.pos {
		s.Waiting = time.Since(l.since)
	}
	return s
}
