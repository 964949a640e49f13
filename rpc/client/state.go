package client

import (
	"fmt"
	"time"
)

// StateKind names a change of a subscription's connection.
type StateKind string

const (
	// Connected: the first stream/opened has come.
	Connected StateKind = "connected"
	// Lost: the connection ended or fell silent; another attempt follows after RetryIn.
	Lost StateKind = "lost"
	// Resumed: connected again; the stream continues after AfterSeq.
	Resumed StateKind = "resumed"
)

// State is one change of a subscription's connection, for people to see.
type State struct {
	Kind StateKind
	URL  string
	// AfterSeq is the cursor: the stream continues after it.
	AfterSeq int64
	// FirstSeq and LatestSeq are the bounds of the log from stream/opened; 0
	// when Lost.
	FirstSeq  int64
	LatestSeq int64
	// AsOfSeq is the seq as of which the server leaves out what is superseded;
	// 0 without Options.Collapse.
	AsOfSeq int64
	LogID   string
	// Reason is why a connection was lost, nil otherwise.
	Reason error
	// Attempt counts the attempts since the loss, from 1; 0 when Connected.
	Attempt int
	// RetryIn is the wait before the next attempt, when Lost.
	RetryIn time.Duration
}

// ClosedError is a stream/closing. A subscription returns it only when the
// server said that reconnecting is useless.
type ClosedError struct {
	Code       string
	Reason     string
	Reconnect  bool
	RetryAfter time.Duration
}

// Error returns the server's reason.
func (e *ClosedError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("the server closed the stream [%s]", e.Code)
	}
	return fmt.Sprintf("the server closed the stream: %s [%s]", e.Reason, e.Code)
}

// SilentError says that neither an event nor a heartbeat came for Limit, so the
// connection counts as dead.
type SilentError struct{ Limit time.Duration }

// Error names the limit.
func (e *SilentError) Error() string {
	return fmt.Sprintf("nothing came for %s, not even a heartbeat", e.Limit)
}

// GapError says that an unfiltered stream left out events twice at the same
// seq: after After came Got. A correct server never does this.
type GapError struct{ After, Got int64 }

// Error names both ends of the gap.
func (e *GapError) Error() string {
	return fmt.Sprintf("the stream is not dense: seq %d came after %d", e.Got, e.After)
}
