package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/api"
)

// version is set by the linker: -X main.version=….
var version = "dev"

// versionInfo is what `holon version -o json` prints.
type versionInfo struct {
	Version  string `json:"version"`
	Protocol string `json:"protocol_version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersionCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			format, err := g.format("text", "json", "jsonl")
			if err != nil {
				return err
			}
			info := versionInfo{Version: version, Protocol: api.ProtocolVersion, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
			if build, ok := debug.ReadBuildInfo(); ok {
				for _, setting := range build.Settings {
					if setting.Key == "vcs.revision" {
						info.Revision = setting.Value
					}
				}
			}
			if format != "text" {
				return g.printJSON(info, format == "json")
			}
			_, err = fmt.Fprintf(g.out, "holon %s (protocol %s, %s, %s)\n", info.Version, info.Protocol, info.Go, info.Platform)
			return err
		},
	}
}
