package mapping

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// kindOfItem decides the kind of a call's item at the first update. An item
// cannot change its kind later, so neither can a call. A call that runs a
// command is a command_execution. A call that edits, deletes or moves, or has a
// diff at once, is a file_change, though its diff may come later or never. Any
// other call is a tool_call; its diff stays in its content.
func (c *call) kindOfItem() items.Kind {
	switch c.toolKind {
	case "execute":
		if c.mcp != nil { // codex-acp says so of every tool of an MCP server
			return items.KindToolCall
		}
		return items.KindCommandExecution
	case "edit", "delete", "move":
		return items.KindFileChange
	}
	switch {
	case len(c.content.changes) > 0:
		return items.KindFileChange
	case c.toolKind == "" && len(c.terminals) > 0:
		return items.KindCommandExecution
	}
	return items.KindToolCall
}

// as returns the content of an item of the call, without the text that grows.
func (c *call) as(cwd string) items.Content {
	switch c.kind {
	case items.KindCommandExecution:
		return c.asCommand(cwd)
	case items.KindFileChange:
		return c.asFileChange()
	}
	rest := slices.Concat(c.content.diffs, c.content.rest)
	return items.ToolCall{
		Type: items.KindToolCall, ToolCallID: c.id, Name: c.name, Title: c.titled(), ToolKind: c.kindOfTool(),
		Server: c.server, Input: c.given(), Content: rest, Locations: c.locations, Error: c.failure(),
	}
}

func (c *call) asCommand(cwd string) items.Content {
	line := command(c.input)
	if line == "" {
		line = c.line
	}
	if line == "" && !present(c.input) {
		line = strings.Trim(c.title, "`") // gemini-cli has it only there
	}
	item := items.CommandExecution{
		Type: items.KindCommandExecution, ToolCallID: c.id, Name: c.name, Title: c.titled(), ToolKind: c.kindOfTool(),
		Server: c.server, Input: c.given(), Command: line, Cwd: c.directory(cwd), ExitCode: c.exit, Signal: c.signal,
		Content: slices.Concat(c.content.diffs, c.content.rest), Locations: c.locations, Error: c.failure(),
	}
	if c.stream != nil && c.content.text != "" && !c.isDescription() {
		// The output is the streamed text; other text is kept too.
		if text, err := jsontext.AppendQuote(nil, c.content.text); err == nil {
			block := `{"type":"content","content":{"type":"text","text":` + string(text) + `}}`
			item.Content = append(item.Content, items.Raw(block))
		}
	}
	if item.ExitCode == nil && c.status == items.StatusFailed && c.stream == nil {
		item.ExitCode = exitCodeIn(c.text())
	}
	return item
}

func (c *call) asFileChange() items.Content {
	item := items.FileChange{
		Type: items.KindFileChange, ToolCallID: c.id, Title: c.titled(), Changes: c.content.changes,
		Output: c.text(), Content: c.content.rest, Locations: c.locations, Error: c.failure(),
	}
	if c.stream != nil {
		item.Output = c.stream.String()
	}
	if len(item.Changes) == 0 {
		item.Changes, item.Input = c.expected(), c.given()
	}
	if c.content.patched {
		item.Content = slices.Concat(c.content.diffs, c.content.rest)
	}
	return item
}

// expected returns the changes of a call without a diff: the files it names,
// without their texts.
func (c *call) expected() []items.Change {
	operation := "modify"
	if c.toolKind == "delete" || c.toolKind == "move" {
		operation = c.toolKind
	}
	changes := []items.Change{}
	for _, l := range c.locations {
		if !slices.ContainsFunc(changes, func(o items.Change) bool { return o.Path == l.Path }) {
			changes = append(changes, items.Change{Path: l.Path, Operation: operation})
		}
	}
	if in, err := fieldsOf(c.input); err == nil && len(changes) == 0 {
		if p := in.text("file_path", "filePath", "filepath", "abs_path", "absolute_path", "notebook_path", "path"); p != "" {
			changes = append(changes, items.Change{Path: p, Operation: operation})
		}
	}
	return changes
}

func (c *call) titled() string {
	switch {
	case c.title != "":
		return c.title
	case c.name != "":
		return c.name
	}
	return c.id
}

func (c *call) kindOfTool() string {
	switch {
	case c.toolKind != "":
		return c.toolKind
	case c.kind == items.KindCommandExecution:
		return "execute"
	}
	return "other"
}

// given returns the tool's input, nil for an empty one: agents announce a call
// before its input.
func (c *call) given() items.Raw {
	if f, err := fieldsOf(c.input); !present(c.input) || err == nil && len(f) == 0 {
		return nil
	}
	return clean(c.input)
}

// text returns the tool's output, unless that streams: its text, else the text of
// its raw output.
func (c *call) text() string {
	text := c.content.text
	if c.kind == items.KindCommandExecution {
		if c.isDescription() {
			text = "" // claude-agent-acp: the purpose of the command, until its output is known
		}
		text = unfenced(text)
	}
	if text != "" {
		return text
	}
	return c.rawText()
}

// unfenced returns text without the Markdown that claude-agent-acp puts around the
// output of a command and around an error.
func unfenced(text string) string {
	for _, fence := range []string{"```console\n", "```\n"} {
		if body, ok := strings.CutPrefix(text, fence); ok {
			if body, ok = strings.CutSuffix(body, "\n```"); ok && !strings.Contains(body, "```") {
				return body
			}
		}
	}
	return text
}

func (c *call) isDescription() bool {
	in, err := fieldsOf(c.input)
	return err == nil && c.content.text != "" && in.text("description") == c.content.text
}

// rawText reads rawOutput, which the protocol does not define.
func (c *call) rawText() string {
	if !present(c.output) {
		return ""
	}
	if s, ok := textOf(c.output); ok {
		return s
	}
	out, err := fieldsOf(c.output)
	if err != nil {
		return string(clean(c.output)) // an array, a number
	}
	if s := out.text("output", "formatted_output", "aggregated_output", "text", "result", "content"); s != "" {
		return s
	}
	if s := out.text("stdout") + out.text("stderr"); s != "" {
		return s
	}
	if c.kind != items.KindToolCall || len(out) == 0 {
		return "" // the exit status has been read already
	}
	if c.status == items.StatusFailed && out.text("error", "message") != "" {
		return out.text("error", "message")
	}
	return string(clean(c.output))
}

// maxShort bounds a text that is also stored in full: the error of a call, whose
// text is in its output.
const maxShort = 4 << 10

func short(s string) string {
	if len(s) <= maxShort {
		return s
	}
	return strings.ToValidUTF8(s[:maxShort], "") + "…"
}

// failure explains why a call failed, "" if it did not. A command with an exit code
// has its reason in its output.
func (c *call) failure() string {
	if c.status != items.StatusFailed {
		return ""
	}
	why := ""
	if out, err := fieldsOf(c.output); err == nil {
		if why = out.text("error", "message"); why == "" {
			why = out.object("error").text("message")
		}
	}
	if text := unfenced(c.text()); why == "" && (c.kind != items.KindCommandExecution || c.exit == nil && exitCodeIn(text) == nil) {
		why = text
	}
	return short(why)
}

var exitCodeLine = regexp.MustCompile(`^Exit code (\d{1,3})(?:\n|$)`)

// exitCodeIn finds the code in the first line of a failed command's output,
// where claude-agent-acp puts it.
func exitCodeIn(text string) *int {
	m := exitCodeLine.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	code, err := strconv.Atoi(m[1])
	if err != nil {
		return nil
	}
	return &code
}
