package follow

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Reader is what followers read: the log, and their rows.
type Reader interface {
	notify.Log
	Read(context.Context, func(ledger.Reader) error) error
}

// Store is what followers need of the log besides their Reader.
type Store interface {
	// Append commits a unit. It is called until Run has returned.
	Append(*ledger.Unit) (ledger.Receipt, error)
	// ExpiredBefore returns a seq below which all events are older than at.
	ExpiredBefore(ctx context.Context, at, now time.Time) (int64, error)
}

// Config is what a Dispatcher works with. Store, Reader, Tail and LogID are
// required.
type Config struct {
	Store  Store
	Reader Reader
	Tail   *notify.Tail
	LogID  string
	Actors Actors // nil: tasks are an error
	// Report is called with the errors of followers, and with "" for errors of
	// the Dispatcher. It must not block, nor call the Dispatcher. nil = no
	// reports.
	Report func(follower string, err error)
	Now    func() time.Time // the clock of the events; nil = time.Now
	Bounds
}

// Bounds are the bounds of a Dispatcher. Zero values get their default.
type Bounds struct {
	MaxFollowers int // 100,000
	// MaxBusy is how many followers handle a batch at the same time (1,024),
	// each of at most 64 KiB or one event. The others wait for a slot.
	MaxBusy int
	Timeout time.Duration // of one call of Handle with its tasks; 30 s
	// Retention waits for a follower that lags by no more than both of these: 14
	// days and 10,000,000 events.
	MaxLagAge    time.Duration
	MaxLagEvents int64
}

func (b Bounds) withDefaults() Bounds {
	return Bounds{
		MaxFollowers: cmp.Or(b.MaxFollowers, 100_000), MaxBusy: cmp.Or(b.MaxBusy, 1024), Timeout: cmp.Or(b.Timeout, 30*time.Second),
		MaxLagAge: cmp.Or(b.MaxLagAge, 14*24*time.Hour), MaxLagEvents: cmp.Or(b.MaxLagEvents, 10_000_000),
	}
}

// pageReaders is how many followers read pages of the log at the same time: they
// share the store's reading connections with other readers.
const pageReaders = 2

// Dispatcher reads the log once for all followers and wakes those that want a
// new event. All methods may be called from many goroutines, Run once.
type Dispatcher struct {
	cfg   Config
	slots chan struct{} // MaxBusy
	pages chan struct{} // pageReaders
	due   chan struct{} // size 1: positions should be saved
	floor atomic.Int64

	writes sync.Mutex // held to write rows of followers, except moves
	reread bool       // guarded by writes: a save has failed, perhaps after its commit

	mu        sync.Mutex
	followers map[string]*Progress // also for rows whose follower has not been added
	index     index
	at        int64 // every event up to this seq has been looked up in index
	saved     row   // the dispatcher's own row
	limit     int64 // below this seq nothing is kept for followers
	run       context.Context
	work      sync.WaitGroup // goroutines of followers, and the one that saves
}

// Open reads the stored positions. It starts nothing: see Run.
func Open(ctx context.Context, cfg Config) (*Dispatcher, error) {
	cfg.Bounds = cfg.Bounds.withDefaults()
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Report == nil {
		cfg.Report = func(string, error) {}
	}
	d := &Dispatcher{
		cfg: cfg, slots: make(chan struct{}, cfg.MaxBusy), pages: make(chan struct{}, pageReaders), due: make(chan struct{}, 1),
		followers: map[string]*Progress{}, index: index{}, at: cfg.Tail.Head(),
	}
	d.saved = row{logID: cfg.LogID, scanned: d.at, fresh: true}
	rows, err := d.rows(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range rows { // the dispatcher's row is the first
		if r.name == "" {
			d.saved.fresh = false
			d.saved.scanned = min(r.scanned, d.at)
			d.at = d.saved.scanned
			continue
		}
		d.followers[r.name] = newProgress(d, r, d.at)
	}
	d.setFloor()
	return d, nil
}

// rows reads the stored rows.
func (d *Dispatcher) rows(ctx context.Context) (rows []row, err error) {
	if err = d.cfg.Reader.Read(ctx, func(tx ledger.Reader) error {
		return tx.Scan(ledger.Range{Index: byName}, func(v ledger.Values) error {
			rows = append(rows, readRow(v))
			return nil
		})
	}); err != nil {
		return nil, fmt.Errorf("read the positions of followers: %w", err)
	}
	return rows, nil
}

// Add adds a follower, also while Run is running. A follower that has no
// position yet gets one, durably, before Add returns. Errors are ErrTaken,
// ErrTooMany, or the store's.
func (d *Dispatcher) Add(ctx context.Context, f Follower) (*Progress, error) {
	if err := f.validate(); err != nil {
		return nil, err
	}
	d.writes.Lock()
	defer d.writes.Unlock()
	d.mu.Lock()
	l := d.followers[f.Name]
	taken, many := l != nil && l.f.Handle != nil, l == nil && len(d.followers) >= d.cfg.MaxFollowers
	d.mu.Unlock()
	switch {
	case taken:
		return nil, fmt.Errorf("%s: %w", f.Name, ErrTaken)
	case many:
		return nil, fmt.Errorf("%s: %w: %d", f.Name, ErrTooMany, d.cfg.MaxFollowers)
	case l == nil:
		r, err := d.newRow(ctx, &f)
		if err != nil {
			return nil, fmt.Errorf("add the follower %s: %w", f.Name, err)
		}
		l = newProgress(d, *r, 0)
	}
	d.put(l, f)
	return l, nil
}

// Begin does what Add does for a follower whose position was just committed with NewRow, after the same seq.
// It reads nothing, so what follows the commit cannot fail. It panics if f is not valid.
func (d *Dispatcher) Begin(f Follower, after int64) *Progress {
	if err := f.validate(); err != nil {
		panic(err)
	}
	r := NewRow(f.Name, d.cfg.LogID, after).(*row)
	r.fresh = false
	l := newProgress(d, *r, 0)
	d.writes.Lock()
	defer d.writes.Unlock()
	d.put(l, f)
	return l
}

// put gives a stored position its follower. d.writes is held.
func (d *Dispatcher) put(l *Progress, f Follower) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.followers[f.Name] != nil // its stored position is part of the floor
	d.followers[f.Name] = l
	l.attach(f)
	if !known {
		d.lowerFloor(l)
	}
}

// newRow returns the row of a follower. It stores a new one if there is none.
func (d *Dispatcher) newRow(ctx context.Context, f *Follower) (*row, error) {
	if r, err := d.stored(ctx, f.Name); err != nil || r != nil {
		return r, err
	}
	after := d.cfg.Tail.Head()
	if f.FromFirst {
		p, err := d.cfg.Reader.Page(ctx, notify.Query{After: after, MaxEvents: 1})
		if err != nil {
			return nil, err
		}
		after = p.First - 1
	}
	r := NewRow(f.Name, d.cfg.LogID, after).(*row)
	_, err := d.cfg.Store.Append(&ledger.Unit{Rows: []ledger.Row{r}})
	r.fresh = false
	return r, err
}

// Remove ends a follower and deletes its position. The follower need not have
// been added. Remove waits until Handle has returned; Handle must not call it.
// After an error it can be called again.
func (d *Dispatcher) Remove(name string) error {
	d.end(name)
	d.writes.Lock()
	defer d.writes.Unlock()
	if _, err := d.cfg.Store.Append(&ledger.Unit{Rows: []ledger.Row{RemoveRow(name)}}); err != nil {
		return fmt.Errorf("remove the follower %s: %w", name, err)
	}
	d.drop(name)
	return nil
}

// Forget works like Remove, for a follower whose position was deleted by a unit with
// RemoveRow. If another unit has made a new position since then, Add finds it.
func (d *Dispatcher) Forget(name string) {
	d.end(name)
	d.writes.Lock()
	defer d.writes.Unlock()
	d.drop(name)
}

// end waits until the follower has ended.
func (d *Dispatcher) end(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.followers[name]; l != nil {
		if done := l.detach(); done != nil {
			d.mu.Unlock()
			<-done
			d.mu.Lock()
		}
	}
}

// drop removes the progress of a follower that has ended. d.writes is held.
func (d *Dispatcher) drop(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.followers, name)
	d.setFloor()
}

// Run dispatches until ctx is done. It then saves positions, so the store must
// still run. It returns nil when all its goroutines have ended.
func (d *Dispatcher) Run(ctx context.Context) error {
	d.mu.Lock()
	d.run = ctx
	for _, l := range d.followers {
		d.wake(l)
	}
	d.mu.Unlock()
	d.work.Go(func() { d.saveLoop(ctx) })
	for fails := 0; ctx.Err() == nil; {
		if err := d.route(ctx); err != nil && ctx.Err() == nil {
			fails++
			d.cfg.Report("", fmt.Errorf("read the log: %w", err))
			pause(ctx, fails)
			continue
		}
		fails = 0
		d.mu.Lock()
		newEvents := d.cfg.Tail.Wait(d.at)
		d.mu.Unlock()
		select {
		case <-newEvents:
		case <-ctx.Done():
		}
	}
	d.mu.Lock()
	d.run = nil
	d.mu.Unlock()
	d.work.Wait()
	d.save()
	return nil
}

// route looks up all new events.
func (d *Dispatcher) route(ctx context.Context) error {
	for ctx.Err() == nil {
		moved, held := d.routeTail()
		if held && !moved {
			return nil
		}
		if !held {
			if err := d.routePage(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// routeTail looks up the events of one commit, if the tail has them.
func (d *Dispatcher) routeTail() (moved, held bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.index) == 0 { // no follower wants anything
		d.at = max(d.at, d.cfg.Tail.Head())
		return false, true
	}
	through, held := d.cfg.Tail.Walk(d.at, func(e *notify.Walked) bool {
		d.event(e.Seq, e.ThreadID, e.Method)
		return true
	})
	moved = through > d.at
	d.passed(through)
	return moved, held
}

// routePage looks up a page of the log, for events that have left the tail.
func (d *Dispatcher) routePage(ctx context.Context) error {
	// Only the goroutine of Run moves d.at.
	p, err := d.cfg.Reader.Page(ctx, notify.Query{After: d.at, MaxEvents: 1000, MaxBytes: 1 << 20})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.at+1 < p.First { // the events between were pruned
		for _, l := range d.followers {
			d.wanted(l, d.at+1)
			d.wanted(l, p.First-1)
		}
		d.passed(p.First - 1)
		return nil
	}
	for i := range p.Events {
		e := &p.Events[i]
		d.event(e.Seq, notify.ThreadIDOf(e.Params), e.Method)
	}
	d.passed(p.Scanned)
	return nil
}

func (d *Dispatcher) event(seq int64, threadID, method string) {
	d.index.find(threadID, method, func(l *Progress) { d.wanted(l, seq) })
}

func (d *Dispatcher) passed(seq int64) {
	if d.at = max(d.at, seq); d.at-d.saved.scanned >= saveEvents {
		d.saveSoon()
	}
}

// Floor returns the seq from which on followers within the bounds need the log,
// according to what is stored. Retention keeps the log from there on. Floor
// never blocks.
func (d *Dispatcher) Floor() int64 {
	d.saveSoon() // followers may be further than their stored positions
	return d.floor.Load()
}

const noFloor = math.MaxInt64
