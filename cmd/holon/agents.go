package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/internal/nearest"
)

// agentRow is an agent in the result of agent/list.
type agentRow struct {
	Name         string `json:"name"`
	Kind         string `json:"kind"`
	State        string `json:"state"`
	Version      string `json:"version"`
	Protocol     string `json:"protocol"`
	Capabilities struct {
		Steering bool     `json:"steering"`
		Load     bool     `json:"load"`
		Resume   bool     `json:"resume"`
		Fork     bool     `json:"fork"`
		Images   bool     `json:"images"`
		Modes    []string `json:"modes"`
		Models   []string `json:"models"`
	} `json:"capabilities"`
	Mode      string `json:"mode"`
	Warning   string `json:"warning"`
	Processes int    `json:"processes"`
	Sessions  int    `json:"sessions"`
	Memory    int64  `json:"memory_bytes"`
	LastError string `json:"last_error"`

	Directory      string `json:"directory"`
	DirectoryGiven bool   `json:"directory_given"`
}

func newAgentsCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "agents [NAME]",
		Short: "List the agents of the server, or show one",
		Long: `Lists the agents that threads can have, the default one first: what each is, can do
and is doing, and how much memory its processes use, with all that they have started
(PSS: shared memory is divided among them). What an agent can do, and the mode in
which its sessions open, is known only after it was started once. "holon doctor"
starts each agent once.

  holon agents
  holon agents opencode          its modes and models too
  holon agents -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			raw, result, err := ask[struct {
				Agents []jsontext.Value `json:"agents"`
			}](c, "agent/list", nil)
			if err != nil {
				return err
			}
			rows := make([]agentRow, len(result.Agents))
			for i, raw := range result.Agents {
				if err := json.Unmarshal(raw, &rows[i]); err != nil {
					return fmt.Errorf("read an agent: %w", err)
				}
			}
			if len(args) == 1 {
				i, err := agentOf(rows, args[0])
				if err != nil {
					return err
				}
				if c.format == "text" {
					return rows[i].print(c.console, i == 0)
				}
				return c.printData(result.Agents[i], "")
			}
			if c.format != "text" {
				return c.printData(raw, "agents")
			}
			return printAgents(c.console, rows)
		}),
	}
}

// agentOf returns the index of the agent of this name.
func agentOf(rows []agentRow, name string) (int, error) {
	names := make([]string, len(rows))
	for i, a := range rows {
		if names[i] = a.Name; a.Name == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("there is no agent %s%s", inQuotes(name), cmp.Or(nearest.Hint(name, names), "; holon agents lists them"))
}

func printAgents(con *console, rows []agentRow) error {
	t := newTable("AGENT", "KIND", "STATE", "VERSION", "MODE", "RUNS", "MEMORY", "CAN", "LAST ERROR")
	t.drop = []string{"RUNS", "VERSION", "CAN", "MEMORY"}
	for i, a := range rows {
		name := a.Name
		if i == 0 && len(rows) > 1 {
			name += " (default)"
		}
		t.add(name, a.protocolOrKind(), a.State, a.Version, a.Mode, a.runs(), a.memory(), a.can(), firstLine(a.LastError))
	}
	if err := t.write(con, 8); err != nil {
		return err
	}
	for _, a := range rows {
		if a.Warning == "" {
			continue
		}
		if _, err := fmt.Fprintf(con.out, "\nWarning: agent %s: %s.\n", a.Name, timeline.Clean(a.Warning)); err != nil {
			return err
		}
	}
	return nil
}

func (a agentRow) print(con *console, byDefault bool) error {
	name := a.Name
	if byDefault {
		name += " (default)"
	}
	err := con.printFields(9, [][2]string{
		{"agent", name}, {"kind", a.Kind}, {"state", a.State}, {"version", a.Version}, {"protocol", a.Protocol}, {"runs", a.runs()},
		{"memory", a.memory()},
		{"can", a.can()}, {"modes", strings.Join(a.Capabilities.Modes, ", ")}, {"models", strings.Join(a.Capabilities.Models, ", ")},
		{"opens in", a.Mode}, {"warning", a.Warning},
	})
	if err != nil || a.LastError == "" {
		return err
	}
	text := strings.ReplaceAll(strings.TrimSpace(timeline.Clean(a.LastError)), "\n", "\n          ")
	_, err = fmt.Fprintf(con.out, "%-9s %s\n", "error", text)
	return err
}

// protocolOrKind returns the protocol with its version if it is known, else the
// kind.
func (a agentRow) protocolOrKind() string {
	if strings.HasPrefix(a.Protocol, a.Kind+"/") {
		return a.Protocol
	}
	return a.Kind
}

// can lists the agent's known capabilities beyond running turns.
func (a agentRow) can() string {
	c := a.Capabilities
	var words []string
	for _, w := range []struct {
		word string
		can  bool
	}{{"steer", c.Steering}, {"load", c.Load}, {"resume", c.Resume}, {"fork", c.Fork}, {"images", c.Images}} {
		if w.can {
			words = append(words, w.word)
		}
	}
	if n := len(c.Modes); n > 0 {
		words = append(words, counted(n, "mode", "modes"))
	}
	if n := len(c.Models); n > 0 {
		words = append(words, counted(n, "model", "models"))
	}
	return strings.Join(words, ", ")
}

// runs counts the agent's processes and sessions, "" if there are none.
func (a agentRow) runs() string {
	if a.Processes == 0 && a.Sessions == 0 {
		return ""
	}
	return counted(a.Processes, "process", "processes") + ", " + counted(a.Sessions, "session", "sessions")
}

// memory returns the memory that the agent's processes use, "" if there are none or
// it is not known.
func (a agentRow) memory() string {
	if a.Memory == 0 {
		return ""
	}
	return memoryText(a.Memory)
}

// memoryText returns an amount of memory for a person.
func memoryText(bytes int64) string {
	if bytes >= 1e9 {
		return fmt.Sprintf("%.1f GB", float64(bytes)/1e9)
	}
	return fmt.Sprintf("%.0f MB", max(1, float64(bytes)/1e6))
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
