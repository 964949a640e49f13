package conformance

import (
	"bytes"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// message is one JSON-RPC message from the server, with its received bytes. The
// parts keep their bytes, so that an id can be compared byte for byte; an
// absent part is nil.
type message struct {
	raw     []byte
	version jsontext.Value
	id      jsontext.Value
	method  string
	params  jsontext.Value
	result  jsontext.Value
	failure jsontext.Value
	keys    []string
	// at is the position on its stream, counted from 0.
	at int
}

// parseMessage reads one object. A duplicate key, invalid UTF-8 or anything
// after the object is an error: a server must not send it.
func parseMessage(raw []byte) (*message, error) {
	m := &message{raw: raw}
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if dec.PeekKind() != '{' {
		return nil, fmt.Errorf("not a JSON object: %s", clip(raw, 200))
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		value = value.Clone()
		m.keys = append(m.keys, key)
		switch key {
		case "jsonrpc":
			m.version = value
		case "id":
			m.id = value
		case "method":
			m.method, _ = text(value)
		case "params":
			m.params = value
		case "result":
			m.result = value
		case "error":
			m.failure = value
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, fmt.Errorf("something follows the object: %s", clip(raw, 200))
	}
	return m, nil
}

// parseBatch reads an array of messages.
func parseBatch(raw []byte) ([]*message, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if dec.PeekKind() != '[' {
		return nil, fmt.Errorf("not a JSON array: %s", clip(raw, 200))
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	var all []*message
	for k := dec.PeekKind(); k != ']'; k = dec.PeekKind() {
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		m, err := parseMessage(value.Clone())
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// isResponse reports whether the message answers a request.
func (m *message) isResponse() bool { return m.result != nil || m.failure != nil }

// isNotification reports whether the message is a notification.
func (m *message) isNotification() bool { return m.method != "" && m.id == nil }

// args returns the params as an object; reading from an absent one gives zeros.
func (m *message) args() object { return decode(m.params) }

// fault returns the error as an object.
func (m *message) fault() object { return decode(m.failure) }

// kind returns error.data.kind.
func (m *message) kind() string { return m.fault().str("data.kind") }

// code returns error.code, 0 when there is none.
func (m *message) code() int { return int(m.fault().num("code")) }

// seq returns params.seq of an event, 0 for everything else.
func (m *message) seq() int64 {
	if !m.isNotification() {
		return 0
	}
	return int64(m.args().num("seq"))
}

// isEvent reports whether the message is an event of the log. Heartbeats and
// closings have a seq too, but it is a position and not their own.
func (m *message) isEvent() bool {
	return m.isNotification() && notifications[m.method] != passing && m.args().has("seq")
}

// flaws lists where the message breaks the form of JSON-RPC 2.0.
func (m *message) flaws() []string {
	var bad []string
	if string(m.version) != `"2.0"` {
		bad = append(bad, `"jsonrpc" is not "2.0"`)
	}
	switch {
	case m.isResponse():
		if m.result != nil && m.failure != nil {
			bad = append(bad, "both result and error are there")
		}
		if m.id == nil {
			bad = append(bad, "a response without id")
		}
		if m.method != "" || m.params != nil {
			bad = append(bad, "a response with method or params")
		}
		if m.failure != nil {
			f := m.fault()
			if !f.isInt("code") || !f.isStr("message") {
				bad = append(bad, "error needs an integer code and a string message")
			}
		}
	case m.method == "":
		bad = append(bad, "neither a response nor a method")
	case m.params != nil && m.params.Kind() != '{' && m.params.Kind() != '[':
		bad = append(bad, "params is neither object nor array")
	}
	return bad
}

// clip shortens evidence. A cut text ends with its original length.
func clip(b []byte, limit int) string {
	b = bytes.TrimRight(b, "\r\n")
	if len(b) <= limit {
		return string(b)
	}
	return fmt.Sprintf("%s… (%d bytes)", bytes.ToValidUTF8(b[:limit], nil), len(b))
}
