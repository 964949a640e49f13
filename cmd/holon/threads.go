package main

import (
	"encoding/json"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/threads"
)

func newThreadsCommand(g *globals) *cobra.Command {
	var state, agent string
	var limit int
	cmd := &cobra.Command{
		Use:   "threads",
		Short: "List threads, the newest last, with what each is doing",
		Long: `Lists threads, the newest last: what each is doing, or how its last turn ended, and
when something last happened in it. THREAD is the ending of its id, by which every
command finds it; --long shows whole ids.

A thread is working, waiting for a person, queued, idle, failed or interrupted (its last
turn was), paused, closing or closed.`,
		Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			filter := map[string]any{"state": state, "agent": agent}
			if g.output != "" && g.output != "text" {
				return threadListing.print(g, cmd, filter, limit)
			}
			return printThreads(g, cmd, filter, limit)
		}),
	}
	cmd.Flags().StringVar(&state, "state", "", "only those in this state: running, paused, closing, closed")
	cmd.Flags().StringVar(&agent, "agent", "", "only those of this agent")
	bindLimit(cmd, &limit)
	return cmd
}

// threadListing is for programs, and for commands that need the rows.
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

// printThreads prints threads with their summaries for a person.
func printThreads(g *globals, cmd *cobra.Command, filter map[string]any, limit int) error {
	if limit < 0 {
		return usagef("--limit %d: give 0 for all, or more", limit)
	}
	_, c, err := g.dial(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	found, err := threadListing.fetch(cmd.Context(), c, filter, limit)
	if err != nil {
		return err
	}
	if len(found.rows) == 0 {
		g.note("There are no threads here. Start one with: holon run \"hello\"")
		return nil
	}
	list := make([]threads.Thread, len(found.rows))
	for i, raw := range found.rows {
		if err := jsonv2.Unmarshal(raw, &list[i]); err != nil {
			return fmt.Errorf("read a row of thread/list: %w", err)
		}
	}
	said, err := summaries(cmd.Context(), c, list)
	if err != nil {
		return err
	}
	t := newTable("THREAD", "STATUS", "LAST ACTIVITY", "AGENT", "TITLE", "DOING")
	t.drop = []string{"AGENT", "DOING"}
	for i := range list {
		t.add(tableID(&g.console)(list[i].ThreadID), said[i].Status, ago(said[i].Last), list[i].Agent, list[i].Title, timeline.Fit(said[i].Doing, shownDoing))
	}
	if err := t.write(&g.console, 4); err != nil {
		return err
	}
	if len(list) > maxSummaries {
		g.note("What a thread is doing is shown of the newest %d.", maxSummaries)
	}
	if found.more {
		g.note("These are the newest %d; --limit 0 shows all.", limit)
	}
	return nil
}

// shownDoing is the width of what a thread does: beside it a title has place.
const shownDoing = 40

// ago says how long ago something was, "" for an unknown time.
func ago(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return age(at) + " ago"
}
