package turns

import (
	"cmp"
	"time"

	"github.com/seed82539d15/holon/internal/backoff"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Cause is why an attempt is given up; it is the reason of its marker. In an
// Outcome, "" is a failure that a retry would not fix.
type Cause string

// The causes. An Agent returns CauseCrash or CauseTransient, or CauseServer if it cannot go
// on with a turn that has waited over a restart; the others come from the engine.
const (
	CauseCrash     Cause = "agent_crash"      // its process died, or could not be started
	CauseTransient Cause = "transient"        // the agent says that a retry may succeed
	CauseServer    Cause = "server_restarted" // the server was killed or stopped in mid-turn
	CauseLease     Cause = "lease_expired"    // its worker did not renew the lease
	CauseRequest   Cause = "requested"        // turn/retry
	CauseStep      Cause = "step_started"     // of a step only: it was started again
)

// OnCrash says what happens to a turn whose attempt was given up.
type OnCrash string

// The values of OnCrash; "" is CrashInterrupt.
const (
	CrashInterrupt OnCrash = "interrupt"
	CrashRetry     OnCrash = "retry"
)

// RetryPolicy says whether and when the server retries a turn. The zero value
// never does; zero numbers mean the defaults below. The wait before attempt n+1
// is BackoffSeconds doubled n−1 times, at most BackoffMaxSeconds, plus or minus
// up to a fifth that depends on the turn's id.
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

// Retry retries a turn that has failed or was interrupted.
type Retry struct {
	TurnID string      `json:"turn_id"`
	Reason string      `json:"reason,omitzero"` // for people; the marker's reason is CauseRequest
	By     By          `json:"-"`               // who asks; "" = ByClient
	Key    *ledger.Key `json:"-"`
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

// Retrier is an Agent with a policy for turns that have none. Without a policy a
// turn is interrupted.
type Retrier interface {
	Agent
	// RetryPolicy must not block and must always return the same.
	RetryPolicy() RetryPolicy
}

// Check checks the members of the policy; field is the name of the policy
// itself. The error is an *InvalidError.
func (p RetryPolicy) Check(field string) error {
	if err := OneOf(field+".on_crash", ReasonUnknown, p.OnCrash, CrashInterrupt, CrashRetry); err != nil {
		return err
	}
	if p.MaxAttempts < 0 || p.MaxAttempts > MaxMaxAttempts {
		return Invalid(field+".max_attempts", ReasonRange, "must be between 1 and %d", MaxMaxAttempts)
	}
	for name, s := range map[string]float64{"backoff_seconds": p.BackoffSeconds, "backoff_max_seconds": p.BackoffMaxSeconds} {
		if !(s >= 0) || s > MaxBackoffSeconds { // written so that NaN is refused
			return Invalid(field+"."+name, ReasonRange, "must be between 0 and %d", int(MaxBackoffSeconds))
		}
	}
	return nil
}

// WithDefaults returns the policy with the defaults in place of zero numbers.
func (p RetryPolicy) WithDefaults() RetryPolicy {
	return p.Over(RetryPolicy{MaxAttempts: DefaultMaxAttempts, BackoffSeconds: DefaultBackoffSeconds, BackoffMaxSeconds: DefaultBackoffMaxSeconds})
}

// Wait returns how long the turn waits after its attempt of this number.
func (p RetryPolicy) Wait(turnID string, attempt int) time.Duration {
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	waits := backoff.Backoff{First: seconds(p.BackoffSeconds), Max: seconds(p.BackoffMaxSeconds), Spread: 0.2}
	return waits.WaitOf(turnID, attempt)
}

// Over returns the policy with its zero members taken from the policy below.
func (p RetryPolicy) Over(below RetryPolicy) RetryPolicy {
	p.OnCrash = cmp.Or(p.OnCrash, below.OnCrash)
	p.MaxAttempts = cmp.Or(p.MaxAttempts, below.MaxAttempts)
	p.BackoffSeconds = cmp.Or(p.BackoffSeconds, below.BackoffSeconds)
	p.BackoffMaxSeconds = cmp.Or(p.BackoffMaxSeconds, below.BackoffMaxSeconds)
	return p
}

// Why returns what the outcome says about a failure, for people.
func (o Outcome) Why() string {
	switch {
	case o.Failure != nil && o.Failure.Message != "":
		return o.Failure.Message
	case o.Message != "":
		return o.Message
	}
	return string(o.Cause)
}
