package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/turns"
)

func newRetryCommand(g *globals) *cobra.Command {
	var flags changeFlags
	var interrupted bool
	cmd := &cobra.Command{
		Use:   "retry THREAD|TURN",
		Short: "Retry a turn that failed, was interrupted, or is or was in review",
		Long: `Supersedes the output so far of TURN, or of the last turn of THREAD, and starts its
next attempt with the same input, or queues it if its thread is busy. Nothing is
deleted: the log, and holon turns TURN, still show the earlier attempts. Their
effects outside of Holon are not undone.

With --interrupted it retries all turns that ended with a restart of the server and
that nobody has gone on with: those that holon status counts. On a terminal it lists
them, and asks. A turn that is refused is named, and the others are retried.

  holon retry "fix the tests"
  holon retry 8c1d04fe --reason "the network is back"
  holon retry --interrupted`,
		Args: func(cmd *cobra.Command, args []string) error {
			if !interrupted {
				return oneName(1)(cmd, args)
			}
			if len(args) > 0 || flags.key != "" {
				return usagef("--interrupted takes no name and no --idempotency-key: it retries each turn once")
			}
			return nil
		},
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			if interrupted {
				return retryInterrupted(c, flags)
			}
			s, err := (&control{caller: c}).lastTurn(c.finder().ender(), args[0])
			if err != nil {
				return err
			}
			raw, r, err := change[turns.RetryResult](c, "turn/retry", flags.key, flags.params("turn_id", s.turn.TurnID))
			if err != nil {
				return ofRetry(c.finder(), fmt.Errorf("%s: %w", s, err), s)
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			if err := c.printText(retried(s, r), nil); err != nil {
				return err
			}
			c.note("See it with: holon attach %s --after %d", nameOf(c.finder(), s.thread), max(0, r.Seq-1))
			return nil
		}),
	}
	flags.bind(cmd, false)
	cmd.Flags().BoolVar(&interrupted, "interrupted", false, "all turns that ended with a restart of the server")
	cmd.Flags().BoolVarP(&flags.yes, "yes", "y", false, "with --interrupted: do not ask")
	return cmd
}

// ofRetry adds to the error of a retry what to do instead, if the turn's state is why.
func ofRetry(f finder, err error, s subject) error {
	if !client.IsKind(err, "conflict") {
		return err
	}
	thread := nameOf(f, s.thread)
	switch s.turn.State {
	case turns.Completed:
		return &hintedError{err, `It has completed. To start another turn: holon run --thread ` + thread + ` "…"`}
	case turns.Active, turns.Queued:
		return &hintedError{err, "It has not ended. See it with: holon attach " + thread + "; stop it with: holon interrupt " + nameToStop(s.con, thread, s.turn)}
	}
	return err
}
