package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// object is a JSON object to send.
type object map[string]any

// rpcError is the error of a response.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("%d %s", e.Code, e.Message) }

// The codes of the protocol.
const (
	codeInvalid      = -32600
	codeNoMethod     = -32601
	codeParams       = -32602
	codeInternal     = -32603
	codeAuthRequired = -32000
	codeNotFound     = -32002
)

// response is the answer to one of the agent's own requests.
type response struct {
	result json.RawMessage
	err    *rpcError
}

// line writes one line in one piece.
func (a *agent) line(b []byte) { a.write(append(b, a.lineEnd()...)) }

func (a *agent) lineEnd() string {
	if a.on("crlf") {
		return "\r\n"
	}
	return "\n"
}

func (a *agent) write(b []byte) {
	a.out.Lock()
	defer a.out.Unlock()
	_, _ = os.Stdout.Write(b) // a client that ended closes stdin too
}

// rawLine writes a line that is no message.
func (a *agent) rawLine(text string, id json.RawMessage, session string) {
	a.line([]byte(strings.NewReplacer("$ID", string(id), "$SESSION", session).Replace(text)))
}

func (a *agent) send(m object) {
	m["jsonrpc"] = "2.0"
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	a.line(b)
}

func (a *agent) reply(id json.RawMessage, result any, err *rpcError) {
	if err != nil {
		a.send(object{"id": id, "error": err})
		return
	}
	a.send(object{"id": id, "result": result})
}

func (a *agent) notify(method string, params any) { a.send(object{"method": method, "params": params}) }

// pending is one of the agent's own requests, not answered yet.
type pending struct {
	responses chan response
	answered  func() // called before the next line is read; nil = nothing
}

// newID makes the id of a new request and the channel for its response.
func (a *agent) newID(answered func()) (json.RawMessage, chan response) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lastID++
	id := json.RawMessage(fmt.Sprint(a.lastID))
	if a.on("string-ids") {
		id = json.RawMessage(fmt.Sprintf(`"bad-%d"`, a.lastID))
	}
	c := make(chan response, 8)
	a.pending[string(id)] = pending{c, answered}
	return id, c
}

// call sends a request and waits for the response, or until ctx ends.
func (a *agent) call(ctx context.Context, method string, params any, answered func()) (response, bool) {
	id, c := a.newID(answered)
	a.send(object{"id": id, "method": method, "params": params})
	select {
	case r := <-c:
		return r, true
	case <-ctx.Done():
	}
	select { // the answer to a cancelled request is often here already
	case r := <-c:
		return r, true
	default:
		return response{}, false
	}
}

func (a *agent) answered(m message) {
	a.mu.Lock()
	asked, ok := a.pending[string(m.ID)]
	a.mu.Unlock()
	if !ok {
		a.violation("a response to no request: id %s", m.ID)
		return
	}
	if (m.Error == nil) == (m.Result == nil) {
		a.violation("a response needs either a result or an error: id %s", m.ID)
	}
	if asked.answered != nil {
		asked.answered()
	}
	select {
	case asked.responses <- response{result: m.Result, err: m.Error}:
	default:
		a.violation("many responses to one request: id %s", m.ID)
	}
}
