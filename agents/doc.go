// Package agents is the room of what executes turns: echo, which answers with
// its input and serves trials, tests and load; exec, which runs any command
// for each prompt; acp, which drives agents that speak the Agent Client
// Protocol; and worker, whose turns are worked on by programs that connect as
// clients. process runs the processes of exec and acp. Each agent satisfies
// turns.Agent and speaks in items.Op; none knows the store, the wire or the
// log. testagents/agenttest has the suite that every agent passes. docs/agents.md
// is the users' side of it.
package agents
