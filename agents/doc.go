// Package agents holds the agents, which execute turns: echo answers with its
// input and serves trials, tests and load; exec runs any command for each
// prompt; acp drives agents that speak the Agent Client Protocol; worker has
// its turns executed by programs that connect as clients. process runs the
// processes of exec and acp. Each agent implements turns.Agent and emits
// items.Op; none knows the store, the wire or the log. internal/test/agenttest has
// the suite that every agent passes. docs/agents-reference.md is the reference for
// users, docs/write-an-agent.md that for authors of agents.
package agents
