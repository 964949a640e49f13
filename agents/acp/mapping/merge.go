package mapping

import (
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// merge merges an update into its call; absent and null members change nothing.
// It reports false if a part of the update breaks the protocol.
func (l *calls) merge(c *call, f fields) bool {
	c.identify(f)
	whole := true
	text := func(name string, to *string) {
		if v, ok := textOf(f[name]); ok {
			if v != "" {
				*to = v
			}
		} else if f.has(name) {
			whole = false
		}
	}
	text("title", &c.title)
	text("name", &c.name)
	text("kind", &c.toolKind)
	whole = c.mergeStatus(f) && whole
	if f.has("rawInput") {
		c.input = f["rawInput"]
	}
	if f.has("rawOutput") {
		c.output = f["rawOutput"]
	}
	whole = c.mergeContent(f) && whole
	whole = c.mergeLocations(f) && whole
	l.mergeMeta(c, f.object("_meta"))
	c.readInput()
	c.readOutput()
	return whole
}

// mergeStatus takes the status. An ended call does not reopen.
func (c *call) mergeStatus(f fields) bool {
	if !f.has("status") {
		return true
	}
	status := items.StatusInProgress
	switch f.text("status") {
	case "pending", "in_progress":
	case "completed":
		status = items.StatusCompleted
	case "failed":
		status = items.StatusFailed
	case "cancelled":
		status = items.StatusCancelled
	default:
		return false
	}
	if c.status.Open() || !status.Open() {
		c.status = status
	}
	return true
}

func (c *call) mergeContent(f fields) bool {
	if !f.has("content") {
		return true
	}
	list, ok := f.list("content")
	if !ok {
		return false
	}
	was := c.content
	c.content = blocks{}
	for _, b := range list {
		c.addBlock(b)
	}
	if len(c.content.changes) == 0 { // gemini-cli replaces the diff by the error about it
		c.content.changes, c.content.diffs, c.content.patched = was.changes, was.diffs, was.patched
	}
	return true
}

func (c *call) mergeLocations(f fields) bool {
	if !f.has("locations") {
		return true
	}
	list, ok := f.list("locations")
	if !ok {
		return false
	}
	var locations []items.Location
	for _, l := range list {
		lf, err := fieldsOf(l)
		if err != nil || lf.text("path") == "" {
			ok = false
			continue
		}
		line, _ := lf.number("line")
		locations = append(locations, items.Location{Path: lf.text("path"), Line: max(0, int(line))})
	}
	c.locations = locations
	return ok
}

// mergeMeta takes the extensions of agents: the terminal of a command
// (claude-agent-acp, codex-acp), the name of the tool (claude-agent-acp), the
// progress of a tool (codex-acp).
func (l *calls) mergeMeta(c *call, meta fields) {
	if meta == nil {
		return
	}
	if name := meta.object("claudeCode").text("toolName"); name != "" {
		c.name = name
		if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
			if server, tool, ok := strings.Cut(rest, "__"); ok {
				c.server, c.name = server, tool
			}
		}
	}
	if info := meta.object("terminal_info"); info != nil {
		c.addTerminal(info.text("terminal_id"))
		if cwd := info.text("cwd"); cwd != "" {
			c.cwd = cwd
		}
	}
	if typed := meta.object("terminal_input").text("data"); typed != "" {
		c.addStream("\n" + typed + "\n")
	}
	for _, key := range []string{"terminal_output", "terminal_output_delta"} {
		c.addStream(meta.object(key).text("data"))
	}
	if exit := meta.object("terminal_exit"); exit != nil {
		c.exited(exit)
	}
	if progress := meta.object("mcp_output_delta").text("data"); progress != "" {
		l.out.emit(items.Progress{Message: progress})
	}
}

// readInput reads the server, tool name and working directory from the tool's
// input.
func (c *call) readInput() {
	in, err := fieldsOf(c.input)
	if err != nil {
		return
	}
	if server := in.text("server"); server != "" && in.text("tool") != "" { // codex-acp
		c.server, c.name = server, in.text("tool")
	}
	if cwd := in.text("cwd", "workdir", "working_directory", "directory", "dir_path"); cwd != "" {
		c.cwd = cwd
	}
}

// readOutput reads from the tool's output how a command ended.
func (c *call) readOutput() {
	out, err := fieldsOf(c.output)
	if err != nil {
		return
	}
	c.exited(out)
	c.exited(out.object("metadata")) // opencode
}

func (c *call) exited(f fields) {
	if code, ok := f.number("exit_code", "exitCode", "exit", "return_code"); ok {
		n := int(code)
		c.exit = &n
	}
	if signal := f.text("signal"); signal != "" {
		c.signal = signal
	}
}

// directory returns where a command runs.
func (c *call) directory(of string) string {
	if c.cwd == "" || path.IsAbs(c.cwd) || of == "" || strings.Contains(c.cwd, `\`) {
		if c.cwd == "" {
			return of
		}
		return c.cwd
	}
	return path.Join(of, c.cwd)
}

// command returns the command as a person would type it: a string unchanged, the
// words of an array joined, without the shell that only runs it.
func command(input jsontext.Value) string {
	if s, ok := textOf(input); ok {
		return s
	}
	in, err := fieldsOf(input)
	if err != nil {
		return ""
	}
	for _, name := range []string{"command", "cmd", "script"} {
		if s := in.text(name); s != "" {
			return s
		}
		var words []string
		if in[name].Kind() != '[' || unmarshal(in[name], &words) != nil || len(words) == 0 {
			continue
		}
		if len(words) == 3 && (words[1] == "-c" || words[1] == "-lc") {
			return words[2]
		}
		for i, w := range words {
			words[i] = quoted(w)
		}
		return strings.Join(words, " ")
	}
	return ""
}

// quoted quotes a word for a shell.
func quoted(w string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,"
	if w != "" && strings.Trim(w, plain) == "" {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
