package inbox

import "errors"

// Errors of commands. api maps them to the wire.
var (
	ErrEntryNotFound        = errors.New("no such entry in this inbox")
	ErrEntryExpired         = errors.New("the entry has been removed, long after it was acknowledged or its thread was closed")
	ErrDigestNotFound       = errors.New("no such digest in this inbox")
	ErrTimerNotFound        = errors.New("no such timer in this inbox")
	ErrSubscriptionNotFound = errors.New("no such subscription in this inbox")
	ErrConflict             = errors.New("it exists with other members")
	ErrFull                 = errors.New("the inbox is full: acknowledge what is in it")
	ErrTooManyTimers        = errors.New("the inbox has as many timers as it may have")
	ErrTooManySubscriptions = errors.New("the inbox has as many subscriptions as it may have")
)
