package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

func newRenameCommand(g *globals) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "rename THREAD TITLE",
		Short: "Give a thread a title",
		Long: `Gives THREAD a title, which its agent does not replace. An empty one gives the title
back: the thread is named by its agent again, and by its first prompt until then.

  holon rename 8c1d04fe "fix the tests"
  holon rename "fix the tests" ""`,
		Args: cobra.ExactArgs(2),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			was, err := c.finder().find(args[0], &threadNames)
			if err != nil {
				return err
			}
			raw, is, err := change[turns.RenameThreadResult](c, "thread/rename", key, map[string]any{"thread_id": was.id, "title": args[1]})
			if err != nil {
				return fmt.Errorf("%s: %w", was.shown(c.console), err)
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			text := was.shown(c.console)
			switch {
			case is.Title == "":
				text += " has no title until its agent gives one"
			case is.TitleBy != threads.ByClient:
				text += " has the title of its agent: " + inQuotes(is.Title)
			default:
				text += " is now " + inQuotes(is.Title)
			}
			return c.printText(text+"\n", nil)
		}),
	}
	cmd.Flags().StringVar(&key, "idempotency-key", "", "the same key changes only once, however often this is run")
	return cmd
}
