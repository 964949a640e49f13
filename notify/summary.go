package notify

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// SummaryText is how many characters a summary leaves of a title or a message.
const SummaryText = 200

// inSummary reports whether a summary has events of this method.
func inSummary(method string) bool { return method != ItemDelta }

// AppendSummary appends the params of an event as a reader of summaries gets them:
// without what agents print and what comes from outside. Of contents it leaves type
// and title, of messages the beginning; members that it does not know stay as they
// are. It reads params once and holds no copy of them. Params that are no object are
// appended unchanged.
func AppendSummary(dst []byte, method string, params []byte) []byte {
	rules := rulesOf(method)
	if rules == nil {
		return append(dst, params...)
	}
	s := summary{
		in:  params,
		d:   jsontext.NewDecoder(bytes.NewBuffer(params), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)),
		out: dst,
	}
	if s.d.PeekKind() != '{' || s.object(rules) != nil {
		return append(dst, params...)
	}
	return s.out
}

// appendFrameSummary appends a frame with the summary of its params.
func appendFrameSummary(dst []byte, method string, frame []byte) []byte {
	start, end := len(frameMethod)+len(method)+len(frameParams), len(frame)-len("}\n")
	dst = append(dst, frame[:start]...)
	return append(AppendSummary(dst, method, frame[start:end]), frame[end:]...)
}

// Summarize leaves in the page, which must have Events and no Frames, what a summary
// has, and all events of the threads in whole as they are.
func (p *Page) Summarize(whole ...string) error {
	isWhole := threadSetOf(whole)
	kept := p.Events[:0]
	for i := range p.Events {
		e := &p.Events[i]
		cut := true
		if !isWhole.empty() {
			id, err := threadOf(e.Params)
			if err != nil {
				return err
			}
			cut = !isWhole.has(id)
		}
		if cut && !inSummary(e.Method) {
			continue
		}
		if cut && rulesOf(e.Method) != nil {
			e.Params = AppendSummary(nil, e.Method, e.Params)
		}
		kept = append(kept, *e)
	}
	clear(p.Events[len(kept):])
	p.Events = kept
	return nil
}

// rule reads the value of a member and writes what is left of the member. Members
// without a rule stay as they are.
type rule func(s *summary, name []byte) error

// rules are those of the members of one object, by their names.
type rules map[string]rule

var (
	threadRules = rules{"metadata": leaveOut, "config": leaveOut}
	resultRules = rules{"message": cutMessage, "message_truncated": wasCut}
	turnRules   = rules{"message": cutMessage, "message_truncated": wasCut, "result": cutResult, "metadata": leaveOut}
	itemRules   = rules{"content": cutContent, "delta": leaveOut}
	inboxRules  = rules{"payload": leaveOut, "raw": leaveOut}
)

// rulesOf returns the rules for the params of a method; nil = they stay as they are.
func rulesOf(method string) rules {
	kind, _, _ := strings.Cut(method, "/")
	switch {
	case method == TurnLate:
		return rules{"event": cutEvent}
	case kind == "thread":
		return threadRules
	case kind == "turn":
		return turnRules
	case kind == "item":
		return itemRules
	case kind == "inbox":
		return inboxRules
	}
	return nil
}

func leaveOut(s *summary, _ []byte) error { return s.d.SkipValue() }

// cutMessage leaves the beginning of a text.
func cutMessage(s *summary, name []byte) error {
	text, err := s.value()
	if err != nil {
		return err
	}
	if end := endOfText(text, SummaryText); end >= 0 {
		text, s.cut = append(text[:end:end], '"'), true
	}
	s.member(name, text)
	return nil
}

// wasCut reads the member that says that the message beside it was cut before. It is
// written behind all others, once.
func wasCut(s *summary, _ []byte) error {
	v, err := s.value()
	s.cut = s.cut || string(v) == "true"
	return err
}

func cutResult(s *summary, name []byte) error { return s.inner(name, resultRules) }

// cutEvent summarizes the event that a turn/late keeps; its method comes before its
// params.
func cutEvent(s *summary, name []byte) error {
	method := ""
	return s.inner(name, rules{
		"method": func(s *summary, name []byte) error {
			v, err := s.value()
			if err == nil {
				method = strings.Trim(string(v), `"`)
				s.member(name, v)
			}
			return err
		},
		"params": func(s *summary, name []byte) error { return s.inner(name, rulesOf(method)) },
	})
}
