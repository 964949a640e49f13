package turns

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/threads"
)

// The reasons of an InvalidError.
const (
	ReasonRequired = "required"
	ReasonInvalid  = "invalid"
	ReasonTooLarge = "too_large"
	ReasonTooMany  = "too_many"
	ReasonUnknown  = "unknown"
	ReasonRange    = "out_of_range"
	ReasonNotOwn   = "not_own"   // the thread is no child thread of the parent
	ReasonNotChild = "not_child" // the turn is no child turn
	ReasonJob      = "job"       // the turn is a job
	ReasonLevel    = "level"     // no thread may be deeper

	ReasonNoDirectory = "no_directory" // the server's machine has no such directory
)

// Invalid returns an InvalidError; format and args make its Text.
func Invalid(field, reason, format string, args ...any) *InvalidError {
	return &InvalidError{Field: field, Reason: reason, Text: fmt.Sprintf(format, args...)}
}

// OneOf returns an *InvalidError with this reason for a word that is none of those that are
// known; nil for the word "", which is absent.
func OneOf[T ~string](field, reason string, word T, known ...T) error {
	if word == "" || slices.Contains(known, word) {
		return nil
	}
	return Invalid(field, reason, "%s", nearest.NoneOf(word, known))
}

// UserMessages checks input and returns the content of user_message items. Input
// that is too large is refused, never cut. The error is an *InvalidError.
func UserMessages(input []InputMessage, origin string, maxBytes int) ([]items.UserMessage, error) {
	if len(input) == 0 {
		return nil, Invalid("input", ReasonRequired, "give at least one message")
	}
	if len(input) > MaxInputMessages {
		return nil, Invalid("input", ReasonTooMany, "at most %d messages", MaxInputMessages)
	}
	out := make([]items.UserMessage, len(input))
	for i, m := range input {
		field := fmt.Sprintf("input[%d]", i)
		if m.Type != "message" {
			return nil, Invalid(field+".type", ReasonInvalid, `must be "message"`)
		}
		if m.Role != "user" {
			return nil, Invalid(field+".role", ReasonInvalid, `must be "user"`)
		}
		if len(m.Content) == 0 {
			return nil, Invalid(field+".content", ReasonRequired, "give at least one part")
		}
		for j, p := range m.Content {
			if err := checkPart(fmt.Sprintf("%s.content[%d]", field, j), p); err != nil {
				return nil, err
			}
		}
		out[i] = items.UserMessage{Type: items.KindUserMessage, Role: "user", Content: m.Content, Origin: origin}
		raw, err := items.Encode(out[i])
		if err != nil {
			return nil, Invalid(field, ReasonInvalid, "cannot be encoded")
		}
		if len(raw) > maxBytes {
			return nil, Invalid(field, ReasonTooLarge, "has %d bytes, at most %d are allowed", len(raw), maxBytes)
		}
	}
	return out, nil
}

func checkPart(field string, p items.Part) error {
	only := func(what string, ok bool) error {
		if !ok {
			return Invalid(field, ReasonInvalid, "%s has members that belong to another type", what)
		}
		return nil
	}
	switch p.Type {
	case items.PartText:
		if p.Text == "" {
			return Invalid(field+".text", ReasonRequired, "must not be empty")
		}
		return only(p.Type, p.MimeType == "" && p.Data == "" && p.URL == "" && p.URI == "" && p.Name == "")
	case items.PartImage:
		if p.MimeType == "" {
			return Invalid(field+".mime_type", ReasonRequired, "must not be empty")
		}
		if (p.Data == "") == (p.URL == "") {
			return Invalid(field+".data", ReasonRequired, "give either data or url")
		}
		if p.Data != "" {
			if _, err := base64.StdEncoding.DecodeString(p.Data); err != nil {
				return Invalid(field+".data", ReasonInvalid, "is not base64")
			}
		}
		return only(p.Type, p.Text == "" && p.URI == "" && p.Name == "")
	case items.PartResource:
		if p.URI == "" {
			return Invalid(field+".uri", ReasonRequired, "must not be empty")
		}
		return only(p.Type, p.Text == "" && p.Data == "" && p.URL == "")
	case "":
		return Invalid(field+".type", ReasonRequired, "must not be empty")
	}
	return Invalid(field+".type", ReasonUnknown, "must be input_text, input_image or resource_link")
}

func checkMetadata(field string, m jsontext.Value) error {
	switch {
	case m == nil:
		return nil
	case len(m) > MaxMetadataBytes:
		return Invalid(field, ReasonTooLarge, "has %d bytes, at most %d are allowed", len(m), MaxMetadataBytes)
	case m.Kind() != '{':
		return Invalid(field, ReasonInvalid, "must be an object")
	}
	return nil
}

// CheckText checks that a text is UTF-8 of at most MaxTextBytes.
func CheckText(field, s string) error { return checkText(field, s, MaxTextBytes) }

func checkText(field, s string, limit int) error {
	switch {
	case len(s) > limit:
		return Invalid(field, ReasonTooLarge, "has %d bytes, at most %d are allowed", len(s), limit)
	case !utf8.ValidString(s):
		return Invalid(field, ReasonInvalid, "is not UTF-8")
	}
	return nil
}

// checkParent checks a parent. Of a job it may have an attempt, which the server else sets.
func checkParent(p *threads.Parent, ofJob bool) error {
	if p == nil {
		return nil
	}
	if !threads.ValidID(p.ThreadID) {
		return Invalid("parent.thread_id", ReasonInvalid, "is no thread id")
	}
	if p.TurnID != "" && !threads.ValidID(p.TurnID) {
		return Invalid("parent.turn_id", ReasonInvalid, "is no turn id")
	}
	if p.Attempt != 0 && !ofJob {
		return Invalid("parent.attempt", ReasonInvalid, "is set by the server, except that a program may say of which attempt it is when it asks for a job")
	}
	return nil
}

// checkChild checks the members that belong to a child turn.
func (c *Start) checkChild() error {
	if err := CheckTitle("title", c.Title); err != nil {
		return err
	}
	if c.WaitSeconds != 0 && !(c.WaitSeconds >= 1 && c.WaitSeconds <= MaxWaitSeconds) { // written so that NaN is refused
		return Invalid("wait_seconds", ReasonRange, "must be between 1 and %d", MaxWaitSeconds)
	}
	switch {
	case c.Parent == nil && c.Background:
		return Invalid("background", ReasonInvalid, "needs parent")
	case c.Parent == nil && c.Title != "":
		return Invalid("title", ReasonInvalid, "needs parent")
	case c.Job == "" && c.Agent != "":
		return Invalid("agent", ReasonInvalid, "needs job: a thread has its agent already")
	case c.Job == "" && c.Cwd != "":
		return Invalid("cwd", ReasonInvalid, "needs job: a thread has its directory already")
	case c.Parent != nil && (c.OnBusy == BusyInterrupt || c.OnBusy == BusySteer):
		return Invalid("on_busy", ReasonInvalid, "must be queue or reject for a child turn")
	}
	return nil
}

// checkJob checks the members that belong to a job.
func (c *Start) checkJob() error {
	switch {
	case c.Job == "":
		return nil
	case c.Parent == nil:
		return Invalid("parent", ReasonRequired, "a job works for a turn: name its thread")
	case c.Parent.Attempt < 0:
		return Invalid("parent.attempt", ReasonRange, "must not be negative")
	case c.ThreadID != "":
		return Invalid("thread_id", ReasonInvalid, "does not go with job, which has a thread of its own")
	case c.Background:
		return Invalid("background", ReasonInvalid, "does not go with job, for which its turn waits")
	case c.OnBusy != "":
		return Invalid("on_busy", ReasonInvalid, "does not go with job, which has a thread of its own")
	}
	if c.Cwd != "" && !filepath.IsAbs(c.Cwd) {
		return Invalid("cwd", ReasonInvalid, "must be an absolute path")
	}
	return cmp.Or(CheckJob("job", c.Job), CheckText("cwd", c.Cwd))
}

// Check checks what needs no turn. The error is an *InvalidError.
func (c *Await) Check() error {
	switch {
	case c.OwnerThreadID == "" && len(c.TurnIDs) == 0:
		return Invalid("owner_thread_id", ReasonRequired, "give owner_thread_id or turn_ids")
	case c.TurnIDs != nil && len(c.TurnIDs) == 0 || len(c.TurnIDs) > MaxAwaited:
		return Invalid("turn_ids", ReasonRange, "must have 1 to %d ids", MaxAwaited)
	case c.TimeoutSeconds != nil && !(*c.TimeoutSeconds >= 0 && *c.TimeoutSeconds <= MaxAwaitSeconds):
		return Invalid("timeout_seconds", ReasonRange, "must be between 0 and %d", MaxAwaitSeconds)
	}
	if err := OneOf("wait_for", ReasonUnknown, c.WaitFor, WaitAny, WaitAll); err != nil {
		return err
	}
	for i, id := range c.TurnIDs {
		if slices.Contains(c.TurnIDs[:i], id) {
			return Invalid(fmt.Sprintf("turn_ids[%d]", i), ReasonInvalid, "is there twice")
		}
	}
	return nil
}

// CheckSeconds checks that a time is between 0 and MaxTimeout.
func CheckSeconds(field string, s float64) error {
	if !(s >= 0) || s > MaxTimeout.Seconds() { // written so that NaN is refused
		return Invalid(field, ReasonRange, "must be between 0 and %d", int(MaxTimeout.Seconds()))
	}
	return nil
}

// Check checks what needs no thread. The error is an *InvalidError.
func (c StartThread) Check() error {
	if c.ThreadID != "" && !threads.ValidID(c.ThreadID) {
		return Invalid("thread_id", ReasonInvalid, "must be 1 to 64 of A-Z a-z 0-9 _ -")
	}
	if c.Cwd != "" && !filepath.IsAbs(c.Cwd) {
		return Invalid("cwd", ReasonInvalid, "must be an absolute path")
	}
	for field, s := range map[string]string{"title": c.Title, "cwd": c.Cwd} {
		if err := CheckText(field, s); err != nil {
			return err
		}
	}
	if err := checkMetadata("metadata", c.Metadata); err != nil {
		return err
	}
	return checkParent(c.Parent, false)
}

// Messages checks the command and returns its input as the content of
// user_message items. The error is an *InvalidError.
func (c Start) Messages(maxItemBytes int) ([]items.UserMessage, error) {
	if err := OneOf("on_busy", ReasonUnknown, c.OnBusy, BusyQueue, BusyReject, BusyInterrupt, BusySteer); err != nil {
		return nil, err
	}
	if err := CheckSeconds("timeout_seconds", c.TimeoutSeconds); err != nil {
		return nil, err
	}
	if err := checkMetadata("metadata", c.Metadata); err != nil {
		return nil, err
	}
	if err := checkParent(c.Parent, c.Job != ""); err != nil {
		return nil, err
	}
	if err := c.checkChild(); err != nil {
		return nil, err
	}
	if err := c.checkJob(); err != nil {
		return nil, err
	}
	if err := c.Review.Check("review"); err != nil {
		return nil, err
	}
	if c.Retry != nil {
		if err := c.Retry.Check("retry"); err != nil {
			return nil, err
		}
	}
	return UserMessages(c.Input, items.OriginClient, maxItemBytes)
}

// Check checks what needs no thread. The error is an *InvalidError.
func (c RenameThread) Check() error {
	if c.Title != "" && sanitize.Line(c.Title, MaxSummaryTitle) == "" {
		return Invalid("title", ReasonInvalid, "is blank; an empty one gives the title back to the agent")
	}
	return CheckText("title", c.Title)
}

// Check checks what needs no thread. The error is an *InvalidError.
func (c Configure) Check() error {
	if len(c.Config) == 0 && c.Cwd == "" {
		return Invalid("config", ReasonRequired, "name at least one setting, or a cwd")
	}
	if c.Cwd != "" && !filepath.IsAbs(c.Cwd) {
		return Invalid("cwd", ReasonInvalid, "must be an absolute path")
	}
	if err := CheckText("cwd", c.Cwd); err != nil {
		return err
	}
	n := 0
	for name, v := range c.Config {
		n += len(name) + len(v)
		if !jsontext.Value(v).IsValid() {
			return Invalid("config."+name, ReasonInvalid, "is no JSON")
		}
	}
	if n > MaxMetadataBytes {
		return Invalid("config", ReasonTooLarge, "has %d bytes, at most %d are allowed", n, MaxMetadataBytes)
	}
	return nil
}

// Check checks what needs no thread. The error is an *InvalidError.
func (c Fork) Check() error {
	if c.NewThreadID != "" && !threads.ValidNewID(c.NewThreadID) {
		return Invalid("new_thread_id", ReasonInvalid, "must be 1 to 64 of A-Z a-z 0-9 _ - and begin with a letter or a digit")
	}
	return nil
}
