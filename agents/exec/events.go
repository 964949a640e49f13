package exec

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/mend"
	"github.com/seed82539d15/holon/internal/strict"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// The bounds of an event, besides the length of its line.
const (
	maxDepth   = 32 // of nesting: content is nested once more on the wire
	maxLocalID = 256
	maxOptions = 32
	maxExpiry  = 30 * 24 * time.Hour
)

// The events that an agent can print, each one JSON object on a line.
type (
	messageEvent struct {
		Event string `json:"event"`
		ID    string `json:"id"`
		Step  string `json:"step"`
		Text  string `json:"text"`
		Phase string `json:"phase"`
	}
	deltaEvent struct {
		Event string `json:"event"`
		ID    string `json:"id"`
		Step  string `json:"step"`
		Text  string `json:"text"`
	}
	itemEvent struct {
		Event   string         `json:"event"`
		ID      string         `json:"id"`
		Step    string         `json:"step"`
		Status  items.Status   `json:"status"`
		Content jsontext.Value `json:"content"`
	}
	deleteEvent struct {
		Event string `json:"event"`
		ID    string `json:"id"`
	}
	usageEvent struct {
		Event           string      `json:"event"`
		InputTokens     int64       `json:"input_tokens"`
		OutputTokens    int64       `json:"output_tokens"`
		CachedTokens    int64       `json:"cached_tokens"`
		ReasoningTokens int64       `json:"reasoning_tokens"`
		TotalTokens     int64       `json:"total_tokens"`
		ContextUsed     int64       `json:"context_used"`
		ContextSize     int64       `json:"context_size"`
		Cost            *items.Cost `json:"cost"`
	}
	stepEvent struct {
		Event  string       `json:"event"`
		Step   string       `json:"step"`
		Status items.Status `json:"status"` // "" = it starts
		Reason string       `json:"reason"`
	}
	progressEvent struct {
		Event   string `json:"event"`
		Message string `json:"message"`
	}
	askEvent struct {
		Event          string         `json:"event"`
		ID             string         `json:"id"`
		Title          string         `json:"title"`
		Description    string         `json:"description"`
		Subject        items.Subject  `json:"subject"`
		Options        []items.Option `json:"options"`
		ExpiresSeconds float64        `json:"expires_seconds"`
		OnExpiry       string         `json:"on_expiry"`
	}
	questionEvent struct {
		Event          string         `json:"event"`
		ID             string         `json:"id"`
		Message        string         `json:"message"`
		Schema         jsontext.Value `json:"schema"`
		URL            string         `json:"url"`
		ExpiresSeconds float64        `json:"expires_seconds"`
	}
	resultEvent struct {
		Event      string       `json:"event"`
		State      turns.State  `json:"state"`
		Message    string       `json:"message"`
		Format     items.Format `json:"format"`
		StopReason string       `json:"stop_reason"`
		Transient  bool         `json:"transient"`
	}
)

// answerEvent is the line with the answer to a question.
type answerEvent struct {
	Event   string         `json:"event"`
	ID      string         `json:"id"`
	Status  items.Status   `json:"status"`
	Outcome items.Outcome  `json:"outcome"`
	Answer  jsontext.Value `json:"answer,omitzero"`
}

// decodeEvent reads one line, mended if that is needed. The error says what is wrong
// with it. The returned event is well formed but may not fit earlier events.
func decodeEvent(line []byte) (any, error) {
	event, err := decodeAsSent(line)
	if err != nil {
		if mended, _ := mend.JSON(line); !bytes.Equal(mended, line) {
			return decodeAsSent(mended)
		}
	}
	return event, err
}

func decodeAsSent(line []byte) (any, error) {
	if depth := nesting(line); depth > maxDepth {
		return nil, fmt.Errorf("nested %d deep, more than %d", depth, maxDepth)
	}
	var head struct {
		Event *string `json:"event"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, strict.Explain(err)
	}
	if head.Event == nil {
		return nil, errors.New(`no member "event"`)
	}
	switch *head.Event {
	case "message":
		return decode[messageEvent](line)
	case "delta":
		return decode[deltaEvent](line)
	case "item":
		return decode[itemEvent](line)
	case "delete":
		return decode[deleteEvent](line)
	case "usage":
		return decode[usageEvent](line)
	case "step":
		return decode[stepEvent](line)
	case "progress":
		return decode[progressEvent](line)
	case "ask":
		return decode[askEvent](line)
	case "question":
		return decode[questionEvent](line)
	case "result":
		return decode[resultEvent](line)
	}
	return nil, fmt.Errorf("unknown event %q", shorten(*head.Event, 64))
}

// kindOf returns the event that a line is, as far as that can be told of one that cannot be
// read; "" if it cannot. Of several events on one line it is one that somebody waits for.
func kindOf(line []byte) (kind string) {
	line, _ = mend.JSON(line)
	for line = bytes.TrimLeft(line, blanks); len(line) > 0; {
		for name, value := range mend.Members(line) {
			if name == "event" {
				_ = json.Unmarshal(value, &kind) // what is no text is no event
			}
		}
		d := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true))
		if awaited(kind) || d.SkipValue() != nil {
			break
		}
		line = bytes.TrimLeft(line[d.InputOffset():], ","+blanks)
	}
	return kind
}

const blanks = " \t\r\n"

// awaited reports whether somebody waits for what an event of this kind brings.
func awaited(kind string) bool { return kind == "result" || kind == "ask" || kind == "question" }

// textAsSent returns the text of a delta with the halves of characters in it.
func textAsSent(line []byte) jsontext.Value {
	var d struct {
		Text jsontext.Value `json:"text"`
	}
	line = bytes.TrimPrefix(line, []byte(mend.ByteOrderMark))
	_ = json.Unmarshal(line, &d, jsontext.AllowInvalidUTF8(true)) // it was read before, mended
	return d.Text
}

func decode[T any](line []byte) (event T, err error) {
	err = strict.Unmarshal(line, &event)
	return event, err
}

// nesting returns how deep the arrays and objects of a line are nested. The line
// need not be JSON.
func nesting(line []byte) int {
	depth, deepest, inString := 0, 0, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// usage returns the event as the turn's usage.
func (e usageEvent) usage() (items.Usage, error) {
	u := items.Usage{
		Type: items.KindUsage, InputTokens: e.InputTokens, OutputTokens: e.OutputTokens,
		CachedTokens: e.CachedTokens, ReasoningTokens: e.ReasoningTokens, TotalTokens: e.TotalTokens,
		ContextUsed: e.ContextUsed, ContextSize: e.ContextSize, Cost: e.Cost,
	}
	for _, n := range []int64{u.InputTokens, u.OutputTokens, u.CachedTokens, u.ReasoningTokens, u.TotalTokens, u.ContextUsed, u.ContextSize} {
		if n < 0 {
			return u, errors.New("tokens cannot be negative")
		}
	}
	u.TotalTokens = cmp.Or(u.TotalTokens, u.InputTokens+u.OutputTokens)
	return u, nil
}

// permission returns the event as a question to a person.
func (e askEvent) permission() (items.PermissionRequest, turns.AskOptions, error) {
	q := items.PermissionRequest{
		Type: items.KindPermissionRequest, Title: e.Title, Description: e.Description, Subject: e.Subject, Options: e.Options,
	}
	if q.Title == "" {
		return q, turns.AskOptions{}, errors.New("title is missing")
	}
	q.Subject.Type = cmp.Or(q.Subject.Type, "other")
	if len(q.Options) == 0 {
		q.Options = []items.Option{
			{OptionID: items.AllowOnce, Name: "Allow", Kind: items.AllowOnce},
			{OptionID: items.RejectOnce, Name: "Reject", Kind: items.RejectOnce},
		}
	}
	if len(q.Options) > maxOptions {
		return q, turns.AskOptions{}, fmt.Errorf("more than %d options", maxOptions)
	}
	seen, kinds := map[string]bool{}, map[string]bool{}
	for i, o := range q.Options {
		switch o.Kind {
		case items.AllowOnce, items.AllowAlways, items.RejectOnce, items.RejectAlways:
		default:
			return q, turns.AskOptions{}, fmt.Errorf("options[%d].kind %q is none of allow_once, allow_always, reject_once, reject_always", i, shorten(o.Kind, 64))
		}
		if o.OptionID == "" || seen[o.OptionID] {
			return q, turns.AskOptions{}, fmt.Errorf("options[%d].option_id is missing or was given before", i)
		}
		seen[o.OptionID], kinds[o.Kind] = true, true
	}
	expires, err := expiry(e.ExpiresSeconds)
	if err != nil {
		return q, turns.AskOptions{}, err
	}
	if e.OnExpiry != "" && !kinds[e.OnExpiry] {
		return q, turns.AskOptions{}, fmt.Errorf("on_expiry %q is the kind of no option", shorten(e.OnExpiry, 64))
	}
	return q, turns.AskOptions{ExpiresAfter: expires, OnExpiry: e.OnExpiry}, nil
}

// question returns the event as a question to a person.
func (e questionEvent) question() (items.Question, turns.AskOptions, error) {
	q := items.Question{Type: items.KindQuestion, Message: e.Message, Schema: e.Schema, URL: e.URL}
	expires, err := expiry(e.ExpiresSeconds)
	switch {
	case q.Message == "":
		err = errors.New("message is missing")
	case len(q.Schema) > 0 && q.URL != "":
		err = errors.New("schema and url exclude each other")
	case len(q.Schema) > 0 && q.Schema.Kind() != jsontext.KindBeginObject && q.Schema.Kind() != jsontext.KindTrue:
		err = errors.New("schema is no JSON Schema: an object is needed")
	}
	return q, turns.AskOptions{ExpiresAfter: expires}, err
}

func expiry(seconds float64) (time.Duration, error) {
	if seconds < 0 || seconds > maxExpiry.Seconds() {
		return 0, fmt.Errorf("expires_seconds must be from 0 to %.0f", maxExpiry.Seconds())
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// check returns an error if the result is invalid.
func (e resultEvent) check() error {
	if e.State != turns.Completed && e.State != turns.Failed {
		return fmt.Errorf("state %q is neither completed nor failed", shorten(string(e.State), 64))
	}
	if err := e.Format.Check(); err != nil {
		return err
	}
	if e.Transient && e.State != turns.Failed {
		return errors.New("only what has failed is transient")
	}
	return nil
}

// outcome returns the result of a process that exited with 0.
func (e resultEvent) outcome() turns.Outcome {
	if e.State != turns.Failed {
		return turns.Outcome{State: e.State, Message: e.Message, Format: e.Format, StopReason: cmp.Or(e.StopReason, "end_turn")}
	}
	out := turns.FailedWith(turns.KindAgentFailed, cmp.Or(e.Message, "the agent said that it failed"))
	out.StopReason = cmp.Or(e.StopReason, out.StopReason)
	if e.Transient {
		out.Cause = turns.CauseTransient
	}
	return out
}
