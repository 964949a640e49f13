package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

func newRetryCommand(g *globals) *cobra.Command {
	var reason, key string
	cmd := &cobra.Command{
		Use:   "retry TURN",
		Short: "Retry a turn that has failed or was interrupted, or that is reviewed",
		Long: `Supersedes the turn's output so far and starts its next attempt with the same
input, or queues it if its thread is busy. Nothing is deleted: the log, and
holon turns TURN, still show the earlier attempts. Their effects outside of
Holon are not undone.`,
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
			if args[0], err = g.changer(cmd, c).turn(args[0]); err != nil {
				return err
			}
			params := map[string]any{"turn_id": args[0], "idempotency_key": key}
			if reason != "" {
				params["reason"] = reason
			}
			var raw json.RawMessage
			if err := callRetrying(cmd.Context(), c, "turn/retry", params, &raw); err != nil {
				return err
			}
			if format != "text" {
				return g.printRaw(raw, format == "json")
			}
			var retried struct {
				TurnID   string `json:"turn_id"`
				ThreadID string `json:"thread_id"`
				State    string `json:"state"`
				Attempt  int    `json:"attempt"`
				Position int    `json:"position"`
				Seq      int64  `json:"seq"`
			}
			if err := json.Unmarshal(raw, &retried); err != nil {
				return fmt.Errorf("read the answer to turn/retry: %w", err)
			}
			state := timeline.OneLine(retried.State)
			if retried.Position > 0 {
				state += fmt.Sprintf(" at position %d", retried.Position)
			}
			if _, err := fmt.Fprintf(g.out, "%s: attempt %d, %s\n", timeline.OneLine(retried.TurnID), retried.Attempt, state); err != nil {
				return err
			}
			g.note("See it with: holon attach %s --after %d", timeline.OneLine(retried.ThreadID), max(0, retried.Seq-1))
			return nil
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for people who watch")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "the same key tries the turn again only once, however often this is run")
	return cmd
}
