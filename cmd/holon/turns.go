package main

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

func newTurnsCommand(g *globals) *cobra.Command {
	var state, thread string
	var review bool
	var limit int
	cmd := &cobra.Command{
		Use:   "turns [THREAD|TURN]",
		Short: "List turns, the newest last, or show one with its attempts and steps",
		Long: `Lists turns, the newest last: all, or those of THREAD. With a TURN it shows that one
with its attempts and steps.

  holon turns "fix the tests"
  holon turns latest                 the newest turn`,
		Args: oneName(0),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			if len(args) == 1 {
				if thread != "" {
					return usagef("give the THREAD once: leave out --thread")
				}
				found, err := c.finder().find(args[0], &turnNames, &threadNames)
				switch {
				case err != nil:
					return err
				case found.kind == &threadNames:
					thread = found.id
				case state != "" || review || cmd.Flags().Changed("limit"):
					return usagef("the flags choose from the list; leave them out with a TURN")
				default:
					return showTurn(c, found.id)
				}
			}
			filter := map[string]any{"state": state, "thread_id": thread}
			if review {
				filter["review"] = "pending"
			}
			_, err = turnListing.list(c, filter, limit)
			return err
		}),
	}
	cmd.Flags().StringVar(&state, "state", "", "only those in this state: queued, active, completed, interrupted, failed")
	cmd.Flags().StringVar(&thread, "thread", "", "only those of this thread")
	cmd.Flags().BoolVar(&review, "in-review", false, "only those that wait for a review")
	bindLimit(cmd, &limit)
	return cmd
}

var turnListing = listing{
	method: "turn/list", member: "turns", flex: 6,
	head: []string{"TURN", "THREAD", "STATE", "ATTEMPT", "STARTED", "TOOK", "REASON"},
	drop: []string{"THREAD", "TOOK", "STARTED", "ATTEMPT"},
	row: func(raw json.RawMessage) ([]string, error) {
		var t turnRow
		err := json.Unmarshal(raw, &t)
		// Of the current attempt, as in all lists: those before may be of another day.
		started := cmp.Or(t.StartedAt, t.FirstStartedAt)
		return []string{
			t.ID, t.ThreadID, t.doing(), t.attempts(), when(cmp.Or(started, t.QueuedAt)), took(started, t.CompletedAt), t.why(),
		}, err
	},
}

// took returns the time between two times, up to now without the second one.
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
