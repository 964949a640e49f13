package timeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/question"
)

// params has the shown params of all events.
type params struct {
	Status      string   `json:"status"`
	State       string   `json:"state"`
	Title       string   `json:"title"`
	TitleBy     string   `json:"title_by"`
	Agent       string   `json:"agent"`
	Cwd         string   `json:"cwd"`
	Reason      string   `json:"reason"`
	Message     string   `json:"message"`
	StopReason  string   `json:"stop_reason"`
	Position    int      `json:"position"`
	StartedAt   string   `json:"started_at"`
	CompletedAt string   `json:"completed_at"`
	Until       string   `json:"until"`
	WaitsFor    []string `json:"waits_for"`
	Policy      string   `json:"attention_policy"`
	Parent      struct {
		ThreadID string `json:"thread_id"`
	} `json:"parent"`
	Content    json.RawMessage `json:"content"`
	Truncated  bool            `json:"truncated"`
	TotalBytes int64           `json:"total_bytes"`
	Offset     int64           `json:"offset"`
	Delta      struct {
		Text string `json:"text"`
	} `json:"delta"`
	Config struct {
		Mode    string                     `json:"mode"`
		Model   string                     `json:"model"`
		Options map[string]json.RawMessage `json:"options"`
	} `json:"config"`
	Error *struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
	} `json:"error"`
	Review *struct {
		State string `json:"state"`
	} `json:"review"`
	Verdict     string `json:"verdict"`
	Note        string `json:"note"`
	ContinuedBy string `json:"continued_by"`
	Usage       *usage `json:"usage"`
	lineageParams
}

// elapsed returns how long the turn took, and whether the event has the times. They
// are in milliseconds: a short turn takes 0.
func (p params) elapsed() (took time.Duration, known bool) {
	started, err := time.Parse(time.RFC3339, p.StartedAt)
	if err != nil {
		return 0, false
	}
	completed, err := time.Parse(time.RFC3339, p.CompletedAt)
	if err != nil {
		return 0, false
	}
	return max(0, completed.Sub(started)), true
}

type usage struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	TotalTokens  int64 `json:"total_tokens"`
	Cost         *struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
}

func (u usage) String() string {
	text := fmt.Sprintf("%d tokens (%d in, %d out", u.TotalTokens, u.InputTokens, u.OutputTokens)
	if more := u.TotalTokens - u.InputTokens - u.OutputTokens; more > 0 { // agents count these among the others, or not
		text += fmt.Sprintf(", %d cached or thinking", more)
	}
	text += ")"
	if u.Cost != nil {
		text += fmt.Sprintf(", %.4g %s", u.Cost.Amount, OneLine(u.Cost.Currency))
	}
	return text
}

// Content has the shown members of the content of all kinds of item. Members
// with another type in another kind are kept raw.
type Content struct {
	Type        string          `json:"type"`
	Parts       json.RawMessage `json:"content"`
	Text        string          `json:"text"`
	Title       string          `json:"title"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Command     string          `json:"command"`
	Cwd         string          `json:"cwd"`
	Output      string          `json:"output"`
	ExitCode    *int            `json:"exit_code"`
	Signal      string          `json:"signal"`
	Error       string          `json:"error"`
	Kind        string          `json:"kind"`
	Message     string          `json:"message"`
	Severity    string          `json:"severity"`
	Format      string          `json:"format"` // of a message; plain: its text is no Markdown
	NativeKind  string          `json:"native_kind"`
	URL         string          `json:"url"`
	Input       json.RawMessage `json:"input"`
	Origin      string          `json:"origin"`
	ResolvedBy  string          `json:"resolved_by"`
	Answer      json.RawMessage `json:"answer"`
	Schema      json.RawMessage `json:"schema"`
	Options     []Option        `json:"options"`
	Outcome     *Outcome        `json:"outcome"`
	Subject     struct {
		ItemID  string `json:"item_id"`
		Command string `json:"command"`
		Cwd     string `json:"cwd"`
	} `json:"subject"`
	// Phrase is what a question asks for, in one line; "" = it is no question.
	Phrase  string      `json:"-"`
	Entries []PlanEntry `json:"entries"`
	Changes []struct {
		Path      string  `json:"path"`
		OldPath   string  `json:"old_path"`
		Operation string  `json:"operation"`
		OldText   *string `json:"old_text"`
		NewText   *string `json:"new_text"`
	} `json:"changes"`
	usage
}

// PlanEntry is one step of a plan.
type PlanEntry struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

// Option is one answer that a permission request offers.
type Option struct {
	ID   string `json:"option_id"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Outcome is how a question was answered.
type Outcome struct {
	Type     string `json:"type"`
	OptionID string `json:"option_id"`
	Kind     string `json:"kind"`
}

// ReadContent reads an item's content. Of a content in another form than this
// protocol's (a foreign server) it returns only the type, if there is one.
func ReadContent(raw json.RawMessage) Content {
	var content Content
	if len(raw) == 0 || json.Unmarshal(raw, &content) == nil {
		content.fromTitle()
		content.hideNothing()
		if content.Type == "permission_request" || content.Type == "question" {
			content.Phrase = question.Phrase(question.Asked{Content: raw})
		}
		return content
	}
	var only struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &only) != nil {
		return Content{}
	}
	return Content{Type: only.Type}
}

// hideNothing makes hidden characters visible in what a person is asked to approve: what a
// terminal would hide, a shell executes and a file has.
func (c *Content) hideNothing() {
	texts := []*string{&c.Command, &c.Cwd, &c.Subject.Command, &c.Subject.Cwd}
	if c.Type == "permission_request" {
		texts = append(texts, &c.Title, &c.Description)
	}
	for i := range c.Changes {
		change := &c.Changes[i]
		texts = append(texts, &change.Path, &change.OldPath) // question.Compare does it for their lines
	}
	for _, text := range texts {
		*text = sanitize.Literal(*text)
	}
}

// fromTitle shows the title of a summary where its kind has another text.
func (c *Content) fromTitle() {
	switch c.Type {
	case "question", "notice", "error":
		c.Message = cmp.Or(c.Message, c.Title)
	case "plan":
		if len(c.Entries) == 0 && c.Title != "" {
			c.Entries = append(c.Entries, PlanEntry{Content: c.Title, Status: "in_progress"})
		}
	}
}

// Stream returns the text to which deltas are appended.
func (c Content) Stream() string {
	switch c.Type {
	case "agent_message":
		return c.MessageText()
	case "reasoning":
		return c.Text
	}
	return c.Output
}

// MessageText returns the text of a message's parts as the agent or person wrote it,
// not sanitized; other parts are named.
func (c Content) MessageText() string {
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
		URI  string `json:"uri"`
		URL  string `json:"url"`
		Name string `json:"name"`
		MIME string `json:"mime_type"`
	}
	if json.Unmarshal(c.Parts, &parts) != nil {
		return c.Text // the first server put plain text there
	}
	var texts []string
	for _, part := range parts {
		switch part.Type {
		case "input_image":
			texts = append(texts, strings.TrimSpace("[image "+part.MIME+" "+part.URL)+"]")
		case "resource_link":
			texts = append(texts, "["+strings.TrimSpace(part.Name+" "+part.URI)+"]")
		default:
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Acts reports whether the content is something that an agent does, or asks before it.
func (c Content) Acts() bool {
	switch c.Type {
	case "tool_call", "command_execution", "file_change", "permission_request", "question":
		return true
	}
	return false
}

// Headline names a tool call or command on one line.
func (c Content) Headline() string {
	switch {
	case c.Type == "command_execution" && c.Command != "":
		return question.OneLine(c.Command)
	case c.Title != "":
		return OneLine(c.Title)
	case c.Name != "":
		return OneLine(c.Name)
	}
	return OneLine(c.Kind)
}

// Ending describes how a tool call or command ended, "" if it simply completed.
func (c Content) Ending(status string) string {
	var parts []string
	if c.ExitCode != nil && *c.ExitCode != 0 {
		parts = append(parts, "exit "+strconv.Itoa(*c.ExitCode))
	}
	if c.Signal != "" {
		parts = append(parts, OneLine(c.Signal))
	}
	if status != "completed" && status != "" {
		parts = append(parts, status)
	}
	if c.Error != "" {
		parts = append(parts, OneLine(c.Error))
	}
	return strings.Join(parts, ", ")
}

// Resolution describes how a question was answered.
func (c Content) Resolution(status string) string {
	text := status
	switch {
	case c.Outcome != nil && c.Outcome.OptionID != "":
		text = c.Outcome.OptionID
		for _, option := range c.Options {
			if option.ID == c.Outcome.OptionID && option.Name != "" {
				text = option.Name
			}
		}
		if c.Outcome.Type == "expired" {
			text += ", because nobody answered in time"
		}
	case c.Outcome != nil && c.Outcome.Type == "expired":
		text = "nobody answered in time"
	case len(c.Answer) > 0 && string(c.Answer) != "null":
		text = string(c.Answer)
	case c.Outcome != nil && c.Outcome.Type != "":
		text = c.Outcome.Type
	}
	return OneLine(text)
}

// changes lists changed files, one a line, by the status of the change: what was done, what
// the agent is about to do, or what has failed or was declined.
func (c Content) changes(status string) string {
	var lines []string
	for _, change := range c.Changes {
		line := OneLine(change.Operation)
		switch past := operations[line]; {
		case status == "completed" && past != "":
			line = past
		case status == "pending" || status == "in_progress":
			line = "about to " + line
		case status != "completed":
			line = OneLine(status) + ": " + line
		}
		if change.OldPath != "" {
			line += " " + OneLine(change.OldPath) + " to"
		}
		line += " " + OneLine(change.Path)
		switch before, after := countLines(change.OldText), countLines(change.NewText); {
		case change.OldText == nil && change.NewText == nil:
		case before == 0 || after == 0:
			line += " (" + counted(before+after) + ")"
		default:
			line += fmt.Sprintf(" (%s, %d before)", counted(after), before)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// operations are those of the protocol, and how they are called once they are done.
var operations = map[string]string{"add": "added", "modify": "modified", "delete": "deleted", "move": "moved", "rename": "renamed"}

// showsTexts reports whether a change says what is in the files: before that, an agent has
// named them only.
func (c Content) showsTexts() bool {
	for _, change := range c.Changes {
		if change.NewText != nil || change.OldText != nil {
			return true
		}
	}
	return false
}

func counted(lines int) string {
	if lines == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", lines)
}

// Diffs lists changed files with the lines that differ: what a person needs
// to see before allowing a change.
func (c Content) Diffs(status string) string {
	var blocks []string
	for i, change := range c.Changes {
		one := c
		one.Changes = c.Changes[i : i+1]
		block := one.changes(status)
		if change.NewText != nil || change.OldText != nil {
			block += differing(change.OldText, change.NewText)
		}
		blocks = append(blocks, block)
	}
	return strings.Join(blocks, "\n")
}

// shownLines is how many lines of a change are shown.
const shownLines = 16

// differing shows the lines in which two texts differ.
func differing(before, after *string) string {
	lines := question.Compare(deref(before), deref(after)).Lines
	more := len(lines) - shownLines
	if more > 0 {
		lines = lines[:shownLines:shownLines]
	}
	var b strings.Builder
	for _, row := range question.Rows(lines) {
		b.WriteString("\n" + row)
	}
	if more > 0 {
		b.WriteString("\n" + question.More(more))
	}
	return b.String()
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func linesOf(text *string) []string {
	if text == nil || *text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(*text, "\n"), "\n")
}

func countLines(text *string) int { return len(linesOf(text)) }

// Summary returns an item's content in one sanitized line, for tables.
func (c Content) Summary(status string) string {
	switch c.Type {
	case "user_message", "agent_message":
		return OneLine(c.MessageText())
	case "reasoning":
		return OneLine(c.Text)
	case "tool_call", "command_execution":
		text := c.Headline()
		if ending := c.Ending(""); ending != "" {
			text += " (" + ending + ")"
		}
		return text
	case "permission_request":
		text := cmp.Or(c.Phrase, OneLine(c.Title))
		if c.Outcome != nil {
			text += ": " + c.Resolution(status)
		}
		return text
	case "question", "notice", "error":
		return OneLine(c.Message)
	case "plan":
		done := 0
		for _, entry := range c.Entries {
			if entry.Status == "completed" {
				done++
			}
		}
		return fmt.Sprintf("%d of %d steps done", done, len(c.Entries))
	case "file_change":
		return OneLine(strings.ReplaceAll(c.changes(status), "\n", ", "))
	case "usage":
		return c.usage.String()
	case "extension":
		return OneLine(c.NativeKind)
	}
	return OneLine(c.Text)
}
