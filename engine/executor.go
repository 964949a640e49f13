package engine

import "time"

// executor works on an attempt of a turn: a run, which is a prompt of an agent
// in this process, or a worker, which has claimed the attempt over the wire.
// The owner of the thread calls it, from its own goroutine; no method blocks.
type executor interface {
	// stop asks it to end the present prompt. The owner sets the deadline.
	stop(cause error)
	// part ends its connection with the turn. It is not waited for. Parting
	// twice is fine.
	detach()
	// unattended reports whether nobody is at work yet.
	unattended() bool
	// outlives reports whether it goes on when the server stops.
	outlivesServer() bool
	// due is when it is given up although nobody has stopped it; zero = never.
	due() time.Time
	// overdue says why a turn ends that did not stop by its deadline.
	overdueReason() string
	// takesText reports whether it takes steered text while it works.
	acceptsText() bool
	// steer hands over committed text if inject is set. Otherwise the text waits for
	// the next prompt, and so does all later text.
	steer(list []injection, inject bool)
}

// work is what executes the active turn.
type work struct {
	turnID  string
	exec    executor  // nil between two prompts or attempts
	prompts int       // of the attempt, started so far
	stopBy  time.Time // when an executor that was asked to stop is given up; zero = none
}

// detach parts from the executor, if there is one, without waiting for it: its
// prompt has ended for the turn. w may be nil.
func (w *work) detach() {
	if w == nil {
		return
	}
	if w.exec != nil {
		w.exec.detach()
	}
	w.exec, w.stopBy = nil, time.Time{}
}

// stop asks the executor to stop within a time; an earlier deadline holds.
func (w *work) stop(cause error, within time.Duration) {
	if w.exec != nil {
		w.exec.stop(cause)
	}
	if by := time.Now().Add(within); w.stopBy.IsZero() || by.Before(w.stopBy) {
		w.stopBy = by
	}
}

// worker returns the executor if it is a worker, else nil.
func (w *work) worker() *worker {
	is, _ := w.exec.(*worker)
	return is
}
