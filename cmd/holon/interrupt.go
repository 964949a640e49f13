package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/turns"
)

// changeFlags are the flags of commands that change a thread or a turn.
type changeFlags struct {
	reason, key string
	yes         bool
}

// bind adds the flags; asks says that the command asks before it does something.
func (f *changeFlags) bind(cmd *cobra.Command, asks bool) {
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for people who watch")
	cmd.Flags().StringVar(&f.key, "idempotency-key", "", "the same key takes effect only once, however often this is run")
	if asks {
		cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	}
}

// params returns the params of a method with these members.
func (f *changeFlags) params(name, id string) map[string]any {
	params := map[string]any{}
	if name != "" {
		params[name] = id
	}
	if f.reason != "" {
		params["reason"] = f.reason
	}
	return params
}

// interruptOf returns the params of turn/interrupt: its reason says who it was.
func (f *changeFlags) interruptOf(turnID string) map[string]any {
	params := f.params("turn_id", turnID)
	if f.reason == "" {
		params["reason"] = "holon interrupt"
	}
	return params
}

func newInterruptCommand(g *globals) *cobra.Command {
	var flags changeFlags
	cmd := &cobra.Command{
		Use:   "interrupt [THREAD|TURN]",
		Short: "Stop a turn; its thread can run further turns",
		Long: `Stops a turn: the active one of THREAD, or TURN, which may be queued. Without either
it stops the only active turn; if there are several, you choose one. On a terminal it
says what the turn is doing, and asks before it stops it. Elsewhere nobody is asked:
the turn that is named is stopped, and without a name only with --yes.

  holon interrupt
  holon interrupt "fix the tests"
  holon interrupt 8c1d04fe --yes --reason "wrong branch"`,
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
				s, err = k.onlyTurn("interrupt", flags.yes)
			} else {
				s, err = k.subjectTurn(c.finder().ender(), args[0])
			}
			if err != nil {
				return err
			}
			if !s.turn.State.Ended() { // else the server says that there is nothing to interrupt
				if err := k.confirm(flags.yes, "Interrupt "+s.String()+"?\n"+s.began()+"  "+s.does()+"\n"); err != nil {
					return err
				}
			}
			raw, r, err := change[turns.InterruptResult](c, "turn/interrupt", flags.key, flags.interruptOf(s.turn.TurnID))
			if err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			if err := c.printText(s.String()+": "+timeline.OneLine(r.State)+"\n", nil); err != nil {
				return err
			}
			if r.State != string(turns.Interrupted) {
				c.note("The agent is stopping. Its end shows: holon attach %s", nameOf(c.finder(), s.thread))
			}
			return nil
		}),
	}
	flags.bind(cmd, true)
	return cmd
}
