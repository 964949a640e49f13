package api

import (
	"cmp"
	"context"
	"errors"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// RetryAfterMs is how long an overloaded client is asked to wait: a queued turn
// rarely ends sooner.
const RetryAfterMs = 1000

// sentinels maps the errors of the domain to kinds, and to the field and
// reason that go with them.
var sentinels = []struct {
	Err           error
	kind          Kind
	field, reason string
	message       string      // "" = the error's own
	role          tokens.Role // that is needed, with the reason role
	retryable     bool        // though errors of the kind are not
}{
	{Err: threads.ErrNotFound, kind: KindThreadNotFound},
	{Err: threads.ErrClosed, kind: KindThreadClosed},
	{Err: threads.ErrPaused, kind: KindThreadPaused},
	{Err: threads.ErrConflict, kind: KindConflict},
	{Err: turns.ErrNotFound, kind: KindTurnNotFound},
	{Err: turns.ErrNotActive, kind: KindTurnNotActive},
	{Err: turns.ErrBetween, kind: KindTurnNotActive, reason: "between_attempts", retryable: true},
	{Err: turns.ErrAlreadyDecided, kind: KindTurnNotActive},
	{Err: turns.ErrPromptOver, kind: KindTurnNotActive},
	{Err: turns.ErrBusy, kind: KindThreadBusy},
	{Err: turns.ErrQueueFull, kind: KindOverloaded},
	{Err: turns.ErrOverloaded, kind: KindOverloaded},
	{Err: turns.ErrAwaitsFull, kind: KindOverloaded},
	{Err: turns.ErrAwaitShareFull, kind: KindOverloaded},
	{Err: turns.ErrDraining, kind: KindUnavailable},
	{Err: turns.ErrRuntimePaused, kind: KindUnavailable},
	{Err: turns.ErrAgentNotFound, kind: KindAgentNotFound},
	{Err: ledger.ErrKeyConflict, kind: KindIdempotencyConflict},
	{Err: ledger.ErrStorageFull, kind: KindStorageFull},
	{Err: ledger.ErrStorageFailed, kind: KindStorageFailed},
	{Err: items.ErrNotFound, kind: KindItemNotFound},
	{Err: items.ErrAlreadyResolved, kind: KindAlreadyResolved},
	{Err: inbox.ErrEntryNotFound, kind: KindEntryNotFound},
	{Err: inbox.ErrEntryExpired, kind: KindEntryExpired},
	{Err: inbox.ErrItemNotFound, kind: KindItemNotFound},
	{Err: inbox.ErrItemExpired, kind: KindEntryExpired},
	{Err: inbox.ErrDigestNotFound, kind: KindEntryNotFound, field: "digest_id"},
	{Err: inbox.ErrUnknownDigest, kind: KindDigestNotFound, field: "digest_id"},
	{Err: inbox.ErrTimerNotFound, kind: KindTimerNotFound},
	{Err: inbox.ErrSubscriptionNotFound, kind: KindSubscriptionNotFound},
	{Err: inbox.ErrConflict, kind: KindConflict},
	{Err: inbox.ErrFull, kind: KindOverloaded},
	{Err: inbox.ErrTooManyTimers, kind: KindOverloaded},
	{Err: inbox.ErrTooManySubscriptions, kind: KindOverloaded},
	{Err: cursors.ErrNotFound, kind: KindCursorNotFound},
	{Err: cursors.ErrTooMany, kind: KindOverloaded},
	{Err: cursors.ErrShareFull, kind: KindOverloaded},
	{Err: cursors.ErrServers, kind: KindForbidden, field: "consumer_id", reason: "server_consumer"},
	{Err: turns.ErrOnlyOnce, kind: KindForbidden, field: "option_id", reason: "role", role: tokens.RoleWork},
	{Err: tokens.ErrNotFound, kind: KindTokenNotFound},
	{Err: tokens.ErrTaken, kind: KindConflict, field: "name", reason: "taken"},
	{Err: tokens.ErrTooMany, kind: KindOverloaded},
	{Err: tokens.ErrEnded, kind: KindUnauthorized, reason: "token_ended"},
	{Err: bridges.ErrBridgeNotFound, kind: KindBridgeNotFound},
	{Err: bridges.ErrSubscriptionNotFound, kind: KindSubscriptionNotFound},
	{Err: bridges.ErrDeliveryNotFound, kind: KindDeliveryNotFound},
	{Err: bridges.ErrInUse, kind: KindConflict, field: "bridge_id", reason: "in_use"},
	{Err: bridges.ErrMoved, kind: KindConflict, field: "subscription_id", reason: "moved"},
	{Err: bridges.ErrConfigured, kind: KindConflict, field: "bridge_id", reason: "configured"},
	{Err: bridges.ErrTarget, kind: KindForbidden, field: "target", reason: "target"},
	{Err: bridges.ErrNoSecret, kind: KindConflict, field: "bridge_id", reason: "secret_missing"},
	{Err: bridges.ErrNotHeld, kind: KindConflict, field: "subscription_id", reason: "not_held"},
	{Err: bridges.ErrNothingToSend, kind: KindConflict, field: "delivery_id", reason: "nothing_to_send"},
	{Err: bridges.ErrTooMany, kind: KindOverloaded},
	{Err: bridges.ErrShareFull, kind: KindOverloaded},
	{Err: bridges.ErrTesting, kind: KindOverloaded},
	{Err: turns.ErrChain, kind: KindConflict, field: "parent", reason: "chain"},
	{Err: turns.ErrNotEnded, kind: KindConflict, field: "turn_id", reason: "not_ended"},
	{Err: turns.ErrCompleted, kind: KindConflict, field: "turn_id", reason: "completed"},
	{Err: turns.ErrNoAttempts, kind: KindConflict, field: "turn_id", reason: "no_attempts"},
	{Err: turns.ErrReviewed, kind: KindConflict, field: "turn_id", reason: "reviewed"},
	{Err: turns.ErrNotInReview, kind: KindConflict, field: "turn_id", reason: "not_in_review"},
	{Err: turns.ErrContinued, kind: KindConflict, field: "turn_id", reason: "continued"},
	{Err: items.ErrConflict, kind: KindConflict, field: "item_id", reason: "used"},
	{Err: turns.ErrLease, kind: KindForbidden, field: "lease"},
	{Err: turns.ErrSuperseded, kind: KindAttemptSuperseded},
	{Err: notify.ErrBadCursor, kind: KindInvalidCursor, field: "cursor"},
	{Err: context.DeadlineExceeded, kind: KindTimeout, message: "the request took longer than allowed"},
	{Err: context.Canceled, kind: KindUnavailable, message: "the request was given up before it was done"},
}

// mapError makes the one error that goes to the client. An unknown error
// becomes internal; its cause goes to the log only.
func mapError(log *zap.Logger, method string, err error) *Error {
	var wire *Error
	if errors.As(err, &wire) {
		return wire
	}
	var bad *turns.InvalidError
	if errors.As(err, &bad) {
		return Invalid(bad.Field, bad.Reason, "%s", bad.Text)
	}
	if none, ok := errors.AsType[*turns.NoAgentError](err); ok {
		return Errorf(KindAgentNotFound, "%s%s", none.Error(), nearest.Hint(none.Agent, none.Known))
	}
	if e := agentError(err); e != nil {
		return e
	}
	if e := supersededError(err); e != nil {
		return e
	}
	var other *turns.ReviewedAttemptError
	if errors.As(err, &other) {
		e := Errorf(KindConflict, "%s", other.Error())
		e.Data.Field, e.Data.Reason, e.Data.TurnID, e.Data.Attempt = "attempt", "attempt", other.TurnID, other.Attempt
		return e
	}
	if job, ok := errors.AsType[*turns.JobConflictError](err); ok {
		e := Errorf(KindConflict, "%s", job.Error())
		e.Data.Field, e.Data.Reason, e.Data.TurnID = "job", "job", job.TurnID
		return e
	}
	var many *turns.TooManyError
	if errors.As(err, &many) {
		e := Errorf(KindOverloaded, "%s", many.Text)
		if many.ForGood {
			e.Data.Retryable, e.Data.Reason = false, turns.ReasonLevel
			return e
		}
		e.Data.TurnIDs, e.Data.RetryAfterMs = many.TurnIDs, RetryAfterMs
		return e
	}
	var behind *cursors.NotMonotonicError
	if errors.As(err, &behind) {
		return errNotMonotonic(behind)
	}
	for _, s := range sentinels {
		if errors.Is(err, s.Err) {
			e := Errorf(s.kind, "%s", cmp.Or(s.message, s.Err.Error()))
			e.Data.Field, e.Data.Reason, e.Data.Role = s.field, s.reason, s.role
			if at, ok := errors.AsType[*inbox.FieldError](err); ok {
				e.Data.Field, e.Message = at.Field, at.Error()
			}
			e.Data.Retryable = e.Data.Retryable || s.retryable
			if s.kind == KindOverloaded || s.Err == turns.ErrDraining {
				e.Data.RetryAfterMs = RetryAfterMs
			}
			return e
		}
	}
	return internalError(log, method, err)
}

// KindOf returns the kind that a command gets for an error of the domain; internal for any
// other.
func KindOf(err error) Kind {
	for _, s := range sentinels {
		if errors.Is(err, s.Err) {
			return s.kind
		}
	}
	return KindInternal
}

// agentError maps the failure of an agent outside of a turn; nil for other
// errors.
func agentError(err error) *Error {
	var cannot *turns.UnsupportedError
	if errors.As(err, &cannot) {
		return Errorf(KindAgentUnsupported, "%s", cannot.Error())
	}
	var failed *turns.AgentError
	if !errors.As(err, &failed) {
		return nil
	}
	switch kind := Kind(failed.Kind); kind {
	case KindAgentUnavailable, KindTimeout:
		return Errorf(kind, "%s", failed.Message)
	}
	return Errorf(KindAgentFailed, "%s", failed.Message)
}

// supersededError names the live try that the write came too late for; nil for
// errors that do not name one.
func supersededError(err error) *Error {
	var late *turns.SupersededError
	if !errors.As(err, &late) {
		return nil
	}
	e := Errorf(KindAttemptSuperseded, "%s", late.Error())
	e.Data.TurnID, e.Data.Attempt, e.Data.Step, e.Data.Epoch, e.Data.LateSeq = late.TurnID, late.Attempt, &late.Step, late.Epoch, late.Seq
	return e
}

// internalError logs the cause under a new correlation id.
func internalError(log *zap.Logger, method string, err error) *Error {
	e := Errorf(KindInternal, "")
	e.Data.CorrelationID = uuid.NewString()
	log.Error("request failed", zap.String("method", method),
		zap.String("correlation_id", e.Data.CorrelationID), zap.Error(err))
	return e
}
