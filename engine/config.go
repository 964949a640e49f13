package engine

import (
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/limits"
	"github.com/seed82539d15/holon/turns"
)

// Config bounds the engine. The zero value of each field means its default in
// package limits.
type Config struct {
	DefaultAgent   string // name of the agent of threads that name none; "" = the first agent
	MaxActiveTurns int    // over all threads, without those that wait for a person or for child turns
	// MaxWaitingTurns is how many turns that wait for a person give their slot
	// back; further ones keep it.
	MaxWaitingTurns int
	MaxQueue        int           // queued turns of a thread; limits.QueuedByInterrupt more by on_busy interrupt
	MaxItemBytes    int           // encoded content of an item
	IntakeBytes     int           // agent output that waits at one thread
	MaxCommands     int           // commands that wait at one thread
	MaxOpenItems    int           // open items of one turn
	InterruptAfter  time.Duration // how long an agent may take to stop
	DefaultTimeout  time.Duration // of a turn that names none; 0 = none
	DrainAfter      time.Duration // how long running turns may continue once the server stops
	DrainGrace      time.Duration // how long they may then take to be interrupted; 0 = 2 s

	// Reviews are the rules of agents, by name, for turns whose start names no policy,
	// and for how long their reviews wait.
	Reviews map[string]turns.ReviewRule

	InboxDefaults  inbox.Defaults // of the policies of inboxes
	Inbox          inbox.Bounds   // of each inbox
	InboxRetention time.Duration  // how long acknowledged items are kept
	DedupeFor      time.Duration  // how long the identity of an item is remembered at least
	// ObserveInbox is called after each commit that changes an inbox. It must not
	// block. nil = nothing is called.
	ObserveInbox func(*inbox.Stats)
	// ObserveTurns is called after each commit that ends a turn, an attempt of one or the
	// wait of a question, also while Recover runs. It must not block, nor keep the Stats.
	// nil = nothing is called.
	ObserveTurns func(*turns.Stats)
}

// Bounds of the work of one actor.
const (
	// A unit has at most so much agent output: more per transaction gains nothing.
	unitEvents = 512
	unitBytes  = 512 << 10

	// deltaBytes bounds a merged delta: one chunk of a stream.
	deltaBytes = 64 << 10

	progressEvery = time.Second            // of progress messages
	heldRetry     = 500 * time.Millisecond // how often a unit that a full disk refused is committed again
	idleAfter     = 5 * time.Second        // an actor with nothing to do ends after it
)

func (c Config) withDefaults() Config {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	c.MaxActiveTurns = limits.ActiveTurns.Or(c.MaxActiveTurns)
	c.MaxWaitingTurns = limits.WaitingTurns.Or(c.MaxWaitingTurns)
	c.MaxQueue = limits.QueuedTurns.Or(c.MaxQueue)
	c.MaxItemBytes = limits.ItemBytes.Or(c.MaxItemBytes)
	c.InterruptAfter = limits.Interrupt.Or(c.InterruptAfter)
	c.DrainAfter = limits.Drain.Or(c.DrainAfter)
	set(&c.IntakeBytes, limits.IntakeBytes)
	set(&c.MaxCommands, limits.Commands)
	set(&c.MaxOpenItems, limits.OpenItems)
	if c.DrainGrace <= 0 {
		c.DrainGrace = 2 * time.Second
	}
	set(&c.Inbox.MaxPendingItems, limits.PendingItems.Default)
	set(&c.Inbox.MaxUnackedItems, limits.UnackedItems.Default)
	c.Inbox.MaxUnackedBytes = limits.UnackedBytes.Or(c.Inbox.MaxUnackedBytes)
	set(&c.Inbox.MaxTimers, limits.Timers.Default)
	set(&c.Inbox.MaxSubscriptions, limits.InboxSubscriptions.Default)
	c.InboxRetention = limits.InboxRetention.Or(c.InboxRetention)
	c.DedupeFor = limits.Dedupe.Or(c.DedupeFor)
	return c
}
