package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/rpc/client/wire"
)

// steadyAfter is how long a connection must last before its loss counts as a new one, with
// the wait starting small again.
const steadyAfter = 5 * time.Second

// ErrEnded is the reason of a lost connection that the server, or something on the way,
// has ended without a word.
var ErrEnded = errors.New("the connection ended")

// Options say what a subscription receives and from where.
type Options struct {
	// AfterSeq is the cursor: events after it are replayed, then live ones
	// follow. 0 means from the beginning, nil means live from now on.
	AfterSeq *int64
	// LogID, if known, makes the server refuse a cursor of another log.
	LogID string
	// ThreadIDs and Methods narrow what is sent; methods are exact or a kind
	// such as item/*. Empty means everything.
	ThreadIDs []string
	Methods   []string
	// WithinThreadIDs narrows to threads and all that are below them, also those that
	// start later. Together with ThreadIDs both must hold.
	WithinThreadIDs []string
	// Collapse asks the server to leave out what is superseded as of
	// State.AsOfSeq, and turn/late. Markers (stream/rewind) are still sent, and
	// later ones may supersede events that were sent: Follow applies them. A
	// server that cannot collapse refuses (capabilities.collapse of
	// initialize).
	Collapse bool
	// Summary asks the server for no deltas, and for contents cut to type and title and
	// messages to their beginning: items that Follow folds have no text. A server that
	// sends none refuses (capabilities.content of initialize).
	Summary bool
	// WholeThreadIDs are threads whose events come whole all the same, deltas included.
	// They need Summary: without it the server refuses them.
	WholeThreadIDs []string
	// OnState is called with every change of the connection, on the goroutine
	// of Run.
	OnState func(State)
	// Backoff spaces the attempts to reconnect.
	Backoff Backoff
	// RetryFirst keeps trying when the first connection fails; otherwise Run
	// returns that failure, since a wrong address is the likely reason.
	RetryFirst bool
}

// Subscription follows a server's log. Its cursor moves past an event once the
// handler has returned, whatever happens to connections.
type Subscription struct {
	client  *Client
	options Options

	mu     sync.Mutex // guards cursor and logID; Run alone writes them
	cursor int64
	known  bool
	logID  string

	// Owned by the goroutine of Run.
	opened  bool  // whether any connection was ever opened
	brief   bool  // the connection before this one was opened, and did not last
	open    bool  // this one was opened
	lostAt  int64 // the seq before the last gap seen, -1 if none
	attempt int
}

// Subscribe returns a subscription; Run or All starts it, once.
func (c *Client) Subscribe(options Options) *Subscription {
	s := &Subscription{client: c, options: options, logID: options.LogID, lostAt: -1}
	if options.AfterSeq != nil {
		s.cursor, s.known = *options.AfterSeq, true
	}
	return s
}

// Cursor returns the seq after which the subscription would resume and the log
// it belongs to; ok is false as long as a live subscription has not connected.
func (s *Subscription) Cursor() (seq int64, logID string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cursor, s.logID, s.known
}

// Run hands every event to handle, in order and once, and blocks until handle
// returns an error (which it returns), ctx ends (its cause), or the server
// refuses permanently: an *Error, of kind cursor_expired, cursor_ahead or
// log_changed when the cursor is no longer valid, or a *ClosedError.
func (s *Subscription) Run(ctx context.Context, handle func(Event) error) error {
	for {
		started := time.Now()
		s.brief, s.open = s.open, false
		err := s.connect(ctx, handle)
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		var stop *handlerError
		if errors.As(err, &stop) {
			return stop.err
		}
		if !s.retryable(err) {
			return err
		}
		if time.Since(started) >= steadyAfter {
			s.attempt, s.open = 0, false
		}
		s.attempt++
		wait, enough := s.client.waitAfter(err, s.options.Backoff, s.attempt)
		s.tell(State{Kind: Lost, AfterSeq: s.cursor, Reason: err, Attempt: s.attempt, RetryIn: wait})
		if err := pause(ctx, wait, enough); err != nil {
			return err
		}
		s.client.refresh()
	}
}

// All returns Run as an iterator: the last pair has a nil Event method and the
// error that ended it. Breaking out of the loop ends the subscription.
func (s *Subscription) All(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		broke := errors.New("the loop ended")
		err := s.Run(ctx, func(event Event) error {
			if !yield(event, nil) {
				return broke
			}
			return nil
		})
		if !errors.Is(err, broke) {
			yield(Event{}, err)
		}
	}
}

// handlerError marks an error of the handler, as opposed to one of the
// connection.
type handlerError struct{ err error }

func (e *handlerError) Error() string { return e.err.Error() }

// retryable decides whether another attempt makes sense after err.
func (s *Subscription) retryable(err error) bool {
	if !s.opened && !s.options.RetryFirst {
		return false
	}
	var gap *GapError
	if errors.As(err, &gap) {
		sameGap := s.lostAt == gap.After
		s.lostAt = gap.After
		return !sameGap
	}
	return mayPass(err)
}

// mayPass reports whether what has ended or refused a stream may be over with another
// attempt: everything but a server's word that it is not.
func mayPass(err error) bool {
	var refused *Error
	var closed *ClosedError
	switch {
	case errors.As(err, &refused):
		return refused.Retryable || refused.HTTPStatus >= 500
	case errors.As(err, &closed):
		return closed.Reconnect
	}
	return true
}

// retryAfter returns the wait that the server asked for, zero if none.
func retryAfter(err error) time.Duration {
	var refused *Error
	var closed *ClosedError
	switch {
	case errors.As(err, &refused):
		return refused.RetryAfter
	case errors.As(err, &closed):
		return closed.RetryAfter
	}
	return 0
}

// connect opens one stream and reads it to its end; the error is never nil.
func (s *Subscription) connect(ctx context.Context, handle func(Event) error) error {
	stream, err := Watch(ctx, func(ctx context.Context) (io.ReadCloser, error) {
		return s.client.stream(ctx, http.MethodGet, nil, s.query())
	})
	if err != nil {
		return err
	}
	defer stream.Close()
	for lines := newLines(stream); ; {
		line, err := lines.Next()
		var silent *SilentError
		switch {
		case errors.As(err, &silent):
			return silent
		case errors.Is(err, io.EOF):
			return ErrEnded
		case err != nil:
			return fmt.Errorf("read the stream: %w", err)
		}
		if err := s.take(line, stream, handle); err != nil {
			return err
		}
	}
}

// query returns where to start and what to send.
func (s *Subscription) query() url.Values {
	query := url.Values{"thread_id": s.options.ThreadIDs, "within_thread_id": s.options.WithinThreadIDs, "method": s.options.Methods, "whole_thread_id": s.options.WholeThreadIDs}
	if s.options.Collapse {
		query.Set("collapse", "superseded")
	}
	if s.options.Summary {
		query.Set("content", "summary")
	}
	if s.known {
		cursor := strconv.FormatInt(s.cursor, 10)
		if s.logID != "" {
			cursor = s.logID + ":" + cursor
		}
		query.Set("after_seq", cursor)
	}
	return query
}

// take reads one line: it acts on the stream's own notifications and delivers
// events.
func (s *Subscription) take(line []byte, stream *Stream, handle func(Event) error) error {
	var m message
	if err := jsonv2.Unmarshal(line, &m, lenient); err != nil {
		return fmt.Errorf("the server sent a line that is not JSON-RPC: %w", err)
	}
	switch m.Method {
	case wire.EventStreamOpened, wire.EventStreamHeartbeat, wire.EventStreamClosing:
		return s.control(m, stream)
	case "":
		return nil
	}
	event, err := newEvent(m, bytes.Clone(line))
	if err != nil {
		return err
	}
	return s.deliver(event, handle)
}

// control acts on one of the stream's own notifications.
func (s *Subscription) control(m message, stream *Stream) error {
	switch m.Method {
	case wire.EventStreamOpened:
		var params wire.StreamOpenedEvent
		if err := readParams(m, &params); err != nil {
			return err
		}
		stream.ExpectHeartbeats(params.HeartbeatSeconds)
		if !s.known {
			s.advance(params.AfterSeq)
		}
		s.mu.Lock()
		s.logID = params.LogID
		s.mu.Unlock()
		state := State{Kind: Connected, AfterSeq: s.cursor, FirstSeq: params.FirstSeq, LatestSeq: params.LatestSeq, LogID: params.LogID}
		if params.AsOfSeq != nil {
			state.AsOfSeq = *params.AsOfSeq
		}
		if s.opened {
			state.Kind, state.Attempt = Resumed, s.attempt
		}
		// Others of this client wait for the same server. If it ends all streams at
		// once, they would shorten each other's waits for ever.
		if s.attempt > 0 && !s.brief {
			s.client.RetryNow()
		}
		s.opened, s.open = true, true
		s.tell(state)
	case wire.EventStreamHeartbeat:
		var params wire.StreamHeartbeatEvent
		if err := readParams(m, &params); err != nil {
			return err
		}
		// Without a filter every event comes, so a heartbeat ahead of the
		// cursor means that one is missing.
		if s.unfiltered() && s.known && params.Seq > s.cursor {
			return &GapError{After: s.cursor, Got: params.Seq}
		}
		s.attempt = 0
		s.advance(params.Seq)
	case wire.EventStreamClosing:
		var params wire.StreamClosingEvent
		if err := readParams(m, &params); err != nil {
			return err
		}
		if !s.unfiltered() {
			s.advance(params.Seq)
		}
		return &ClosedError{Code: params.Code, Reason: params.Reason, Reconnect: params.Reconnect,
			RetryAfter: time.Duration(params.RetryAfterMs) * time.Millisecond}
	}
	return nil
}

func readParams[P any](m message, params *P) error {
	if err := jsonv2.Unmarshal(m.Params, params, lenient); err != nil {
		return fmt.Errorf("read %s: %w", m.Method, err)
	}
	return nil
}

// deliver passes an event to the handler unless it was delivered before, and
// moves the cursor past it once the handler has returned.
func (s *Subscription) deliver(event Event, handle func(Event) error) error {
	if event.Seq > 0 && s.known {
		if event.Seq <= s.cursor {
			return nil
		}
		if s.unfiltered() && event.Seq != s.cursor+1 {
			return &GapError{After: s.cursor, Got: event.Seq}
		}
	}
	if err := handle(event); err != nil {
		return &handlerError{err: err}
	}
	if event.Seq > 0 {
		s.opened, s.attempt = true, 0
		s.advance(event.Seq)
	}
	return nil
}

// unfiltered reports whether the stream brings every event of the log.
func (s *Subscription) unfiltered() bool {
	o := &s.options
	return len(o.ThreadIDs) == 0 && len(o.WithinThreadIDs) == 0 && len(o.Methods) == 0 && !o.Collapse && !o.Summary
}

// advance moves the cursor forward, never back.
func (s *Subscription) advance(seq int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known || seq > s.cursor {
		s.cursor, s.known = seq, true
	}
}

// tell reports a change of the connection.
func (s *Subscription) tell(state State) {
	if s.options.OnState == nil {
		return
	}
	if endpoint, err := s.client.Endpoint(); err == nil {
		state.URL = endpoint.URL
	}
	state.LogID = cmp.Or(state.LogID, s.logID)
	s.options.OnState(state)
}
