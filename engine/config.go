package engine

import (
	"time"

	"github.com/seed82539d15/holon/turns"
)

// Config bounds the engine. The zero value of each field means its default.
type Config struct {
	DefaultAgent   string // name of the agent of threads that name none; the first agent
	MaxActiveTurns int    // over all threads, without those that wait for a person; 64
	// MaxWaitingTurns is how many turns that wait for a person give their place
	// back; further ones keep it. 1,024
	MaxWaitingTurns int
	MaxQueue        int           // queued turns of a thread; 64, and 8 more by on_busy interrupt
	MaxItemBytes    int           // encoded content of an item; 1 MiB
	InboxBytes      int           // agent output that waits at one thread; 1 MiB
	MaxCommands     int           // commands that wait at one thread; 256
	MaxOpenItems    int           // open items of one turn; 128: all of them are written whole when the turn ends
	InterruptAfter  time.Duration // how long an agent may take to stop; 10 s
	DefaultTimeout  time.Duration // of a turn that names none; 0 = none
	DrainAfter      time.Duration // how long running turns may go on once the server stops; 6 s
	DrainGrace      time.Duration // how long they may then take to be interrupted; 2 s
}

// interruptExtra is how many turns on_busy interrupt may queue above the
// bound, so that "stop that and do this" still works with a full queue.
const interruptExtra = 8

// Bounds of the work of one owner.
const (
	// A unit joins as much agent output as one transaction usefully takes.
	unitEvents = 512
	unitBytes  = 512 << 10

	// deltaBytes is the most that merged deltas have: one chunk of a stream.
	deltaBytes = 64 << 10

	progressEvery = time.Second            // of progress messages
	heldRetry     = 500 * time.Millisecond // of a unit that a full disk refused
	idleAfter     = 5 * time.Second        // an actor with nothing to do leaves
)

func (c Config) withDefaults() Config {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&c.MaxActiveTurns, 64)
	set(&c.MaxWaitingTurns, turns.DefaultMaxWaiting)
	set(&c.MaxQueue, 64)
	set(&c.MaxItemBytes, 1<<20)
	set(&c.InboxBytes, turns.DefaultInboxBytes)
	set(&c.MaxCommands, turns.DefaultMaxCommands)
	set(&c.MaxOpenItems, turns.DefaultMaxOpenItems)
	if c.InterruptAfter <= 0 {
		c.InterruptAfter = turns.DefaultInterruptAfter
	}
	if c.DrainAfter <= 0 {
		c.DrainAfter = 6 * time.Second
	}
	if c.DrainGrace <= 0 {
		c.DrainGrace = 2 * time.Second
	}
	return c
}
