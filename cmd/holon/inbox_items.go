package main

import (
	"encoding/json"
	"fmt"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/inbox"
)

// inboxItems reads raw items, the newest last.
var inboxItems = listing{method: "inbox/items", member: "items"}

func newInboxItemsCommand(g *globals) *cobra.Command {
	var state, source, digest string
	var limit int
	cmd := &cobra.Command{
		Use:   "items [THREAD]",
		Short: "List the items of an inbox one by one, also those that wait in digests",
		Long: `Lists what has arrived in an inbox one by one, the newest last, and what has become of
it: pending (it waits in a digest for more of the same), posted (an entry shows it) or
acked. Without THREAD it is the inbox of the thread "me". What was removed long after
it was acknowledged is not listed.

  holon inbox items
  holon inbox items main --state pending
  holon inbox ack raw_42             acknowledge one of them`,
		Args: cobra.MaximumNArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			if limit < 0 {
				return usagef("--limit %d: give 0 for all, or more", limit)
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			thread, err := c.inboxThread(args)
			switch {
			case err != nil:
				return err
			case thread == "":
				return errNoOwnInbox()
			}
			found, err := inboxItems.fetch(c.ctx, c.client, map[string]any{"thread_id": thread, "state": state, "source": source, "digest_id": digest}, limit)
			if err != nil {
				return ofInbox(err, thread)
			}
			switch {
			case c.format == "toon":
				return c.printValue(map[string]any{"items": append([]json.RawMessage{}, found.rows...), "latest_seq": found.latest}, "items")
			case c.format != "text":
				return c.printRows(c.format, "items", found.rows, found.latest)
			}
			name := nameByID(c.finder(), thread)
			switch {
			case len(found.rows) > 0:
				if err := itemTable(c, found.rows); err != nil {
					return err
				}
			case state == string(inbox.ItemPending) && source == "" && digest == "":
				c.note("Nothing waits in digests. What can be read: holon inbox %s", name)
			case state != "" || source != "" || digest != "":
				c.note("The inbox of %s has no such items. All that it has: holon inbox items %s", name, name)
			default:
				c.note("The inbox of %s is empty. Write into it with: holon inbox send %s \"…\"", name, name)
			}
			if found.more {
				c.note("These are the newest %d; --limit 0 shows all.", len(found.rows))
			}
			return nil
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&state, "state", "", "only those that are pending, posted or acked")
	flags.StringVar(&source, "source", "", "only those of this source")
	flags.StringVar(&digest, "digest", "", "only those of this digest, such as dig_42")
	bindLimit(cmd, &limit)
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions([]string{"pending", "posted", "acked"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// itemTable prints items for a person. OUTCOME and DIGEST are there if an item has one.
func itemTable(c *caller, rows []json.RawMessage) error {
	items := make([]inbox.RawItem, len(rows))
	for i, raw := range rows {
		if err := jsonv2.Unmarshal(raw, &items[i]); err != nil {
			return fmt.Errorf("read an item: %w", err)
		}
	}
	columns := []struct {
		head string
		cell func(inbox.RawItem) string
	}{
		{"RAW_ID", func(it inbox.RawItem) string { return string(it.RawID) }},
		{"AGE", func(it inbox.RawItem) string { return age(it.OccurredAt.Time) }},
		{"SOURCE", func(it inbox.RawItem) string { return it.Source }},
		{"STATE", func(it inbox.RawItem) string { return string(it.State) }},
		{"OUTCOME", func(it inbox.RawItem) string { return it.Outcome }},
		{"DIGEST", func(it inbox.RawItem) string { return string(it.DigestID) }},
		{"SUMMARY", func(it inbox.RawItem) string {
			if it.Summary == "" {
				return it.NativeID
			}
			return it.Summary
		}},
	}
	var head []string
	for i := 0; i < len(columns); {
		col := columns[i]
		if !slices.ContainsFunc(items, func(it inbox.RawItem) bool { return col.cell(it) != "" }) {
			columns = slices.Delete(columns, i, i+1)
			continue
		}
		head = append(head, col.head)
		i++
	}
	t := newTable(head...)
	t.drop = []string{"SOURCE", "DIGEST"}
	for _, it := range items {
		var row []string
		for _, col := range columns {
			row = append(row, col.cell(it))
		}
		t.add(row...)
	}
	return t.write(c.console, len(head)-1)
}
