package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/internal/bench"
)

// newBenchCommand measures this binary against the baselines.
func newBenchCommand(g *globals) *cobra.Command {
	var o bench.Options
	names, help := bench.Names()
	var list strings.Builder
	for i, name := range names {
		fmt.Fprintf(&list, "\n  %-10s %s", name, help[i])
	}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the server against baselines",
		Long: `Starts this binary as a server, in its own directory, and measures it alternately
with small programs that do only what is measured. The ratio counts, because
machines differ and are noisy. The whole takes about ten minutes, --quick about
two. All files are removed at the end.

Measures:` + list.String() + `

The exit code is 1 if a target is missed.`,
		Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			format, err := g.format("text", "json")
			if err != nil {
				return err
			}
			if o.Executable, err = os.Executable(); err != nil {
				return err
			}
			o.Progress = g.err
			report, err := bench.Run(cmd.Context(), o)
			var unknown *bench.UnknownError
			if errors.As(err, &unknown) {
				return &usageError{err: err}
			}
			if err == nil && format == "json" {
				err = g.printJSON(report, true)
			} else if report != nil && len(report.Rows) > 0 && format == "text" {
				// Measurements from before a failure are still useful.
				err = errors.Join(err, report.WriteText(g.out))
			}
			if missed := missedRows(report); err == nil && missed != "" {
				return &exitError{code: exitFailed, err: fmt.Errorf("these targets are missed: %s", missed)}
			}
			return err
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Dir, "dir", "", "where to make a directory for the measurement, which is removed at the end (default: the system's temporary directory)")
	flags.StringSliceVar(&o.Only, "only", nil, "measure only this; repeatable")
	flags.IntVar(&o.Grown, "grown", 0, "events in the large log of growth (default 1000000, with --quick 200000); 10000000 takes some 25 GB of disk")
	flags.IntVar(&o.Pairs, "pairs", 0, "how often each side is measured (default 5, with --quick 3)")
	flags.BoolVar(&o.Quick, "quick", false, "measure with less data: fast, but not precise")
	flags.StringVar(&o.Profiles, "profiles", "", "a directory for CPU profiles of the measured server; profiling makes it slower")
	return cmd
}

func missedRows(report *bench.Report) string {
	if report == nil {
		return ""
	}
	var names []string
	for _, row := range report.Missed() {
		names = append(names, row.Name)
	}
	return strings.Join(names, ", ")
}

// newBenchChildCommand runs the baseline of each pair, and other programs of
// measurements, as separate processes like the server.
func newBenchChildCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:                bench.ChildCommand,
		Short:              "Run a program that holon bench measures with",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			return bench.Child(cmd.Context(), args, g.in, g.out)
		}),
	}
}
