package mapping

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// The names of agents, in their answer to initialize, whose permission requests
// name a tool in a place that is theirs alone.
const (
	agentGemini   = "gemini-cli"
	agentOpenCode = "OpenCode"
)

// AsksForTool reports whether a permission request is for a tool of this MCP
// server. agent is the agent's name in its answer to initialize. It is called after
// Permission, which maps the request.
//
// It trusts only words of the agent's own program. A title, an input or a command
// may be words of the model, or of a file that it has read; so may be anything that
// is only contained in them. What counts is, in this order:
//
//   - the tool's name (name, or claude-agent-acp's _meta.claudeCode.toolName), in
//     the request or in the agent's first message about the call;
//   - codex-acp: _meta.is_mcp_tool_approval in the request, with the server in its
//     tool_call, or, if it asks for several calls at once, in the request;
//   - gemini-cli: the id of the call, which begins with the tool's name;
//   - opencode: the title, if the input is empty. It takes titles from the input, and
//     without one it is the tool's name.
func (s *Session) AsksForTool(params jsontext.Value, agent, server string) bool {
	f, err := fieldsOf(params)
	if err != nil {
		return false
	}
	asked := f.object("toolCall")
	if asked == nil {
		asked = f.object("subject").object("toolCall")
	}
	id := asked.text("toolCallId")
	c := s.calls.byID[id]
	if id == "" || c == nil {
		return false
	}
	claude := asked.object("_meta").object("claudeCode")
	if from, given := textOf(claude.object("mcpServer")["name"]); given && from != server {
		return false
	}
	names := slices.DeleteFunc([]string{asked.text("name"), claude.text("toolName"), c.named}, func(name string) bool { return name == "" })
	if len(names) > 0 {
		return !slices.ContainsFunc(names, func(name string) bool { return !isToolOf(name, server) })
	}
	if isTrue(f.object("_meta")["is_mcp_tool_approval"]) {
		if c.mcp != nil {
			return c.mcp.server == server && isToolName(c.mcp.tool)
		}
		return asked.object("rawInput").text("serverName") == server
	}
	switch agent {
	case agentGemini:
		return isCallOf(id, server)
	case agentOpenCode:
		title := asked.text("title")
		in, err := fieldsOf(asked["rawInput"])
		return err == nil && in != nil && len(in) == 0 && asked.text("kind") == "other" &&
			title == c.first && isToolOf(title, server) && strings.HasPrefix(title, server)
	}
	return false
}

// mcpTool is a tool of an MCP server.
type mcpTool struct{ server, tool string }

// identify takes from an agent's message what the agent itself calls the tool. The
// first message that names it counts, and the first title.
func (c *call) identify(f fields) {
	set := func(to *string, v string) {
		if *to == "" {
			*to = v
		}
	}
	meta := f.object("_meta")
	set(&c.named, f.text("name"))
	set(&c.named, meta.object("claudeCode").text("toolName"))
	set(&c.first, f.text("title"))
	if in := f.object("rawInput"); c.mcp == nil && isTrue(meta["is_mcp_tool_call"]) { // codex-acp
		c.mcp = &mcpTool{in.text("server"), in.text("tool")}
	}
}

// isToolOf reports whether name is how an agent shows a tool of the server to its
// model.
func isToolOf(name, server string) bool {
	for _, prefix := range []string{server + "_", "mcp__" + server + "__", "mcp_" + server + "_"} {
		if tool, ok := strings.CutPrefix(name, prefix); ok && isToolName(tool) {
			return true
		}
	}
	return false
}

// isCallOf reports whether gemini-cli made the id of a call for a tool of the
// server: NAME__ANY or NAME-ANY.
func isCallOf(id, server string) bool {
	rest, ok := strings.CutPrefix(id, "mcp_"+server+"_")
	tool := rest
	if i := strings.Index(rest, "__"); i >= 0 {
		tool = rest[:i]
	}
	tool, _, _ = strings.Cut(tool, "-")
	return ok && len(tool) < len(rest) && isToolName(tool)
}

// isToolName reports whether s can be the name of one of our tools: words of small
// letters with one underscore between them. So a name that continues in another way
// is the tool of another server whose name begins as ours.
func isToolName(s string) bool {
	for word := range strings.SplitSeq(s, "_") {
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" {
			return false
		}
	}
	return true
}

func isTrue(v jsontext.Value) bool { return v.Kind() == 't' }
