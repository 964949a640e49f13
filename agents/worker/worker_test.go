package worker_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed82539d15/holon/agents/worker"
	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/turns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAgentIsWorkedOnFromOutside(t *testing.T) {
	leases := turns.LeasePolicy{Lease: 7 * time.Second, ClaimTimeout: -1}
	agent := worker.New("build", leases, turns.RetryPolicy{OnCrash: turns.CrashRetry, BackoffSeconds: 100, BackoffMaxSeconds: 100}, nil)
	var _ turns.Remote = agent
	var _ turns.Retrier = agent

	store, err := sqlite.Open(sqlite.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	engine, _ := agenttest.Serve(t, engine.Config{}, store, store.Reader(), agent)
	ctx := t.Context()

	if _, err := engine.StartThread(ctx, turns.StartThread{ThreadID: "a"}); err != nil {
		t.Fatal(err)
	}
	input := []turns.InputMessage{{Type: "message", Role: "user", Content: []items.Part{{Type: items.PartText, Text: "build it"}}}}
	if _, err := engine.Start(ctx, turns.Start{ThreadID: "a", Input: input}); err != nil {
		t.Fatal(err)
	}
	c, err := engine.Workers().Claim(ctx, turns.Claim{Agent: "build"})
	if err != nil || c.Turn == nil {
		t.Fatalf("claim: %+v, %v", c, err)
	}
	if d := time.Until(c.Lease.ExpiresAt.Time); d <= 0 || d > leases.Lease {
		t.Errorf("the lease is for %v", d)
	}
	if info := engine.Agents()[0]; info.Kind != "worker" || info.State != turns.AgentReady || info.Sessions != 1 {
		t.Errorf("agent %+v", info)
	}
	r, err := engine.Workers().Fail(ctx, turns.FailTurn{Lease: *c.Lease, Error: turns.Failure{Kind: "agent_failed", Message: "no"}, Transient: true})
	if err != nil || r.State != turns.Active || time.Until(r.RetryAt.Time) < time.Minute {
		t.Errorf("failed, it is retried by the agent's policy: %+v, %v", r, err)
	}
	if out := agent.Run(ctx, nil); out.State != turns.Failed {
		t.Errorf("run: %+v", out)
	}
}
