package inbox

import (
	"errors"
	"fmt"
)

// Errors of commands. api maps them to the wire.
var (
	ErrEntryNotFound        = errors.New("no such entry in this inbox")
	ErrEntryExpired         = errors.New("the entry has been removed, long after it was acknowledged or its thread was closed")
	ErrItemNotFound         = errors.New("no such item in this inbox")
	ErrItemExpired          = errors.New("the item has been removed, long after it was acknowledged or its thread was closed")
	ErrDigestNotFound       = errors.New("no such digest in this inbox")
	ErrUnknownDigest        = errors.New("no such digest in this inbox, or it was removed with its items") // of a read
	ErrTimerNotFound        = errors.New("no such timer in this inbox")
	ErrSubscriptionNotFound = errors.New("no such subscription in this inbox")
	ErrConflict             = errors.New("it exists with other members")
	ErrFull                 = errors.New("the inbox is full: acknowledge what is in it")
	ErrTooManyTimers        = errors.New("the inbox has as many timers as it may have")
	ErrTooManySubscriptions = errors.New("the inbox has as many subscriptions as it may have")
)

// ReasonPending is the reason of a *turns.InvalidError about an item that no entry shows yet.
const ReasonPending = "pending"

// FieldError says which member of a request an error is about, such as raw_ids[3].
type FieldError struct {
	Field string
	Err   error
}

// Error implements error.
func (e *FieldError) Error() string { return fmt.Sprintf("%s: %s", e.Field, e.Err) }

// Unwrap returns the error of the member.
func (e *FieldError) Unwrap() error { return e.Err }

// about returns the error as one about the member; nil for nil. It takes what is no error of
// the caller as it is.
func about(field string, err error) error {
	for _, of := range []error{ErrEntryNotFound, ErrEntryExpired, ErrItemNotFound, ErrItemExpired} {
		if err == of {
			return &FieldError{field, err}
		}
	}
	return err
}
