package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/turns"
)

func newPauseCommand(g *globals) *cobra.Command {
	var flags changeFlags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "pause [THREAD]",
		Short: "Start no further turns, in the whole server or in a thread",
		Long: `Pauses the server: turns are queued and none starts, until holon resume. With
THREAD it is only that thread. Active turns continue: holon interrupt stops one. No
work is lost, so the command does not ask first.

  holon pause --timeout 1h --reason "deploying"
  holon pause "fix the tests"`,
		Args: oneName(0),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			switch {
			case timeout < 0:
				return usagef("--timeout %s: give a duration such as 1h", timeout)
			case timeout > 0 && len(args) > 0:
				return usagef("--timeout is for the pause of the server; that of a thread ends with: holon resume %s", args[0])
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			k := &control{caller: c}
			defer k.end()
			if len(args) > 0 {
				return k.changeThread("thread/pause", args[0], &flags, "holon resume")
			}
			params := flags.params("", "")
			if timeout > 0 {
				params["timeout_seconds"] = timeout.Seconds()
			}
			return k.changeServer("holon/pause", &flags, params)
		}),
	}
	flags.bind(cmd, false)
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "end the pause of the server by itself after this time, such as 1h")
	return cmd
}

func newResumeCommand(g *globals) *cobra.Command {
	var flags changeFlags
	cmd := &cobra.Command{
		Use:   "resume [THREAD]",
		Short: "End the pause of the server, or of a thread",
		Long: `Ends what holon pause began: turns start again, those that wait first.

  holon resume
  holon resume "fix the tests"`,
		Args: oneName(0),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			k := &control{caller: c}
			defer k.end()
			if len(args) > 0 {
				return k.changeThread("thread/resume", args[0], &flags, "")
			}
			return k.changeServer("holon/resume", &flags, flags.params("", ""))
		}),
	}
	flags.bind(cmd, false)
	return cmd
}

// changeThread pauses or resumes a thread. undo is the command that ends it, "" for none.
func (k *control) changeThread(method, name string, flags *changeFlags, undo string) error {
	c := k.caller
	s, err := k.subjectThread(c.finder(), name)
	if err != nil {
		return err
	}
	raw, r, err := change[turns.ChangeThreadResult](c, method, flags.key, flags.params("thread_id", s.thread.ThreadID))
	if err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	if c.format != "text" {
		return c.printData(raw, "")
	}
	if err := c.printText(fmt.Sprintf("%s: %s\n", s, timeline.OneLine(string(r.State))), nil); err != nil || undo == "" {
		return err
	}
	active, err := activeTurns(c, map[string]any{"thread_id": s.thread.ThreadID}, 1)
	if err != nil {
		return err
	}
	if len(active) > 0 {
		s.turn = active[0]
		c.note("Its active turn goes on: %s", s.does())
	}
	c.note("End the pause with: %s %s", undo, nameOf(c.finder(), s.thread))
	return nil
}

// changeServer pauses or resumes the server, and says what that means.
func (k *control) changeServer(method string, flags *changeFlags, params map[string]any) error {
	c := k.caller
	raw, r, err := change[turns.PauseResult](c, method, flags.key, params)
	if err != nil {
		return err
	}
	if c.format != "text" {
		return c.printData(raw, "")
	}
	endpoint, err := c.client.Endpoint()
	if err != nil {
		return err
	}
	text := fmt.Sprintf("the server %s: %s", endpoint.URL, timeline.OneLine(string(r.State)))
	if !r.Until.IsZero() {
		text += " until " + whenAt(r.Until)
	}
	if err := c.printText(text+"\n", nil); err != nil || method != "holon/pause" {
		return err
	}
	var status serverStatus
	if err := c.client.Call(c.ctx, "holon/status", nil, &status); err != nil {
		return err
	}
	if n := int(status.Turns.Active); n > 0 {
		c.note("%s on; no other starts.", counted(n, "active turn goes", "active turns go"))
	}
	c.note("End the pause with: holon resume")
	return nil
}
