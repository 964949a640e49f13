package mapping

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// The requests are as the agents send them: SERVER stands for the name of our
// server. asked is what toolCall says besides the id, "call" unless it is given.
func TestRequestsForAToolAreKnownByTheAgentsOwnWords(t *testing.T) {
	const server = "holon_3ac674"
	claude := `"name":"mcp__SERVER__work_start","title":"mcp__SERVER__work_start","kind":"other","rawInput":{"prompt":"x"},"status":"pending"`
	claudeCall := `{"sessionUpdate":"tool_call","toolCallId":"call","name":"mcp__SERVER__work_start","_meta":{"claudeCode":{"toolName":"mcp__SERVER__work_start"}},"title":"mcp__SERVER__work_start","kind":"other","rawInput":{}}`
	codexCall := `{"sessionUpdate":"tool_call","toolCallId":"call","kind":"execute","title":"mcp.SERVER.work_start","status":"in_progress","rawInput":{"server":"SERVER","tool":"work_start","arguments":{"prompt":"x"}},"_meta":{"is_mcp_tool_call":true}}`
	codex := `"kind":"execute","status":"pending"`
	const approval = `"_meta":{"is_mcp_tool_approval":true}`
	gemini := `"toolCallId":"mcp_SERVER_work_start__mcp_SERVER_work_start_1767225600000_0","status":"pending","title":"work_start (SERVER MCP Server)","content":[],"locations":[],"kind":"other"`
	openCall := `{"sessionUpdate":"tool_call","toolCallId":"call","title":"SERVER_work_start","kind":"other","status":"pending","locations":[],"rawInput":{}}`
	open := `"title":"SERVER_work_start","kind":"other","status":"pending","locations":[],"rawInput":{}`
	bashCall := `{"sessionUpdate":"tool_call","toolCallId":"call","title":"bash","kind":"execute","status":"pending","rawInput":{}}`

	for _, c := range []struct {
		name, agent, call, asked, more string
		want                           bool
	}{
		{"Claude", "@agentclientprotocol/claude-agent-acp", claudeCall, claude + `,"_meta":{"claudeCode":{"toolName":"mcp__SERVER__work_start","mcpServer":{"name":"SERVER","source":"dynamic"}}}`, "", true},
		{"ClaudeWithoutMeta", "@agentclientprotocol/claude-agent-acp", claudeCall, claude, "", true},
		{"NameInTheRequestAlone", "another", "", `"name":"mcp__SERVER__inbox_read"`, "", true},
		{"NameInTheCallAlone", "another", claudeCall, `"title":"Something"`, "", true},
		{"Codex", "@agentclientprotocol/codex-acp", codexCall, codex, approval, true},
		{"CodexAsksForSeveral", "@agentclientprotocol/codex-acp", "", `"kind":"execute","title":"MCP tool call approval","rawInput":{"serverName":"SERVER","description":"Allow?","schema":{}}`, approval, true},
		{"Gemini", "gemini-cli", "", gemini, "", true},
		{"GeminiWithoutAnIDOfTheModel", "gemini-cli", "", `"toolCallId":"mcp_SERVER_work_start-1767225600000-1","title":"{}"`, "", true},
		{"OpenCode", "OpenCode", openCall, open, "", true},
		{"OpenCodeFirstInTheRequest", "OpenCode", "", open, "", true},

		{"ClaudeOfAnotherServer", "x", "", `"name":"mcp__holon_000000__work_start"`, "", false},
		{"ClaudeOfAServerWhoseNameGoesOn", "x", "", `"name":"mcp__SERVER__evil__work_start"`, "", false},
		{"ClaudeSaysAnotherServer", "x", claudeCall, claude + `,"_meta":{"claudeCode":{"mcpServer":{"name":"other"}}}`, "", false},
		{"ClaudesCommandWithTheName", "x", "", `"name":"Bash","title":"mcp__SERVER__work_start","rawInput":{"command":"mcp__SERVER__work_start"}`, "", false},
		{"ClaudesCallHadAnotherName", "x", strings.ReplaceAll(claudeCall, "mcp__SERVER__work_start", "Bash"), claude, "", false},
		{"NameThatContainsIt", "x", "", `"name":"run mcp__SERVER__work_start"`, "", false},
		{"NameThatGoesOn", "x", "", `"name":"mcp__SERVER__work_start; rm -rf /"`, "", false},
		{"NameOfTheServerAlone", "x", "", `"name":"mcp__SERVER__"`, "", false},
		{"NameIsNoText", "x", "", `"name":["mcp__SERVER__work_start"],"title":"mcp__SERVER__work_start"`, "", false},

		{"CodexsCommandWithTheTitle", "@agentclientprotocol/codex-acp", "", `"kind":"execute","title":"mcp.SERVER.work_start","rawInput":{"command":"mcp.SERVER.work_start"}`, "", false},
		{"CodexsInputWithoutItsMark", "@agentclientprotocol/codex-acp", strings.Replace(codexCall, `"is_mcp_tool_call":true`, `"other":true`, 1), codex, approval, false},
		{"CodexsRequestWithoutItsMark", "@agentclientprotocol/codex-acp", codexCall, codex, "", false},
		{"CodexOfAnotherServer", "@agentclientprotocol/codex-acp", strings.ReplaceAll(codexCall, "SERVER", "files"), codex, approval, false},
		{"CodexAsksForSeveralOfAnother", "@agentclientprotocol/codex-acp", "", `"title":"MCP tool call approval","rawInput":{"serverName":"files","description":"SERVER"}`, approval, false},
		{"CodexsCallOfAnotherWithOurWords", "@agentclientprotocol/codex-acp", strings.ReplaceAll(codexCall, "SERVER", "files"), codex + `,"title":"mcp.SERVER.work_start","rawInput":{"serverName":"SERVER"}`, approval, false},

		{"GeminisTitleAlone", "gemini-cli", "", `"toolCallId":"run_shell_command__1","title":"work_start (SERVER MCP Server)","kind":"execute"`, "", false},
		{"GeminisIDThatContainsIt", "gemini-cli", "", `"toolCallId":"files_read__mcp_SERVER_work_start__1","title":"work_start (SERVER MCP Server)"`, "", false},
		{"GeminisIDOfAnotherServer", "gemini-cli", "", `"toolCallId":"mcp_SERVER2_work_start__1","title":"x"`, "", false},
		{"GeminisIDWithoutAnEnd", "gemini-cli", "", `"toolCallId":"mcp_SERVER_work_start","title":"x"`, "", false},
		{"TheIDOfAnotherAgent", "x", "", gemini, "", false},

		// opencode takes the title of a request from its input: the command, the query.
		{"OpenCodesCommandOutsideOfTheProject", "OpenCode", bashCall, `"title":"SERVER_work_start","kind":"other","rawInput":{"command":"SERVER_work_start","directories":["/etc"]}`, "", false},
		{"OpenCodesCommand", "OpenCode", bashCall, `"title":"SERVER_work_start","kind":"execute","rawInput":{"command":"SERVER_work_start"}`, "", false},
		{"OpenCodesQuery", "OpenCode", "", `"title":"SERVER_work_start","kind":"other","rawInput":{"query":"SERVER_work_start"}`, "", false},
		{"OpenCodesCallWasAnother", "OpenCode", bashCall, open, "", false},
		{"OpenCodesTitleThatContainsIt", "OpenCode", "", `"title":"please allow SERVER_work_start","kind":"other","rawInput":{}`, "", false},
		{"OpenCodesTitleThatGoesOn", "OpenCode", "", `"title":"SERVER_work_start && rm -rf /","kind":"other","rawInput":{}`, "", false},
		{"OpenCodeWithoutInput", "OpenCode", "", `"title":"SERVER_work_start","kind":"other"`, "", false},
		{"OpenCodesTitleInAnotherForm", "OpenCode", "", `"title":"mcp__SERVER__work_start","kind":"other","rawInput":{}`, "", false},
		{"TheTitleOfAnotherAgent", "x", openCall, open, "", false},

		{"NoCall", "OpenCode", "", "-", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			fill := func(text string) jsontext.Value {
				return jsontext.Value(strings.ReplaceAll(text, "SERVER", server))
			}
			s := New(Options{})
			s.Begin(0)
			if c.call != "" {
				s.Update(fill(c.call))
			}
			asked := c.asked
			if !strings.Contains(asked, `"toolCallId"`) {
				asked = `"toolCallId":"call",` + asked
			}
			params := `{"toolCall":{` + asked + `},"options":[{"optionId":"once","kind":"allow_once"}]`
			if asked = c.asked; asked == "-" {
				params = `{"title":"SERVER_work_start","options":[{"optionId":"once","kind":"allow_once"}]`
			}
			if c.more != "" {
				params += "," + c.more
			}
			params += "}"
			if !fill(params).IsValid() {
				t.Fatalf("the request of the test is wrong: %s", params)
			}
			if _, _, err := s.Permission(fill(params)); err != nil {
				t.Fatal(err)
			}
			if got := s.AsksForTool(fill(params), c.agent, server); got != c.want {
				t.Errorf("%v, want %v: %s after %s", got, c.want, params, c.call)
			}
		})
	}
}

// Some agents begin the ids of their calls anew in each prompt: what an earlier call
// was says nothing of a later one.
func TestARequestIsNotKnownByAnEarlierCallOfItsID(t *testing.T) {
	s := New(Options{})
	s.Begin(0)
	s.Update(jsontext.Value(`{"sessionUpdate":"tool_call","toolCallId":"c","name":"mcp__holon_x__work_start","title":"t"}`))
	s.PromptEnded(nil, false)
	s.Begin(0)
	params := jsontext.Value(`{"toolCall":{"toolCallId":"c","title":"rm -rf /"},"options":[{"optionId":"once","kind":"allow_once"}]}`)
	if _, _, err := s.Permission(params); err != nil {
		t.Fatal(err)
	}
	if s.AsksForTool(params, "x", "holon_x") {
		t.Error("it is taken for the call of the earlier prompt")
	}
}
