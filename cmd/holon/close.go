package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

func newCloseCommand(g *globals) *cobra.Command {
	var flags changeFlags
	cmd := &cobra.Command{
		Use:   "close [THREAD]",
		Short: "Close a thread permanently; it can still be read",
		Long: `Closes a thread: its active turn is interrupted, queued turns do not start, and its
child threads are closed too. Nothing is deleted. Without THREAD it closes the only
open thread; if there are several, you choose one. On a terminal it says what the
thread is doing, and asks before it closes it. Elsewhere nobody is asked: the thread
that is named is closed, and without a name only with --yes.

  holon close "fix the tests"
  holon close 8c1d04fe --yes --reason "done"`,
		Args: oneName(0),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			k := &control{caller: c}
			defer k.end()
			var s subject
			if len(args) == 0 {
				s, err = k.onlyThread("close", flags.yes)
			} else {
				s, err = k.subjectThread(c.finder().ender(), args[0])
			}
			if err != nil {
				return err
			}
			if s.thread.State != threads.Closed { // else the server says so
				what, err := k.stopsWith(s)
				if err != nil {
					return err
				}
				if err := k.confirm(flags.yes, "Close "+s.String()+"?\n"+what); err != nil {
					return err
				}
			}
			raw, r, err := change[turns.ChangeThreadResult](c, "thread/close", flags.key, flags.params("thread_id", s.thread.ThreadID))
			if err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			if err := c.printText(s.String()+": "+timeline.OneLine(string(r.State))+"\n", nil); err != nil {
				return err
			}
			if r.State == threads.Closing {
				c.note("Its turn is stopping. The end shows: holon attach %s", nameOf(c.finder(), s.thread))
			}
			return nil
		}),
	}
	flags.bind(cmd, true)
	return cmd
}

// stopsWith describes in lines what ends when a thread is closed.
func (k *control) stopsWith(s subject) (text string, err error) {
	s, children, err := k.readThread(s.thread.ThreadID)
	if err != nil {
		return "", err
	}
	active, err := activeTurns(k.caller, map[string]any{"thread_id": s.thread.ThreadID}, 1)
	if err != nil {
		return "", err
	}
	for _, s.turn = range active {
		text += "  " + s.does() + "\n"
	}
	if n := s.summary.Queued; n > 0 {
		text += "  " + counted(n, "turn is", "turns are") + " queued\n"
	}
	if n := children.Blocking + children.Notify; n > 0 {
		text += fmt.Sprintf("  %s for it\n", counted(n, "child turn works", "child turns work"))
	}
	if text == "" {
		text = "  nothing runs in it\n"
	}
	return subject{con: s.con, thread: s.thread, summary: s.summary}.began() + text, nil
}
