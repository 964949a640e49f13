package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/turns"
)

func newThreadsCommand(g *globals) *cobra.Command {
	var state, agent string
	var limit int
	var jobs bool
	cmd := &cobra.Command{
		Use:   "threads",
		Short: "List threads, the newest last, with what each is doing",
		Long: `Lists threads, the newest last. THREAD is the end of the id, which every command
accepts; --long shows whole ids. STATUS says since when a thread is

  waiting   for a person: holon respond shows the questions, holon review the results
  working   or about to start what is queued
  failed    its last turn has failed
  blocked   its review has blocked the last result (or rejected); --state failed lists it
  idle      it has nothing to do
  closed    it can only be read

TITLE is the beginning of the first prompt if a thread has none. NOW begins with how many
new entries of its inbox a thread is not told; a line below says why, and what ends it.
BRANCH is that of the thread's directory, the lines that the thread itself has added and
removed, and in parentheses, once for each directory, what is not committed there, by
whomever: lines and new files. It is as it was when somebody last looked, and is then
read again, so it may be missing the first time. -o json prints all that is known.`,
		Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			filter, err := threadsIn(state)
			if err != nil {
				return err
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			filter["agent"], filter["fold_jobs"] = agent, !jobs
			some, err := summaryListing.list(c, withSummary(filter), limit)
			if err != nil || some || agent == "" || c.format != "text" {
				return err
			}
			_, r, err := ask[struct {
				Agents []agentRow `json:"agents"`
			}](c, "agent/list", nil)
			if err != nil {
				return err
			}
			_, err = agentOf(r.Agents, agent)
			return err
		}),
	}
	cmd.Flags().StringVar(&state, "state", "", "only those in this state: "+strings.Join(threadStates, ", "))
	// It fails only for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(threadStates, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().StringVar(&agent, "agent", "", "only those of this agent")
	cmd.Flags().BoolVar(&jobs, "jobs", false, "also the threads of jobs that need nobody; holon tree shows them too")
	bindLimit(cmd, &limit)
	return cmd
}

// threadStates are what --state takes: the words of STATUS, and the states of the protocol.
var threadStates = []string{"waiting", "working", "failed", "idle", "closed", "running", "paused", "closing"}

// threadsIn returns the filter of thread/list for a state; "" = any.
func threadsIn(state string) (map[string]any, error) {
	status := map[string]turns.ListStatus{
		"waiting": turns.ListNeedsYou, "working": turns.ListWorking, "failed": turns.ListFailed, "idle": turns.ListDone,
	}[state]
	switch {
	case state == string(turns.Blocked), state == string(turns.Rejected):
		return nil, usagef("--state: what a review has %s is among the failed ones: --state failed", state)
	case status != "":
		return map[string]any{"status": []turns.ListStatus{status}}, nil
	case state != "" && !slices.Contains(threadStates, state):
		return nil, usagef("--state: %s", nearest.NoneOf(state, threadStates))
	}
	return map[string]any{"state": state}, nil
}

// threadListing is for commands that need the rows.
var threadListing = listing{method: "thread/list", member: "threads"}
