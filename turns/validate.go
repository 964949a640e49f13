package turns

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// The reasons of an InvalidError.
const (
	reasonRequired = "required"
	reasonInvalid  = "invalid"
	reasonTooLarge = "too_large"
	reasonTooMany  = "too_many"
	reasonUnknown  = "unknown"
	reasonRange    = "out_of_range"
)

func invalid(field, reason, format string, args ...any) *InvalidError {
	return &InvalidError{Field: field, Reason: reason, Text: fmt.Sprintf(format, args...)}
}

// userMessages checks input and makes it the content of user_message items.
// Input is never cut: what is too large is refused.
func userMessages(input []InputMessage, origin string, maxBytes int) ([]items.UserMessage, error) {
	if len(input) == 0 {
		return nil, invalid("input", reasonRequired, "give at least one message")
	}
	if len(input) > MaxInputMessages {
		return nil, invalid("input", reasonTooMany, "at most %d messages", MaxInputMessages)
	}
	out := make([]items.UserMessage, len(input))
	for i, m := range input {
		field := fmt.Sprintf("input[%d]", i)
		if m.Type != "message" {
			return nil, invalid(field+".type", reasonInvalid, `must be "message"`)
		}
		if m.Role != "user" {
			return nil, invalid(field+".role", reasonInvalid, `must be "user"`)
		}
		if len(m.Content) == 0 {
			return nil, invalid(field+".content", reasonRequired, "give at least one part")
		}
		for j, p := range m.Content {
			if err := checkPart(fmt.Sprintf("%s.content[%d]", field, j), p); err != nil {
				return nil, err
			}
		}
		out[i] = items.UserMessage{Type: items.KindUserMessage, Role: "user", Content: m.Content, Origin: origin}
		raw, err := items.Encode(out[i])
		if err != nil {
			return nil, invalid(field, reasonInvalid, "cannot be encoded")
		}
		if len(raw) > maxBytes {
			return nil, invalid(field, reasonTooLarge, "has %d bytes, at most %d are allowed", len(raw), maxBytes)
		}
	}
	return out, nil
}

func checkPart(field string, p items.Part) error {
	only := func(what string, ok bool) error {
		if !ok {
			return invalid(field, reasonInvalid, "%s has members that belong to another type", what)
		}
		return nil
	}
	switch p.Type {
	case items.PartText:
		if p.Text == "" {
			return invalid(field+".text", reasonRequired, "must not be empty")
		}
		return only(p.Type, p.MimeType == "" && p.Data == "" && p.URL == "" && p.URI == "" && p.Name == "")
	case items.PartImage:
		if p.MimeType == "" {
			return invalid(field+".mime_type", reasonRequired, "must not be empty")
		}
		if (p.Data == "") == (p.URL == "") {
			return invalid(field+".data", reasonRequired, "give either data or url")
		}
		if p.Data != "" {
			if _, err := base64.StdEncoding.DecodeString(p.Data); err != nil {
				return invalid(field+".data", reasonInvalid, "is not base64")
			}
		}
		return only(p.Type, p.Text == "" && p.URI == "" && p.Name == "")
	case items.PartResource:
		if p.URI == "" {
			return invalid(field+".uri", reasonRequired, "must not be empty")
		}
		return only(p.Type, p.Text == "" && p.Data == "" && p.URL == "")
	case "":
		return invalid(field+".type", reasonRequired, "must not be empty")
	}
	return invalid(field+".type", reasonUnknown, "must be input_text, input_image or resource_link")
}

func checkMetadata(field string, m jsontext.Value) error {
	switch {
	case m == nil:
		return nil
	case len(m) > MaxMetadataBytes:
		return invalid(field, reasonTooLarge, "has %d bytes, at most %d are allowed", len(m), MaxMetadataBytes)
	case m.Kind() != '{':
		return invalid(field, reasonInvalid, "must be an object")
	}
	return nil
}

func checkText(field, s string) error {
	switch {
	case len(s) > MaxTextBytes:
		return invalid(field, reasonTooLarge, "has %d bytes, at most %d are allowed", len(s), MaxTextBytes)
	case !utf8.ValidString(s):
		return invalid(field, reasonInvalid, "is not UTF-8")
	}
	return nil
}

func checkParent(p *threads.Parent) error {
	if p == nil {
		return nil
	}
	if !threads.ValidID(p.ThreadID) {
		return invalid("parent.thread_id", reasonInvalid, "is no thread id")
	}
	if p.TurnID != "" && !threads.ValidID(p.TurnID) {
		return invalid("parent.turn_id", reasonInvalid, "is no turn id")
	}
	return nil
}

func checkSeconds(field string, s float64) error {
	if !(s >= 0) || s > MaxTimeout.Seconds() { // written so that NaN is refused
		return invalid(field, reasonRange, "must be between 0 and %d", int(MaxTimeout.Seconds()))
	}
	return nil
}

func (c StartThread) check(e *Engine) error {
	if c.ThreadID != "" && !threads.ValidID(c.ThreadID) {
		return invalid("thread_id", reasonInvalid, "must be 1 to 64 of A-Z a-z 0-9 _ -")
	}
	if c.Cwd != "" && !filepath.IsAbs(c.Cwd) {
		return invalid("cwd", reasonInvalid, "must be an absolute path")
	}
	for field, s := range map[string]string{"title": c.Title, "cwd": c.Cwd} {
		if err := checkText(field, s); err != nil {
			return err
		}
	}
	if err := checkMetadata("metadata", c.Metadata); err != nil {
		return err
	}
	return checkParent(c.Parent)
}

func (c Start) check(maxItemBytes int) ([]items.UserMessage, error) {
	switch c.OnBusy {
	case "", BusyQueue, BusyReject, BusyInterrupt, BusySteer:
	default:
		return nil, invalid("on_busy", reasonUnknown, "must be queue, reject, interrupt or steer")
	}
	if err := checkSeconds("timeout_seconds", c.TimeoutSeconds); err != nil {
		return nil, err
	}
	if err := checkMetadata("metadata", c.Metadata); err != nil {
		return nil, err
	}
	if err := checkParent(c.Parent); err != nil {
		return nil, err
	}
	if c.Retry != nil {
		if err := c.Retry.Check("retry"); err != nil {
			return nil, err
		}
	}
	return userMessages(c.Input, items.OriginClient, maxItemBytes)
}

// nowTime is the time that events of one unit share.
func nowTime() notify.Time { return notify.TimeOf(time.Now()) }
