package engine

import "time"

// executor works on an attempt of a turn: a run, which is a prompt of an agent
// in this process, or a worker, which has claimed the attempt over the wire.
// Only the goroutine of the actor calls it. No method blocks.
type executor interface {
	// stop asks it to end the current prompt. The actor sets the deadline.
	stop(cause error)
	// supersede says that the attempt was superseded, so that further output is late.
	supersede()
	// detach ends its connection with the turn without waiting for it. Detaching
	// twice is fine.
	detach()
	// leave is detach for a turn that waits on when the server stops: the agent is told
	// nothing, and nothing that it says from then on counts. One that outlives the server
	// is not left.
	leave()
	// unattended reports whether no agent or worker is at work yet.
	unattended() bool
	// outlivesServer reports whether it continues when the server stops.
	outlivesServer() bool
	// due is when it is given up without having been asked to stop; zero = never.
	due() time.Time
	// overdueReason says why a turn ends that did not stop by its deadline.
	overdueReason() string
	// acceptsText reports whether it accepts steered text while it works.
	acceptsText() bool
	// steer delivers committed text. With cut, since the current prompt is being
	// stopped, this text and all later text waits for the next prompt.
	steer(list []injection, cut bool)
}

// work is the execution of the active turn.
type work struct {
	turnID  string
	exec    executor  // nil between two prompts or attempts
	prompts int       // of the attempt, started so far
	stopBy  time.Time // the deadline of an executor that was asked to stop; zero = none

	// hasChildren says that child turns of the turn may exist: the rows say whether
	// they do. While some start, the turn does not complete.
	hasChildren bool
	starting    int
	calls       *int // of the agent in this attempt that wait for child turns: how many

	// steered is how often text was steered to the turn, delivered or not; read is how much of
	// that its agent has read, as far as is known: it has begun a prompt or a message since, or
	// was told by an answer that there is some.
	steered, read int

	left bool // the server stops, and the turn waits for a person: the next one decides
}

// detach detaches the executor, if there is one, because its prompt has ended for
// the turn. w may be nil.
func (w *work) detach() {
	if w == nil {
		return
	}
	if w.exec != nil {
		w.exec.detach()
	}
	w.exec, w.stopBy = nil, time.Time{}
}

// leave leaves the turn, which waits for a person, to the next server.
func (w *work) leave() {
	w.exec.leave()
	w.exec, w.stopBy, w.left = nil, time.Time{}, true
}

// letGo ends the connection with the executor, because the engine has stopped. waits says that
// the turn waits for a person: a full disk may have kept it from being left before. w may be
// nil.
func (w *work) letGo(waits bool) {
	if waits && w.exec != nil && !w.exec.outlivesServer() {
		w.leave()
		return
	}
	w.detach()
}

// supersede detaches the executor because its attempt was superseded.
func (w *work) supersede() {
	if w.exec != nil {
		w.exec.supersede()
	}
	w.detach()
	w.prompts, w.calls, w.read = 0, new(int), w.steered
}

// stop asks the executor to stop within a time. An earlier deadline stays.
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
