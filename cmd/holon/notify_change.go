package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

func newNotifyRmCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "rm SUBSCRIPTION",
		Short: "Delete a subscription",
		Long: `Deletes a subscription and its target. Its position is kept: holon notify --id
with the same name, bridge, thread and target continues there.`,
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
