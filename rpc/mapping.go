package rpc

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// retryAfterMs is what an overloaded client is told to wait: a queued turn
// rarely ends sooner.
const retryAfterMs = 1000

// sentinels maps the errors of the domain to kinds.
var sentinels = []struct {
	err  error
	kind Kind
}{
	{threads.ErrNotFound, KindThreadNotFound},
	{threads.ErrClosed, KindThreadClosed},
	{threads.ErrPaused, KindThreadPaused},
	{threads.ErrConflict, KindConflict},
	{turns.ErrNotFound, KindTurnNotFound},
	{turns.ErrNotActive, KindTurnNotActive},
	{turns.ErrAlreadyDecided, KindTurnNotActive},
	{turns.ErrPromptOver, KindTurnNotActive},
	{turns.ErrBusy, KindThreadBusy},
	{turns.ErrQueueFull, KindOverloaded},
	{turns.ErrInboxFull, KindOverloaded},
	{turns.ErrDraining, KindUnavailable},
	{turns.ErrRuntimePaused, KindUnavailable},
	{turns.ErrAgentNotFound, KindAgentNotFound},
	{turns.ErrKeyConflict, KindIdempotencyConflict},
	{turns.ErrStorageFull, KindStorageFull},
	{turns.ErrStorageFailed, KindStorageFailed},
	{items.ErrNotFound, KindItemNotFound},
	{items.ErrAlreadyResolved, KindAlreadyResolved},
	{notify.ErrBadCursor, KindInvalidCursor},
	{context.DeadlineExceeded, KindTimeout},
	{context.Canceled, KindUnavailable},
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
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			e := Errorf(s.kind, "%s", s.err.Error())
			if s.kind == KindInvalidCursor {
				e.Data.Field = "cursor"
			}
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

// internalError logs the cause under a new correlation id.
func internalError(log *zap.Logger, method string, err error) *Error {
	e := Errorf(KindInternal, "")
	e.Data.CorrelationID = uuid.NewString()
	log.Error("request failed", zap.String("method", method),
		zap.String("correlation_id", e.Data.CorrelationID), zap.Error(err))
	return e
}
