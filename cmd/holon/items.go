package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

func newItemsCommand(g *globals) *cobra.Command {
	var thread, turn, status, kind string
	var limit int
	var superseded bool
	cmd := &cobra.Command{
		Use:   "items [THREAD]",
		Short: "List items, the newest last",
		Args:  oneName(0),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if thread != "" {
					return usagef("give the THREAD once: leave out --thread")
				}
				thread = args[0]
			}
			filter := map[string]any{"thread_id": thread, "turn_id": turn, "status": status, "type": kind}
			if superseded {
				filter["include_superseded"] = true
			}
			err := itemListing.print(g, cmd, filter, limit)
			if len(args) > 0 && g.hint(err) == "holon threads lists the threads." {
				err = &hintedError{err, "holon threads lists the threads; holon respond ITEM shows a question."}
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&thread, "thread", "", "only those of this thread")
	cmd.Flags().StringVar(&turn, "turn", "", "only those of this turn")
	cmd.Flags().StringVar(&status, "status", "", "only those with this status: pending, in_progress, completed, failed, …")
	cmd.Flags().StringVar(&kind, "type", "", "only those of this type: agent_message, command_execution, …")
	cmd.Flags().BoolVar(&superseded, "superseded", false, "superseded items too, which belong to a try that was given up")
	bindLimit(cmd, &limit)
	return cmd
}

// itemRow is an item in a list.
type itemRow struct {
	ID         string          `json:"item_id"`
	ThreadID   string          `json:"thread_id"`
	TurnID     string          `json:"turn_id"`
	Status     string          `json:"status"`
	Superseded bool            `json:"superseded"`
	CreatedAt  string          `json:"created_at"`
	Content    json.RawMessage `json:"content"`
}

var itemListing = listing{
	method: "item/list", member: "items", flex: 5,
	head: []string{"ITEM", "THREAD", "TYPE", "STATUS", "CREATED", "CONTENT"},
	drop: []string{"CREATED", "STATUS", "THREAD", "TYPE"},
	row: func(raw json.RawMessage) ([]string, error) {
		var row itemRow
		err := json.Unmarshal(raw, &row)
		content, status := timeline.ReadContent(row.Content), row.Status
		if row.Superseded {
			status += ", superseded"
		}
		return []string{row.ID, row.ThreadID, content.Type, status, when(row.CreatedAt), content.Summary(row.Status)}, err
	},
}
