package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/seed82539d15/holon/internal/lines"
)

// ErrSessionClosed is what calls of a session return when its connection has
// ended before their answer came: the change may have happened or not. With an
// idempotency_key a repeated call is safe.
var ErrSessionClosed = errors.New("the connection ended before the answer came")

// Session is one two-way connection (POST /rpc/stream): many calls in flight,
// answered in any order, and notifications as they happen. It does not
// reconnect; a Subscription does. Call may be used from any number of
// goroutines.
type Session struct {
	conn   *jsonrpc2.Conn
	stream *bodyStream
}

// SessionOptions say what a session receives.
type SessionOptions struct {
	// Query is added to the URL: after_seq, thread_id, method. Nil subscribes
	// live from now.
	Query url.Values
	// OnEvent is called for every notification, in order, on the goroutine that
	// reads the connection: it must not wait for a Call of the same session.
	// Nil drops notifications.
	OnEvent func(Event)
	// OpenTimeout bounds the wait for the stream to open; zero means 10 s.
	OpenTimeout time.Duration
}

// Dial opens a session. ctx bounds the session's whole life; Close ends it
// sooner.
func (c *Client) Dial(ctx context.Context, options SessionOptions) (*Session, error) {
	ctx, cancel := context.WithCancel(ctx)
	requests, writer := io.Pipe()
	// The pipe does not end with the context by itself.
	stop := context.AfterFunc(ctx, func() { requests.CloseWithError(context.Cause(ctx)) })
	limit := options.OpenTimeout
	if limit <= 0 {
		limit = 10 * time.Second
	}
	// A server that knows no two-way streams may want to read the whole body
	// before it refuses: ending the body brings its refusal.
	late := time.AfterFunc(limit, func() { writer.Close() })
	header := http.Header{"Accept": {"application/x-ndjson"}}
	response, err := c.do(ctx, http.MethodPost, "/rpc/stream", options.Query, requests, header)
	inTime := late.Stop()
	if err == nil {
		err = expectStream(response)
	}
	if err == nil && !inTime {
		response.Body.Close()
		err = &SilentError{Limit: limit}
	}
	if err != nil {
		stop()
		cancel()
		writer.Close() // a request that was refused may still be read from
		return nil, err
	}
	stream := &bodyStream{
		lines: newLines(response.Body), writer: writer, onEvent: options.OnEvent,
		end: func() { stop(); cancel(); writer.Close(); response.Body.Close() },
	}
	// The server sends no requests in this version. If it did, the answer would
	// be that the method is not known here.
	refuse := jsonrpc2.HandlerWithError(func(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "method not found: " + r.Method}
	})
	quiet := log.New(io.Discard, "", 0)
	conn := jsonrpc2.NewConn(ctx, stream, refuse, jsonrpc2.SetLogger(quiet))
	return &Session{conn: conn, stream: stream}, nil
}

// Call sends one request and waits for its answer, as Client.Call does.
func (s *Session) Call(ctx context.Context, method string, params, result any) error {
	raw, err := encodeParams(params)
	if err != nil {
		return fmt.Errorf("encode params of %s: %w", method, err)
	}
	params = nil
	if raw != nil {
		params = raw
	}
	var answer json.RawMessage
	if err := s.conn.Call(ctx, method, params, &answer); err != nil {
		var refused *jsonrpc2.Error
		switch {
		case errors.As(err, &refused):
			return fromJSONRPC(refused)
		case errors.Is(err, jsonrpc2.ErrClosed), errors.Is(err, io.ErrClosedPipe):
			return fmt.Errorf("%s: %w", method, ErrSessionClosed)
		}
		return fmt.Errorf("%s: %w", method, err)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return fmt.Errorf("decode the result of %s: %w", method, err)
	}
	return nil
}

// Done returns a channel that is closed when the connection has ended.
func (s *Session) Done() <-chan struct{} { return s.conn.DisconnectNotify() }

// Err returns why the connection ended: nil while it lives and after Close,
// io.EOF when the server ended it in order.
func (s *Session) Err() error { return s.stream.failure() }

// Close ends the connection. Closing twice is fine.
func (s *Session) Close() error {
	if err := s.conn.Close(); err != nil && !errors.Is(err, jsonrpc2.ErrClosed) {
		return fmt.Errorf("close session: %w", err)
	}
	return nil
}

// bodyStream is the jsonrpc2.ObjectStream over the two bodies of one HTTP
// exchange. Notifications never reach jsonrpc2: they go to onEvent with their
// bytes as received.
type bodyStream struct {
	lines   *lines.Reader
	writer  *io.PipeWriter
	onEvent func(Event)
	end     func()

	once   sync.Once
	mu     sync.Mutex // guards err and closed
	err    error
	closed bool
}

// WriteObject writes one message as one line; jsonrpc2 calls it under its lock.
func (s *bodyStream) WriteObject(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = s.writer.Write(append(line, '\n'))
	return err
}

// ReadObject hands notifications to onEvent until a response comes.
func (s *bodyStream) ReadObject(v any) error {
	for {
		line, err := s.lines.Next()
		if err != nil {
			return s.fail(err)
		}
		var m message
		if err := jsonv2.Unmarshal(line, &m, lenient); err != nil {
			return s.fail(fmt.Errorf("the server sent a line that is not JSON-RPC: %w", err))
		}
		if m.Method == "" || m.ID != nil {
			// An answer with id null belongs to no call (the server could not
			// read a frame), and jsonrpc2 cannot handle it.
			if m.Method == "" && (m.ID == nil || string(m.ID) == "null") {
				continue
			}
			if err := json.Unmarshal(line, v); err != nil {
				return s.fail(err)
			}
			return nil
		}
		event, err := newEvent(m, bytes.Clone(line))
		if err != nil {
			return s.fail(err)
		}
		if s.onEvent != nil {
			s.onEvent(event)
		}
	}
}

// Close ends both bodies.
func (s *bodyStream) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.once.Do(s.end)
	return nil
}

// fail remembers the first error that ended the reading, unless Close ended it.
func (s *bodyStream) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && !s.closed {
		s.err = err
	}
	return err
}

func (s *bodyStream) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// expectStream turns anything but an NDJSON stream into an error and closes it.
func expectStream(response *http.Response) error {
	kind := response.Header.Get("Content-Type")
	if response.StatusCode == http.StatusOK && strings.HasPrefix(kind, "application/x-ndjson") {
		return nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("read the refusal of a stream: %w", err)
	}
	if response.StatusCode == http.StatusOK {
		return &Error{Kind: "not_a_stream", HTTPStatus: response.StatusCode,
			Message: "the server answered " + strconv.Quote(kind) + " where a stream was asked for"}
	}
	return statusError(response.StatusCode, body)
}

// Bridge sends requests as the body of one two-way stream and returns the body
// of the response, for callers with their own JSON-RPC. The caller closes the
// returned body; closing it ends the exchange. Watch tells when it is dead.
func (c *Client) Bridge(ctx context.Context, requests io.Reader, query url.Values) (io.ReadCloser, error) {
	return c.stream(ctx, http.MethodPost, requests, query)
}

// stream opens a stream: by GET one way, by POST with requests.
func (c *Client) stream(ctx context.Context, method string, requests io.Reader, query url.Values) (io.ReadCloser, error) {
	response, err := c.do(ctx, method, "/rpc/stream", query, requests, http.Header{"Accept": {"application/x-ndjson"}})
	if err != nil {
		return nil, err
	}
	if err := expectStream(response); err != nil {
		return nil, err
	}
	return response.Body, nil
}
