package admission

import (
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
)

// Reason says in one word which rule refused a request. It is the error's
// data.reason and suits as a label of a metric: the set is closed and small.
type Reason string

// The reasons of refusals. The first group is answered 403 `forbidden`, the
// second 401 `unauthorized`, the last 503 `overloaded`.
const (
	ReasonTarget       Reason = "request_target"
	ReasonHost         Reason = "host"
	ReasonOrigin       Reason = "origin"
	ReasonSecFetchSite Reason = "sec_fetch_site"
	ReasonSecFetchDest Reason = "sec_fetch_dest"

	ReasonTokenMissing Reason = "token_missing"
	ReasonTokenWrong   Reason = "token_wrong"

	ReasonPeerUnknown Reason = "peer_unknown"
)

// Refusal describes a request that is not admitted. Its message never repeats
// anything from the request: neither a token nor a name.
type Refusal struct {
	Status  int    // 401, 403 or 503
	Kind    string // unauthorized, forbidden or overloaded
	Reason  Reason
	Message string
}

func forbidden(reason Reason, message string) *Refusal {
	return &Refusal{Status: http.StatusForbidden, Kind: "forbidden", Reason: reason, Message: message}
}

func unauthorized(reason Reason, message string) *Refusal {
	return &Refusal{Status: http.StatusUnauthorized, Kind: "unauthorized", Reason: reason, Message: message}
}

func overloaded(reason Reason, message string) *Refusal {
	return &Refusal{Status: http.StatusServiceUnavailable, Kind: "overloaded", Reason: reason, Message: message}
}

// The JSON-RPC codes of the kinds: of overloaded, and of the others.
const (
	codeOverloaded = -32001
	codeAdmission  = -32006
)

// retryAfterMs is how long a client is asked to wait that was refused for a lack.
const retryAfterMs = 1000

type errorFrame struct {
	JSONRPC string    `json:"jsonrpc"`
	ID      *struct{} `json:"id"`
	Error   errorBody `json:"error"`
}

type errorBody struct {
	Code    int       `json:"code"`
	Message string    `json:"message"`
	Data    errorData `json:"data"`
}

type errorData struct {
	Kind         string `json:"kind"`
	Retryable    bool   `json:"retryable"`
	RetryAfterMs int    `json:"retry_after_ms,omitzero"`
	Reason       Reason `json:"reason"`
}

// Body returns the JSON-RPC error response with id null, ended by LF.
func (f *Refusal) Body() []byte {
	e := errorBody{Code: codeAdmission, Message: f.Message, Data: errorData{Kind: f.Kind, Reason: f.Reason}}
	if f.Status == http.StatusServiceUnavailable {
		e.Code, e.Data.Retryable, e.Data.RetryAfterMs = codeOverloaded, true, retryAfterMs
	}
	b, err := json.Marshal(errorFrame{JSONRPC: "2.0", Error: e})
	if err != nil {
		// These strings and numbers always encode. If that ever changes, the
		// request is still refused.
		b = []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32006,"message":"refused","data":{"kind":"forbidden","retryable":false}}}`)
	}
	return append(b, '\n')
}

// refusedBodyWait is how long the rest of a refused request's body is read
// after the answer: enough for a client to see the answer instead of a reset,
// too short to hold connections open.
const refusedBodyWait = time.Second

// write sends the refusal. A request that still has a body is answered at once
// and its connection is closed, because nothing needs the body.
func (f *Refusal) write(w http.ResponseWriter, r *http.Request) {
	body := f.Body()
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	if f.Status == http.StatusUnauthorized {
		challenge := `Bearer realm="holon"`
		if f.Reason == ReasonTokenWrong {
			challenge += `, error="invalid_token"`
		}
		h.Set("WWW-Authenticate", challenge)
	}
	if r.ContentLength != 0 && r.ProtoMajor == 1 {
		// With this header net/http does not wait for the body before it answers.
		h.Set("Connection", "close")
		// A writer without deadlines, such as a recorder in a test, holds no
		// connection.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(refusedBodyWait))
	}
	w.WriteHeader(f.Status)
	_, _ = w.Write(body) // net/http omits it for HEAD
}
