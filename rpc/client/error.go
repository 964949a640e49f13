package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/seed82539d15/holon/rpc/client/wire"
)

// Kinds of error that the client itself acts on. Package wire has them all; a server may
// send others, which pass through as they are.
const (
	KindCursorExpired = wire.ErrorKindCursorExpired
	KindCursorAhead   = wire.ErrorKindCursorAhead
	KindLogChanged    = wire.ErrorKindLogChanged
	KindUnavailable   = wire.ErrorKindUnavailable
	KindOverloaded    = wire.ErrorKindOverloaded
	KindUnauthorized  = wire.ErrorKindUnauthorized
	KindForbidden     = wire.ErrorKindForbidden
)

// Error is a server's answer instead of a result. Switch on Kind: Message is
// for people and may change. Code is 0 when the answer was an HTTP status
// without a JSON-RPC error in its body; Kind then names the status.
type Error struct {
	Code      int
	Message   string
	Kind      string
	Retryable bool
	// Field and Reason say what was wrong with the params, if the server says
	// it.
	Field  string
	Reason string
	// Role is the least role that is enough, with the reason role.
	Role string
	// RetryAfter is zero when the server did not say when to try again.
	RetryAfter time.Duration
	// FirstSeq, LatestSeq and LogID come with the kinds about cursors.
	FirstSeq  int64
	LatestSeq int64
	LogID     string
	// Data is error.data as received, nil if absent.
	Data json.RawMessage
	// HTTPStatus is 0 for an error on a stream.
	HTTPStatus int
}

// Error returns the message with its kind and, when known, the field.
func (e *Error) Error() string {
	text := e.Message
	if e.Field != "" {
		text = fmt.Sprintf("%s (field %s)", text, e.Field)
	}
	if e.Kind == "" {
		return fmt.Sprintf("%s [%d]", text, e.Code)
	}
	return fmt.Sprintf("%s [%s]", text, e.Kind)
}

// IsKind reports whether err is, or wraps, a server's error of that kind.
func IsKind(err error, kind string) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == kind
}

// IsUnknown reports whether err is, or wraps, a server's error that says that it does not know
// the method, or a member of the params: to a program whose requests are right, the server is
// older.
func IsUnknown(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Kind == wire.ErrorKindMethodNotFound ||
		e.Kind == wire.ErrorKindInvalidParams && e.Reason == "unknown_field" && !strings.ContainsAny(e.Field, ".["))
}

// SchemeError says that the server at URL speaks http where URL says https, or the
// reverse.
type SchemeError struct{ URL string }

// Error names both addresses.
func (e *SchemeError) Error() string {
	if isTLS(e.URL) {
		return fmt.Sprintf("%s answers in plain http: its address is %s", e.URL, e.Other())
	}
	return fmt.Sprintf("%s answers in https: its address is %s", e.URL, e.Other())
}

// Other returns the URL with the other scheme.
func (e *SchemeError) Other() string {
	_, rest, _ := strings.Cut(e.URL, "://")
	if isTLS(e.URL) {
		return "http://" + rest
	}
	return "https://" + rest
}

// IsWrongServer reports whether err says that what is at the URL must not get a request,
// or cannot read it: a *PeerError, a *ClearTextError, a *CertificateError or a
// *SchemeError. Nothing has happened then, and another attempt changes nothing.
func IsWrongServer(err error) bool {
	var peer *PeerError
	var clear *ClearTextError
	var certificate *CertificateError
	var scheme *SchemeError
	return errors.As(err, &peer) || errors.As(err, &clear) || errors.As(err, &certificate) || errors.As(err, &scheme)
}

// notSent turns the error of an HTTP client into one of this package.
func notSent(endpoint Endpoint, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var peer *PeerError
	var clear *ClearTextError
	certificate := ofCertificate(endpoint, err)
	switch {
	case errors.As(err, &peer):
		return peer
	case errors.As(err, &clear):
		return clear
	case certificate != nil:
		return certificate
	case errors.Is(err, http.ErrSchemeMismatch):
		return &SchemeError{URL: endpoint.URL}
	}
	return &UnreachableError{URL: endpoint.URL, Source: endpoint.Source, Err: err}
}

// wantsTLS reports whether an answer to plain http says that the server speaks https:
// servers of Go, nginx and Apache do. The body stays readable.
func wantsTLS(endpoint Endpoint, response *http.Response) bool {
	endless := response.ContentLength < 0 && response.ProtoAtLeast(1, 1)
	if response.StatusCode != http.StatusBadRequest || isTLS(endpoint.URL) || endless {
		return false
	}
	const most = 1 << 10
	head, _ := io.ReadAll(io.LimitReader(response.Body, most)) // what cannot be read is not found
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), response.Body), response.Body}
	for _, said := range []string{"HTTP request to an HTTPS server", "plain HTTP request was sent to HTTPS port", "speaking plain HTTP to an SSL-enabled server port"} {
		if bytes.Contains(head, []byte(said)) {
			return true
		}
	}
	return false
}

// errorBody is the error member of a JSON-RPC response.
type errorBody struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// typed turns the wire form into an Error. Data that is not an object is kept
// but not read: a foreign server may put anything there.
func (b *errorBody) typed(status int) *Error {
	e := &Error{Code: b.Code, Message: b.Message, Data: b.Data, HTTPStatus: status}
	// Not wire.ErrorData: a member that is not read here may be of any form.
	var data struct {
		Kind         string `json:"kind"`
		Retryable    bool   `json:"retryable"`
		Field        string `json:"field"`
		Reason       string `json:"reason"`
		Role         string `json:"role"`
		RetryAfterMS int64  `json:"retry_after_ms"`
		FirstSeq     int64  `json:"first_seq"`
		LatestSeq    int64  `json:"latest_seq"`
		LogID        string `json:"log_id"`
	}
	if len(b.Data) > 0 && json.Unmarshal(b.Data, &data) == nil {
		e.Kind, e.Retryable, e.Field, e.Reason, e.Role = data.Kind, data.Retryable, data.Field, data.Reason, data.Role
		e.RetryAfter = time.Duration(data.RetryAfterMS) * time.Millisecond
		e.FirstSeq, e.LatestSeq, e.LogID = data.FirstSeq, data.LatestSeq, data.LogID
	}
	return e
}

// ErrorOf reads the error member of a response, for callers with their own JSON-RPC.
func ErrorOf(raw json.RawMessage) *Error {
	var body errorBody
	if json.Unmarshal(raw, &body) != nil {
		return &Error{Message: "the error cannot be read"}
	}
	return body.typed(0)
}

// fromJSONRPC turns the library's error into an Error.
func fromJSONRPC(err *jsonrpc2.Error) *Error {
	body := errorBody{Code: int(err.Code), Message: err.Message}
	if err.Data != nil {
		body.Data = *err.Data
	}
	return body.typed(0)
}

// statusError reads the JSON-RPC error out of a response's body, or names the
// HTTP status when there is none (a proxy's page, say).
func statusError(status int, body []byte) *Error {
	var message struct {
		Error *errorBody `json:"error"`
	}
	if json.Unmarshal(body, &message) == nil && message.Error != nil {
		return message.Error.typed(status)
	}
	e := &Error{
		Message:    fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)),
		HTTPStatus: status,
		Retryable:  status >= 500 || status == http.StatusTooManyRequests,
	}
	switch status {
	case http.StatusUnauthorized:
		e.Kind = KindUnauthorized
	case http.StatusForbidden:
		e.Kind = KindForbidden
	case http.StatusServiceUnavailable:
		e.Kind = KindUnavailable
	default:
		e.Kind = fmt.Sprintf("http_%d", status)
	}
	return e
}
