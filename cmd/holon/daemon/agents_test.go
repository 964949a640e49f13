package daemon

import (
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/agents/acp"
	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/turns"
)

func TestAgentsHaveThePolicyThatIsConfigured(t *testing.T) {
	cfg := config.Defaults()
	retry := config.RetryPolicy{OnCrash: "retry", MaxAttempts: 5, Backoff: 250_000_000, BackoffMax: 9_000_000_000}
	cfg.Agents = map[string]config.Agent{
		"a": {Kind: config.KindEcho, Retry: retry},
		"b": {Kind: config.KindExec, Command: []string{"true"}, Retry: retry, Exec: config.ExecAgent{Input: "text", Output: "text"}},
		"c": {Kind: config.KindACP, Command: []string{"true"}, Retry: retry},
		"d": {Kind: config.KindWorker, Retry: retry, Worker: config.WorkerAgent{Lease: time.Second}},
	}
	records, err := process.OpenRecords(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	all, err := newAgents(cfg, "test", acp.NewRoom(0), records, nil, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer all.close()
	want := turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 5, BackoffSeconds: 0.25, BackoffMaxSeconds: 9}
	for _, agent := range all.list {
		kind := agent.Info().Kind
		r, ok := agent.(turns.Retrier)
		if configured := agent.Info().Name != config.KindEcho && kind != turns.KindMailbox; ok != configured || ok && r.RetryPolicy() != want {
			t.Errorf("%s: %v %v", kind, ok, agent)
		}
		if w, ok := agent.(turns.Remote); ok != (kind == config.KindWorker) || ok && w.Leases() != (turns.LeasePolicy{Lease: time.Second, ClaimTimeout: -1}) {
			t.Errorf("%s: %v %v", kind, ok, agent)
		}
		if works := kind == config.KindACP || kind == config.KindExec || kind == config.KindEcho; is[turns.Local](agent) != works {
			t.Errorf("%s works in a directory of this machine: %v", kind, !works)
		}
		// The policy does not hide the agent's other interfaces.
		if kind == config.KindACP {
			for what, ok := range map[string]bool{
				"turns.Service": is[turns.Service](agent), "turns.Configurer": is[turns.Configurer](agent),
				"turns.Forker": is[turns.Forker](agent), "turns.Stopper": is[turns.Stopper](agent),
				"turns.Local": is[turns.Local](agent),
			} {
				if !ok {
					t.Errorf("the acp agent is no %s", what)
				}
			}
		}
	}
}

func TestSettingsOfSessionsReachTheAgent(t *testing.T) {
	got := ACPConfig(config.Agent{Kind: config.KindACP, Command: []string{"x"}, ACP: config.ACPAgent{
		Mode: "plan", Model: "small", Options: map[string]any{"effort": "high", "fast": true},
	}}, "test", nil)
	if got.Mode != "plan" || got.Model != "small" || len(got.Options) != 2 || string(got.Options["effort"]) != `"high"` || string(got.Options["fast"]) != "true" {
		t.Errorf("%+v", got)
	}
	for program, known := range map[string]bool{"x": false, "/opt/bin/opencode": true} {
		c := config.Agent{Kind: config.KindACP, Command: []string{program}}
		if got := ACPConfig(c, "test", nil).Unasked["build"]; (got != "") != known {
			t.Errorf("%s in the mode build: %q", program, got)
		}
	}
}

func TestKeysOfToolsReachTheAgent(t *testing.T) {
	c := config.Agent{Kind: config.KindACP, Command: []string{"x"}, ACP: config.ACPAgent{OwnTools: "ask", ProcessPerThread: true, MaxProcesses: 7}}
	if got := ACPConfig(c, "test", zap.NewNop()); got.OwnTools != "ask" || !got.ProcessPerThread || got.MaxProcesses != 7 || got.Tools != nil {
		t.Errorf("%+v", got)
	}
	cfg := config.Defaults()
	cfg.Agents = map[string]config.Agent{"with": {Kind: config.KindWorker, Tools: true}, "without": {Kind: config.KindWorker}}
	all, err := newAgents(cfg, "test", acp.NewRoom(0), nil, nil, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	for _, agent := range all.list {
		if e, ok := agent.(turns.Equipped); ok && (e.Access() != nil) != (agent.Info().Name == "with") {
			t.Errorf("%s has tools: %v", agent.Info().Name, e.Access())
		}
	}
}

func is[T any](v any) bool {
	_, ok := v.(T)
	return ok
}
