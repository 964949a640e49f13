package turns

import "github.com/seed82539d15/holon/notify"

// Cause is why an attempt is given up; it is the reason of its marker. "" as
// the cause of an Outcome is a failure that trying again would not mend.
type Cause string

// The causes. CauseServer, CauseLease and CauseRequest are the engine's own;
// an Agent says CauseCrash or CauseTransient.
const (
	CauseCrash     Cause = "agent_crash"      // its process died, or could not be started
	CauseTransient Cause = "transient"        // it says so itself: it may go better another time
	CauseServer    Cause = "server_restarted" // the server was killed or stopped in mid-turn
	CauseLease     Cause = "lease_expired"    // its worker has not been heard of
	CauseRequest   Cause = "requested"        // turn/retry
)

// OnCrash says what becomes of a turn whose attempt was given up.
type OnCrash string

// The values of OnCrash; "" is CrashInterrupt.
const (
	CrashInterrupt OnCrash = "interrupt"
	CrashRetry     OnCrash = "retry"
)

// RetryPolicy says whether and when a turn is tried again by itself. The zero
// value never does; zero numbers mean the defaults below. The wait before
// attempt n+1 is BackoffSeconds doubled n−1 times, at most BackoffMaxSeconds,
// give or take a fifth by the turn's id.
type RetryPolicy struct {
	OnCrash           OnCrash `json:"on_crash,omitzero"`
	MaxAttempts       int     `json:"max_attempts,omitzero"` // the first one included
	BackoffSeconds    float64 `json:"backoff_seconds,omitzero"`
	BackoffMaxSeconds float64 `json:"backoff_max_seconds,omitzero"`
}

// Defaults and bounds of a RetryPolicy.
const (
	DefaultMaxAttempts       = 3
	MaxMaxAttempts           = 100
	DefaultBackoffSeconds    = 1.0
	DefaultBackoffMaxSeconds = 60.0
	MaxBackoffSeconds        = 24 * 60 * 60.0
)

// Retry tries a turn again that has failed or was interrupted.
type Retry struct {
	TurnID string
	Reason string // for people; the marker's reason is CauseRequest
	Key    *Key
}

// RetryResult answers turn/retry. State is active or queued, Position counts
// from 1.
type RetryResult struct {
	TurnID    string      `json:"turn_id"`
	ThreadID  string      `json:"thread_id"`
	State     State       `json:"state"`
	Attempt   int         `json:"attempt"`
	StartedAt notify.Time `json:"started_at,omitzero"`
	QueuedAt  notify.Time `json:"queued_at,omitzero"`
	Position  int         `json:"position,omitzero"`
	Seq       int64       `json:"seq"`
}

// Retrier is an Agent with a policy for turns that name none. Without it a
// turn is interrupted.
type Retrier interface {
	Agent
	// RetryPolicy must not block and always returns the same.
	RetryPolicy() RetryPolicy
}
