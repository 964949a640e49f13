package follow

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/seed82539d15/holon/internal/backoff"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Progress is how far a follower has come in the log, and what it wants. It has a goroutine only while
// the follower has something to handle.
type Progress struct {
	d    *Dispatcher
	name string

	// Guarded by the Dispatcher's mutex.
	f        Follower           // without Handle: there is only a row
	stored   row                // what the database has
	pos      int64              // all wanted events up to it have been handled
	first    int64              // the oldest wanted event that may have to be handled
	last     int64              // the newest wanted event; if ≤ pos, nothing has to be handled
	restored bool               // the log was restored, and no batch has said so yet
	since    time.Time          // since when there is something to handle
	fails    int                // failures in a row
	err      error              // the last failure
	ended    bool               // by a panic, or removed
	held     bool               // see Hold
	stop     context.CancelFunc // not nil while the goroutine runs
	done     chan struct{}      // closed when the goroutine has ended

	interest sync.RWMutex // changes also hold the Dispatcher's mutex
	threads  map[string]struct{}
	methods  notify.Filter // of methods only
}

// newProgress makes the progress of a stored position. scanned is the stored position of
// the dispatcher.
func newProgress(d *Dispatcher, r row, scanned int64) *Progress {
	l := &Progress{d: d, name: r.name, stored: r, pos: r.handled(), restored: r.logID != d.cfg.LogID}
	if !r.behind {
		l.pos = max(l.pos, scanned)
	}
	l.pos = min(l.pos, d.cfg.Tail.Head())
	return l
}

// attach gives the progress its follower. d.mu is held.
func (l *Progress) attach(f Follower) {
	l.f, l.ended, l.held, l.fails, l.err = f, false, f.Held, 0, nil
	l.methods = notify.Filter{Methods: f.Methods}
	l.threads = map[string]struct{}{}
	if f.All {
		l.d.index.add("", l)
	}
	l.watch(f.Threads)
	if l.pos < l.d.at { // the follower itself must search what the dispatcher has passed
		l.first, l.last, l.since = l.pos+1, l.d.at, time.Now()
	}
	l.d.wake(l)
}

// detach ends the follower. It returns a channel that is closed when its
// goroutine has ended; nil if there is none. d.mu is held.
func (l *Progress) detach() <-chan struct{} {
	if l.f.All {
		l.d.index.remove("", l)
	}
	for id := range l.threads {
		l.d.index.remove(id, l)
	}
	if l.ended = true; l.stop == nil {
		return nil
	}
	l.stop()
	return l.done
}

// Watch adds threads to those whose events are wanted. It returns a seq after
// which no event of theirs is missed; some before it may come too. Call Watch
// before committing the reason to watch.
func (l *Progress) Watch(threadIDs ...string) int64 {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	if !l.f.All && !l.ended {
		l.watch(threadIDs)
	}
	return max(l.pos, l.d.at)
}

func (l *Progress) watch(threadIDs []string) {
	l.interest.Lock()
	defer l.interest.Unlock()
	for _, id := range threadIDs {
		if id != "" {
			l.threads[id] = struct{}{}
			l.d.index.add(id, l)
		}
	}
}

// Unwatch removes threads. It does not affect a batch that is being handled.
func (l *Progress) Unwatch(threadIDs ...string) {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	l.interest.Lock()
	defer l.interest.Unlock()
	for _, id := range threadIDs {
		delete(l.threads, id)
		l.d.index.remove(id, l)
	}
}

// WantMarkers ends MarkersLater. Handle calls it before it commits what a marker may
// supersede: no marker after the batch is missed then.
func (l *Progress) WantMarkers() {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	if !l.f.MarkersLater || l.ended {
		return
	}
	l.f.MarkersLater = false
	if l.f.All {
		l.d.index.add("", l)
	}
	for id := range l.threads {
		l.d.index.add(id, l)
	}
	if l.pos < l.d.at { // as in attach: the dispatcher may have passed some
		l.d.wanted(l, l.pos+1)
		l.d.wanted(l, l.d.at)
	}
}

// Hold keeps the follower where it is until Release: no further batch is handled, and
// retention waits within its bounds. Handle may call it, and then return an error:
// what it has not moved past is handled after Release, and the error is not counted.
func (l *Progress) Hold() {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	l.held = true
}

// Release ends Hold.
func (l *Progress) Release() {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	l.held = false
	l.d.wake(l)
}

// live reports whether events are handled. d.mu is held.
func (l *Progress) live() bool { return l.f.Handle != nil && !l.ended }

// pending reports whether there is something to handle. d.mu is held.
func (l *Progress) pending() bool { return l.last > l.pos || l.restored }

// handledUpTo returns the seq up to which all wanted events are handled. d.mu is
// held.
func (l *Progress) handledUpTo() int64 {
	switch {
	case !l.live():
		return l.pos
	case l.pending():
		return max(l.pos, l.first-1)
	}
	return max(l.pos, l.d.at)
}

// wanted notes that the follower wants the event. d.mu is held.
func (d *Dispatcher) wanted(l *Progress, seq int64) {
	if seq <= l.pos || !l.live() {
		return
	}
	if l.last <= l.pos {
		l.first, l.since = seq, time.Now()
	}
	l.last = max(l.last, seq)
	d.wake(l)
}

// wake starts the follower's goroutine if it has something to do. d.mu is held.
func (d *Dispatcher) wake(l *Progress) {
	if d.run == nil || l.stop != nil || l.held || !l.live() || !l.pending() {
		return
	}
	var ctx context.Context
	ctx, l.stop = context.WithCancel(d.run)
	l.done = make(chan struct{})
	d.work.Add(1)
	go d.serve(ctx, l)
}

// serve handles what the follower wants until nothing is left.
func (d *Dispatcher) serve(ctx context.Context, l *Progress) {
	defer d.work.Done()
	for {
		b := d.next(ctx, l)
		if b == nil {
			return
		}
		err := d.handle(ctx, l, b)
		if fails := d.moveOn(ctx, l, b, err); fails > 0 {
			pause(ctx, fails)
		}
	}
}

// next returns the batch that the follower must fill and handle now. It returns nil
// if there is none; the goroutine then counts as ended.
func (d *Dispatcher) next(ctx context.Context, l *Progress) *Batch {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() != nil || l.held || !l.live() || !l.pending() {
		l.stop()
		l.stop = nil
		close(l.done)
		return nil
	}
	return &Batch{Through: max(l.pos, l.first-1), Restored: l.restored, name: l.name, moved: l.stored.position, upTo: l.last}
}

// handle fills a batch and calls the follower with it.
func (d *Dispatcher) handle(ctx context.Context, l *Progress, b *Batch) (err error) {
	if err := d.fill(ctx, l, b); err != nil {
		return err
	}
	defer func() {
		<-d.slots
		if v := recover(); v != nil {
			err = &PanicError{v, debug.Stack()}
		}
	}()
	if len(b.Events) == 0 && b.Lost == nil && !b.Restored {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Timeout)
	defer cancel()
	tasks, err := l.f.Handle(ctx, b)
	switch {
	case err != nil || len(tasks) == 0:
		return err
	case d.cfg.Actors == nil:
		return errors.New("there are no owners for its tasks")
	}
	return d.cfg.Actors.Take(ctx, tasks)
}

// PanicError is the error of a follower whose Handle panicked.
type PanicError struct {
	Value any
	Stack []byte
}

// Error implements error.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// moveOn moves the follower past the batch, unless err is set. It returns the number
// of failures in a row.
func (d *Dispatcher) moveOn(ctx context.Context, l *Progress, b *Batch, err error) (fails int) {
	var stored *row
	if errors.Is(err, ledger.ErrStale) { // a move was committed without the follower's knowledge
		if r, e := d.stored(ctx, l.name); e == nil {
			stored = r
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if stored != nil {
		l.stored.position = stored.position
	} else {
		l.stored.position = b.moved
	}
	l.pos = max(l.pos, l.stored.position)
	if err == nil {
		l.pos, l.restored, l.fails, l.err = b.Through, false, 0, nil
		d.saveSoon()
		return 0
	}
	if ctx.Err() != nil || l.held { // it was stopped: not a failure
		return 0
	}
	l.fails, l.err = l.fails+1, err
	d.cfg.Report(l.name, err)
	if panicked := (*PanicError)(nil); errors.As(err, &panicked) {
		l.ended = true
		return 0
	}
	return l.fails
}

// stored reads a follower's row, nil if there is none.
func (d *Dispatcher) stored(ctx context.Context, name string) (found *row, err error) {
	err = d.cfg.Reader.Read(ctx, func(tx ledger.Reader) error {
		v, err := tx.Get(byName, name)
		if v != nil {
			r := readRow(v)
			found = &r
		}
		return err
	})
	return found, err
}

// retries are the waits after failures in a row.
var retries = backoff.Backoff{First: 250 * time.Millisecond, Max: 30 * time.Second}

func pause(ctx context.Context, fails int) {
	select {
	case <-time.After(retries.Wait(fails)):
	case <-ctx.Done():
	}
}
