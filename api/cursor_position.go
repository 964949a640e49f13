package api

import (
	"cmp"
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// StreamStart says where a stream begins and what it sends.
type StreamStart struct {
	LogID    string // "" = any
	After    int64
	Given    bool   // false: after the cursor of Consumer
	Consumer string // as ConsumerOf returns it; "" = none: without After live, from now on
	Filter   notify.Filter
	Within   []string // threads: their events and those of threads below them; empty = all
	Collapse bool
	Summary  bool     // events come as notify.AppendSummary leaves them, without item/delta
	Whole    []string // with Summary: threads whose events come whole all the same
	AsOf     int64    // with collapse: what is superseded as of this seq is not sent
}

// AsOfSeq returns the member as_of_seq of a stream: nil without collapse.
func (at *StreamStart) AsOfSeq() *int64 {
	if !at.Collapse {
		return nil
	}
	return &at.AsOf
}

// ParseCursor reads N or <log_id>:N. A number that is too large for any log is
// above its head, not malformed.
func ParseCursor(s string) (logID string, seq int64, ok bool) {
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		if logID, s = s[:i], s[i+1:]; logID == "" || len(logID) > 128 {
			return "", 0, false
		}
	}
	if s == "" {
		return "", 0, false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return "", 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		n = math.MaxInt64
	}
	return logID, n, true
}

// InvalidCursor returns an error about a cursor that cannot be read.
func InvalidCursor(field, why string) *Error {
	e := Errorf(KindInvalidCursor, "%s: %s", field, why)
	e.Data.Field, e.Data.Reason = field, "malformed"
	return e
}

// Position returns where the log begins and ends. What a read has returned is never above it: Head
// may be a moment behind the store.
func (a *API) Position(ctx context.Context) (Position, error) {
	at, err := a.Reader.Position(ctx)
	at.LogID = cmp.Or(at.LogID, a.LogID)
	return at, err
}

// ResolveStart checks where a stream is to begin. It fills AsOf, and After for
// a live stream and for that of a consumer. It returns where the log begins and
// ends. It makes Filter.Within of Within; the stream of an agent, or of a named token
// that is limited, gets its forced filter there, however it was asked for; cursors are
// not for agents.
func (a *API) ResolveStart(ctx context.Context, at *StreamStart) (Position, error) {
	if _, ok := AgentOf(ctx); ok && at.Consumer != "" {
		return Position{}, notAllowed("consumer", "cursors are not for agents")
	}
	if t, _ := TokenOf(ctx); t.limited() && at.Consumer != "" && len(at.Filter.ThreadIDs) != 1 {
		return Position{}, forbidden("consumer", "threads", "the token %s is limited to threads: ask for one of them", t.Name)
	}
	if at.Consumer != "" && !at.Given {
		c, err := a.cursorOf(ctx, at.Consumer, at.Filter.ThreadIDs)
		if err != nil {
			return Position{}, err
		}
		at.After, at.Given = c.LastSequence, true
	}
	if err := a.narrow(ctx, &at.Filter, at.Within, at.Whole, "thread_ids"); err != nil {
		return Position{}, err
	}
	head := a.Head()
	at.AsOf = head // the cursor makes its chunks as of the tail's head, or later
	now, err := a.Position(ctx)
	if err != nil {
		return now, err
	}
	if at.LogID != "" && at.LogID != now.LogID {
		return now, cursorError(KindLogChanged, now, "the cursor belongs to log %.64q, this one is %s", at.LogID, now.LogID)
	}
	if !at.Given {
		at.After = head
		return now, nil
	}
	return now, checkPosition(at.After, now)
}

// ConsumerOf checks the name of a consumer whose cursor a stream starts after. The
// error is an *Error about the member consumer.
func ConsumerOf(name string) (string, error) {
	n := cursors.Name{ConsumerID: name, StreamName: cursors.StreamEvents}
	if n.Check() != nil {
		return "", Invalid("consumer", turns.ReasonInvalid, "a consumer has 1 to %d bytes", cursors.MaxName)
	}
	return n.ConsumerID, nil
}

// cursorOf reads the cursor of a consumer of events. Its subject is the thread of a
// stream of one thread, otherwise "".
func (a *API) cursorOf(ctx context.Context, consumer string, threadIDs []string) (cursors.Cursor, error) {
	in, err := a.cursors()
	if err != nil {
		return cursors.Cursor{}, err
	}
	n := cursors.Name{ConsumerID: consumer, StreamName: cursors.StreamEvents}
	if len(threadIDs) == 1 {
		n.SubjectID = threadIDs[0]
	}
	c, _, err := in.Read(ctx, n)
	return c, err
}

// checkPosition refuses a cursor that the log cannot follow.
func checkPosition(after int64, at Position) error {
	switch {
	case after > at.Latest:
		return cursorError(KindCursorAhead, at, "the cursor is above the newest event, %d", at.Latest)
	case after+1 < at.First:
		return cursorError(KindCursorExpired, at, "events after the cursor are no longer kept, the oldest is %d: read the thread, then subscribe after its latest_seq", at.First)
	}
	return nil
}

func indexed(name string, i int) string { return name + "[" + strconv.Itoa(i) + "]" }
