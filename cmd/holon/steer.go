package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/turns"
)

func newSteerCommand(g *globals) *cobra.Command {
	var key string
	var interrupt bool
	cmd := &cobra.Command{
		Use:   "steer THREAD|TURN TEXT…",
		Short: "Say something to a turn while it works",
		Long: `Adds TEXT to an active turn: that of THREAD, or TURN. The agent gets it at once if it
can take text while it works, otherwise as its next prompt before the turn ends.
TEXT "-" reads it from stdin. With --interrupt the agent's current prompt is stopped
for it; the turn continues.

  holon steer "fix the tests" "leave package b alone"
  git diff | holon steer 8c1d04fe -`,
		Args: cobra.MinimumNArgs(2),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			text, err := steerText(&g.console, args[1:])
			if err != nil {
				return err
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			k := &control{caller: c}
			defer k.end()
			find := c.finder()
			if interrupt {
				find = find.ender()
			}
			s, err := k.subjectTurn(find, args[0])
			if err != nil {
				return err
			}
			params := map[string]any{"turn_id": s.turn.TurnID, "input": userInput(text)}
			if interrupt {
				params["mode"] = api.SteerInterrupt
			}
			raw, r, err := change[turns.SteerResult](c, "turn/steer", key, params)
			if err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			how := "the agent has the text"
			if r.Delivery == turns.DeliveryQueued {
				how = "the text is the agent's next prompt"
			}
			if err := c.printText(s.String()+": "+how+"\n", nil); err != nil {
				return err
			}
			c.note("See it with: holon attach %s", nameOf(c.finder(), s.thread))
			return nil
		}),
	}
	cmd.Flags().BoolVar(&interrupt, "interrupt", false, "stop the agent's current prompt")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "the same key and text are sent only once, however often this is run")
	return cmd
}

// steerText returns the text of the arguments, or of stdin.
func steerText(con *console, args []string) (string, error) {
	text := strings.Join(args, " ")
	if text == "-" {
		data, err := io.ReadAll(con.in)
		if err != nil {
			return "", fmt.Errorf("read the text from stdin: %w", err)
		}
		text = strings.TrimRight(string(data), "\r\n")
	}
	if strings.TrimSpace(text) == "" {
		return "", usagef(`there is no text; give one: holon steer THREAD "leave package b alone"`)
	}
	return text, nil
}
