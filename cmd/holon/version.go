package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/persist/sqlite"
)

// version and commit are set by the linker: -X main.version=….
var (
	version = "dev"
	commit  = ""
)

// versionInfo is what `holon version -o json` prints.
type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Protocol string `json:"protocol_version"`
	Schema   int    `json:"schema_version"` // of the database
	Platform string `json:"platform"`
}

func newVersionCommand(g *globals) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON && g.output == "" {
				g.output = "json"
			}
			if asJSON && g.output == "text" {
				return usagef("--json and -o text contradict each other")
			}
			return printVersion(g)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as -o json")
	return cmd
}

// printVersion prints the version of the program.
func printVersion(g *globals) error {
	format, err := g.format("text", "json", "jsonl")
	if err != nil {
		return err
	}
	info := versionInfo{
		Version: version, Commit: builtFrom(), Go: runtime.Version(), Protocol: api.ProtocolVersion, Schema: sqlite.SchemaVersion(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if format != "text" {
		return g.printJSON(info, format == "json")
	}
	_, err = fmt.Fprintf(g.out, "holon %s (protocol %s, schema %d, %s, %s)\n", info.Version, info.Protocol, info.Schema, info.Go, info.Platform)
	return err
}

// builtFrom returns the commit from which the program was built, "" if neither the linker
// nor the Go command has said it.
func builtFrom() string {
	build, ok := debug.ReadBuildInfo()
	if commit != "" || !ok {
		return commit
	}
	for _, setting := range build.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return ""
}
