package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

func newNotifyRmCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "rm SUBSCRIPTION",
		Short: "Delete a subscription",
		Long: `Deletes a subscription and its target. Its position is kept: holon notify --id
with the same name and thread continues there, also through another bridge.`,
		Args: cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			return changeSubscription(g, cmd, "subscription/delete", args[0], map[string]any{}, func(bridges.SubscriptionView) string { return "deleted" })
		}),
	}
}

func newNotifyPauseCommand(g *globals) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "pause SUBSCRIPTION",
		Short: "Send nothing until it is resumed; news waits",
		Args:  cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			params := map[string]any{}
			if reason != "" {
				params["reason"] = reason
			}
			return changeSubscription(g, cmd, "subscription/pause", args[0], params, stateAfter)
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; others can read it")
	return cmd
}

func newNotifyResumeCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "resume SUBSCRIPTION",
		Short: "Let a paused, held or disabled subscription send again, with all that waits",
		Args:  cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			return changeSubscription(g, cmd, "subscription/resume", args[0], map[string]any{}, stateAfter)
		}),
	}
}

func newNotifyMoveCommand(g *globals) *cobra.Command {
	var bridge, to string
	cmd := &cobra.Command{
		Use:   "move SUBSCRIPTION --bridge NAME",
		Short: "Send to another target from now on, and what was not sent yet",
		Long: `Makes a subscription send through another bridge, or to another target. It goes on
where it is: what was not sent yet is sent there, under the same ids. What was
sent before stays where it is, and is changed no more.

  holon notify move ntfy-all --bridge slack --target '#builds'
  holon notify move slack-main --target '#ops'`,
		Args: cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			if bridge == "" && to == "" {
				return usagef("where to? Give --bridge NAME, --target TARGET, or both; holon bridge list lists the bridges")
			}
			return moveSubscription(g, cmd, args[0], bridge, to)
		}),
	}
	cmd.Flags().StringVar(&bridge, "bridge", "", "the bridge that sends the news from now on (default: the same)")
	bindTarget(cmd, &to)
	return cmd
}

// moveSubscription makes a subscription send elsewhere. With another bridge and no target it
// sends to that of the bridge.
func moveSubscription(g *globals, cmd *cobra.Command, id, bridge, to string) error {
	c, err := g.caller(cmd)
	if err != nil {
		return err
	}
	defer c.close()
	params := map[string]any{"subscription_id": id}
	name := bridge
	if name == "" {
		_, r, err := ask[api.SubscriptionReadResult](c, "subscription/read", params)
		if err != nil {
			return ofSubscription(err)
		}
		name = r.Subscription.BridgeID
	}
	b, err := readBridge(c, name)
	if err != nil {
		return err
	}
	target, err := parseTarget(b, to)
	if err != nil {
		return err
	}
	params["bridge_id"], params["target"] = name, target
	raw, r, err := change[bridges.SubscriptionResult](c, "subscription/update", "", params)
	if err != nil {
		return ofTarget(ofSubscription(err), b)
	}
	if c.format != "text" {
		return c.printData(raw, "")
	}
	text := fmt.Sprintf("%s: sends through %s", id, through(r.Subscription.Subscription))
	if n := r.Subscription.Pending; n > 0 {
		text += ", first " + counted(n, "message that was", "messages that were") + " not sent yet"
	}
	if err := c.printText(timeline.OneLine(text)+"\n", nil); err != nil {
		return err
	}
	if r.Subscription.State != bridges.Active {
		c.note("It is %s.\n%s", timeline.OneLine(subscriptionState(r.Subscription.Subscription)), subscriptionAdvice(r.Subscription.Subscription))
	}
	return nil
}

func newNotifyResetCommand(g *globals) *cobra.Command {
	var to int64
	var reason string
	cmd := &cobra.Command{
		Use:   "reset SUBSCRIPTION --to SEQ --reason TEXT",
		Short: "Continue after a seq: what was sent since is sent again",
		Long: `Makes a subscription go on after SEQ. What it has sent since is sent again,
under the same ids, so that a receiver knows it. The reason stays in the log.

  holon notify reset hook --to 4711 --reason "the receiver lost a day"`,
		Args: cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("to") || to < 0 {
				return usagef("after which seq? Give --to SEQ; --to 0 is the beginning")
			}
			if err := needReason(reason); err != nil {
				return err
			}
			return changeSubscription(g, cmd, "subscription/reset", args[0], map[string]any{"to_seq": to, "reason": reason},
				func(bridges.SubscriptionView) string { return fmt.Sprintf("goes on after %d", to) })
		}),
	}
	cmd.Flags().Int64Var(&to, "to", 0, "events above this seq are sent")
	cmd.Flags().StringVar(&reason, "reason", "", "why; it stays in the log")
	return cmd
}

func newNotifySkipCommand(g *globals) *cobra.Command {
	var seq int64
	var reason string
	cmd := &cobra.Command{
		Use:   "skip SUBSCRIPTION --reason TEXT",
		Short: "Give up what is held, or one mismatch",
		Long: `Gives up everything that waits, of a subscription that is held, paused or
disabled. One that was held then sends what comes from now on; others do when
they are resumed. With --seq it gives up one mismatch. The reason stays in the
log.

  holon notify skip ntfy-all --reason "old news"`,
		Args: cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			if err := needReason(reason); err != nil {
				return err
			}
			params := map[string]any{"reason": reason}
			if cmd.Flags().Changed("seq") {
				if seq < 1 {
					return usagef("--seq %d: give the seq of a mismatch; holon notify show %s lists them", seq, args[0])
				}
				params["seq"] = seq
			}
			return changeSubscription(g, cmd, "subscription/skip", args[0], params, func(s bridges.SubscriptionView) string {
				if seq != 0 {
					return fmt.Sprintf("%d is given up", seq)
				}
				return "what waited is given up; " + subscriptionState(s.Subscription)
			})
		}),
	}
	cmd.Flags().Int64Var(&seq, "seq", 0, "only this mismatch")
	cmd.Flags().StringVar(&reason, "reason", "", "why; it stays in the log")
	return cmd
}

func needReason(reason string) error {
	if strings.TrimSpace(reason) == "" {
		return usagef("why? Give --reason TEXT: it stays in the log")
	}
	return nil
}

func stateAfter(s bridges.SubscriptionView) string { return subscriptionState(s.Subscription) }

// changeSubscription calls a method about one subscription. In text, says is what
// has become of it.
func changeSubscription(g *globals, cmd *cobra.Command, method, id string, params map[string]any, says func(bridges.SubscriptionView) string) error {
	c, err := g.caller(cmd)
	if err != nil {
		return err
	}
	defer c.close()
	params["subscription_id"] = id
	raw, r, err := change[bridges.SubscriptionResult](c, method, "", params)
	if err != nil {
		return ofSubscription(err)
	}
	if c.format != "text" {
		return c.printData(raw, "")
	}
	return c.printText(timeline.OneLine(id+": "+says(r.Subscription))+"\n", nil)
}
