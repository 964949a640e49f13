package rpc

import (
	"context"

	"github.com/seed82539d15/holon/turns"
)

// AgentListParams are the params of agent/list: none of its own.
type AgentListParams struct{ Extra }

// AgentListResult answers agent/list. The first agent is that of threads that
// name none.
type AgentListResult struct {
	Agents    []turns.AgentInfo `json:"agents"`
	LatestSeq int64             `json:"latest_seq"`
}

// AgentList answers agent/list. What agents are doing is not in the log; the
// seq says which events had happened by then.
func (h *Handlers) AgentList(ctx context.Context, _ AgentListParams) (AgentListResult, error) {
	at, err := h.server.position(ctx)
	if err != nil {
		return AgentListResult{}, err
	}
	return AgentListResult{Agents: append([]turns.AgentInfo{}, h.server.cfg.Engine.Agents()...), LatestSeq: at.Latest}, nil
}
