package main

import (
	"cmp"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/inbox"
)

func newInboxSubscribeCommand(g *globals) *cobra.Command {
	var filter, id string
	var threads, methods []string
	cmd := &cobra.Command{
		Use:   "subscribe THREAD SOURCE",
		Short: "Connect a source to an inbox",
		Long: `Connects a source to the inbox of THREAD. SOURCE is one that the configuration of
the server names, or "events": what happens in other threads.

  holon inbox subscribe me events                       the ends of all turns
  holon inbox subscribe me events --method questions    what waits for a person
  holon inbox subscribe me events --thread-id thread_…  of this thread only
  holon inbox subscribe me ci --filter 'payload.branch == "main"'`,
		Args: cobra.ExactArgs(2),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			params := map[string]any{"source": args[1]}
			if filter != "" {
				params["filter"] = filter
			}
			if id != "" {
				params["subscription_id"] = id
			}
			if len(methods) > 0 {
				params["methods"] = methods
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			if args[0], err = c.finder().telling().inbox(args[0]); err != nil {
				return err
			}
			if threads, err = c.finder().telling().threads(threads); err != nil {
				return err
			}
			params["thread_id"] = args[0]
			if len(threads) > 0 {
				params["thread_ids"] = threads
			}
			raw, result, err := change[inbox.SubscribeResult](c, "inbox/subscribe", "", params)
			if err != nil {
				return ofInbox(err, args[0])
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			name := timeline.OneLine(result.Subscription.SubscriptionID)
			text := name + "\n"
			if !result.Created {
				text = name + " (it existed)\n"
			}
			if err := c.printText(text, nil); err != nil {
				return err
			}
			c.note("End it with: holon inbox unsubscribe %s %s", nameByID(c.finder(), args[0]), name)
			return nil
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&filter, "filter", "", "only items for which this expression is true; for sources of the configuration")
	flags.StringArrayVar(&threads, "thread-id", nil, "only events of this thread; repeatable, for events")
	flags.StringArrayVar(&methods, "method", nil, "only events with this method, a kind such as thread/*, final or questions; repeatable, for events")
	flags.StringVar(&id, "id", "", "the id of the subscription; repeating it makes no second one")
	return cmd
}

func newInboxUnsubscribeCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "unsubscribe THREAD SUBSCRIPTION",
		Short: "End a subscription",
		Args:  cobra.ExactArgs(2),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			if args[0], err = c.finder().telling().inbox(args[0]); err != nil {
				return err
			}
			raw, result, err := change[inbox.UnsubscribeResult](c, "inbox/unsubscribe", "", map[string]any{"thread_id": args[0], "subscription_id": args[1]})
			if err != nil {
				return ofInbox(err, args[0])
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			return c.printText(timeline.OneLine(result.SubscriptionID)+": ended\n", nil)
		}),
	}
}

func newInboxSubscriptionsCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "subscriptions [THREAD]",
		Short: "List the subscriptions of an inbox",
		Long: `Lists the sources that are connected to the inbox of THREAD, with what each has
brought since the server started.`,
		Args: cobra.MaximumNArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			thread, err := c.needInboxThread(args)
			if err != nil {
				return err
			}
			_, read, err := ask[subscriptions](c, "thread/read", map[string]any{"thread_id": thread, "include_inbox": true})
			if err != nil {
				return ofInbox(err, thread)
			}
			if c.format != "text" {
				return c.printValue(read, "subscriptions")
			}
			if len(read.Subscriptions) == 0 {
				name := nameByID(c.finder(), thread)
				c.note("Nothing is connected to the inbox of %s. For the ends of all turns: holon inbox subscribe %s events", name, name)
				return nil
			}
			t := newTable("SUBSCRIPTION", "SOURCE", "WHAT", "RECEIVED", "FAILED", "LAST ERROR")
			t.drop = []string{"LAST ERROR", "FAILED", "RECEIVED"}
			for _, raw := range read.Subscriptions {
				var s api.SubscriptionView
				if err := jsonv2.Unmarshal(raw, &s); err != nil {
					return fmt.Errorf("read a subscription: %w", err)
				}
				t.add(s.SubscriptionID, s.Source, subscribedTo(s.Subscription), fmt.Sprint(s.Activity.Received), fmt.Sprint(s.Activity.Failed), s.Activity.LastError)
			}
			return t.write(c.console, 2)
		}),
	}
}

// subscriptions are the members of thread/read that a program gets.
type subscriptions struct {
	Subscriptions []jsontext.Value `json:"subscriptions"`
	LatestSeq     int64            `json:"latest_seq"`
}

// subscribedTo describes what a subscription lets through.
func subscribedTo(s inbox.Subscription) string {
	if s.Source != inbox.SourceEvents {
		return cmp.Or(s.Filter, "everything")
	}
	text := cmp.Or(strings.Join(s.Methods, ", "), "final")
	if len(s.ThreadIDs) > 0 {
		text += " of " + strings.Join(s.ThreadIDs, ", ")
	}
	return text
}
