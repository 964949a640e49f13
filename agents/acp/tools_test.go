package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// withTools gives the agent's sessions tools by this granter.
func withTools(g *agenttest.Granter) func(*Config) {
	return func(c *Config) { c.Tools = g }
}

// The name is part of what agents tell their users to allow, so it must not change.
func TestServerOfToolsIsNamedByItsThread(t *testing.T) {
	// SHA-256 of "abc" begins with ba7816 (FIPS 180-2, appendix B.1).
	for thread, want := range map[string]string{"thread_1": "holon_12c351", "abc": "holon_ba7816"} {
		if got := ownServer(thread); got != want {
			t.Errorf("%s: %s, want %s", thread, got, want)
		}
	}
}

func TestSessionGetsToolsBesideItsServers(t *testing.T) {
	g := &agenttest.Granter{}
	r := bad(t, "", withTools(g), func(c *Config) {
		c.MCPServers = []MCPServer{{Name: "files", Command: "/bin/files"}}
	})
	got := r.thread("thread_1").run("mcp\nmeta")
	want := `[{"name":"files","command":"/bin/files","args":[],"env":[]},` +
		`{"type":"http","name":"holon_12c351","url":"http://127.0.0.1:8080/mcp","headers":[{"name":"Authorization","value":"Bearer token-1-of-thread_1"}]}]`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if live := g.Live(); len(live) != 1 || live[0] != "token-1-of-thread_1" {
		t.Errorf("live are %q", live)
	}
	r.stop()
	if live := g.Live(); len(live) != 0 {
		t.Errorf("%q live after the process", live)
	}
}

func TestAgentWithoutHTTPGetsToolsFromACommand(t *testing.T) {
	want := `[{"name":"holon_12c351","command":"/opt/holon","args":["tools"],"env":[{"name":"HOLON_DATA","value":"/data"},` +
		`{"name":"HOLON_TOKEN","value":"token-1-of-thread_1"},{"name":"HOLON_URL","value":"http://127.0.0.1:8080"}]}]`
	for words, g := range map[string]*agenttest.Granter{"no-mcp-http": {}, "": {NoHTTP: true}} {
		if got := bad(t, words, withTools(g)).thread("thread_1").run("mcp"); got != want {
			t.Errorf("%q: got  %s\nwant %s", words, got, want)
		}
	}
}

func TestClaudeIsToldToRunTheToolsWithoutAsking(t *testing.T) {
	const allowed = `{"claudeCode":{"options":{"allowedTools":["mcp__holon_12c351"]}}}`
	for own, want := range map[string]string{OwnToolsAllow: "|" + allowed, OwnToolsAsk: ""} {
		state := "claude-code state=" + t.TempDir() + "/s"
		change := func(c *Config) { c.Tools, c.OwnTools = &agenttest.Granter{}, own }
		r := bad(t, state, change)
		th := r.thread("thread_1")
		if got := th.run("session\nmeta"); !strings.HasSuffix(got, "new"+want) {
			t.Errorf("%s, new: %s", own, got)
		}
		r.stop()
		th.r = bad(t, state, change) // the agent forgets it with its process
		if got := th.run("session\nmeta"); !strings.HasSuffix(got, "resumed"+want) {
			t.Errorf("%s, resumed: %s", own, got)
		}
		th.r = bad(t, state+" no-resume", change)
		if got := th.run("session\nmeta"); !strings.HasSuffix(got, "loaded"+want) {
			t.Errorf("%s, loaded: %s", own, got)
		}
	}
	if got := bad(t, "claude-code").thread("t").run("meta"); got != "" {
		t.Errorf("without tools: %s", got)
	}
}

func TestSessionThatIsOpenedAgainGetsANewToken(t *testing.T) {
	g := &agenttest.Granter{}
	r := bad(t, "state="+t.TempDir()+"/s", withTools(g))
	th := r.thread("t")
	th.run("say one")
	if th.run("say two"); len(g.Given()) != 1 {
		t.Errorf("given %v for one session", g.Given())
	}
	th.prompt(t.Context(), "die 3 gone") // the process takes its sessions with it
	g.Until(t, func(live []string) bool { return len(live) == 0 })
	if got := th.run("session\nmcp"); !strings.Contains(got, "resumed") || !strings.Contains(got, "Bearer token-2-of-t") {
		t.Errorf("%s", got)
	}
	th.run("lose")
	if got := th.run("mcp"); !strings.Contains(got, "Bearer token-3-of-t") {
		t.Errorf("the agent had lost the session: %s", got)
	}
	if live := g.Live(); fmt.Sprint(live) != "[token-3-of-t]" {
		t.Errorf("live are %q", live)
	}
}

// An agent that can no longer resume or load a session is asked for a new one: what
// the tries were granted ends with them.
func TestTriesToOpenASessionLeaveNoToken(t *testing.T) {
	g := &agenttest.Granter{}
	state := "state=" + t.TempDir() + "/s"
	th := bad(t, state, withTools(g)).thread("t")
	th.run("say one")
	th.r.stop()
	th.r = bad(t, state+" forget", withTools(g))
	if got := th.run("session\nmcp"); !strings.Contains(got, " new|") || !strings.Contains(got, "token-4-of-t") {
		t.Errorf("%s", got)
	}
	if live := g.Live(); fmt.Sprint(live) != "[token-4-of-t]" {
		t.Errorf("live are %q", live)
	}
	failing := bad(t, "auth", withTools(g)).thread("u")
	if _, out := failing.prompt(t.Context(), "say x"); out.State != turns.Failed || len(g.Live()) != 1 {
		t.Errorf("%+v, live are %q", out, g.Live())
	}
}

func TestForkGetsATokenOfItsOwn(t *testing.T) {
	g := &agenttest.Granter{}
	r := bad(t, "", withTools(g))
	th := r.thread("a")
	th.run("say one")
	twin, err := r.Fork(t.Context(), turns.AgentThread{ThreadID: "a", SessionID: th.sessionID}, "b")
	if err != nil {
		t.Fatal(err)
	}
	other := r.thread("b")
	other.sessionID = twin.SessionID
	if got := other.run("session\nmcp"); !strings.Contains(got, "forked") || !strings.Contains(got, ownServer("b")) || !strings.Contains(got, "token-2-of-b") {
		t.Errorf("%s", got)
	}
	if live := g.Live(); fmt.Sprint(live) != "[token-1-of-a token-2-of-b]" {
		t.Errorf("live are %q", live)
	}
}

func TestSessionWithoutToolsIsOpenedAndANoticeSaysSo(t *testing.T) {
	r := bad(t, "", withTools(&agenttest.Granter{Err: errors.New("too many tokens are live")}))
	th := r.thread("t")
	sink, out := th.prompt(t.Context(), "mcp")
	if out.State != turns.Completed || said2(sink) != "[]" || fmt.Sprint(notices(sink)) != "[The agent was not given the tools of the server: too many tokens are live]" {
		t.Errorf("%+v, said %q, told %q", out, said2(sink), notices(sink))
	}
}

func TestProbeGetsNoTools(t *testing.T) {
	g := &agenttest.Granter{}
	if _, err := bad(t, "", withTools(g)).Probe(t.Context()); err != nil || len(g.Given()) != 0 {
		t.Errorf("%v, given %v", err, g.Given())
	}
}

// asked runs a prompt that asks for a permission, in an agent with tools. It returns
// what the agent was answered, and by whom.
func asked(t *testing.T, words, prompt string, change ...func(*Config)) (answered string, byPerson bool) {
	t.Helper()
	th := bad(t, words, append([]func(*Config){withTools(&agenttest.Granter{})}, change...)...).thread("thread_1")
	got := th.run(prompt, func(s *agenttest.Sink) {
		s.OnAsk = func(_ context.Context, q items.Content, o turns.AskOptions) (turns.Answer, error) {
			p := q.(items.PermissionRequest)
			if byPerson = o.OptionID == ""; byPerson {
				o.OptionID = optionOf(p.Options, items.RejectOnce).OptionID
			}
			return turns.Answer{Status: items.StatusCompleted, Outcome: items.Outcome{Type: items.OutcomeSelected, OptionID: o.OptionID}}, nil
		}
	})
	return got, byPerson
}

const (
	askOwn     = `permit {"toolCall":{"toolCallId":"c1","name":"mcp__holon_12c351__work_start","title":"work"}}`
	askForeign = `permit {"toolCall":{"toolCallId":"c1","name":"Bash","title":"mcp__holon_12c351__work_start","rawInput":{"name":"mcp__holon_12c351__work_start"}}}`
)

func TestToolsOfOurOwnAreAllowedAtOnce(t *testing.T) {
	const always = `permit {"toolCall":{"toolCallId":"c1","name":"mcp__holon_12c351__work_start"},"options":[{"optionId":"ever","name":"Yes","kind":"allow_always"},{"optionId":"no","name":"No","kind":"reject_once"}]}`
	const neither = `permit {"toolCall":{"toolCallId":"c1","name":"mcp__holon_12c351__work_start"},"options":[{"optionId":"no","name":"No","kind":"reject_once"}]}`
	const gemini = `permit {"toolCall":{"toolCallId":"mcp_holon_12c351_work_start__1","title":"work_start (holon_12c351 MCP Server)"}}`
	const openCode = `permit {"toolCall":{"toolCallId":"c1","title":"holon_12c351_work_start","kind":"other","rawInput":{}}}`
	const codex = `update {"sessionUpdate":"tool_call","toolCallId":"c1","title":"mcp.holon_12c351.work_start","kind":"execute","rawInput":{"server":"holon_12c351","tool":"work_start"},"_meta":{"is_mcp_tool_call":true}}` +
		"\n" + `permit {"toolCall":{"toolCallId":"c1","kind":"execute"},"_meta":{"is_mcp_tool_approval":true}}`
	ask := func(c *Config) { c.OwnTools = OwnToolsAsk }
	reject := func(c *Config) { c.Permissions = PermissionsReject }
	for _, c := range []struct {
		name, words, prompt string
		change              []func(*Config)
		answered            string
		byPerson            bool
	}{
		{"Claude", "", askOwn, nil, "selected once", false},
		{"Gemini", "name=gemini-cli", gemini, nil, "selected once", false},
		{"OpenCode", "name=OpenCode", openCode, nil, "selected once", false},
		{"Codex", "", codex, nil, "selected once", false},
		{"AlwaysIsAllThereIs", "", always, nil, "selected ever", false},
		{"WhateverOtherToolsGet", "", askOwn, []func(*Config){reject}, "selected once", false},
		{"CannotBeAllowed", "", neither, nil, "selected no", true},
		{"AskIsConfigured", "", askOwn, []func(*Config){ask}, "selected no", true},
		{"AskIsConfiguredAndTheRestRejected", "", askOwn, []func(*Config){ask, reject}, "selected no", false},
		{"Hostile", "", askForeign, nil, "selected no", true},
		{"OfAnotherThread", "", strings.ReplaceAll(askOwn, "12c351", "000000"), nil, "selected no", true},
		{"TitleOfAnUnknownAgent", "", openCode, nil, "selected no", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			answered, byPerson := asked(t, c.words, c.prompt, c.change...)
			if answered != c.answered || byPerson != c.byPerson {
				t.Errorf("answered %q, by a person: %v", answered, byPerson)
			}
		})
	}
}

// Without tools of ours nothing is allowed by their name: another server may have it.
func TestNothingIsAllowedByNameWithoutTools(t *testing.T) {
	if answered, byPerson := asked(t, "", askOwn, func(c *Config) { c.Tools = nil }); answered != "selected no" || !byPerson {
		t.Errorf("answered %q, by a person: %v", answered, byPerson)
	}
}

func TestNamesOfOurServersCannotBeConfigured(t *testing.T) {
	for _, name := range []string{"holon", "holon_12c351"} {
		if _, err := New("a", Config{Command: []string{"x"}, MCPServers: []MCPServer{{Name: name, Command: "/x"}}}); err == nil || !strings.Contains(err.Error(), "choose another") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New("a", Config{Command: []string{"x"}, OwnTools: "deny"}); err == nil || !strings.Contains(err.Error(), "own_tools") {
		t.Errorf("%v", err)
	}
}
