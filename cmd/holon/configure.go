package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/form"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/turns"
)

// threadConfig has the settings of a thread's agent and their possible values.
type threadConfig struct {
	Mode    string                     `json:"mode"`
	Model   string                     `json:"model"`
	Options map[string]json.RawMessage `json:"options"`
	Cwd     string                     `json:"-"` // where the agent works; "" = not known
	Modes   []namedValue               `json:"modes"`
	Models  []namedValue               `json:"models"`
	Choices []struct {
		ID      string `json:"id"`
		Name    string `json:"name"`
		Choices []struct {
			Value string `json:"value"`
		} `json:"choices"`
	} `json:"option_choices"`
}

type namedValue struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func newConfigureCommand(g *globals) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "configure THREAD [NAME=VALUE…]",
		Short: "Change mode, model and other settings of a thread's agent",
		Long: `Changes settings of the thread's agent and says what they are now; without
NAME=VALUE it lists them all. The settings are known once the thread has a
session of its agent. A change opens one if necessary.

cwd=DIR is where the agent works from the next turn on, such as after the directory
was renamed. The agent opens its session again there. One that finds its sessions
by their directory begins a new one, and the thread says so; OpenCode's stay where
they began, and that is refused.

  holon configure thread_…
  holon configure thread_… mode=plan
  holon configure thread_… model=haiku effort=high
  holon configure thread_… cwd=~/renamed`,
		Args: cobra.MinimumNArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			set, err := readSettings(args[1:])
			if err != nil {
				return err
			}
			dir, moves := set["cwd"]
			if moves {
				if dir == "" {
					return usagef("cwd=: give a directory")
				}
				if dir, err = cwd(dir); err != nil {
					return err
				}
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			thread, err := c.finder().find(args[0], &threadNames)
			if err != nil {
				return err
			}
			_, read, err := ask[struct {
				Thread struct {
					Config  jsontext.Value `json:"config"`
					Summary struct {
						Cwd string `json:"cwd"`
					} `json:"summary"`
				} `json:"thread"`
			}](c, "thread/read", map[string]any{"thread_id": thread.id})
			if err != nil {
				return err
			}
			is, err := readConfig(read.Thread.Config)
			if err != nil {
				return err
			}
			is.Cwd = read.Thread.Summary.Cwd
			if len(args) == 1 {
				if len(read.Thread.Config) == 0 {
					read.Thread.Config = jsontext.Value("{}")
				}
				if c.format != "text" {
					return c.printValue(map[string]any{"thread_id": thread.id, "config": read.Thread.Config}, "")
				}
				return is.print(c.console)
			}
			params := map[string]any{"thread_id": thread.id}
			if moves {
				params["cwd"] = dir
			}
			if config := is.typed(set); len(config) > 0 {
				params["config"] = config
			}
			raw, r, err := change[turns.ConfigureResult](c, "thread/configure", key, params)
			if err != nil {
				return err
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			where := cmp.Or(r.Cwd, is.Cwd)
			if is, err = readConfig(r.Config); err != nil {
				return err
			}
			is.Cwd = where
			return c.printText(thread.shown(c.console)+": "+is.of(slices.Sorted(maps.Keys(set)))+"\n", nil)
		}),
	}
	cmd.Flags().StringVar(&key, "idempotency-key", "", "the same key and settings change only once, however often this is run")
	return cmd
}

// readSettings reads NAME=VALUE arguments.
func readSettings(args []string) (map[string]string, error) {
	set := map[string]string{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, usagef("%q: give NAME=VALUE, such as mode=plan", arg)
		}
		if _, twice := set[name]; twice {
			return nil, usagef("%s is given twice", name)
		}
		set[name] = value
	}
	return set, nil
}

func readConfig(raw jsontext.Value) (c threadConfig, err error) {
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &c); err != nil {
			return c, fmt.Errorf("read the thread's config: %w", err)
		}
	}
	return c, nil
}

// typed gives values their JSON types: texts, except for a setting that is true
// or false, or an unknown one that looks like it.
func (c threadConfig) typed(set map[string]string) map[string]any {
	out := map[string]any{}
	for name, value := range set {
		if name == "cwd" { // it is of the thread
			continue
		}
		is, known := string(c.Options[name]), c.Options[name] != nil
		boolean := value == "true" || value == "false"
		if boolean && name != "mode" && name != "model" && (!known || is == "true" || is == "false") {
			out[name] = value == "true"
		} else {
			out[name] = value
		}
	}
	return out
}

// of returns a line of these settings.
func (c threadConfig) of(names []string) string {
	var list []string
	for _, name := range names {
		own := map[string]string{"mode": c.Mode, "model": c.Model, "cwd": c.Cwd}
		list = append(list, name+" is "+timeline.OneLine(cmp.Or(own[name], form.Plain(string(c.Options[name])))))
	}
	return strings.Join(list, ", ")
}

func (c threadConfig) print(con *console) error {
	t := newTable("SETTING", "VALUE", "CHOICES")
	for _, row := range []struct {
		name, value string
		choices     []namedValue
	}{{"mode", c.Mode, c.Modes}, {"model", c.Model, c.Models}} {
		if row.value == "" && len(row.choices) == 0 {
			continue
		}
		var ids []string
		for _, choice := range row.choices {
			ids = append(ids, choice.ID)
		}
		t.add(row.name, row.value, strings.Join(ids, ", "))
		delete(c.Options, row.name) // agents also list them as options
	}
	for _, id := range slices.Sorted(maps.Keys(c.Options)) {
		var choices []string
		for _, option := range c.Choices {
			if option.ID != id {
				continue
			}
			for _, choice := range option.Choices {
				choices = append(choices, choice.Value)
			}
		}
		if value := string(c.Options[id]); len(choices) == 0 && (value == "true" || value == "false") {
			choices = []string{"true", "false"}
		}
		t.add(id, form.Plain(string(c.Options[id])), strings.Join(choices, ", "))
	}
	if c.Cwd != "" {
		t.add("cwd", timeline.OneLine(c.Cwd), "")
	}
	if len(t.rows) == 1 {
		con.note("Nothing is known that could be set: the thread's agent has no settings, or no session yet.")
		return nil
	}
	return t.write(con, 2)
}
