package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/agents/acp"
	"github.com/seed82539d15/holon/cmd/holon/config"
)

func TestWhatIsKnownOfAProgramIsAddedToItsProblem(t *testing.T) {
	for _, c := range []struct {
		program string
		err     error
		want    string
	}{
		{"/usr/bin/codex-acp", &acp.Problem{Kind: acp.ProblemLogin, Message: "not logged in", Hint: "in general"}, "not logged in. To log in, run `codex login` once"},
		{"other", &acp.Problem{Kind: acp.ProblemLogin, Message: "not logged in.", Hint: "in general"}, "not logged in. in general"},
		{"claude-agent-acp", &acp.Problem{Kind: acp.ProblemNode, Message: "old"}, "old. It needs Node.js 22 or later, first in PATH"},
		{"claude-agent-acp", &acp.Problem{Kind: acp.ProblemFailed, Message: `no: {"startupFailureReason":"bypass_root"}`}, "Run the server as another user than root"},
		{"other", &acp.Problem{Kind: acp.ProblemFailed, Message: "bypass_root"}, "bypass_root"},
		{"slow", context.DeadlineExceeded, `did not open a session within 3s; run "slow" by hand`},
		{"odd", errors.New("odd"), "odd"},
	} {
		if got := problemText(config.Agent{Command: []string{c.program}}, c.err, 3*time.Second); !strings.Contains(got, c.want) {
			t.Errorf("%s, %v: %s", c.program, c.err, got)
		}
	}
}
