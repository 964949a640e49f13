package main

import "github.com/spf13/cobra"

func newThreadsCommand(g *globals) *cobra.Command {
	var state, agent string
	var limit int
	cmd := &cobra.Command{
		Use:   "threads",
		Short: "List threads, the newest last, with what each is doing",
		Long: `Lists threads, the newest last. THREAD is the end of the id, which every command
accepts; --long shows whole ids. STATUS says since when a thread is

  waiting   for a person: holon respond shows the questions, holon review the results
  working   or about to start what is queued
  failed    its last turn has failed
  blocked   the review of its last turn has refused the result; rejected: without more work
  idle      it has nothing to do
  closed    it can only be read

TITLE is the beginning of the first prompt if a thread has none. BRANCH is that of the
thread's directory, with what is not committed there, by whomever: lines added and
removed, and new files. It is as it was when somebody last looked, and is then read
again, so it may be missing the first time. -o json prints all that is known, also what
the thread itself has changed.`,
		Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			some, err := summaryListing.list(c, withSummary(map[string]any{"state": state, "agent": agent}), limit)
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
	cmd.Flags().StringVar(&state, "state", "", "only those in this state: running, paused, closing, closed")
	cmd.Flags().StringVar(&agent, "agent", "", "only those of this agent")
	bindLimit(cmd, &limit)
	return cmd
}

// threadListing is for commands that need the rows.
var threadListing = listing{method: "thread/list", member: "threads"}
