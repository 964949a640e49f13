package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/turns"
)

func newDetachCommand(g *globals) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "detach TURN",
		Short: "Let a child turn continue in the background",
		Long: `From now on nothing waits for the end of the child turn: the turn that has started
it can complete before. The result goes into the inbox of the owner. This cannot be
undone; holon await can still wait for the turn.`,
		Args: oneName(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			if args[0], err = c.finder().telling().turn(args[0]); err != nil {
				return err
			}
			raw, r, err := change[turns.DetachResult](c, "turn/detach", key, map[string]any{"turn_id": args[0]})
			if err != nil {
				return err
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			text := fmt.Sprintf("%s: %s, and nothing waits for it", shownID(c.console, r.TurnID), timeline.OneLine(string(r.State)))
			if r.State.Ended() {
				text = fmt.Sprintf("%s has ended: %s", shownID(c.console, r.TurnID), timeline.OneLine(string(r.State)))
			}
			_, err = fmt.Fprintln(g.out, text)
			return err
		}),
	}
	cmd.Flags().StringVar(&key, "idempotency-key", "", "the same key takes effect only once, however often this is run")
	return cmd
}
