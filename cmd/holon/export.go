package main

import (
	"bufio"
	"errors"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
)

// exportBuffer is how many bytes of lines are written at once: as much as a
// pipe takes.
const exportBuffer = 64 << 10

func newExportCommand(g *globals) *cobra.Command {
	var after int64
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print the log as NDJSON, also while the server runs",
		Long: `Prints every event of the log as one line of JSON, the same bytes that a stream
sends, up to where the log ends when the command starts.

  holon export > log.ndjson
  holon export --after 1200 | jq -c '.params | select(.type == "completed")'`,
		Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			if _, err := g.format("jsonl"); err != nil {
				return err
			}
			if after < 0 {
				return usagef("--after %d: a seq is 0 or more", after)
			}
			reader, err := openReader(g, cmd)
			if err != nil {
				return err
			}
			if at, err := reader.Position(cmd.Context()); err != nil || after > at.Latest {
				if err == nil {
					err = usagef("--after %d: the log ends at %d", after, at.Latest)
				}
				return errors.Join(err, reader.Close())
			}
			out := bufio.NewWriterSize(g.jsonOut(), exportBuffer)
			last, err := persist.Export(cmd.Context(), reader, out, after)
			err = errors.Join(err, out.Flush(), reader.Close())
			var expired *notify.ExpiredError
			switch {
			case errors.As(err, &expired) && expired.After == after:
				return usagef("--after %d: the log begins at %d, so the lowest is %d (or 0 for everything there is)", after, expired.First, expired.First-1)
			case err != nil:
				return err
			}
			g.note("exported up to seq %d", last)
			return nil
		}),
	}
	cmd.Flags().Int64Var(&after, "after", 0, "print the events after this seq; 0 prints all")
	return cmd
}
