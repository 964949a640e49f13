package main

import (
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

func newTurnsCommand(g *globals) *cobra.Command {
	var state, thread string
	var limit int
	cmd := &cobra.Command{
		Use:   "turns",
		Short: "List turns, the newest last",
		Args:  cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			return turnListing.print(g, cmd, map[string]any{"state": state, "thread_id": thread}, limit)
		}),
	}
	cmd.Flags().StringVar(&state, "state", "", "only those in this state: queued, active, completed, interrupted, failed")
	cmd.Flags().StringVar(&thread, "thread", "", "only those of this thread")
	bindLimit(cmd, &limit)
	return cmd
}

var turnListing = listing{
	method: "turn/list", member: "turns", flex: 5,
	head: []string{"TURN", "THREAD", "STATE", "STARTED", "TOOK", "REASON"},
	drop: []string{"THREAD", "TOOK", "STARTED"},
	row: func(raw json.RawMessage) ([]string, error) {
		var t struct {
			ID          string `json:"turn_id"`
			ThreadID    string `json:"thread_id"`
			State       string `json:"state"`
			Progress    string `json:"progress"`
			QueuedAt    string `json:"queued_at"`
			StartedAt   string `json:"started_at"`
			CompletedAt string `json:"completed_at"`
			Reason      string `json:"reason"`
			Message     string `json:"message"`
			Error       *struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		err := json.Unmarshal(raw, &t)
		reason := t.Reason
		if reason == "" {
			reason = t.Message
		}
		if t.Error != nil {
			reason = t.Error.Message
		}
		state := t.State
		if t.State == "active" && t.Progress != "" && t.Progress != "running" {
			state = t.Progress
		}
		started := t.StartedAt
		if started == "" {
			started = t.QueuedAt
		}
		return []string{t.ID, t.ThreadID, state, when(started), took(t.StartedAt, t.CompletedAt), reason}, err
	},
}

// took is the time between two times, up to now if the second is not there.
func took(from, to string) string {
	started, err := time.Parse(time.RFC3339, from)
	if err != nil {
		return ""
	}
	ended, err := time.Parse(time.RFC3339, to)
	if err != nil {
		ended = time.Now()
	}
	return timeline.Elapsed(ended.Sub(started))
}
