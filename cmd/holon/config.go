package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/rpc/client"
)

func newConfigCommand(g *globals) *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print every setting and where its value comes from",
		Long: `Prints the settings that "holon serve" with the same flags would use: defaults, then
the file, then HOLON_* variables, then flags. The exit code is 2 if a server would
refuse them. Values of agents' environments and secrets of sources are not printed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if markdown {
				_, err := io.WriteString(g.out, config.Markdown())
				return err
			}
			format, err := g.format("text", "json", "jsonl")
			if err != nil {
				return err
			}
			loaded, err := g.settings(cmd)
			if err != nil {
				return err
			}
			if err := printConfig(&g.console, loaded, format); err != nil {
				return err
			}
			return loaded.Validate()
		},
	}
	config.Bind(cmd.Flags())
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print all settings as a Markdown table instead")
	return cmd
}

// configReport is what `holon config -o json` prints.
type configReport struct {
	File     string       `json:"file,omitempty"`
	Settings []config.Row `json:"settings"`
	Warnings []string     `json:"warnings"`
}

func printConfig(con *console, loaded *config.Loaded, format string) error {
	rows := loaded.Rows()
	switch format {
	case "json":
		report := configReport{File: loaded.File, Settings: rows, Warnings: loaded.Warnings}
		if report.Warnings == nil {
			report.Warnings = []string{}
		}
		return con.printJSON(report, true)
	case "jsonl":
		for _, row := range rows {
			if err := con.printJSON(row, false); err != nil {
				return err
			}
		}
		return nil
	}
	t := newTable("KEY", "VALUE", "SOURCE")
	for _, row := range rows {
		t.add(row.Key, config.Show(row.Value), row.Source.String())
	}
	if err := t.write(con, 1); err != nil {
		return err
	}
	if loaded.File == "" {
		fmt.Fprintln(con.err, "no configuration file was read")
	}
	if record, err := client.ReadServerFile(loaded.Data); err == nil && record.Process.Alive() {
		fmt.Fprintln(con.err, "the server that runs has the settings of its start: restart it for other ones")
	}
	return nil
}
