package rpc

import (
	"cmp"
	"context"
	"errors"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// retryAfterMs is what an overloaded client is told to wait: a queued turn
// rarely ends sooner.
const retryAfterMs = 1000

// sentinels maps the errors of the domain to kinds, and to the field and
// reason that go with them.
var sentinels = []struct {
	err           error
	kind          Kind
	field, reason string
	message       string // "" = the error's own
}{
	{err: threads.ErrNotFound, kind: KindThreadNotFound},
	{err: threads.ErrClosed, kind: KindThreadClosed},
	{err: threads.ErrPaused, kind: KindThreadPaused},
	{err: threads.ErrConflict, kind: KindConflict},
	{err: turns.ErrNotFound, kind: KindTurnNotFound},
	{err: turns.ErrNotActive, kind: KindTurnNotActive},
	{err: turns.ErrAlreadyDecided, kind: KindTurnNotActive},
	{err: turns.ErrPromptOver, kind: KindTurnNotActive},
	{err: turns.ErrBusy, kind: KindThreadBusy},
	{err: turns.ErrQueueFull, kind: KindOverloaded},
	{err: turns.ErrInboxFull, kind: KindOverloaded},
	{err: turns.ErrDraining, kind: KindUnavailable},
	{err: turns.ErrRuntimePaused, kind: KindUnavailable},
	{err: turns.ErrAgentNotFound, kind: KindAgentNotFound},
	{err: turns.ErrKeyConflict, kind: KindIdempotencyConflict},
	{err: ledger.ErrStorageFull, kind: KindStorageFull},
	{err: ledger.ErrStorageFailed, kind: KindStorageFailed},
	{err: items.ErrNotFound, kind: KindItemNotFound},
	{err: items.ErrAlreadyResolved, kind: KindAlreadyResolved},
	{err: turns.ErrNotEnded, kind: KindConflict, field: "turn_id", reason: "not_ended"},
	{err: turns.ErrCompleted, kind: KindConflict, field: "turn_id", reason: "completed"},
	{err: turns.ErrNoAttempts, kind: KindConflict, field: "turn_id", reason: "no_attempts"},
	{err: items.ErrConflict, kind: KindConflict, field: "item_id", reason: "used"},
	{err: turns.ErrLease, kind: KindForbidden, field: "lease"},
	{err: turns.ErrSuperseded, kind: KindAttemptSuperseded},
	{err: notify.ErrBadCursor, kind: KindInvalidCursor, field: "cursor"},
	{err: context.DeadlineExceeded, kind: KindTimeout, message: "the request took longer than it may"},
	{err: context.Canceled, kind: KindUnavailable, message: "the request was given up before it was done"},
}

// mapError makes the one error that goes to the client. What is not known
// becomes internal; its cause goes to the log and nowhere else.
func mapError(log *zap.Logger, method string, err error) *Error {
	var wire *Error
	if errors.As(err, &wire) {
		return wire
	}
	var bad *turns.InvalidError
	if errors.As(err, &bad) {
		return invalid(bad.Field, bad.Reason, "%s", bad.Text)
	}
	if e := agentError(err); e != nil {
		return e
	}
	if e := supersededError(err); e != nil {
		return e
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			e := Errorf(s.kind, "%s", cmp.Or(s.message, s.err.Error()))
			e.Data.Field, e.Data.Reason = s.field, s.reason
			if s.kind == KindOverloaded {
				e.Data.RetryAfterMs = retryAfterMs
			}
			return e
		}
	}
	return internalError(log, method, err)
}

// agentError maps what an agent could not do outside of a turn; nil for other
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

// supersededError says what stands in the place of what was to be written; nil
// for errors that do not know.
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
