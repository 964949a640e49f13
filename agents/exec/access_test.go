package exec

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

const tellAccess = `echo "${HOLON_URL-none} ${HOLON_MCP_URL-none} ${HOLON_TOKEN-none}"`

func TestProcessGetsAccessForItsAttemptUntilItHasEnded(t *testing.T) {
	g := &agenttest.Granter{}
	a := shell(t, tellAccess, func(c *Config) { c.Tools, c.URL = g, func() string { return "http://not.this" } })
	sink, _ := prompt(t, a, turns.Prompt{ThreadID: "thread_1", TurnID: "turn_2", Attempt: 3}, "")
	if got := said(sink); got != "http://127.0.0.1:8080 http://127.0.0.1:8080/mcp token-of-thread_1-turn_2-3\n" {
		t.Errorf("said %q", got)
	}
	if live := g.Live(); len(live) != 0 || len(g.Given()) != 1 {
		t.Errorf("%q live after the process, given %v", live, g.Given())
	}
}

func TestAccessIsLiveWhileTheProcessRuns(t *testing.T) {
	g := &agenttest.Granter{}
	a := shell(t, `read -r line; echo '{"event":"ask","id":"a","title":"?"}'; read -r line`, events, func(c *Config) { c.Tools = g })
	sink := agenttest.NewSink(t)
	live := ""
	sink.OnAsk = func(context.Context, items.Content, turns.AskOptions) (turns.Answer, error) {
		live = strings.Join(g.Live(), " ")
		return turns.Answer{Status: items.StatusDeclined}, nil
	}
	out := sink.Run(t.Context(), a, turns.Prompt{ThreadID: "thread_1", TurnID: "turn_2", Attempt: 1}, "")
	if live != "token-of-thread_1-turn_2-1" || len(g.Live()) != 0 || out.State != turns.Completed {
		t.Errorf("live was %q, is %q, %+v", live, g.Live(), out)
	}
}

// The server may have been started with access of its own, by another server's
// agent or by a person: that is not for its agents.
func TestProcessNeverGetsTheServersOwnAccess(t *testing.T) {
	t.Setenv("HOLON_URL", "http://outer")
	t.Setenv("HOLON_MCP_URL", "http://outer/mcp")
	t.Setenv("HOLON_TOKEN", "of the server")
	g := &agenttest.Granter{}
	for want, change := range map[string]func(*Config){
		"none none none\n":               func(*Config) {},
		"http://127.0.0.1:1 none none\n": func(c *Config) { c.URL = func() string { return "http://127.0.0.1:1" } },
		"http://127.0.0.1:8080 http://127.0.0.1:8080/mcp token-of-t-u-1\n": func(c *Config) { c.Tools = g },
	} {
		sink, _ := prompt(t, shell(t, tellAccess, change), turns.Prompt{ThreadID: "t", TurnID: "u", Attempt: 1}, "")
		if got := said(sink); got != want {
			t.Errorf("said %q, want %q", got, want)
		}
	}
}

func TestProcessWithoutAccessRunsAndANoticeSaysSo(t *testing.T) {
	g := &agenttest.Granter{Err: errors.New("too many tokens are live")}
	a := shell(t, tellAccess, func(c *Config) { c.Tools, c.URL = g, func() string { return "http://not.this" } })
	sink, out := prompt(t, a, turns.Prompt{ThreadID: "t", TurnID: "u", Attempt: 1}, "")
	told := ""
	for _, it := range sink.Items() {
		if n, ok := it.Content.(items.Notice); ok {
			told = n.Severity + ": " + n.Message
		}
	}
	if said(sink) != "none none none\n" || out.State != turns.Completed || told != "warning: The command has no access to the server's tools: too many tokens are live" {
		t.Errorf("said %q, told %q, %+v", said(sink), told, out)
	}
}
