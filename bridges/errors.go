package bridges

import (
	"errors"
	"fmt"
)

// Errors of commands. api maps them to the wire.
var (
	ErrBridgeNotFound       = errors.New("no such bridge")
	ErrSubscriptionNotFound = errors.New("no such subscription")
	ErrDeliveryNotFound     = errors.New("no such delivery")
	// ErrInUse refuses a new bridge whose id is taken, and the deletion of one
	// that has subscriptions.
	ErrInUse = errors.New("the bridge is in use")
	// ErrMoved refuses to create a subscription that exists with another bridge, target, thread
	// or turn.
	ErrMoved = errors.New("a subscription with this id has another bridge, target, thread or turn")
	// ErrConfigured refuses the change of a bridge that is, or was, in the
	// configuration.
	ErrConfigured = errors.New("the bridge is of the configuration: change it there")
	// ErrTarget refuses a target that a token which is limited to threads may not use.
	ErrTarget   = errors.New("a token that is limited to threads sends to the bridge's own target and to those of its list targets")
	ErrNoSecret = errors.New("the secrets of the bridge are missing: rotate them")
	// ErrNotHeld refuses a skip of nothing.
	ErrNotHeld = errors.New("nothing of the subscription is held")
	// ErrTesting refuses a test while MaxTests others run.
	ErrTesting = errors.New("too many bridges are being tested")
	ErrTooMany = errors.New("there are too many")
	// ErrShareFull refuses a subscription more than MaxSubscriptionsEach.
	ErrShareFull     = fmt.Errorf("there are %d subscriptions of this token, the most of one that is limited to threads (max_subscriptions_per_token): delete some of them", MaxSubscriptionsEach)
	ErrAhead         = errors.New("the seq is above the newest event of the log")
	ErrNothingToSend = errors.New("the delivery was never to be sent")
)
