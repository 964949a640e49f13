package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

func newForkCommand(g *globals) *cobra.Command {
	var as, after, key string
	cmd := &cobra.Command{
		Use:   "fork THREAD",
		Short: "Start a thread that continues the conversation of another",
		Long: `Starts a thread whose agent continues the conversation of THREAD, if the agent
can do that ("holon agents" shows which can). From then on both are independent.

  holon fork thread_…
  holon run --thread "$(holon fork thread_… -o json | jq -r .thread_id)" "and now otherwise"`,
		Args: oneName(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			format, c, err := g.dial(cmd)
			if err != nil {
				return err
			}
			defer c.Close()
			if key, err = keyOr(key); err != nil {
				return err
			}
			find := g.changer(cmd, c)
			if args[0], err = find.thread(args[0]); err != nil {
				return err
			}
			if after, err = find.turn(after); err != nil {
				return err
			}
			params := map[string]any{"thread_id": args[0], "idempotency_key": key}
			if as != "" {
				params["new_thread_id"] = as
			}
			if after != "" {
				params["after_turn_id"] = after
			}
			var raw json.RawMessage
			if err := callRetrying(cmd.Context(), c, "thread/fork", params, &raw); err != nil {
				return err
			}
			if format != "text" {
				return g.printRaw(raw, format == "json")
			}
			var result struct {
				ThreadID string `json:"thread_id"`
			}
			if err := json.Unmarshal(raw, &result); err != nil {
				return fmt.Errorf("read the answer: %w", err)
			}
			id := timeline.OneLine(result.ThreadID)
			_, err = fmt.Fprintf(g.out, "%s\n", id)
			g.note("Continue with: holon run --thread %s \"…\"", nameByID(find, result.ThreadID))
			return err
		}),
	}
	cmd.Flags().StringVar(&as, "as", "", "the id of the new thread")
	cmd.Flags().StringVar(&after, "after-turn", "", "fork only if this is the newest turn that has ended")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "the same key forks only once, however often this is run")
	return cmd
}
