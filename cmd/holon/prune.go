package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/persist/sqlite"
)

func newPruneCommand(g *globals) *cobra.Command {
	var before int64
	cmd := &cobra.Command{
		Use:   "prune --before SEQ",
		Short: "Remove the oldest events of the log",
		Long: `Removes the events below SEQ. It stops where the text of an item that is still
written is only in the log. Threads, turns and items stay readable; cursors
below SEQ expire. A running server does it; without one this command opens the
log itself.

  holon prune --before 100000`,
		Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			format, err := g.format("text", "json", "jsonl")
			if err != nil {
				return err
			}
			if before < 1 {
				return usagef("--before SEQ is needed: the first seq to keep, from 1")
			}
			loaded, err := g.settings(cmd)
			if err != nil {
				return err
			}
			var result prunedResult
			if g.url != "" || g.env("HOLON_URL") != "" {
				result, err = pruneThere(g, cmd, before)
			} else {
				result, err = pruneHere(g, cmd, loaded.Synchronous == "normal", before)
				var locked *sqlite.LockedError
				if errors.As(err, &locked) {
					result, err = pruneThere(g, cmd, before)
				}
			}
			if err != nil {
				return err
			}
			if format != "text" {
				return g.printJSON(result, format == "json")
			}
			_, err = fmt.Fprintf(g.out, "removed %d events, the log begins at %d now\n", result.Pruned, result.FirstSeq)
			return err
		}),
	}
	cmd.Flags().Int64Var(&before, "before", 0, "the first seq to keep")
	return cmd
}

// prunedResult is the result of holon/prune.
type prunedResult struct {
	FirstSeq int64 `json:"first_seq"`
	Pruned   int64 `json:"pruned"`
}

// pruneThere makes the running server prune.
func pruneThere(g *globals, cmd *cobra.Command, before int64) (result prunedResult, err error) {
	c, err := g.client(cmd)
	if err != nil {
		return result, err
	}
	defer c.Close()
	err = c.Call(cmd.Context(), "holon/prune", map[string]any{"before_seq": before}, &result)
	return result, err
}

// pruneHere prunes a log that no server has open.
func pruneHere(g *globals, cmd *cobra.Command, normal bool, before int64) (result prunedResult, err error) {
	reader, err := openReader(g, cmd) // sqlite.Open would make a log if there is none
	if err != nil {
		return result, err
	}
	if err := reader.Close(); err != nil {
		return result, err
	}
	store, err := sqlite.Open(sqlite.Options{Dir: reader.Dir(), Normal: normal})
	if err != nil {
		return result, err
	}
	run, stop := context.WithCancel(context.Background())
	var group errgroup.Group
	group.Go(func() error { return store.Run(run) })
	var p persist.Pruned
	p, err = store.Prune(cmd.Context(), before)
	stop()
	err = errors.Join(err, group.Wait(), store.Close())
	return prunedResult{FirstSeq: p.First, Pruned: p.Removed}, err
}
