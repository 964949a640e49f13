package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/internal/nearest"
)

func newSchemaCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [openrpc|json|ts|markdown]",
		Short: "Print the protocol in machine-readable form",
		Long: `Prints the protocol of this version, without asking a server: the OpenRPC
document (the default), all of its types as one JSON Schema, TypeScript
declarations, or the page docs/protocol.md.`,
		ValidArgs: []string{"openrpc", "json", "ts", "markdown"},
		Args:      cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name := "openrpc"
			if len(args) > 0 {
				name = args[0]
			}
			switch name {
			case "openrpc":
				document, err := api.Document()
				if err != nil {
					return err
				}
				return g.printRaw(json.RawMessage(document), true)
			case "json":
				return printSchema(&g.console)
			case "ts":
				return g.printText(api.TypeScript())
			case "markdown":
				return g.printText(api.Protocol())
			}
			return usagef("%s", nearest.NoneOf(name, []string{"openrpc", "json", "ts", "markdown"}))
		},
	}
}

// printSchema prints every type of the document under $defs: ThreadStartParams,
// ThreadStartResult, ThreadStartedEvent.
func printSchema(con *console) error {
	document, err := api.Document()
	if err != nil {
		return err
	}
	var surface struct {
		Methods []struct {
			Name   string          `json:"name"`
			Params json.RawMessage `json:"x-params-schema"`
			Result struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"result"`
		} `json:"methods"`
		Notifications []struct {
			Name   string          `json:"name"`
			Params json.RawMessage `json:"params"`
		} `json:"x-notifications"`
	}
	if err := json.Unmarshal(document, &surface); err != nil {
		return fmt.Errorf("read the OpenRPC document: %w", err)
	}
	definitions := map[string]json.RawMessage{}
	for _, method := range surface.Methods {
		definitions[typeName(method.Name)+"Params"] = method.Params
		definitions[typeName(method.Name)+"Result"] = method.Result.Schema
	}
	for _, notification := range surface.Notifications {
		definitions[typeName(notification.Name)+"Event"] = notification.Params
	}
	return con.printJSON(map[string]any{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "Holon",
		"description": "The types of the Holon protocol, version " + api.ProtocolVersion + ".",
		"$defs":       definitions,
	}, true)
}

// typeName turns thread/start into ThreadStart.
func typeName(method string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(method, func(r rune) bool { return r == '/' || r == '.' || r == '_' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
