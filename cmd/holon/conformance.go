package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/conformance"
)

func newConformanceCommand(g *globals) *cobra.Command {
	var options conformance.Options
	var list bool
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Check a server against the protocol, from outside",
		Long: `Checks every promise of docs/protocol.md against a running server of any make.
It starts threads and turns there and pauses the runtime meanwhile, so do not
use it on a server that people work with. The exit code is 1 if a check fails.

A check is skipped if the server, or this command, lacks something for it; the
report says what. The checks of workers need two agents without other workers:

  [agents.conformance]
  kind = "worker"

  [agents.conformance_brief]
  kind = "worker"
  lease_seconds = 2
  on_crash = "retry"

  holon conformance --url http://127.0.0.1:8080
  holon conformance --filter 'envelope.*' -o junit`,
		Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			format, err := g.format("text", "json", "junit")
			if err != nil {
				return err
			}
			if list {
				return listChecks(&g.console, format)
			}
			c, err := g.client(cmd)
			if err != nil {
				return err
			}
			defer c.Close()
			if err := c.Ready(cmd.Context()); err != nil && g.hint(err) != "" {
				return err
			}
			endpoint, err := c.Endpoint()
			if err != nil {
				return err
			}
			if g.isTerminal(g.err) {
				options.Done = func(r conformance.Result) { fmt.Fprintf(g.err, "\r\x1b[K%-5s %s", r.Outcome, r.ID) }
			}
			certificates, err := endpoint.TLSConfig()
			if err != nil {
				return err
			}
			target := conformance.Target{URL: endpoint.URL, Token: endpoint.Token, Dial: c.DialContext, TLS: certificates}
			report, err := conformance.Run(cmd.Context(), target, options)
			if options.Done != nil {
				fmt.Fprint(g.err, "\r\x1b[K")
			}
			if err != nil {
				return err
			}
			switch format {
			case "json":
				err = report.WriteJSON(g.jsonOut())
			case "junit":
				err = report.WriteJUnit(g.out)
			default:
				err = report.WriteText(g.out)
			}
			if err == nil && report.Failed() {
				return &exitError{code: exitFailed}
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&options.Filter, "filter", "", "only these checks: ids or globs with commas between, such as envelope.*")
	cmd.Flags().DurationVar(&options.Timeout, "timeout", 30*time.Second, "the most one check may take")
	cmd.Flags().BoolVar(&list, "list", false, "list the checks instead")
	return cmd
}

// listChecks prints what the suite checks.
func listChecks(con *console, format string) error {
	checks := conformance.List()
	if format == "json" {
		return con.printJSON(map[string]any{"checks": checks}, true)
	}
	t := newTable("CHECK", "PROMISE", "SOURCE")
	for _, check := range checks {
		t.add(check.ID, check.Sentence, check.Source)
	}
	return t.write(con, 1)
}
