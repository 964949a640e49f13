package main

import (
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/turns"
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
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			find := c.finder().telling()
			if args[0], err = find.thread(args[0]); err != nil {
				return err
			}
			if after, err = find.turn(after); err != nil {
				return err
			}
			params := map[string]any{"thread_id": args[0]}
			if as != "" {
				params["new_thread_id"] = as
			}
			if after != "" {
				params["after_turn_id"] = after
			}
			raw, r, err := change[turns.ForkResult](c, "thread/fork", key, params)
			if err != nil {
				return err
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			if err := c.printText(timeline.OneLine(r.ThreadID)+"\n", nil); err != nil {
				return err
			}
			c.note("Continue with: holon run --thread %s \"…\"", nameByID(find, r.ThreadID))
			return nil
		}),
	}
	cmd.Flags().StringVar(&as, "as", "", "the id of the new thread")
	cmd.Flags().StringVar(&after, "after-turn", "", "fork only if this is the newest turn that has ended")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "the same key forks only once, however often this is run")
	return cmd
}
