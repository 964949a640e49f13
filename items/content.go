package items

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/strict"
	"github.com/seed82539d15/holon/notify"
)

// Raw is JSON that is kept as it came.
type Raw = jsontext.Value

// Content is what an item holds; Kind says which of the structs below it is.
// Values are immutable once they are in an event.
type Content interface{ Kind() Kind }

// Part is one part of a message a person sends. Text is set for input_text;
// MimeType and one of Data (base64) and URL for input_image; URI, Name and
// MimeType for resource_link.
type Part struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitzero"`
	MimeType string `json:"mime_type,omitzero"`
	Data     string `json:"data,omitzero"`
	URL      string `json:"url,omitzero"`
	URI      string `json:"uri,omitzero"`
	Name     string `json:"name,omitzero"`
}

// The part types.
const (
	PartText     = "input_text"
	PartImage    = "input_image"
	PartResource = "resource_link"
)

// UserMessage is a message of the person or program that started or steered the
// turn.
type UserMessage struct {
	Type    Kind   `json:"type"`
	Role    string `json:"role"`
	Content []Part `json:"content"`
	Origin  string `json:"origin"`

	// Entries are the inbox entries that a message of the origin wake tells.
	Entries []ToldEntry `json:"entries,omitzero"`
	// Answers are what a message of the origin resume tells.
	Answers []ToldAnswer `json:"answers,omitzero"`
}

// ToldAnswer is the end of a question for which a turn waited over a restart of the
// server. Title is what was asked, Answer how it was answered, both as the agent is told.
type ToldAnswer struct {
	ItemID string `json:"item_id"`
	Title  string `json:"title"`
	Answer string `json:"answer"`
}

// ToldEntry is an entry of the thread's inbox that an agent is told.
type ToldEntry struct {
	EntryID string `json:"entry_id"`
	Kind    string `json:"kind"`
	Source  string `json:"source"`
	Count   int    `json:"count"`
	Summary string `json:"summary"`
	TurnID  string `json:"turn_id,omitzero"` // whose end it is
	State   string `json:"state,omitzero"`   // in which that turn ended
}

// The origins of a user message.
const (
	OriginClient = "client"
	OriginSteer  = "steer"
	OriginWake   = "wake"
	OriginAgent  = "agent"  // what an agent asks of a thread that is not its own, quoted
	OriginReview = "review" // the note of the review that rejected the turn before
	OriginResume = "resume" // the answers with which a turn goes on after a restart of the server
)

// Text returns all text parts of the message, joined by line feeds.
func (m UserMessage) Text() string {
	s := ""
	for _, p := range m.Content {
		if p.Type != PartText {
			continue
		}
		if s != "" {
			s += "\n"
		}
		s += p.Text
	}
	return s
}

// Quoted returns a message of OriginAgent without the words around what was asked; any other
// message as it is.
func (m UserMessage) Quoted() UserMessage {
	if n := len(m.Content); m.Origin == OriginAgent && n > 2 {
		m.Content = m.Content[1 : n-1]
	}
	return m
}

// OutputText is the one part of an agent's message.
type OutputText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Format says how the text of a message is meant; "" is Markdown.
type Format string

// The formats of messages. The text of a plain one is shown as it is.
const (
	FormatMarkdown Format = "markdown"
	FormatPlain    Format = "plain"
)

// Formats are all formats.
var Formats = []Format{FormatMarkdown, FormatPlain}

// Check returns an error if there is no such format.
func (f Format) Check() error {
	if f != "" && !slices.Contains(Formats, f) {
		return &strict.Error{Field: "format", Reason: strict.Malformed, Text: "it must be markdown or plain"}
	}
	return nil
}

// AgentMessage is text an agent says to its user. Raw, here and in the kinds
// below, is what the agent sent about the item in its own protocol; it is kept
// if the agent's configuration says so.
type AgentMessage struct {
	Type    Kind         `json:"type"`
	Role    string       `json:"role"`
	Content []OutputText `json:"content"`
	Phase   string       `json:"phase,omitzero"`
	Format  Format       `json:"format,omitzero"`
	Raw     []Raw        `json:"raw,omitzero"`
}

// Reasoning is text an agent says to itself.
type Reasoning struct {
	Type    Kind   `json:"type"`
	Text    string `json:"text"`
	Summary string `json:"summary,omitzero"`
	Raw     []Raw  `json:"raw,omitzero"`
}

// Plan is what an agent intends to do.
type Plan struct {
	Type    Kind        `json:"type"`
	Entries []PlanEntry `json:"entries"`
	Raw     []Raw       `json:"raw,omitzero"`
}

// PlanEntry is one step of a Plan.
type PlanEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority,omitzero"`
	Status   string `json:"status"`
}

// Location is a place in a file that a tool touches. Line 0 = not known.
type Location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitzero"`
}

// ToolCall is the use of a tool. ToolKind is one of read, edit, delete, move,
// search, execute, think, fetch, other.
type ToolCall struct {
	Type       Kind       `json:"type"`
	ToolCallID string     `json:"tool_call_id"`
	Name       string     `json:"name,omitzero"`
	Title      string     `json:"title"`
	ToolKind   string     `json:"kind"`
	Server     string     `json:"server,omitzero"`
	Input      Raw        `json:"input,omitzero"`
	Output     string     `json:"output"`
	Content    []Raw      `json:"content,omitzero"`
	Locations  []Location `json:"locations,omitzero"`
	Error      string     `json:"error,omitzero"`
	Raw        []Raw      `json:"raw,omitzero"`
}

// CommandExecution is a tool call that runs a command.
type CommandExecution struct {
	Type       Kind       `json:"type"`
	ToolCallID string     `json:"tool_call_id"`
	Name       string     `json:"name,omitzero"`
	Title      string     `json:"title"`
	ToolKind   string     `json:"kind"`
	Server     string     `json:"server,omitzero"`
	Input      Raw        `json:"input,omitzero"`
	Command    string     `json:"command"`
	Cwd        string     `json:"cwd,omitzero"`
	ExitCode   *int       `json:"exit_code,omitzero"`
	Signal     string     `json:"signal,omitzero"`
	Output     string     `json:"output"`
	Content    []Raw      `json:"content,omitzero"`
	Locations  []Location `json:"locations,omitzero"`
	Error      string     `json:"error,omitzero"`
	Raw        []Raw      `json:"raw,omitzero"`
}

// FileChange is a change of files by an agent. If a tool call makes the change,
// the other fields have what a ToolCall has and Changes does not say.
type FileChange struct {
	Type       Kind       `json:"type"`
	ToolCallID string     `json:"tool_call_id,omitzero"`
	Title      string     `json:"title,omitzero"`
	Changes    []Change   `json:"changes"`
	Input      Raw        `json:"input,omitzero"`
	Output     string     `json:"output,omitzero"`
	Content    []Raw      `json:"content,omitzero"`
	Locations  []Location `json:"locations,omitzero"`
	Error      string     `json:"error,omitzero"`
	Raw        []Raw      `json:"raw,omitzero"`
}

// Change is what happened to one file. Operation is one of add, modify,
// delete, move.
type Change struct {
	Path      string `json:"path"`
	OldPath   string `json:"old_path,omitzero"`
	Operation string `json:"operation"`
	OldText   string `json:"old_text,omitzero"`
	NewText   string `json:"new_text,omitzero"`
}

// Subject is what a permission is requested for.
type Subject struct {
	Type    string `json:"type"`
	ItemID  string `json:"item_id,omitzero"`
	Command string `json:"command,omitzero"`
	Cwd     string `json:"cwd,omitzero"`
}

// Option is one answer that a permission request offers.
type Option struct {
	OptionID string `json:"option_id"`
	Name     string `json:"name"`
	Kind     string `json:"kind"`
}

// The kinds of option.
const (
	AllowOnce    = "allow_once"
	AllowAlways  = "allow_always"
	RejectOnce   = "reject_once"
	RejectAlways = "reject_always"
)

// Outcome is how a question ended. Type is selected, answered, cancelled or
// expired. Reason says why a question was cancelled: restart, or "" = it is no longer asked.
type Outcome struct {
	Type     string `json:"type"`
	OptionID string `json:"option_id,omitzero"`
	Kind     string `json:"kind,omitzero"`
	Reason   string `json:"reason,omitzero"`
}

// ReasonRestart is the Reason of an outcome: a restart of the server has ended the agent
// that waited for the answer.
const ReasonRestart = "restart"

// The outcome types.
const (
	OutcomeSelected  = "selected"
	OutcomeAnswered  = "answered"
	OutcomeCancelled = "cancelled"
	OutcomeExpired   = "expired"
)

// PermissionRequest asks a person whether the agent may do something.
// ExpiresAt is RFC 3339; empty = it never expires. OnExpiry is the kind of the option
// that is chosen then; empty = none.
type PermissionRequest struct {
	Type        Kind     `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description,omitzero"`
	Subject     Subject  `json:"subject"`
	Options     []Option `json:"options"`
	Outcome     *Outcome `json:"outcome,omitzero"`
	ResolvedBy  string   `json:"resolved_by,omitzero"`
	ExpiresAt   string   `json:"expires_at,omitzero"`
	OnExpiry    string   `json:"on_expiry,omitzero"`
}

// Question asks a person for an answer. Schema is a JSON Schema of the answer,
// URL a page on which it is given. ExpiresAt is as in PermissionRequest.
type Question struct {
	Type    Kind     `json:"type"`
	Message string   `json:"message"`
	Schema  Raw      `json:"schema,omitzero"`
	URL     string   `json:"url,omitzero"`
	Outcome *Outcome `json:"outcome,omitzero"`
	Answer  Raw      `json:"answer,omitzero"`

	ResolvedBy string `json:"resolved_by,omitzero"`
	ExpiresAt  string `json:"expires_at,omitzero"`
}

// Expiry returns when a question expires, and the kind of the option that is chosen then;
// the zero time if it never does, or if c is no question.
func Expiry(c Content) (at time.Time, kind string) {
	text := ""
	switch c := c.(type) {
	case PermissionRequest:
		text, kind = c.ExpiresAt, c.OnExpiry
	case Question:
		text = c.ExpiresAt
	}
	at, _ = time.Parse(time.RFC3339Nano, text) // the server has written it
	return at, kind
}

// WithExpiry returns the content of a question with its expiry.
func WithExpiry(c Content, at notify.Time, kind string) Content {
	raw, _ := at.MarshalText() // a time of the server has a text
	text := string(raw)
	switch c := c.(type) {
	case PermissionRequest:
		c.ExpiresAt, c.OnExpiry = text, kind
		return c
	case Question:
		c.ExpiresAt = text
		return c
	}
	return c
}

// Cost is an amount of money.
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// Usage counts tokens.
type Usage struct {
	Type            Kind  `json:"type"`
	InputTokens     int64 `json:"input_tokens"`
	OutputTokens    int64 `json:"output_tokens"`
	CachedTokens    int64 `json:"cached_tokens,omitzero"`
	ReasoningTokens int64 `json:"reasoning_tokens,omitzero"`
	TotalTokens     int64 `json:"total_tokens"`
	ContextUsed     int64 `json:"context_used,omitzero"`
	ContextSize     int64 `json:"context_size,omitzero"`
	Cost            *Cost `json:"cost,omitzero"`
}

// Notice is information from the server or the agent. Severity is info, warning
// or error.
type Notice struct {
	Type     Kind   `json:"type"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Data     Raw    `json:"data,omitzero"`
}

// Error is an error that did not end the turn.
type Error struct {
	Type      Kind   `json:"type"`
	ErrorKind string `json:"kind"`
	Message   string `json:"message"`
	Data      Raw    `json:"data,omitzero"`
}

// Extension is output of an agent that maps to no other kind.
type Extension struct {
	Type       Kind   `json:"type"`
	NativeKind string `json:"native_kind"`
	Payload    Raw    `json:"payload"`
}

func (UserMessage) Kind() Kind       { return KindUserMessage }
func (AgentMessage) Kind() Kind      { return KindAgentMessage }
func (Reasoning) Kind() Kind         { return KindReasoning }
func (Plan) Kind() Kind              { return KindPlan }
func (ToolCall) Kind() Kind          { return KindToolCall }
func (CommandExecution) Kind() Kind  { return KindCommandExecution }
func (FileChange) Kind() Kind        { return KindFileChange }
func (PermissionRequest) Kind() Kind { return KindPermissionRequest }
func (Question) Kind() Kind          { return KindQuestion }
func (Usage) Kind() Kind             { return KindUsage }
func (Notice) Kind() Kind            { return KindNotice }
func (Error) Kind() Kind             { return KindError }
func (Extension) Kind() Kind         { return KindExtension }

// NewAgentMessage returns an agent's message with this text.
func NewAgentMessage(text string) AgentMessage {
	return AgentMessage{Type: KindAgentMessage, Role: "assistant", Content: []OutputText{{Type: "output_text", Text: text}}}
}

// NewNotice returns a notice of this severity.
func NewNotice(severity, message string) Notice {
	return Notice{Type: KindNotice, Severity: severity, Message: message}
}

// Encode returns the content as JSON.
func Encode(c Content) (Raw, error) {
	b, err := json.Marshal(c, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", c.Kind(), err)
	}
	return b, nil
}

// Decode returns the inverse of Encode. It ignores members that it does not know. A
// kind that it does not know is an *UnknownKindError.
func Decode(raw Raw) (Content, error) {
	return decodeWith(raw, func(raw []byte, v any) error { return json.Unmarshal(raw, v) })
}

// FromAgent decodes the content of an item from an agent. Errors are
// *strict.Error, also for members that the kind does not have, and
// *UnknownKindError. The parts of a message are joined into the one part that
// deltas append to. A message needs no role.
func FromAgent(raw Raw) (Content, error) {
	content, err := decodeWith(raw, strict.Unmarshal)
	if unknown, ok := errors.AsType[*UnknownKindError](err); ok {
		return nil, unknown
	}
	if err != nil {
		return nil, strict.Explain(err)
	}
	m, ok := content.(AgentMessage)
	if !ok {
		return content, nil
	}
	if err := m.Format.Check(); err != nil {
		return nil, err
	}
	text := ""
	for i, part := range m.Content {
		if part.Type != "" && part.Type != "output_text" {
			return nil, &strict.Error{Field: fmt.Sprintf("content[%d].type", i), Reason: strict.Malformed, Text: "it must be output_text"}
		}
		text += part.Text
	}
	m.Role = cmp.Or(m.Role, "assistant")
	return WithText(m, text), nil
}

func decodeWith(raw Raw, read func([]byte, any) error) (Content, error) {
	var head struct {
		Type Kind `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("decode content: %w", err)
	}
	switch head.Type {
	case KindUserMessage:
		return decode[UserMessage](raw, read)
	case KindAgentMessage:
		return decode[AgentMessage](raw, read)
	case KindReasoning:
		return decode[Reasoning](raw, read)
	case KindPlan:
		return decode[Plan](raw, read)
	case KindToolCall:
		return decode[ToolCall](raw, read)
	case KindCommandExecution:
		return decode[CommandExecution](raw, read)
	case KindFileChange:
		return decode[FileChange](raw, read)
	case KindPermissionRequest:
		return decode[PermissionRequest](raw, read)
	case KindQuestion:
		return decode[Question](raw, read)
	case KindUsage:
		return decode[Usage](raw, read)
	case KindNotice:
		return decode[Notice](raw, read)
	case KindError:
		return decode[Error](raw, read)
	case KindExtension:
		return decode[Extension](raw, read)
	}
	return nil, &UnknownKindError{Kind: head.Type}
}

func decode[T Content](raw Raw, read func([]byte, any) error) (Content, error) {
	var v T
	if err := read(raw, &v); err != nil {
		return nil, fmt.Errorf("decode %s: %w", v.Kind(), err)
	}
	return v, nil
}

// UnknownKindError says that content.type is none of Kinds.
type UnknownKindError struct{ Kind Kind }

// Error implements error.
func (e *UnknownKindError) Error() string { return fmt.Sprintf("unknown kind of item %q", e.Kind) }

// Errors of this package. api maps them to the wire.
var (
	ErrNotFound        = errors.New("no such item")
	ErrAlreadyResolved = errors.New("the question has been answered already")
)

// kindOf reads content.type without decoding the rest.
func kindOf(raw Raw) Kind {
	var head struct {
		Type Kind `json:"type"`
	}
	_ = json.Unmarshal(raw, &head) // content in the log was encoded by this package
	return head.Type
}
