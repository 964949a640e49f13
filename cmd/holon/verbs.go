package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

// verb is a command that is one request: each of its arguments is a member of the params.
type verb struct {
	name, takes string   // takes has a word for each argument; THREAD is found by its name
	method      string   // of the wire
	members     []string // of the params, one for each word of takes
	short, long string   // of the help
	// text is what people read of the answer. thread is the name that was typed, or the
	// ending of the id where that is no name.
	text func(thread string, answer map[string]any) string
}

// verbs are the commands that newRootCommand makes of this table.
var verbs = []verb{
	{
		name: "rename", takes: "THREAD TITLE", method: "thread/rename", members: []string{"thread_id", "title"},
		short: "Give a thread a title",
		long: `Gives THREAD a title, which its agent does not replace. An empty one gives the title
back: the thread is named by its agent again, and by its first prompt until then.

  holon rename 8c1d04fe "fix the tests"
  holon rename "fix the tests" ""`,
		text: func(thread string, answer map[string]any) string {
			switch title, _ := answer["title"].(string); {
			case title == "":
				return thread + " has no title until its agent gives one"
			case answer["title_by"] == nil:
				return thread + " keeps the title of its agent: " + inQuotes(title)
			default:
				return thread + " is now " + inQuotes(title)
			}
		},
	},
}

// command makes the command of a verb.
func (v verb) command(g *globals) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use: v.name + " " + v.takes, Short: v.short, Long: v.long, Args: cobra.ExactArgs(len(v.members)),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			params, typed := map[string]any{}, ""
			for i, word := range strings.Fields(v.takes) {
				value := args[i]
				if word == "THREAD" {
					typed = timeline.OneLine(value)
					if value, err = c.finder().telling().thread(value); err != nil {
						return err
					}
					if typed == latest || typed == value {
						typed = shownID(c.console, value)
					}
				}
				params[v.members[i]] = value
			}
			raw, answer, err := change[map[string]any](c, v.method, key, params)
			if err != nil {
				return fmt.Errorf("%s: %w", typed, err)
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			return c.printText(v.text(typed, answer)+"\n", nil)
		}),
	}
	cmd.Flags().StringVar(&key, "idempotency-key", "", "the same key changes only once, however often this is run")
	return cmd
}
