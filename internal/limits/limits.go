// Package limits has the one table of bounds that several parts of the server
// need: the defaults of the engine, the API and the configuration, and the range
// of each setting. A bound that only one package needs is a constant there.
// api.Limits lists both kinds for clients.
package limits

import "time"

// Range is a bound that can be set.
type Range[T int | int64 | time.Duration] struct{ Default, Least, Most T }

// Or returns v, or the default if v is not positive. It does not check Least and
// Most: they bound settings, and tests go below them.
func (r Range[T]) Or(v T) T {
	if v <= 0 {
		return r.Default
	}
	return v
}

// The bounds that are settings.
var (
	// At least 4 MiB, so that a page of a list (1 MiB and one row) and the input of
	// a worker's turn fit.
	FrameBytes = Range[int]{4 << 20, 4 << 20, 64 << 20}
	ItemBytes  = Range[int]{1 << 20, 4 << 10, 64 << 20}
	TailBytes  = Range[int]{16 << 20, 64 << 10, 1 << 30}
	InFlight   = Range[int]{64, 1, 10_000}
	// 8,192: about 0.5 GiB at the memory of an idle stream, and within half of
	// the usual hard limit on descriptors.
	Connections  = Range[int]{8192, 1, 1_000_000}
	ActiveTurns  = Range[int]{64, 1, 100_000}
	WaitingTurns = Range[int]{1024, 1, 100_000}
	QueuedTurns  = Range[int]{64, 1, 10_000}
	// Of all agents; 0 = as many as half of the memory allows.
	Processes = Range[int]{0, 0, 1000}

	// Of one inbox. 10,000 entries are more than an agent or a person reads; with
	// 64 MiB an actor decides about them within seconds. The most are for an inbox
	// that collects a million items that no client reads.
	PendingItems       = Range[int]{10_000, 1, 2_000_000}
	UnackedItems       = Range[int]{10_000, 1, 2_000_000}
	UnackedBytes       = Range[int64]{64 << 20, 256 << 10, 64 << 30}
	Timers             = Range[int]{1000, 1, 100_000}
	InboxSubscriptions = Range[int]{1000, 1, 100_000}
	// How long acknowledged items of inboxes are kept, and at least how long their
	// ids are remembered.
	InboxRetention = Range[time.Duration]{30 * 24 * time.Hour, time.Second, 10 * 366 * 24 * time.Hour}
	Dedupe         = Range[time.Duration]{30 * 24 * time.Hour, time.Second, 10 * 366 * 24 * time.Hour}
	// How long events are kept for a subscription that takes none: a fortnight of
	// holidays.
	LaneLag = Range[time.Duration]{14 * 24 * time.Hour, time.Second, 10 * 366 * 24 * time.Hour}

	Drain        = Range[time.Duration]{6 * time.Second, 100 * time.Millisecond, time.Hour}
	Interrupt    = Range[time.Duration]{10 * time.Second, 100 * time.Millisecond, time.Hour}
	Heartbeat    = Range[time.Duration]{15 * time.Second, 100 * time.Millisecond, time.Hour}
	WriteTimeout = Range[time.Duration]{30 * time.Second, 100 * time.Millisecond, time.Hour}
)

// The bounds that only code can change.
const (
	// QueuedByInterrupt is how many turns on_busy interrupt may queue above the
	// bound, so that "stop that and do this" still works with a full queue.
	QueuedByInterrupt = 8
	IntakeBytes       = 1 << 20 // agent output that waits at one thread
	Commands          = 256     // commands that wait at one thread
	OpenItems         = 128     // of one turn: all are written whole when it ends

	// UnadmittedConnections are those of one listener on which no request has been
	// admitted: as many as arrive in a moment when all clients come back.
	UnadmittedConnections = 512

	BatchMembers = 100
	Depth        = 64 // nesting of a message; the message itself is level 1

	IdempotencyKeys    = 1_000_000
	IdempotencyKeysFor = 7 * 24 * time.Hour
	// IdempotencyKeysPerToken is how many of them one requester has that is not the
	// owner, so that it cannot push out the keys of others.
	IdempotencyKeysPerToken = 100_000

	// UnreadAnswerBytes is how much the answers to reads may have that clients of one
	// requester have not read, which is not the owner: some thirty pages.
	UnreadAnswerBytes = 32 << 20

	// AgentOutputBytes is how much output of one process may wait for the log.
	// When it is reached, the process's stdout is not read. A full intake of one
	// thread does not stop the reading.
	AgentOutputBytes = 4 << 20
	// AgentInputBytes is how much input may wait for one process to read it.
	AgentInputBytes = 64 << 20
	// AgentMessageBytes is the longest message of an agent. A longer one is
	// skipped and not kept in memory. Real agents send whole files and images of
	// several MiB.
	AgentMessageBytes = 64 << 20
	// AgentSessions is how many sessions stay open in one process.
	AgentSessions = 256
)
