package main

import (
	"encoding/json"

	"github.com/spf13/cobra"
)

func newThreadsCommand(g *globals) *cobra.Command {
	var state, agent string
	var limit int
	cmd := &cobra.Command{
		Use:   "threads",
		Short: "List threads, the newest last",
		Args:  cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			return threadListing.print(g, cmd, map[string]any{"state": state, "agent": agent}, limit)
		}),
	}
	cmd.Flags().StringVar(&state, "state", "", "only those in this state: running, paused, closing, closed")
	cmd.Flags().StringVar(&agent, "agent", "", "only those of this agent")
	bindLimit(cmd, &limit)
	return cmd
}

var threadListing = listing{
	method: "thread/list", member: "threads", flex: 4,
	head: []string{"THREAD", "STATE", "AGENT", "STARTED", "TITLE"},
	drop: []string{"STARTED", "AGENT"},
	row: func(raw json.RawMessage) ([]string, error) {
		var t struct {
			ID        string `json:"thread_id"`
			State     string `json:"state"`
			Agent     string `json:"agent"`
			StartedAt string `json:"started_at"`
			Title     string `json:"title"`
		}
		err := json.Unmarshal(raw, &t)
		return []string{t.ID, t.State, t.Agent, when(t.StartedAt), t.Title}, err
	},
}
