package api

import (
	"fmt"
	"strings"

	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/tokens"
)

// Kind is what a client switches on: data.kind of an error.
type Kind string

// The kinds of error (docs/protocol.md, section 5).
const (
	KindParseError           Kind = "parse_error"
	KindInvalidRequest       Kind = "invalid_request"
	KindFrameTooLarge        Kind = "frame_too_large"
	KindDuplicateID          Kind = "duplicate_id"
	KindMethodNotFound       Kind = "method_not_found"
	KindInvalidParams        Kind = "invalid_params"
	KindInvalidCursor        Kind = "invalid_cursor"
	KindInternal             Kind = "internal"
	KindUnavailable          Kind = "unavailable"
	KindOverloaded           Kind = "overloaded"
	KindOutcomeUnknown       Kind = "outcome_unknown"
	KindThreadNotFound       Kind = "thread_not_found"
	KindTurnNotFound         Kind = "turn_not_found"
	KindItemNotFound         Kind = "item_not_found"
	KindAgentNotFound        Kind = "agent_not_found"
	KindEntryNotFound        Kind = "entry_not_found"
	KindEntryExpired         Kind = "entry_expired"
	KindDigestNotFound       Kind = "digest_not_found"
	KindTimerNotFound        Kind = "timer_not_found"
	KindSubscriptionNotFound Kind = "subscription_not_found"
	KindCursorNotFound       Kind = "cursor_not_found"
	KindBridgeNotFound       Kind = "bridge_not_found"
	KindDeliveryNotFound     Kind = "delivery_not_found"
	KindTokenNotFound        Kind = "token_not_found"
	KindIdempotencyConflict  Kind = "idempotency_conflict"
	KindConflict             Kind = "conflict"
	KindThreadClosed         Kind = "thread_closed"
	KindThreadPaused         Kind = "thread_paused"
	KindThreadBusy           Kind = "thread_busy"
	KindTurnNotActive        Kind = "turn_not_active"
	KindAlreadyResolved      Kind = "already_resolved"
	KindCursorExpired        Kind = "cursor_expired"
	KindCursorAhead          Kind = "cursor_ahead"
	KindLogChanged           Kind = "log_changed"
	KindUnauthorized         Kind = "unauthorized"
	KindForbidden            Kind = "forbidden"
	KindStorageFull          Kind = "storage_full"
	KindStorageFailed        Kind = "storage_failed"
	KindAgentFailed          Kind = "agent_failed"
	KindAgentUnavailable     Kind = "agent_unavailable"
	KindAgentUnsupported     Kind = "agent_unsupported"
	KindTimeout              Kind = "timeout"
	KindAttemptSuperseded    Kind = "attempt_superseded"
)

// KindInfo is a row of the table of errors.
type KindInfo struct {
	Kind      Kind   `json:"kind"`
	Code      int    `json:"code"`
	Retryable bool   `json:"retryable"`
	Sentence  string `json:"summary"`
}

// Kinds is the one table of errors: the documentation, the TypeScript types
// and every error that is sent are made from it.
var Kinds = []KindInfo{
	{KindParseError, -32700, false, "The message is not JSON in UTF-8."},
	{KindInvalidRequest, -32600, false, "The message is not a JSON-RPC 2.0 request, or it asks for something that this transport does not support."},
	{KindFrameTooLarge, -32600, false, "The message, or its response, is larger than a frame may be."},
	{KindDuplicateID, -32600, false, "A request with this id is still in flight on the connection."},
	{KindMethodNotFound, -32601, false, "There is no such method."},
	{KindInvalidParams, -32602, false, "A member of params is missing, unknown or not valid; field says which, reason says why."},
	{KindInvalidCursor, -32602, false, "The cursor cannot be read."},
	{KindInternal, -32603, false, "Something went wrong in the server; its log has the cause under the correlation id."},
	{KindUnavailable, -32000, true, "The server is starting or stopping."},
	{KindOutcomeUnknown, -32000, false, "The connection was lost before the answer came: the request may have taken effect or not. Look before you send it again. No server says this; holon connect does."},
	{KindOverloaded, -32001, true, "A queue or an inbox is full, or the connections of the server or of a token are used up; try again after retry_after_ms."},
	{KindThreadNotFound, -32002, false, "There is no such thread."},
	{KindTurnNotFound, -32002, false, "There is no such turn."},
	{KindItemNotFound, -32002, false, "There is no such item, of a turn or in this inbox."},
	{KindAgentNotFound, -32002, false, "There is no agent of this name."},
	{KindEntryNotFound, -32002, false, "There is no such entry in this inbox, or, with the field digest_id, no such digest to flush."},
	{KindEntryExpired, -32002, false, "The entry, or the item, has been removed, inbox_retention_days after it was acknowledged or its thread was closed."},
	{KindDigestNotFound, -32002, false, "There is no such digest in this inbox, or it was removed with its items."},
	{KindTimerNotFound, -32002, false, "There is no such timer in this inbox."},
	{KindSubscriptionNotFound, -32002, false, "There is no such subscription, or none of this id in the inbox."},
	{KindBridgeNotFound, -32002, false, "There is no such bridge."},
	{KindDeliveryNotFound, -32002, false, "There is no such delivery, or it is no longer kept."},
	{KindTokenNotFound, -32002, false, "There is no named token of this name."},
	{KindCursorNotFound, -32002, false, "There is no such cursor of a consumer."},
	{KindIdempotencyConflict, -32003, false, "The idempotency key was used for another method or other params."},
	{KindConflict, -32003, false, "The current state does not allow the request: a thread with this id has another agent, cwd or parent, a timer or subscription with this id has other members, an item_id has been used, a turn cannot be retried or reviewed, a bridge is in use, a subscription has moved, or a cursor does not advance. Where the cause is not obvious, reason names it."},
	{KindThreadClosed, -32004, false, "The thread is closed or closing."},
	{KindThreadPaused, -32004, true, "The thread is paused, and the request asked not to wait."},
	{KindThreadBusy, -32004, true, "A turn of the thread is active, and the request asked not to wait."},
	{KindTurnNotActive, -32004, false, "The turn has ended, or is about to end."},
	{KindAlreadyResolved, -32004, false, "The question has been answered, or its turn has ended."},
	{KindCursorExpired, -32005, false, "Events after the cursor are no longer kept: read the thread, then subscribe after its latest_seq."},
	{KindCursorAhead, -32005, false, "The cursor is above the newest event of the log."},
	{KindLogChanged, -32005, false, "The cursor belongs to another log: start from the beginning."},
	{KindUnauthorized, -32006, false, "The token is missing or wrong."},
	{KindForbidden, -32006, false, "The request's target, Host, Origin or Sec-Fetch-Site is not allowed, its lease is not valid, the consumer belongs to the server, or the token of an agent does not allow it."},
	{KindStorageFull, -32007, true, "The disk is full; the change did not happen."},
	{KindStorageFailed, -32007, false, "The disk failed; the change did not happen, and no change will until the server is restarted."},
	{KindAgentFailed, -32008, false, "The agent ended with an error."},
	{KindAgentUnavailable, -32008, true, "The agent cannot be started, or does not take how it or the thread is configured."},
	{KindAgentUnsupported, -32008, false, "The agent of the thread cannot do this."},
	{KindTimeout, -32008, true, "It took longer than allowed."},
	{KindAttemptSuperseded, -32009, false, "This try has been superseded. If late_seq is present, what it wanted to write is kept as turn/late under that seq."},
}

var kindByName = func() map[Kind]*KindInfo {
	m := make(map[Kind]*KindInfo, len(Kinds))
	for i := range Kinds {
		m[Kinds[i].Kind] = &Kinds[i]
	}
	return m
}()

// Error is the error object of a response.
type Error struct {
	Code    int       `json:"code"`
	Message string    `json:"message"`
	Data    ErrorData `json:"data"`
}

// ErrorData is what programs read of an error. Kind and Retryable are always
// present, the rest where it helps. FirstSeq, LatestSeq and LogID come with
// every error about a cursor. Attempt, Step and Epoch (of the live try) come
// with attempt_superseded, Attempt also with a verdict about another attempt. TurnIDs
// are the oldest unended child turns, with a bound on
// these. Cursor is what is stored, with the reason not_monotonic. Role is the one that
// is needed, with the reason role.
type ErrorData struct {
	Kind          Kind   `json:"kind"`
	Retryable     bool   `json:"retryable"`
	Method        string `json:"method,omitzero"`
	Field         string `json:"field,omitzero"`
	Reason        string `json:"reason,omitzero"`
	RetryAfterMs  int64  `json:"retry_after_ms,omitzero"`
	CorrelationID string `json:"correlation_id,omitzero"`
	ThreadID      string `json:"thread_id,omitzero"`
	TurnID        string `json:"turn_id,omitzero"`
	ItemID        string `json:"item_id,omitzero"`
	FirstSeq      *int64 `json:"first_seq,omitzero"`
	LatestSeq     *int64 `json:"latest_seq,omitzero"`
	LogID         string `json:"log_id,omitzero"`

	Attempt int     `json:"attempt,omitzero"`
	Step    *string `json:"step,omitzero"`
	Epoch   int     `json:"epoch,omitzero"`
	LateSeq int64   `json:"late_seq,omitzero"`

	TurnIDs []string `json:"turn_ids,omitzero"`

	Cursor *cursors.Cursor `json:"cursor,omitzero"`

	Role tokens.Role `json:"role,omitzero"`
}

// Error implements error.
func (e *Error) Error() string { return string(e.Data.Kind) + ": " + e.Message }

// Errorf makes an error of a kind of the table. An empty format takes the
// table's sentence.
func Errorf(kind Kind, format string, args ...any) *Error {
	info := kindByName[kind]
	message := strings.TrimSuffix(info.Sentence, ".")
	if format != "" {
		message = fmt.Sprintf(format, args...)
	}
	return &Error{Code: info.Code, Message: message, Data: ErrorData{Kind: kind, Retryable: info.Retryable}}
}

// Invalid returns an invalid_params error about one member. The reason is a word for
// programs.
func Invalid(field, reason, format string, args ...any) *Error {
	e := Errorf(KindInvalidParams, format, args...)
	e.Message = field + ": " + e.Message
	e.Data.Field, e.Data.Reason = field, reason
	return e
}

// cursorError returns an error about a cursor; it says where the log is.
func cursorError(kind Kind, at Position, format string, args ...any) *Error {
	e := Errorf(kind, format, args...)
	e.Data.FirstSeq, e.Data.LatestSeq, e.Data.LogID = &at.First, &at.Latest, at.LogID
	return e
}
