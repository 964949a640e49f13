package main

import (
	"cmp"
	"encoding/json"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
)

var notifyListing = listing{
	method: "subscription/list", member: "subscriptions", flex: 2,
	head: []string{"SUBSCRIPTION", "STATE", "SENDS", "OF", "THROUGH", "SEQ", "WAIT", "DEAD", "ERROR"},
	drop: []string{"OF", "DEAD", "THROUGH", "SEQ"},
	none: "Nothing is sent. For your phone: holon notify --all --bridge ntfy --on final,questions",
	row: func(raw json.RawMessage) ([]string, error) {
		var s bridges.SubscriptionView
		err := jsonv2.Unmarshal(raw, &s)
		of := cmp.Or(s.TurnID, s.ThreadID, "all")
		state := string(s.State)
		if s.Blocked != nil && s.State == bridges.Active {
			state = "blocked"
		}
		return []string{
			s.SubscriptionID, state, sends(s.Subscription), of, through(s.Subscription), fmt.Sprint(s.Cursor.LastSequence), fmt.Sprint(s.Pending),
			fmt.Sprint(s.Dead), s.Cursor.LastError,
		}, err
	},
}

func newNotifyListCommand(g *globals) *cobra.Command {
	var bridge, thread string
	var deleted, ended bool
	var limit int
	cmd := &cobra.Command{
		Use:   "list [THREAD]",
		Short: "List the subscriptions",
		Long: `Lists the subscriptions. SEQ is up to where each is settled, WAIT how many messages
are not sent yet, DEAD how many were given up: holon deliveries --dead lists those.
What is blocked waits behind an end that disagrees with its turn: holon notify show
says what to do.`,
		Args: oneName(0),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if thread != "" {
					return usagef("give the THREAD once: leave out --thread")
				}
				thread = args[0]
			}
			filter := map[string]any{"bridge_id": bridge, "thread_id": thread}
			if deleted {
				filter["include_deleted"] = true
			}
			if ended {
				filter["include_ended"] = true
			}
			return notifyListing.print(g, cmd, filter, limit)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&bridge, "bridge", "", "only through this bridge")
	flags.StringVar(&thread, "thread", "", "only of this thread")
	flags.BoolVar(&deleted, "deleted", false, "deleted ones too, whose position is kept")
	flags.BoolVar(&ended, "ended", false, "those of one turn, too, that has ended")
	bindLimit(cmd, &limit)
	return cmd
}

func newNotifyShowCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "show SUBSCRIPTION",
		Short: "Show how far a subscription has come, what waits, and what to do",
		Args:  cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			raw, r, err := ask[api.SubscriptionReadResult](c, "subscription/read", map[string]any{"subscription_id": args[0]})
			if err != nil {
				return ofSubscription(err)
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			return showSubscription(c, r.Subscription, r.LatestSeq)
		}),
	}
}

func showSubscription(c *caller, s bridges.SubscriptionView, latest int64) error {
	name := timeline.OneLine(s.SubscriptionID)
	bridge, err := readBridge(c, s.BridgeID)
	if err != nil && !client.IsKind(err, "bridge_not_found") { // one of a deleted subscription may be gone
		return err
	}
	last := "nothing yet"
	if s.Cursor.LastDeliveryID != "" {
		last = fmt.Sprintf("%s %s", whenAt(s.Cursor.LastDeliveredAt), s.Cursor.LastDeliveryID)
	}
	waits := ""
	if s.Pending > 0 {
		waits = counted(s.Pending, "message", "messages")
		if !s.NextAttemptAt.IsZero() && s.State == bridges.Active && bridge.State == bridges.Active {
			waits += ", next attempt " + whenAt(s.NextAttemptAt)
		}
	}
	dead := ""
	if s.Dead > 0 {
		dead = counted(s.Dead, "message was", "messages were") + " given up"
	}
	state := subscriptionState(s.Subscription)
	if b := s.Blocked; b != nil {
		holds := "later messages of its turn wait"
		if b.Holds == bridges.HoldsAll {
			holds = "everything waits"
		}
		state += fmt.Sprintf(", blocked at %d since %s: %s", b.Seq, whenAt(b.Since), holds)
	}
	if s.State == bridges.Active && bridge.BridgeID != "" && bridge.State != bridges.Active {
		state += ", but its bridge is " + bridgeState(bridge)
	}
	order := ""
	if s.Order == bridges.OrderStrict {
		order = "strict: what fails delays all"
	}
	if err := c.printFields(10, [][2]string{
		{"name", s.SubscriptionID}, {"sends", sends(s.Subscription)}, {"of", newsOf(s.Subscription)}, {"through", through(s.Subscription)}, {"order", order},
		{"state", state}, {"position", fmt.Sprintf("settled up to %d, looked at %d of %d", s.Cursor.LastSequence, s.Cursor.ScannedSeq, latest)},
		{"delivered", last}, {"waits", waits}, {"dead", dead}, {"error", s.Cursor.LastError},
	}); err != nil {
		return err
	}
	if s.Pending > 0 {
		if err := showMismatches(c, s.SubscriptionID); err != nil {
			return err
		}
	}
	switch {
	case s.State == bridges.Deleted:
		of := "thread"
		if s.TurnID != "" {
			of = "turn"
		}
		c.note("The same %s with --id %s goes on there.", of, name)
	case s.State != bridges.Active:
		c.note("%s", subscriptionAdvice(s.Subscription))
	case bridge.BridgeID != "" && bridge.State != bridges.Active:
		c.note("%s", bridgeAdvice(bridge))
	}
	if s.Dead > 0 {
		c.note("List those that were given up:  holon deliveries --dead --subscription %s\nSend one again:                 holon redeliver DELIVERY", name)
	}
	return nil
}

// showMismatches prints the ends that disagree with the rows of their turns.
func showMismatches(c *caller, id string) error {
	found, err := deliveryListing.fetch(c.ctx, c.client, map[string]any{"subscription_id": id, "state": bridges.StateMismatch}, 0)
	if err != nil || len(found.rows) == 0 {
		return err
	}
	for _, raw := range found.rows {
		var d bridges.Delivery
		if err := jsonv2.Unmarshal(raw, &d); err != nil {
			return fmt.Errorf("read a delivery: %w", err)
		}
		if err := c.printText(fmt.Sprintf("mismatch   %d of %s: %s\n", d.Seq, timeline.OneLine(d.TurnID), timeline.OneLine(d.Reason)), nil); err != nil {
			return err
		}
	}
	name := timeline.OneLine(id)
	c.note("An end and the rows of its turn disagree: the store is damaged. See: holon doctor --refold\nIt is judged again when the turn changes. To give one up: holon notify skip %s --seq N --reason TEXT", name)
	return nil
}

// subscriptionState reports whether a subscription sends, and why not.
func subscriptionState(s bridges.Subscription) string {
	switch {
	case s.State == bridges.Held:
		return "held: too many or too old messages wait"
	case s.State == bridges.Disabled && s.Reason == bridges.ReasonGone:
		return "disabled: the target says that it is gone (status 410)"
	case s.State == bridges.Ended:
		return "ended: its turn is over"
	case s.Reason != "":
		return string(s.State) + ": " + s.Reason
	}
	return string(s.State)
}

// subscriptionAdvice describes what to do about a subscription that does not send.
func subscriptionAdvice(s bridges.Subscription) string {
	name := timeline.OneLine(s.SubscriptionID)
	switch s.State {
	case bridges.Held:
		return fmt.Sprintf("Send them:   holon notify resume %s\nGive them up: holon notify skip %s --reason TEXT", name, name)
	case bridges.Disabled:
		return fmt.Sprintf("If the target is there again: holon notify resume %s\nOtherwise: holon notify rm %s", name, name)
	case bridges.Paused:
		return "It sends again after: holon notify resume " + name
	case bridges.Ended:
		return "A retry of the turn makes it go on: holon retry " + timeline.OneLine(s.TurnID)
	}
	return ""
}

// ofSubscription adds to the error of a request about a subscription what to do.
func ofSubscription(err error) error {
	switch {
	case client.IsKind(err, "subscription_not_found"):
		return &hintedError{err, "holon notify list lists them, holon notify list THREAD those of one thread; --deleted adds those that were deleted."}
	case client.IsKind(err, client.KindCursorAhead):
		return &hintedError{err, "The log does not have this seq yet. To start from now, give the newest seq."}
	case reasonOf(err) == "not_held":
		return &hintedError{err, "holon notify skip is for what is held, paused or disabled. To continue at another seq: holon notify reset"}
	case client.IsKind(err, "delivery_not_found"):
		return &hintedError{err, "--seq names a mismatch; holon notify show SUBSCRIPTION lists them."}
	}
	return err
}
