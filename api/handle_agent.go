package api

import (
	"context"

	"github.com/seed82539d15/holon/turns"
)

// AgentListParams are the params of agent/list: none of its own.
type AgentListParams struct{ Extra }

// AgentListResult answers agent/list. The first agent is the default for
// threads that name none.
type AgentListResult struct {
	Agents    []turns.AgentInfo `json:"agents"`
	LatestSeq int64             `json:"latest_seq"`
}

// AgentList answers agent/list. The state of agents is not in the log; the seq
// says which events had happened by then. A token that is limited to threads does not
// see why an agent failed: its process may have said that about any thread. Nor does it
// see where others work.
func (h *Handlers) AgentList(ctx context.Context, _ AgentListParams) (AgentListResult, error) {
	at, err := h.api.Position(ctx)
	if err != nil {
		return AgentListResult{}, err
	}
	agents := append([]turns.AgentInfo{}, h.api.Engine.Agents()...)
	for i := range agents {
		agents[i].MemoryBytes = h.api.Memory(agents[i].Name)
		if Limited(ctx) {
			agents[i].LastError, agents[i].Directory, agents[i].DirectoryGiven = "", "", false
		}
	}
	return AgentListResult{Agents: agents, LatestSeq: at.Latest}, nil
}

// ThreadConfigureParams are the params of thread/configure.
type ThreadConfigureParams struct {
	turns.Configure
	Keyed
	Extra
}

// ThreadConfigureResult answers thread/configure.
type ThreadConfigureResult = turns.ConfigureResult

// ThreadConfigure answers thread/configure.
func (h *Handlers) ThreadConfigure(ctx context.Context, p ThreadConfigureParams) (ThreadConfigureResult, error) {
	return h.api.Engine.ThreadConfigure(ctx, p.Configure)
}

// ThreadForkParams are the params of thread/fork. AfterTurnID "" = the newest
// turn that has ended. NewThreadID is a pointer because an empty id is a
// mistake, an absent one asks for a new id.
type ThreadForkParams struct {
	ThreadID    string  `json:"thread_id"`
	AfterTurnID string  `json:"after_turn_id,omitzero"`
	NewThreadID *string `json:"new_thread_id,omitzero"`
	Keyed
	Extra
}

// ThreadForkResult answers thread/fork.
type ThreadForkResult = turns.ForkResult

// ThreadFork answers thread/fork.
func (h *Handlers) ThreadFork(ctx context.Context, p ThreadForkParams) (ThreadForkResult, error) {
	id := ""
	if p.NewThreadID != nil {
		if id = *p.NewThreadID; id == "" {
			return ThreadForkResult{}, Invalid("new_thread_id", "out_of_range", "an id has 1 to 64 characters")
		}
	}
	return h.api.Engine.ThreadFork(ctx, turns.Fork{ThreadID: p.ThreadID, AfterTurnID: p.AfterTurnID, NewThreadID: id, By: clientOf(ctx), Key: p.key})
}
