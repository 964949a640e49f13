package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/persist/sqlite"
)

func newRestoreCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a data directory from a backup",
		Long: `Checks a backup and makes a data directory from it; the directory must be empty or
absent. The log gets a new log_id, because the two logs continue differently:
clients with a cursor of the old log get log_changed and start over, and leases
of the old log are forbidden. Bridges are paused until holon bridge resume, because
the original may still send; those that clients have made need their secrets again.
Named tokens are not valid any more: one may have been revoked since the backup.

  holon restore ~/holon-2026-11-21.db --data ~/restored
  holon serve --data ~/restored`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := g.format("text", "json", "jsonl")
			if err != nil {
				return err
			}
			loaded, err := g.settings(cmd)
			if err != nil {
				return err
			}
			at, err := sqlite.Restore(args[0], loaded.Data)
			switch {
			case errors.Is(err, sqlite.ErrNotEmpty):
				return fmt.Errorf("%w: name an empty or absent one with --data", err)
			case sqlite.Damaged(err):
				return &hintedError{err, "It is no backup, or a damaged one. Name a file that holon backup has made."}
			case err != nil:
				return err
			}
			if format != "text" {
				return g.printJSON(map[string]any{"data": loaded.Data, "log_id": at.LogID, "first_seq": at.First, "latest_seq": at.Latest}, format == "json")
			}
			_, err = fmt.Fprintf(g.out, "%s: events %d to %d as %s\nStart it with: holon serve --data %s\n", loaded.Data, at.First, at.Latest, at.LogID, loaded.Data)
			return err
		},
	}
}
