package acp

import (
	"bytes"
	"regexp"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/limits"
	"github.com/seed82539d15/holon/internal/mend"
)

// Agents also write lines that are not one message: with a text in front, two messages
// on one line, a value that is not JSON. A call whose answer is among them has to
// end, or its turn would stay active for ever. But nothing else may end a call: an agent
// may print its log on stdout, or what it was sent.

// maxLineQuote is how many bytes of a line an error or a notice has.
const maxLineQuote = 300

// answerError is the error of a call whose answer is not as the protocol says.
type answerError struct{ line string }

// Error implements error.
func (e *answerError) Error() string {
	return "the agent's answer is not as the Agent Client Protocol says: " + e.line
}

func newAnswerError(line []byte) error { return &answerError{quoteLine(line)} }

func quoteLine(line []byte) string {
	return shorten(string(bytes.ToValidUTF8(bytes.TrimSpace(line), []byte(string(utf8.RuneError)))), maxLineQuote)
}

var (
	// anObject finds the beginning of an object that has members.
	anObject = regexp.MustCompile(`\{\s*"`)
	// aSession finds the session that a line names. In a text of the line the quotation
	// marks would be escaped.
	aSession = regexp.MustCompile(`"sessionId"\s*:\s*"([^"\\]+)"`)
)

// odd takes a line that is not one message. It reads one value after the other, and
// only the first may have a text in front.
func (p *peer) odd(line []byte) {
	line = bytes.TrimSpace(line)
	at := anObject.FindIndex(line)
	if at == nil || bytes.IndexByte(line, '{') < at[0] {
		if len(line) > 0 && line[0] == '{' {
			p.drop(line, nil)
		} else {
			p.noise(line)
		}
		return
	}
	text, rest := line[:at[0]], line[at[0]:]
	bare := len(bytes.Trim(text, "[ \t")) == 0 // no text, or the beginning of a batch
	for len(rest) > 0 && rest[0] == '{' {
		whole, after := firstValue(rest)
		if whole == nil {
			p.broken(rest, line, bare)
			return
		}
		m, err := parse(whole)
		_, refusal := p.echoes(m)
		switch {
		case err == nil && (bare || m.answers() && !refusal):
			p.message(m, whole)
		case bare:
			id, _ := ownMembers(whole)
			p.drop(whole, id)
		default: // a text with an object in it
			p.noise(line)
			return
		}
		bare, rest = true, bytes.TrimLeft(after, ",] \t")
	}
	if len(rest) > 0 {
		p.noise(rest)
	}
}

// maxReplies is how many replies are remembered, to recognize their echo, and maxReply how
// long one may be.
const (
	maxReplies = 32
	maxReply   = 16 << 10
)

// replies are the newest replies to requests of the agent, by the number of the request.
// An agent counts its requests as we count ours: printed by it, such a reply looks like
// the answer to one of ours.
type replies struct {
	lines map[int64][]byte
	order []int64
}

// add remembers a reply.
func (r *replies) add(id jsontext.Value, line []byte) {
	n, ok := number(id)
	if !ok || len(line) > maxReply {
		return
	}
	if r.lines == nil {
		r.lines = map[int64][]byte{}
	}
	if _, known := r.lines[n]; !known {
		if r.order = append(r.order, n); len(r.order) > maxReplies {
			delete(r.lines, r.order[0])
			r.order = r.order[1:]
		}
	}
	r.lines[n] = bytes.Clone(line)
}

// echoes reports whether a message has the id and the result of a reply of ours to a
// request of the agent, or the id and the error. An error counts as an echo only behind a text:
// a program that repeats all it reads is not an agent, and its initialize has to end.
func (p *peer) echoes(m message) (result, refusal bool) {
	n, ok := number(m.ID)
	p.mu.Lock()
	line := p.sent.lines[n]
	p.mu.Unlock()
	if !ok || line == nil {
		return false, false
	}
	ours, err := parse(line)
	return err == nil && same(ours.Result, m.Result), err == nil && same(ours.Error, m.Error)
}

// firstValue reads the value that text begins with; whole is nil if it is broken.
func firstValue(text []byte) (whole, rest []byte) {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	v, err := d.ReadValue()
	if err != nil {
		return nil, nil
	}
	return v.Clone(), text[d.InputOffset():]
}

// broken takes a broken object and all that is behind it on its line, which may be inside
// of it and is not read. bare says that no text is in front.
func (p *peer) broken(object, line []byte, bare bool) {
	id, answers := ownMembers(object)
	if answers {
		if c := p.take(id); c != nil {
			p.junk.Add(1)
			c.done(nil, newAnswerError(line))
			return
		}
	}
	if bare {
		p.drop(object, id)
	} else {
		p.noise(line)
	}
}

// tooLong takes a line that is too long, of which beginning is read. If that says which
// call the line answers, the call ends: nothing else would end it.
func (p *peer) tooLong(beginning []byte) {
	p.skipped.Add(1)
	beginning = bytes.TrimPrefix(beginning, []byte(mend.ByteOrderMark))
	if id, answers := ownMembers(beginning); answers {
		if c := p.take(id); c != nil {
			c.done(nil, newAnswerError(beginning))
			return
		}
	}
	p.host.noise("", limits.AgentMessageBytes)
}

// ownMembers reads the members of the object that text begins with, as far as they can be
// told from what is inside of them: it may be broken. answers reports whether the object
// is an answer: it has an id, a result or an error, and no method. id is nil without one.
func ownMembers(text []byte) (id jsontext.Value, answers bool) {
	for name, value := range mend.Members(text) {
		switch name {
		case "method":
			if value == nil || string(bytes.TrimSpace(value)) != "null" { // some write each member that there is
				return nil, false
			}
		case "result", "error":
			answers = true
		case "id":
			if value != nil {
				id = value
			}
		}
	}
	return id, answers && id != nil
}
