package main

import (
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/relay"
	"github.com/seed82539d15/holon/rpc/client"
)

func newConnectCommand(g *globals) *cobra.Command {
	var noStart bool
	cmd := &cobra.Command{
		Use:   "connect",
		Short: "Bridge stdin and stdout to the server, starting one if there is none",
		Long: `Speaks the protocol on stdin and stdout, one JSON-RPC message per line: the
command to give an editor. Without --url a server of the data directory is
started if none runs; it stays when this command ends. The end of stdin ends
the command once every request has been answered, and every notification
executed.

If the connection breaks or falls silent, it is opened again, for about a
minute (five for a server on another machine). Events go on after the last one
that was printed. Reads, and changes with an idempotency_key, that were not
answered are sent again; other changes are answered with the error
outcome_unknown.`,
		Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			if _, err := g.format("jsonl"); err != nil {
				return err
			}
			dial := g.client
			if g.url == "" && g.env("HOLON_URL") == "" {
				// Only the data directory says which server is meant: at the
				// default address another user's server may listen.
				dial = func(cmd *cobra.Command) (*client.Client, error) { return ensureServer(g, cmd, !noStart) }
			}
			c, err := dial(cmd)
			if err != nil {
				return err
			}
			defer c.Close()
			return relay.Run(cmd.Context(), c, &framingNotice{in: g.in, note: g.note}, g.jsonOut())
		}),
	}
	cmd.Flags().BoolVar(&noStart, "no-start", false, "fail if no server runs")
	return cmd
}
