package acp

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/mend"
)

// The methods of the protocol that are used here, as schema version 1 and its
// unstable part name them.
const (
	methodInitialize  = "initialize"
	methodNew         = "session/new"
	methodLoad        = "session/load"
	methodResume      = "session/resume"
	methodFork        = "session/fork"
	methodClose       = "session/close"
	methodPrompt      = "session/prompt"
	methodCancel      = "session/cancel"
	methodSetMode     = "session/set_mode"
	methodSetModel    = "session/set_model"
	methodSteering    = "_session/steering"
	methodUpdate      = "session/update"
	methodAuthStatus  = "_auth/status_update" // an extension of two agents
	methodPermission  = "session/request_permission"
	methodElicitation = "elicitation/create"
	methodElicitOld   = "session/elicitation" // its former name
)

// The error codes of JSON-RPC and of the protocol.
const (
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeAuthRequired   = -32000
)

// message is any line an agent sends: a request (method and id), a
// notification (method), a response (id, and result or error).
type message struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  jsontext.Value `json:"error"`
}

// answers reports whether the message is a response.
func (m *message) answers() bool {
	return m.Method == "" && len(m.ID) > 0 && (len(m.Result) > 0 || len(m.Error) > 0)
}

// outcome returns the content of a response; line is its line.
func (m *message) outcome(line []byte) (result jsontext.Value, err error) {
	if len(m.Error) == 0 || string(m.Error) == "null" && len(m.Result) > 0 {
		return m.Result, nil
	}
	var e rpcError
	if m.Error.Kind() != jsontext.KindBeginObject || json.Unmarshal(m.Error, &e) != nil {
		return nil, newAnswerError(line)
	}
	return nil, &e
}

// rpcError is an error response.
type rpcError struct {
	Code    int64          `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data,omitzero"`
}

// Error implements error. Many agents put the useful text into data and
// "Internal error" into message.
func (e *rpcError) Error() string {
	text := e.Message
	if said := e.details(); said != "" && !strings.Contains(text, said) {
		text = strings.TrimPrefix(text+": "+said, ": ")
	}
	return fmt.Sprintf("%s (code %d)", text, e.Code)
}

func (e *rpcError) details() string {
	if len(e.Data) == 0 {
		return ""
	}
	var text string
	if json.Unmarshal(e.Data, &text) == nil {
		return shorten(text, 2048)
	}
	var object struct {
		Message string `json:"message"`
		Details string `json:"details"`
		Error   string `json:"error"`
	}
	_ = json.Unmarshal(e.Data, &object) // another type of value has no text to show
	for _, s := range []string{object.Message, object.Details, object.Error} {
		if s != "" {
			return shorten(s, 2048)
		}
	}
	if string(e.Data) == "null" || e.Data.Kind() != jsontext.KindBeginObject {
		return ""
	}
	return shorten(string(e.Data), 512)
}

var (
	lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	errJunk = errors.New("it is no message of the protocol")
)

// parse reads a line. It first repairs common mistakes of agents, those that the package
// mend knows, and of duplicate members the last one counts. Updates of a session keep
// halves of surrogate pairs, because the other half may come with the next update and
// the mapping can read them. An answer with a NaN is not repaired: its call must not
// succeed with a value that the agent did not give.
func parse(line []byte) (message, error) {
	var m message
	err := json.Unmarshal(line, &m)
	if err != nil {
		repaired, nulls := repair(line)
		if repaired == nil {
			return m, errJunk
		}
		m = message{}
		if err = json.Unmarshal(repaired, &m); err != nil || nulls && m.Method == "" {
			return m, errJunk
		}
		var asSent message
		if m.Method == methodUpdate && json.Unmarshal(line, &asSent, jsontext.AllowInvalidUTF8(true)) == nil {
			m.Params = asSent.Params
		}
	}
	if m.Method == "" && !m.answers() {
		return m, errJunk
	}
	return m, nil
}

// repair changes lenient JSON into strict JSON; nil if it is not JSON. nulls reports
// whether there is null now for a number that JSON does not have.
func repair(line []byte) (out []byte, nulls bool) {
	line, nulls = mend.JSON(line)
	if jsontext.Value(line).IsValid() {
		return line, nulls
	}
	var v any
	if json.Unmarshal(line, &v, lenient) != nil {
		return nil, nulls
	}
	out, err := json.Marshal(v, lenient)
	if err != nil {
		return nil, nulls
	}
	return out, nulls
}

// number returns the id of one of our requests; some agents send it back as a string, or as
// a number with a fraction (3.0).
func number(id jsontext.Value) (n int64, ok bool) {
	text := strings.Trim(strings.TrimSpace(string(id)), `"`)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	n = int64(f)
	return n, err == nil && float64(n) == f
}

// byHand is implemented by params that encode themselves: a person waits for
// the prompt, and reflection that has not run for a while is slow.
type byHand interface {
	appendTo(line []byte) ([]byte, error)
}

// requestLine returns the line of a request or, with id 0, of a notification.
func requestLine(id int64, method string, params any) (line []byte, err error) {
	line = append(make([]byte, 0, 512), `{"jsonrpc":"2.0",`...)
	if id != 0 {
		line = append(strconv.AppendInt(append(line, `"id":`...), id, 10), ',')
	}
	line = append(appendText(append(line, `"method":`...), method), `,"params":`...)
	if p, ok := params.(byHand); ok {
		line, err = p.appendTo(line)
	} else {
		line, err = appendJSON(line, params)
	}
	return append(line, "}\n"...), err
}

// appendText appends a JSON string; invalid UTF-8 becomes U+FFFD.
func appendText(line []byte, s string) []byte {
	line, _ = jsontext.AppendQuote(line, s) // the error says only that
	return line
}

func appendJSON(line []byte, v any) ([]byte, error) {
	raw, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return line, fmt.Errorf("encode a message: %w", err)
	}
	return append(line, raw...), nil
}

// encode makes a line. The value comes from this package and is valid.
func encode(v any) ([]byte, error) {
	line, err := appendJSON(nil, v)
	return append(line, '\n'), err
}

// shorten cuts text at a code point.
func shorten(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max], "") + "…"
}
