package frame

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/limits"
)

// Fault says what is wrong with a message. Clients receive it as an error kind.
type Fault int

// The faults. NoFault is a request or a notification; Dropped is a response to
// no request, which is never answered.
const (
	NoFault Fault = iota
	ParseError
	InvalidRequest
	InvalidParams
	Dropped
)

// Message is one request or notification. The byte slices point into the
// frame it was parsed from.
type Message struct {
	ID     []byte // as received, nil for a notification; null is an id
	Method string
	Params jsontext.Value // nil if absent
	Fault  Fault
	Why    string // a sentence about the fault
}

// Notification reports whether the message expects no answer.
func (m *Message) Notification() bool { return m.ID == nil && m.Fault == NoFault }

// Parser parses frames. The zero value is ready. It belongs to one goroutine
// and may be reused.
type Parser struct {
	dec     jsontext.Decoder
	buf     bytes.Buffer
	members []Message
}

var lenient = jsontext.AllowDuplicateNames(true)

// Parse parses a frame. It returns the members and whether they came as a
// batch. A fault of the whole frame (such as an empty batch) is returned as one
// member with a Fault and no batch. The result is valid until the next call,
// and as long as the frame is.
func (p *Parser) Parse(frame []byte) (members []Message, batch bool) {
	p.members = p.members[:0]
	frame = bytes.Trim(frame, " \t\r\n")
	if len(frame) > 0 && frame[0] == '[' {
		return p.batch(frame)
	}
	if Framed(frame) {
		return p.frameFault(ParseError, NotFramed)
	}
	m := p.message(frame, true)
	p.members = append(p.members, m)
	return p.members, false
}

// NotFramed is what is said about a line for which Framed is true.
const NotFramed = "JSON Lines is spoken here: each message is one line, without a header such as Content-Length"

// Framed reports whether a line is the header with which the base protocol of LSP, and so
// every library for it, begins a message. What follows it has no line end of its own: the
// next line that can be read is after the next header.
func Framed(line []byte) bool {
	const header = "content-length:"
	line = bytes.TrimLeft(line, " \t")
	return len(line) >= len(header) && strings.EqualFold(string(line[:len(header)]), header)
}

// Forget releases the last frame, which may be large.
func (p *Parser) Forget() {
	clear(p.members)
	p.members = p.members[:0]
	p.reset(nil)
}

// frameFault returns the result of Parse for a fault of the whole frame.
func (p *Parser) frameFault(f Fault, why string) ([]Message, bool) {
	p.members = append(p.members[:0], Message{Fault: f, Why: why})
	return p.members, false
}

func (p *Parser) batch(frame []byte) ([]Message, bool) {
	dec := p.reset(frame)
	_, _ = dec.ReadToken() // the bracket
	var values []jsontext.Value
	n, offset := 0, 0
	for dec.PeekKind() != ']' {
		v, err := dec.ReadValue()
		if err != nil {
			return p.frameFault(syntax(err))
		}
		if n++; n > limits.BatchMembers {
			continue // the rest must still be JSON
		}
		// The decoder reads the frame in place, so its offsets are those of the
		// frame.
		offset = int(dec.InputOffset())
		values = append(values, jsontext.Value(frame[offset-len(v):offset]))
	}
	if _, err := dec.ReadToken(); err != nil {
		return p.frameFault(syntax(err))
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return p.frameFault(ParseError, "something follows the batch on its line")
	}
	switch {
	case n == 0:
		return p.frameFault(InvalidRequest, "a batch has at least one member")
	case n > limits.BatchMembers:
		return p.frameFault(InvalidRequest, "a batch has at most 100 members")
	}
	for _, v := range values {
		p.members = append(p.members, p.message(v, false))
	}
	return p.members, true
}

// reset points the decoder at b without copying it: a *bytes.Buffer is read in
// place.
func (p *Parser) reset(b []byte, options ...jsontext.Options) *jsontext.Decoder {
	p.buf = *bytes.NewBuffer(b)
	p.dec.Reset(&p.buf, append(options, lenient)...)
	return &p.dec
}

// unreadable returns a message that is not JSON in UTF-8. If only characters in its
// strings are wrong, such as half of a surrogate pair, its id can still be
// read, and the client learns which request it was.
func (p *Parser) unreadable(b []byte, err error) Message {
	f, why := syntax(err)
	m := Message{Fault: f, Why: why}
	if f != ParseError {
		return m
	}
	dec := p.reset(b, jsontext.AllowInvalidUTF8(true))
	var e envelope
	_, _ = dec.ReadToken()
	for dec.PeekKind() != '}' {
		if e.member(dec, b) != nil {
			return m
		}
	}
	_, _ = dec.ReadToken()
	if _, err := dec.ReadToken(); err == io.EOF && e.method != nil && !e.twice && e.id.IsValid() && validID(e.id) {
		m.ID = e.id
	}
	return m
}

func syntax(err error) (Fault, string) {
	var s *jsontext.SyntacticError
	if errors.As(err, &s) && s.Err != nil {
		if s.Err.Error() == "exceeded max depth" {
			return InvalidRequest, tooDeep
		}
		return ParseError, "this is not JSON in UTF-8: " + s.Err.Error()
	}
	return ParseError, "this is not JSON in UTF-8: the message is cut short"
}

const tooDeep = "the message is nested deeper than 64 levels"

// envelope collects the members of an object.
type envelope struct {
	m                          Message
	version, method            jsontext.Value
	id                         jsontext.Value
	hasResult, hasError, twice bool
	hasVersion, hasParams      bool
}

// message parses one object. unchecked is true for a frame that has not been
// read before: members of a batch are known to be JSON.
func (p *Parser) message(b []byte, unchecked bool) Message {
	dec := p.reset(b)
	if kind := dec.PeekKind(); kind != '{' {
		if unchecked {
			if _, err := dec.ReadValue(); err != nil {
				f, why := syntax(err)
				return Message{Fault: f, Why: why}
			}
			if _, err := dec.ReadToken(); err != io.EOF {
				return Message{Fault: ParseError, Why: "something follows the message on its line"}
			}
		}
		return Message{Fault: InvalidRequest, Why: "a message is an object or a batch of objects"}
	}
	var e envelope
	_, _ = dec.ReadToken()
	for dec.PeekKind() != '}' {
		if err := e.member(dec, b); err != nil {
			return p.unreadable(b, err)
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		f, why := syntax(err)
		return Message{Fault: f, Why: why}
	}
	if unchecked {
		if _, err := dec.ReadToken(); err != io.EOF {
			return Message{Fault: ParseError, Why: "something follows the message on its line"}
		}
	}
	return e.judge(b)
}

// member reads one name and its value.
func (e *envelope) member(dec *jsontext.Decoder, b []byte) error {
	name, err := dec.ReadValue()
	if err != nil {
		return err
	}
	key := known(name)
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	end := int(dec.InputOffset())
	v = jsontext.Value(b[end-len(v) : end])
	switch key {
	case keyVersion:
		e.twice = e.twice || e.hasVersion
		e.version, e.hasVersion = v, true
	case keyID:
		e.twice = e.twice || e.id != nil
		e.id = v
	case keyMethod:
		e.twice = e.twice || e.method != nil
		e.method = v
	case keyParams:
		e.twice = e.twice || e.hasParams
		e.m.Params, e.hasParams = v, true
	case keyResult:
		e.hasResult = true
	case keyError:
		e.hasError = true
	}
	return nil
}

// judge decides what the object is.
func (e *envelope) judge(b []byte) Message {
	m := e.m
	fault := func(f Fault, why string) Message { return Message{ID: m.ID, Fault: f, Why: why} }
	if e.id != nil && !e.twice {
		if !validID(e.id) {
			return fault(InvalidRequest, "an id is a string, an integer or null")
		}
		m.ID = e.id
	}
	switch {
	case e.twice:
		return fault(InvalidRequest, "a member of the envelope is there twice")
	case !e.hasVersion || !equals(e.version, "2.0"):
		return fault(InvalidRequest, `the member jsonrpc must be "2.0"`)
	case depth(b) > limits.Depth:
		return fault(InvalidRequest, tooDeep)
	case e.method == nil && (e.hasResult || e.hasError) && e.id != nil:
		return Message{Fault: Dropped}
	case e.method == nil || e.method.Kind() != '"':
		return fault(InvalidRequest, "the member method must be a string")
	}
	m.Method = text(e.method)
	switch k := m.Params.Kind(); {
	case !e.hasParams || k == 'n':
		m.Params = nil
	case k == '[':
		m.Fault, m.Why = InvalidParams, "params are named: an object, not an array"
	case k != '{':
		return fault(InvalidRequest, "params must be an object")
	}
	return m
}

// depth returns how deep valid JSON is nested.
func depth(b []byte) int {
	deepest, level, quoted := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted:
			if c == '\\' {
				i++
			} else if c == '"' {
				quoted = false
			}
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			if level++; level > deepest {
				deepest = level
			}
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}
