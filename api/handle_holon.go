package api

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// PeerInfo names a program.
type PeerInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// InitializeParams are the params of initialize.
type InitializeParams struct {
	ClientInfo       *ClientInfo `json:"client_info,omitzero"`
	ProtocolVersions []string    `json:"protocol_versions,omitzero"`
	Extra
}

// ClientInfo names the client, for the log.
type ClientInfo struct {
	Name    string         `json:"name,omitzero"`
	Version string         `json:"version,omitzero"`
	Title   string         `json:"title,omitzero"`
	Meta    jsontext.Value `json:"_meta,omitzero"`
}

// InitializeResult answers initialize.
type InitializeResult struct {
	ProtocolVersion string       `json:"protocol_version"`
	ServerInfo      PeerInfo     `json:"server_info"`
	LogID           string       `json:"log_id"`
	LatestSeq       int64        `json:"latest_seq"`
	Capabilities    Capabilities `json:"capabilities"`
	Limits          Limits       `json:"limits"`
	Agent           *AgentInfo   `json:"agent,omitzero"` // present if the request carried the token of an agent
	Token           *TokenInfo   `json:"token,omitzero"` // present if it carried a named token
}

// TokenInfo says what the token of a request may do: see tokens.Token. Code says that it
// is a code: then it says what the console token will be that the code makes, but
// ExpiresAt is the end of the code.
type TokenInfo struct {
	Name      string      `json:"name"`
	Parent    string      `json:"parent,omitzero"` // of a console token
	Code      bool        `json:"code,omitzero"`
	Role      tokens.Role `json:"role"`
	ThreadIDs []string    `json:"limited_to,omitzero"`
	ExpiresAt notify.Time `json:"expires_at,omitzero"`
}

// AgentInfo says to what a token is limited: a thread and what is below it. TurnID
// and Attempt are those of a token that was given for one attempt. ChildAgents are the agents
// that its child threads may have. WorkIn are the threads in which it may start outside work;
// "*" stands for every thread.
type AgentInfo struct {
	ThreadID    string   `json:"thread_id"`
	TurnID      string   `json:"turn_id,omitzero"`
	Attempt     int      `json:"attempt,omitzero"`
	ChildAgents []string `json:"child_agents"`
	WorkIn      []string `json:"work_in,omitzero"`
}

// Capabilities say what a server of this version can do. Collapse are the
// values that the member collapse of a subscription may have, Content those of content.
type Capabilities struct {
	Streams     bool            `json:"streams"`
	Replay      bool            `json:"replay"`
	Steering    bool            `json:"steering"`
	Questions   bool            `json:"questions"`
	Idempotency bool            `json:"idempotency"`
	LogStream   bool            `json:"log_stream"`
	Prune       bool            `json:"prune"`
	Workers     bool            `json:"workers"`
	Collapse    []Collapse      `json:"collapse"`
	Content     []StreamContent `json:"content"`
	Console     bool            `json:"console"` // browsers get the console from this server
}

// Initialize answers initialize.
func (h *Handlers) Initialize(ctx context.Context, p InitializeParams) (InitializeResult, error) {
	if conn := connOf(ctx); conn != nil && !conn.Initialize() {
		return InitializeResult{}, Errorf(KindInvalidRequest, "initialize has been answered on this connection already")
	}
	at, err := h.api.Position(ctx)
	if err != nil {
		return InitializeResult{}, err
	}
	var agent *AgentInfo
	if a, ok := AgentOf(ctx); ok {
		own, children, err := h.api.childAgents(ctx, a.ThreadID)
		if err != nil {
			return InitializeResult{}, err
		}
		agent = &AgentInfo{a.ThreadID, a.TurnID, a.Attempt, append([]string{}, children...), h.api.WorkIn[own]}
	}
	var token *TokenInfo
	if t, ok := TokenOf(ctx); ok {
		token = &TokenInfo{t.Name, t.Parent, t.Code != nil, t.Role, t.ThreadIDs, t.ExpiresAt}
	}
	return InitializeResult{
		Agent: agent, Token: token, ProtocolVersion: ProtocolVersion, ServerInfo: h.api.Info(),
		LogID: at.LogID, LatestSeq: at.Latest,
		Capabilities: Capabilities{
			Streams: true, Replay: true, Steering: true, Questions: true, Idempotency: true,
			LogStream: h.api.hasLogs, Prune: h.api.Pruner != nil, Workers: h.api.Workers != nil, Collapse: collapses, Content: streamContents,
			Console: h.api.Console,
		},
		Limits: h.api.Limits,
	}, nil
}

// HolonStatusParams are the params of holon/status: none of its own.
type HolonStatusParams struct{ Extra }

// HolonStatusResult answers holon/status. Times are null when never.
type HolonStatusResult struct {
	State           string            `json:"state"`
	EventsProcessed int64             `json:"events_processed"`
	LastEventAt     *notify.Time      `json:"last_event_at"`
	SessionID       string            `json:"session_id"`
	PausedAt        *notify.Time      `json:"paused_at"`
	ResumedAt       *notify.Time      `json:"resumed_at"`
	Version         string            `json:"version"`
	StartedAt       notify.Time       `json:"started_at"`
	LogID           string            `json:"log_id"`
	FirstSeq        int64             `json:"first_seq"`
	LatestSeq       int64             `json:"latest_seq"`
	Threads         int64             `json:"threads"`
	Turns           TurnCounts        `json:"turns"`
	Streams         int               `json:"streams"`
	Agents          []turns.AgentInfo `json:"agents"`
}

// TurnCounts counts turns that have not ended; waiting ones are active too.
type TurnCounts struct {
	Queued  int64 `json:"queued"`
	Active  int64 `json:"active"`
	Waiting int64 `json:"waiting"`
}

// HolonStatus answers holon/status.
func (h *Handlers) HolonStatus(ctx context.Context, _ HolonStatusParams) (HolonStatusResult, error) {
	c, err := h.api.counts(ctx)
	if err != nil {
		return HolonStatusResult{}, err
	}
	runtime := h.api.Engine.Runtime()
	return HolonStatusResult{
		State: h.api.Engine.State(), EventsProcessed: c.Latest, LastEventAt: orNever(c.LastEventAt),
		SessionID: c.LastThreadID, PausedAt: orNever(runtime.PausedAt), ResumedAt: orNever(runtime.ResumedAt),
		Version: h.api.Version, StartedAt: h.api.startedAt,
		LogID: c.LogID, FirstSeq: c.First, LatestSeq: c.Latest, Threads: c.Threads,
		Turns:   TurnCounts{c.TurnsQueued, c.TurnsActive, c.TurnsWaiting},
		Streams: h.api.Streams(), Agents: h.api.Engine.Agents(),
	}, nil
}

// orNever returns nil for the zero time: null on the wire.
func orNever(t notify.Time) *notify.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// HolonPauseParams are the params of holon/pause.
type HolonPauseParams struct {
	turns.Pause
	Keyed
	Extra
}

// HolonPauseResult answers holon/pause.
type HolonPauseResult = turns.PauseResult

// HolonPause answers holon/pause.
func (h *Handlers) HolonPause(ctx context.Context, p HolonPauseParams) (HolonPauseResult, error) {
	return h.api.Engine.Pause(ctx, p.Pause)
}

// HolonResumeParams are the params of holon/resume.
type HolonResumeParams struct {
	turns.Resume
	Keyed
	Extra
}

// HolonResumeResult answers holon/resume.
type HolonResumeResult = turns.PauseResult

// HolonResume answers holon/resume.
func (h *Handlers) HolonResume(ctx context.Context, p HolonResumeParams) (HolonResumeResult, error) {
	return h.api.Engine.Resume(ctx, p.Resume)
}

// HolonPruneParams are the params of holon/prune.
type HolonPruneParams struct {
	BeforeSeq *int64 `json:"before_seq"`
	Keyed
	Extra
}

// HolonPruneResult answers holon/prune.
type HolonPruneResult = turns.PruneResult

// HolonPrune answers holon/prune. It stops when its client disconnects or the
// server stops.
func (h *Handlers) HolonPrune(ctx context.Context, p HolonPruneParams) (HolonPruneResult, error) {
	if h.api.Pruner == nil {
		return HolonPruneResult{}, Errorf(KindUnavailable, "this store cannot be pruned")
	}
	if *p.BeforeSeq < 1 {
		return HolonPruneResult{}, Invalid("before_seq", "out_of_range", "it must be at least 1")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.api.open, cancel)()
	r, err := h.api.Pruner.Prune(ctx, *p.BeforeSeq, p.key)
	h.api.status.forget()
	if errors.Is(err, context.Canceled) { // a client that still reads learns how far it came
		r.Seq = h.api.Head()
		if err = nil; h.api.open.Err() != nil {
			err = turns.ErrDraining
		}
	}
	return r, err
}

// RPCDiscoverParams are the params of rpc.discover: none of its own.
type RPCDiscoverParams struct{ Extra }

// RPCDiscoverResult answers rpc.discover: an OpenRPC document.
type RPCDiscoverResult = jsontext.Value

// RPCDiscover answers rpc.discover.
func (h *Handlers) RPCDiscover(context.Context, RPCDiscoverParams) (RPCDiscoverResult, error) {
	return Document()
}
