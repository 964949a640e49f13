// Package agents is the room of what executes turns: echo, which answers with
// its input and serves trials, tests and load, and exec, which runs any
// command. Each satisfies turns.Agent and speaks in items.Op; none knows the
// store, the wire or the log. agents/agenttest has the suite that every agent
// passes. docs/agents.md is the users' side of it.
package agents
