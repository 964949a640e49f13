package persist

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// Bounds of one transaction. 1,024 events of the usual size commit in a few
// milliseconds; 1 MiB keeps a batch well below the size of the tail. A larger
// unit is committed alone.
const (
	batchEvents = 1024
	batchBytes  = 1 << 20
)

// queueUnits bounds the units that wait. Every actor has at most one in flight,
// so only more busy threads than this reach the bound. Append then blocks, as
// actors do anyway.
const queueUnits = 1024

// probeEvery is how often a full store is probed, so that readiness returns
// without a client's write.
const probeEvery = time.Second

// Committer executes units in a store. All its methods are called by the one
// goroutine that runs the Appender.
type Committer interface {
	// Commit executes the units, in their order, in one transaction that is
	// durable when it returns. It checks keys and fences against the log and
	// the earlier units of the batch, assigns seqs, and puts them into the rows of the units.
	// A unit that is refused has an error in its Outcome and leaves no trace.
	//
	// If Commit itself returns an error, nothing has happened. An error of the
	// disk wraps ledger.ErrStorageFull or ledger.ErrStorageFailed. After any
	// other error the units are retried one by one. A panic that was rolled back
	// is returned as a *PanicError and is the fault of a unit. A panic of Commit
	// leaves the state of the store unknown and is treated as a failed disk.
	Commit(units []*ledger.Unit) (Committed, error)
	// Probe tries a small durable write.
	Probe() error
	// Maintain does what is due between two batches, after the units of the
	// last one have been answered. Its error is nil or wraps
	// ledger.ErrStorageFailed: the disk cannot be trusted any more.
	Maintain() error
}

// Committed is what a transaction did. There is an Outcome for each unit, and
// Events are those of all units, in the order of their seqs.
type Committed struct {
	Events   []notify.Event
	Outcomes []Outcome
}

// Outcome is the result of one unit of a batch.
type Outcome struct {
	Receipt ledger.Receipt
	Err     error
}

// Observer is notified of what the appender does, for metrics. Any of its
// functions may be nil. The appender's goroutine calls them; they must not
// block.
type Observer struct {
	// Committed is called after every transaction that was committed.
	Committed func(units, events, bytes int, took time.Duration)
	// Refused is called for every unit that was not committed. kind is one of
	// RefusedKinds.
	Refused func(kind string)
	// Panicked is called after every panic that was caught, with the threads of
	// the units in work; none if no units were.
	Panicked func(threadIDs []string, err *PanicError)
}

// RefusedKinds are the kinds of units that were not committed.
var RefusedKinds = []string{"storage_full", "storage_failed", "runtime_paused", "internal"}

// Appender is the group commit: units of all actors wait in one bounded queue,
// and one goroutine commits the waiting units in one transaction. There is no
// timer: while a commit runs, the next batch collects in the queue.
//
// Append, Do, Healthy and QueueDepth may be called from many goroutines.
type Appender struct {
	committer Committer
	tail      *notify.Tail
	observer  Observer

	queue chan *request
	jobs  chan job

	gate     sync.RWMutex // guards closing: no unit is accepted once it is set
	closing  bool
	accepted sync.WaitGroup // units in the queue or in the batch

	failed atomic.Pointer[error] // permanently, such as after a failed fsync
	full   atomic.Pointer[error] // until a commit succeeds again

	unexplained int // commits in a row that failed together with the probe after them
}

type request struct {
	unit  *ledger.Unit
	bytes int
	reply chan Outcome // size 1: the appender never waits for an actor
}

type job struct {
	do   func() error
	done chan error
}

// errClosed refuses units and jobs after Run has ended.
var errClosed = fmt.Errorf("the log is closed: %w", ledger.ErrStorageFailed)

// NewAppender returns an appender that publishes into tail what committer has
// committed. It starts nothing: see Run.
func NewAppender(committer Committer, tail *notify.Tail, observer Observer) *Appender {
	return &Appender{
		committer: committer, tail: tail, observer: observer,
		queue: make(chan *request, queueUnits), jobs: make(chan job),
	}
}

// Observe replaces the observer. It must be called before Run.
func (a *Appender) Observe(o Observer) { a.observer = o }

// Append commits the unit, together with others that wait, and returns when it
// is durable. It takes no context: a client that hangs up must not decide
// whether a commit happens. It blocks until Run is running.
func (a *Appender) Append(u *ledger.Unit) (ledger.Receipt, error) {
	if err := a.failed.Load(); err != nil {
		return ledger.Receipt{}, *err
	}
	r := &request{unit: u, reply: make(chan Outcome, 1)}
	for i := range u.Drafts {
		r.bytes += len(u.Drafts[i].Rest)
	}
	a.gate.RLock()
	if a.closing {
		a.gate.RUnlock()
		return ledger.Receipt{}, errClosed
	}
	a.accepted.Add(1)
	a.gate.RUnlock()
	a.queue <- r
	out := <-r.reply
	return out.Receipt, out.Err
}

// Do runs f on the appender's goroutine between two batches. It is the way to
// write to the store without a unit. f must be short. After a failed fsync it is
// not run.
func (a *Appender) Do(ctx context.Context, f func() error) error {
	a.gate.RLock()
	if a.closing {
		a.gate.RUnlock()
		return errClosed
	}
	a.accepted.Add(1)
	a.gate.RUnlock()
	defer a.accepted.Done()
	j := job{do: f, done: make(chan error, 1)}
	select {
	case a.jobs <- j:
		return <-j.done
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Healthy returns nil as long as commits succeed. It is ErrStorageFailed permanently
// after a failed fsync, and ErrStorageFull until there is space again.
func (a *Appender) Healthy() error {
	if err := a.failed.Load(); err != nil {
		return *err
	}
	if err := a.full.Load(); err != nil {
		return *err
	}
	return nil
}

// QueueDepth returns the number of units that wait, for metrics.
func (a *Appender) QueueDepth() int { return len(a.queue) }

// Fail makes every later change fail with err, which wraps ErrStorageFailed.
// The store calls it when it learns outside a commit, such as in a checkpoint,
// that the disk cannot be trusted.
func (a *Appender) Fail(err error) { a.failed.CompareAndSwap(nil, &err) }

// Run commits until ctx is done. It then commits what has been accepted until
// then, and returns nil. Later units are refused. It must be called at most
// once.
func (a *Appender) Run(ctx context.Context) error {
	probe := time.Tick(probeEvery)
	stop := ctx.Done()
	var drained chan struct{}
	var held *request // did not fit into the last batch
	for {
		if held == nil {
			select {
			case held = <-a.queue:
			case j := <-a.jobs:
				a.work(j)
				continue
			case <-probe:
				a.probe()
				continue
			case <-stop:
				stop = nil
				drained = a.close()
				continue
			case <-drained:
				return nil
			}
		}
		var batch []*request
		batch, held = a.gather(held)
		a.commit(batch)
		if a.failed.Load() == nil { // else nothing is written any more
			if err := a.guarded(nil, a.committer.Maintain); err != nil {
				a.Fail(err)
			}
		}
		select { // a queue that never runs empty must not keep jobs waiting
		case j := <-a.jobs:
			a.work(j)
		default:
		}
	}
}

// close accepts no further unit, and returns a channel that is closed once all
// accepted units have been answered.
func (a *Appender) close() chan struct{} {
	a.gate.Lock()
	a.closing = true
	a.gate.Unlock()
	drained := make(chan struct{})
	go func() {
		a.accepted.Wait()
		close(drained)
	}()
	return drained
}

// gather takes waiting units, within the bounds of a batch. held is the unit
// that did not fit.
func (a *Appender) gather(first *request) (batch []*request, held *request) {
	batch = append(batch, first)
	events, bytes := len(first.unit.Drafts), first.bytes
	for {
		select {
		case r := <-a.queue:
			events += len(r.unit.Drafts)
			bytes += r.bytes
			if events > batchEvents || bytes > batchBytes {
				return batch, r
			}
			batch = append(batch, r)
		default:
			return batch, nil
		}
	}
}

func (a *Appender) commit(batch []*request) {
	if err := a.failed.Load(); err != nil {
		a.refuse(batch, *err)
		return
	}
	units := make([]*ledger.Unit, len(batch))
	bytes := 0
	for i, r := range batch {
		units[i] = r.unit
		bytes += r.bytes
	}
	began := time.Now()
	var done Committed
	err := a.guarded(units, func() (err error) {
		if done, err = a.committer.Commit(units); err == nil {
			tell(units, done.Outcomes)
			// Publish before answering: a caller that receives a seq may at
			// once read what is after it.
			a.tail.Publish(done.Events)
		}
		return err
	})
	switch {
	case err == nil:
		a.full.Store(nil)
		a.unexplained = 0
		if a.observer.Committed != nil {
			a.observer.Committed(len(units), len(done.Events), bytes, time.Since(began))
		}
		for i, r := range batch {
			if done.Outcomes[i].Err != nil {
				a.count(done.Outcomes[i].Err)
			}
			a.answer(r, done.Outcomes[i])
		}
	case errors.Is(err, ledger.ErrStorageFailed):
		a.Fail(err)
		a.refuse(batch, err)
	case errors.Is(err, ledger.ErrStorageFull):
		a.full.Store(&err)
		if len(batch) > 1 { // a smaller unit may still fit
			a.commitSingly(batch)
			return
		}
		a.refuse(batch, err)
	case len(batch) > 1:
		a.commitSingly(batch)
	default:
		a.report(units, err)
		a.refuse(batch, a.explain(err))
	}
}

// tell reports to the callers of units where these are in the log, before streams can read them.
func tell(units []*ledger.Unit, outcomes []Outcome) {
	for i, u := range units {
		if out := &outcomes[i]; u.Caller != nil && len(u.Drafts) > 0 && out.Err == nil && out.Receipt.Stored == nil {
			u.Caller.Committed(out.Receipt.Last)
		}
	}
}

// commitSingly commits each unit of a failed batch in a separate transaction, so
// that only the unit at fault fails.
func (a *Appender) commitSingly(batch []*request) {
	for _, r := range batch {
		a.commit([]*request{r})
	}
}

func (a *Appender) refuse(batch []*request, err error) {
	for _, r := range batch {
		a.count(err)
		a.answer(r, Outcome{Err: err})
	}
}

func (a *Appender) answer(r *request, out Outcome) {
	r.reply <- out
	a.accepted.Done()
}

func (a *Appender) count(err error) {
	if a.observer.Refused == nil {
		return
	}
	kind := "internal"
	switch {
	case errors.Is(err, ledger.ErrStorageFailed):
		kind = "storage_failed"
	case errors.Is(err, ledger.ErrStorageFull):
		kind = "storage_full"
	case errors.Is(err, turns.ErrRuntimePaused):
		kind = "runtime_paused"
	}
	a.observer.Refused(kind)
}

// probe checks whether a store that was full takes writes again.
func (a *Appender) probe() {
	if a.full.Load() == nil || a.failed.Load() != nil {
		return
	}
	switch err := a.guarded(nil, a.committer.Probe); {
	case err == nil:
		a.full.Store(nil)
	case errors.Is(err, ledger.ErrStorageFailed):
		a.Fail(err)
	}
}
