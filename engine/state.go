package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// state is what the actor of a thread knows of it. Decisions change it: those
// about commands change a clone, which becomes the state with the commit. Rows,
// spans, tries and queued turns in it are replaced, never changed, so that a
// clone can share them.
type state struct {
	thread       *threads.Thread // nil: there is no such thread
	queue        []*queuedTurn   // by rank
	active       *activeTurn     // nil: no turn is active
	newestItemID string          // no item of the thread with an id made by NewID has a greater id
	inbox        *inbox.Inbox    // nil: nothing has arrived yet
}

// queuedTurn is a turn that waits to start.
type queuedTurn struct {
	turn  *turns.Turn
	input []*openItem // its user messages
	tries *tries      // of its earlier attempts
}

// activeTurn is the turn that is active: it runs, or waits for its next attempt.
type activeTurn struct {
	turn    *turns.Turn
	tries   *tries
	open    *openItems
	steers  []string // user_message items not delivered yet, in order
	usage   *items.Usage
	stop    *stop // nil: it has not been asked to stop
	cut     bool  // the current prompt is being cut short for a steer
	clock   clock
	notices int  // made for refused ops
	spoke   bool // the agent has made an item in this attempt, since it was told entries if it was

	hasOutput bool // the agent has made an item in this attempt

	progressAt   time.Time // when the last message was sent
	progressNext *string   // a message that waits until a second has passed

	retryAt time.Time // when its next attempt begins; zero = one is under way

	answers []givenAnswer // of persons before a restart, which the current prompt may ask for once more

	// work is the execution of the turn. Clones share it, because decisions do not
	// change it: executors and effects do.
	work *work
}

// stop says how the turn ends, whatever the agent does.
type stop struct {
	by      turns.By // who interrupts it; "" = the server
	state   turns.State
	reason  string
	failure *turns.Failure
}

// clone returns a copy that can be changed without changing s.
func (s *state) clone() *state {
	next := *s
	if s.active != nil {
		act := *s.active
		act.open, act.steers = s.active.open.clone(), slices.Clone(s.active.steers)
		next.active = &act
	}
	return &next
}

// mustBeOpen returns an error unless the thread is open.
func (s *state) mustBeOpen() error {
	switch {
	case s.thread == nil:
		return threads.ErrNotFound
	case s.thread.State == threads.Closing || s.thread.State == threads.Closed:
		return threads.ErrClosed
	}
	return nil
}

// isActive reports whether the turn is the active one.
func (s *state) isActive(turnID string) bool {
	return s.active != nil && s.active.turn.TurnID == turnID
}

// queued returns a turn of the queue, nil if it is not there.
func (s *state) queued(turnID string) *queuedTurn {
	for _, q := range s.queue {
		if q.turn.TurnID == turnID {
			return q
		}
	}
	return nil
}

// enqueue puts a turn into the queue. It replaces an entry of the same turn.
func (s *state) enqueue(q *queuedTurn) {
	s.dequeue(q.turn.TurnID)
	s.queue = append(slices.Clip(s.queue), q)
	slices.SortFunc(s.queue, func(x, y *queuedTurn) int { return cmp.Compare(x.turn.Rank, y.turn.Rank) })
}

// dequeue removes a turn from the queue, if it is there.
func (s *state) dequeue(turnID string) {
	if s.queued(turnID) != nil {
		s.queue = slices.DeleteFunc(slices.Clone(s.queue), func(q *queuedTurn) bool { return q.turn.TurnID == turnID })
	}
}

// setInput sets the user messages of a queued turn.
func (s *state) setInput(turnID string, input []*openItem) {
	q := *s.queued(turnID)
	q.input = input
	s.enqueue(&q)
}

// waitsForAttempt reports whether the turn is between two attempts: the old one is
// superseded, the new one begins at retryAt. Nothing runs then.
func (act *activeTurn) waitsForAttempt() bool { return !act.retryAt.IsZero() }

// unattended reports whether neither an agent nor a worker is at work on the
// turn, so that there is nothing to ask to stop.
func (act *activeTurn) unattended() bool {
	return act.waitsForAttempt() || act.work.exec == nil || act.work.exec.unattended()
}

// suspended reports whether the turn has waited for a person when the server restarted. No
// agent works on it: it continues with a prompt of its own once all is answered.
func (act *activeTurn) suspended() bool { return act.turn.SuspendedSeq > 0 }

// betweenPrompts reports whether the turn waits without a prompt, and is not retried.
func (act *activeTurn) betweenPrompts() bool { return act.turn.WaitsForChildren() || act.suspended() }

// waitsForPerson reports whether the turn has a question that waits for an answer.
func (act *activeTurn) waitsForPerson() bool {
	return act.clock.waiting && !act.turn.WaitsForChildren()
}

// mayLend reports whether the turn needs no slot now.
func (act *activeTurn) mayLend() bool {
	return act.turn.WaitsForPerson() || act.turn.WaitsForChildren() || *act.work.calls > 0
}

// pendingQuestions returns how many questions of the turn wait for an answer.
func (act *activeTurn) pendingQuestions() int {
	n := 0
	for _, o := range act.open.list {
		if o.row.Status == items.StatusPending {
			n++
		}
	}
	return n
}

func (act *activeTurn) dropSteer(itemID string) {
	act.steers = slices.DeleteFunc(act.steers, func(id string) bool { return id == itemID })
}

// clock measures what a turn has left of its timeout_seconds. It stops while the
// turn waits for a person, or for child turns between two prompts.
type clock struct {
	timeout time.Duration // left when since began; 0 = none
	since   time.Time     // zero while waiting
	waiting bool
}

// wait stops the clock, or starts it again.
func (c *clock) wait(waiting bool) {
	if c.waiting == waiting {
		return
	}
	c.waiting = waiting
	if waiting {
		c.timeout, c.since = c.left(), time.Time{}
		return
	}
	c.since = time.Now()
}

// left returns what is left of the timeout; 0 = there is none. After it has run out,
// it is one nanosecond, so that it differs from no timeout.
func (c *clock) left() time.Duration {
	if c.timeout == 0 || c.since.IsZero() {
		return c.timeout
	}
	return max(1, c.timeout-time.Since(c.since))
}

// due returns when the timeout runs out; zero = never, as things are now.
func (c *clock) due() time.Time {
	if c.timeout == 0 || c.since.IsZero() {
		return time.Time{}
	}
	return c.since.Add(c.timeout)
}
