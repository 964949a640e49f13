package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/rpc/client"
)

// leave starts a turn for which nothing waits, here or at the server, and says how to
// follow it.
func (o runOptions) leave(cmd *cobra.Command, g *globals, c *client.Client, prompt, format string) error {
	return interruptible(func(cmd *cobra.Command, _ []string) error {
		s, err := o.start(cmd.Context(), c, prompt)
		if err != nil {
			return err
		}
		switch {
		case format != "text":
			return g.printRaw(s.raw, format == "json")
		case o.quiet:
			_, err := fmt.Fprintln(g.out, timeline.OneLine(s.TurnID))
			return err
		}
		state := timeline.OneLine(string(s.State))
		if s.Position > 0 {
			state += fmt.Sprintf(" at position %d", s.Position)
		}
		find := g.finder(cmd, c)
		thread, name, toStop := o.names(find, s)
		turn, in := shownID(&g.console, s.TurnID), subject{con: &g.console, thread: thread}
		if _, err := fmt.Fprintf(g.out, "%s: %s, in thread %s\n", turn, state, in); err != nil {
			return err
		}
		switch {
		case s.where != "":
			g.note("%s", s.where)
		case s.cwd != "":
			g.note("The thread works in %s.", timeline.OneLine(s.cwd))
		}
		if o.detach {
			g.note("See it with:  holon attach %s", name)
			g.note("Stop it with: holon interrupt %s", toStop)
			return nil
		}
		owner := nameByID(find, o.parent)
		g.note("See it with:      holon attach %s --after %d", name, s.after)
		g.note("Wait for it with: holon await %s", turn)
		if s.Outside {
			g.note("Its thread is not below %s: it reads the prompt as words of %s, and turns of people go before it.", owner, owner)
		}
		switch {
		case s.Wake == inbox.WakeNone:
			g.note("Its end goes into the inbox of %s and starts no turn there; this changes that: holon inbox policy %s --wake idle", owner, owner)
		case s.Outside:
			g.note("Its end goes into the inbox of %s, whose agent is told when it has no other turn.", owner)
		default:
			g.note("Its end goes into the inbox of %s, whose agent is told when it has no other turn and the other background work of the same turn has ended too.", owner)
		}
		return nil
	})(cmd, nil)
}
