package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// Pause keeps turns of all threads from starting; running turns continue. It
// survives a restart, unless its reason is turns.PausedToStop. Errors: *InvalidError,
// ledger.ErrKeyConflict, ledger.ErrStorageFull, ledger.ErrStorageFailed.
func (e *Engine) Pause(ctx context.Context, c turns.Pause) (turns.PauseResult, error) {
	if err := turns.CheckSeconds("timeout_seconds", c.TimeoutSeconds); err != nil {
		return turns.PauseResult{}, err
	}
	body := &turns.RuntimeEvent{Type: "paused", Reason: c.Reason, RequestedBy: requestedBy(c.By)}
	if c.TimeoutSeconds > 0 {
		body.Until = notify.TimeOf(time.Now().Add(time.Duration(c.TimeoutSeconds * float64(time.Second))))
	}
	return e.pause.change(notify.HolonPaused, body, c.Key)
}

// Resume ends a pause. Errors: as Pause.
func (e *Engine) Resume(ctx context.Context, c turns.Resume) (turns.PauseResult, error) {
	return e.pause.change(notify.HolonResumed, &turns.RuntimeEvent{Type: "resumed", Reason: c.Reason, RequestedBy: requestedBy(c.By)}, c.Key)
}

// State returns running, paused or draining.
func (e *Engine) State() string { return e.pause.state() }

// Runtime returns the pause of the runtime as it was committed last.
func (e *Engine) Runtime() turns.Runtime { return e.pause.current() }

// pause owns what keeps all threads from starting turns: the pause of the runtime,
// as it is in the log, and the drain. It is safe for use by many goroutines.
type pause struct {
	store   turns.Store
	gate    *gate
	log     *zap.Logger
	changed chan struct{} // receives when runtime.Until changes; capacity 1

	changing sync.Mutex // one pause or resume at a time

	mu       sync.Mutex
	runtime  turns.Runtime // as committed
	inherits bool          // runtime is what the last server has left
	draining bool
}

func newPause(store turns.Store, g *gate, log *zap.Logger) *pause {
	return &pause{store: store, gate: g, log: log, changed: make(chan struct{}, 1)}
}

// current returns the pause as it was committed last.
func (p *pause) current() turns.Runtime {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runtime
}

func (p *pause) set(r turns.Runtime, inherits bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runtime, p.inherits = r, inherits
}

// inherit takes over what the last server has left, and ends a pause that was to last
// until this start. If the disk is full, resumeOnTime ends it later.
func (p *pause) inherit(r turns.Runtime) error {
	p.set(r, true)
	p.gate.pause(r.Paused)
	if err := p.resumeIfDue(); err != nil && !errors.Is(err, ledger.ErrStorageFull) {
		return fmt.Errorf("end the pause of the last stop: %w", err)
	}
	return nil
}

// due returns when the pause ends by itself, and with which reason. ok is false for a pause
// that only a client ends, and if there is none.
func (p *pause) due() (at time.Time, reason string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch r := p.runtime; {
	case p.inherits && r.ToStop():
		return time.Time{}, "restart", true
	case r.Paused && !r.Until.IsZero():
		return r.Until.Time, "timeout", true
	}
	return time.Time{}, "", false
}

// resumeIfDue ends the pause if its time has come.
func (p *pause) resumeIfDue() error {
	p.changing.Lock()
	defer p.changing.Unlock()
	at, reason, ok := p.due()
	if !ok || time.Now().Before(at) {
		return nil
	}
	_, err := p.commit(notify.HolonResumed, &turns.RuntimeEvent{Type: "resumed", Reason: reason}, nil)
	return err
}

// drain begins the drain, which does not end.
func (p *pause) drain() {
	p.mu.Lock()
	p.draining = true
	p.mu.Unlock()
	p.gate.drain()
}

func (p *pause) state() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.draining:
		return "draining"
	case p.runtime.Paused:
		return "paused"
	}
	return "running"
}

func (p *pause) isDraining() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.draining
}

// change pauses or resumes for a client.
func (p *pause) change(method string, body *turns.RuntimeEvent, key *ledger.Key) (turns.PauseResult, error) {
	p.changing.Lock()
	defer p.changing.Unlock()
	return p.commit(method, body, key)
}

// commit commits a pause or a resume. It closes the gate before a pause is in the
// log, and opens it after a resume is: see gate. The caller holds changing.
func (p *pause) commit(method string, body *turns.RuntimeEvent, key *ledger.Key) (turns.PauseResult, error) {
	if err := turns.CheckText("reason", body.Reason); err != nil {
		return turns.PauseResult{}, err
	}
	prev := p.current()
	next, pauses := prev, method == notify.HolonPaused
	r, replayed, err := ledger.Keyed(p.store, key, func() (*ledger.Unit, turns.PauseResult, error) {
		u := &ledger.Unit{}
		if prev.Paused == pauses && !(pauses && prev.GivesWayTo(body)) {
			return u, turns.PauseResult{Success: true, Message: "already " + body.Type, State: p.stateAfter(prev), Until: prev.Until}, nil
		}
		d := notify.Draft{Method: method, Header: notify.Header{Seq: notify.Provisional(0), Timestamp: nowTime()}, Body: body}
		if err := d.Encode(); err != nil {
			return nil, turns.PauseResult{}, err
		}
		next = *turns.ApplyRuntime(prev, d.Header, body)
		u.Drafts, u.Rows = []notify.Draft{d}, []ledger.Row{&next}
		return u, turns.PauseResult{Success: true, Message: body.Type, State: p.stateAfter(next), Until: next.Until}, nil
	}, func(u *ledger.Unit) (ledger.Receipt, error) {
		if pauses {
			p.gate.pause(true)
		}
		return p.store.Append(u)
	})
	if err != nil || replayed {
		p.gate.pause(prev.Paused)
		return r, err
	}
	p.set(next, false)
	p.gate.pause(next.Paused)
	select {
	case p.changed <- struct{}{}:
	default:
	}
	return r, nil
}

func (p *pause) stateAfter(r turns.Runtime) string {
	switch {
	case p.isDraining():
		return "draining"
	case r.Paused:
		return "paused"
	}
	return "running"
}

// resumeOnTime ends pauses when their time has come. It blocks until ctx is done.
func (p *pause) resumeOnTime(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		wait := time.Hour
		if at, _, ok := p.due(); ok {
			wait = max(0, time.Until(at))
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-p.changed:
			continue
		case <-timer.C:
		}
		err := p.resumeIfDue()
		if err == nil {
			continue
		}
		p.log.Error("end a pause whose time has come", zap.Error(err))
		if errors.Is(err, ledger.ErrStorageFailed) {
			<-ctx.Done()
			return
		}
		timer.Reset(heldRetry)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
	}
}
