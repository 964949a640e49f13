package main

import (
	"io"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/threads"
)

func newTreeCommand(g *globals) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "tree [THREAD]",
		Short: "Show threads with their child threads, and what each is doing",
		Long: `Shows the thread with all child threads below it: what the turn of each is doing,
or how the last one ended, for how long, and the questions that wait for a person.
Work that a thread has started in one that is not below it is shown until it ends.
Without THREAD it shows every thread that has child threads or runs something.
Closed threads are left out.

With --watch the tree is redrawn when it changes, until Ctrl-C.

  holon tree
  holon tree thread_… --watch
  holon tree -o json`,
		Args: oneName(0),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			root := ""
			if watch && (c.format != "text" || !c.isTerminal(c.out)) {
				return usagef("--watch draws on a terminal; programs follow the events: holon watch -o jsonl")
			}
			if len(args) > 0 {
				if root, err = c.finder().thread(args[0]); err != nil {
					return err
				}
			}
			f, err := c.readForest(root)
			switch {
			case err != nil:
				return err
			case watch:
				return watchForest(c, f)
			case c.format != "text":
				raw, err := jsonv2.Marshal(f.result())
				if err != nil {
					return err
				}
				return c.printData(raw, "threads")
			}
			picture := f.picture(c.console)
			if len(picture.lines) == 0 {
				c.note("No thread has child threads, and none runs a turn.")
				return nil
			}
			if _, err = io.WriteString(c.out, picture.text()); err == nil && root != "" && len(f.threads[root].Children)+len(f.threads[root].Outside) == 0 && f.threads[root].State != threads.Closed {
				c.note("It has no child threads. This starts one: holon run --parent %s \"…\"", nameByID(c.finder(), root))
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "follow the tree live")
	return cmd
}
