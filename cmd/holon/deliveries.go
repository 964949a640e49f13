package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/rpc/client"
)

var deliveryListing = listing{
	method: "delivery/list", member: "deliveries", flex: 5,
	head: []string{"DELIVERY", "AGE", "NEWS", "TRIES", "STATE", "NEXT"},
	drop: []string{"TRIES", "AGE"},
	none: "There are no such deliveries.",
	row: func(raw json.RawMessage) ([]string, error) {
		var d bridges.Delivery
		err := jsonv2.Unmarshal(raw, &d)
		return []string{d.DeliveryID, age(d.CreatedAt.Time), string(d.EventType), fmt.Sprint(d.Attempts), string(d.State), deliveryNext(d)}, err
	},
}

// deliveryNext explains why a delivery is settled, or what comes next.
func deliveryNext(d bridges.Delivery) string {
	switch {
	case d.Reason != "":
		return d.Reason
	case d.State != bridges.StatePending:
		return ""
	case d.NextAttemptAt.After(time.Now()):
		return "attempt " + whenAt(d.NextAttemptAt)
	}
	return "waits for its turn"
}

func newDeliveriesCommand(g *globals) *cobra.Command {
	var dead bool
	var bridge, subscription, state string
	var limit int
	cmd := &cobra.Command{
		Use:   "deliveries",
		Short: "List what was sent, what waits, and what was given up",
		Long: `Lists deliveries, the newest last. Details are kept for 7 days, those of dead
deliveries for 30 days.

  holon deliveries                   the newest
  holon deliveries --dead            those that were given up
  holon delivery notif:ntfy-all:42   the attempts of one
  holon redeliver notif:ntfy-all:42  send it again`,
		Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			switch {
			case dead && state != "":
				return usagef("give either --dead or --state")
			case dead:
				state = string(bridges.StateDead)
			case state != "" && !slices.Contains(bridges.DeliveryStates, bridges.DeliveryState(state)):
				return usagef("--state: %s", nearest.NoneOf(bridges.DeliveryState(state), bridges.DeliveryStates))
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			found, err := deliveryListing.list(c, map[string]any{"bridge_id": bridge, "subscription_id": subscription, "state": state}, limit)
			if err == nil && found && c.format == "text" && dead {
				c.note("Why: holon delivery DELIVERY. Send one again: holon redeliver DELIVERY")
			}
			return err
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&dead, "dead", false, "only those that were given up")
	flags.StringVar(&state, "state", "", "only those in this state: pending, mismatch, delivered, suppressed, superseded, dead")
	flags.StringVar(&bridge, "bridge", "", "only through this bridge")
	flags.StringVar(&subscription, "subscription", "", "only of this subscription")
	bindLimit(cmd, &limit)
	return cmd
}

func newDeliveryCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "delivery DELIVERY",
		Short: "Show one delivery with its attempts",
		Args:  cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			raw, r, err := ask[api.DeliveryReadResult](c, "delivery/read", map[string]any{"delivery_id": args[0]})
			if err != nil {
				return ofDelivery(err)
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			return showDelivery(c, r.Delivery)
		}),
	}
}

func showDelivery(c *caller, d bridges.Delivery) error {
	state := string(d.State)
	if next := deliveryNext(d); next != "" {
		state += ": " + next
	}
	if err := c.printFields(12, [][2]string{
		{"delivery", d.DeliveryID}, {"news", fmt.Sprintf("%s (%s, event %d)", d.EventType, d.Method, d.Seq)},
		{"thread", d.ThreadID}, {"turn", d.TurnID}, {"subscription", d.SubscriptionID}, {"bridge", d.BridgeID},
		{"supersedes", strings.Join(d.Supersedes, ", ")}, {"state", state}, {"since", whenAt(d.CreatedAt)}, {"settled", whenAt(d.SettledAt)},
	}); err != nil {
		return err
	}
	for _, t := range d.Tries {
		if err := c.printText(tryText(t), nil); err != nil {
			return err
		}
	}
	name := timeline.OneLine(d.DeliveryID)
	switch d.State {
	case bridges.StateDead:
		c.note("Send it again with: holon redeliver %s", name)
	case bridges.StatePending:
		c.note("Send it now with: holon redeliver %s", name)
	case bridges.StateMismatch:
		c.note("Give it up with: holon notify skip %s --seq %d --reason TEXT", timeline.OneLine(d.SubscriptionID), d.Seq)
	}
	return nil
}

// tryText returns an attempt for a person.
func tryText(t bridges.Try) string {
	number := fmt.Sprint(t.Attempt)
	if t.Attempt == 0 {
		number = "–" // it cost none
	}
	outcome := string(t.Outcome)
	if outcome == "" {
		outcome = "under way, or cut by a stop of the server"
	} else {
		outcome = fmt.Sprintf("%s after %d ms", outcome, t.LatencyMs)
	}
	if t.Error != "" {
		outcome += ": " + t.Error
	} else if t.Status != 0 {
		outcome += fmt.Sprintf(": status %d", t.Status)
	}
	text := fmt.Sprintf("\n%-3s %s  %s\n", number, whenAt(t.At), timeline.OneLine(outcome))
	if answer := timeline.OneLine(t.Answer); answer != "" {
		text += "    answer: " + answer + "\n"
	}
	return text
}

func newRedeliverCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "redeliver DELIVERY",
		Short: "Send a delivery again, or at once if it waits",
		Long: `Sends what was sent again, under the same id, or at once if it waits for its
next attempt. It moves no position and changes no message: a receiver that knows
the id ignores it.`,
		Args: cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			raw, r, err := change[bridges.RedeliverResult](c, "delivery/redeliver", "", map[string]any{"delivery_id": args[0]})
			if err != nil {
				return ofDelivery(err)
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			name := timeline.OneLine(r.Delivery.DeliveryID)
			if err := c.printText(name+": will be sent\n", nil); err != nil {
				return err
			}
			c.note("What came of it: holon delivery %s", name)
			return nil
		}),
	}
}

// ofDelivery adds to the error of a request about a delivery what to do.
func ofDelivery(err error) error {
	switch {
	case client.IsKind(err, "delivery_not_found"):
		return &hintedError{err, "holon deliveries lists them. Details are kept for 7 days, those of dead deliveries for 30. An ignored event has no delivery."}
	case reasonOf(err) == "nothing_to_send":
		return &hintedError{err, "It was never to be sent: it was suppressed or superseded, or it is a mismatch. See: holon delivery DELIVERY"}
	}
	return err
}
