package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/rpc/client"
)

func newInboxAckCommand(g *globals) *cobra.Command {
	var thread, through string
	var all bool
	cmd := &cobra.Command{
		Use:   "ack ENTRY… | RAW_ID… | --through ENTRY | --all [THREAD]",
		Short: "Acknowledge entries, or single items of them",
		Long: `Acknowledges exactly the items that the entries show, or exactly the items that are
named. What has arrived since then stays. Repeating it changes nothing.

  holon inbox ack ent_42 ent_57
  holon inbox ack raw_40 raw_41      these items alone; holon inbox items lists them
  holon inbox ack --through ent_57   this one and all before it
  holon inbox ack --all              prints the entries, and acknowledges these`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case all && through != "":
				return usagef("give either --all or --through ENTRY")
			case all && (len(args) > 1 || len(args) == 1 && thread != ""):
				return usagef("--all takes one THREAD, and no entries")
			case through != "" && len(args) > 0:
				return usagef("--through ENTRY takes no further entries")
			case !all && through == "" && len(args) == 0:
				return usagef("which entries? Give their ids, --through ENTRY or --all; holon inbox lists them")
			}
			if all {
				return nil
			}
			if items := itemsNamed(args); items > 0 && items < len(args) {
				return usagef("give either entries or items; an entry stands for all that it shows")
			} else if items > 0 {
				return nil
			}
			for _, id := range append(args, through) {
				if _, err := entrySeq(id); id != "" && id != latest && err != nil {
					return err
				}
			}
			return nil
		},
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			if thread, err = c.finder().telling().inbox(thread); err != nil {
				return err
			}
			items := itemsNamed(args)
			if args, err = each(args, func(name string) (string, error) { return entryNamed(c, thread, name, all) }); err != nil {
				return err
			}
			if through, err = entryNamed(c, thread, through, false); err != nil {
				return err
			}
			params := map[string]any{}
			var shown []jsontext.Value // with --all: what is acknowledged
			switch {
			case all:
				if thread != "" {
					args = []string{thread}
				}
				if thread, err = c.needInboxThread(args); err != nil {
					return err
				}
				seen, err := inboxList{}.fetch(c, thread)
				if err != nil {
					return err
				}
				if seen.more {
					return fmt.Errorf("there are more than %d entries: acknowledge them in parts, with --through ENTRY", len(seen.Entries))
				}
				if shown = seen.Entries; c.format == "text" {
					if err := seen.table(c); err != nil {
						return err
					}
				}
				params["all"], params["as_of_seq"] = true, seen.AsOfSeq
			case through != "":
				params["through_entry_id"] = through
				args = []string{through}
			case items > 0:
				params["raw_ids"] = args
			default:
				params["entry_ids"] = args
			}
			if thread == "" {
				if thread, err = c.threadOf(args[0]); err != nil {
					return err
				}
			}
			return c.ack(thread, params, shown)
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "everything that can be read now, in the inbox of THREAD")
	cmd.Flags().StringVar(&through, "through", "", "this entry and all that were visible when it was posted")
	bindEntryThread(cmd, &thread)
	return cmd
}

// itemsNamed counts the ids of items among those that are given.
func itemsNamed(ids []string) (n int) {
	for _, id := range ids {
		if _, ok := notify.ID(id).Seq(inbox.RawPrefix); ok {
			n++
		}
	}
	return n
}

// ack acknowledges and prints the result. Programs also get the entries that were
// shown to people before, if any.
func (c *caller) ack(thread string, params map[string]any, shown []jsontext.Value) error {
	params["thread_id"] = thread
	raw, result, err := change[inbox.AckResult](c, "inbox/ack", "", params)
	if refused, ok := errors.AsType[*client.Error](err); ok {
		name := nameByID(c.finder(), thread)
		hint := ""
		switch {
		case refused.Reason == inbox.ReasonPending:
			hint = fmt.Sprintf("Post what waits in digests with: holon inbox flush %s", name)
		case params["raw_ids"] != nil && slices.Contains([]string{"item_not_found", "entry_expired"}, refused.Kind):
			hint = fmt.Sprintf("All items must be in the inbox of %s; holon inbox items %s lists them.", name, name)
		case slices.Contains([]string{"entry_not_found", "entry_expired"}, refused.Kind):
			hint = fmt.Sprintf("All entries must be in the inbox of %s; holon inbox %s lists them.", name, name)
		}
		if hint != "" {
			return &hintedError{fmt.Errorf("%w; nothing is acknowledged", err), hint}
		}
	}
	if err != nil {
		return ofInbox(err, thread)
	}
	switch {
	case c.format != "text" && shown != nil:
		return c.printValue(struct {
			Entries []jsontext.Value `json:"entries"`
			inbox.AckResult
		}{shown, result}, "")
	case c.format != "text":
		return c.printData(raw, "")
	}
	text := fmt.Sprintf("Acknowledged %s with %s.", counted(result.AckedEntries, "entry", "entries"), counted(result.AckedItems, "item", "items"))
	if params["raw_ids"] != nil {
		text = fmt.Sprintf("Acknowledged %s.", counted(result.AckedItems, "item", "items"))
	}
	if result.AckedItems == 0 {
		text = "Nothing has changed: there was nothing left to acknowledge."
	}
	switch {
	case len(result.RemainderEntryIDs) > 0 && params["raw_ids"] != nil:
		text += " The other items are in " + idList(result.RemainderEntryIDs) + "."
	case len(result.RemainderEntryIDs) > 0:
		text += " What has arrived since is in " + idList(result.RemainderEntryIDs) + "."
	}
	return c.printText(text+"\n", nil)
}

func newInboxSendCommand(g *globals) *cobra.Command {
	var sender, key string
	cmd := &cobra.Command{
		Use:   "send THREAD TEXT…",
		Short: "Write a message into an inbox",
		Long: `Writes a message into the inbox of a thread, where it is one entry. TEXT "-" reads
it from stdin.

  holon inbox send me "look at the build"
  git log -1 | holon inbox send me -`,
		Args: cobra.MinimumNArgs(2),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args[1:], " ")
			if text == "-" {
				data, err := io.ReadAll(g.in)
				if err != nil {
					return fmt.Errorf("read the text from stdin: %w", err)
				}
				text = strings.TrimRight(string(data), "\r\n")
			}
			if strings.TrimSpace(text) == "" {
				return usagef(`there is no text; give one: holon inbox send %s "hello"`, args[0])
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			if args[0], err = c.finder().telling().inbox(args[0]); err != nil {
				return err
			}
			params := map[string]any{"thread_id": args[0], "text": text}
			if sender != "" {
				params["sender"] = sender
			}
			raw, result, err := change[inbox.SendResult](c, "inbox/send", key, params)
			if err != nil {
				return ofInbox(err, args[0])
			}
			if c.format != "text" {
				return c.printData(raw, "")
			}
			return c.printText(timeline.OneLine(string(result.EntryID))+"\n", nil)
		}),
	}
	cmd.Flags().StringVar(&sender, "sender", "", "who writes, one line")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "the same key and text are sent only once, however often this is run")
	return cmd
}

func newInboxFlushCommand(g *globals) *cobra.Command {
	var digest string
	cmd := &cobra.Command{
		Use:   "flush [THREAD]",
		Short: "Post now the items that wait in digests",
		Args:  cobra.MaximumNArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			params := map[string]any{}
			if digest != "" {
				params["digest_id"] = digest
			}
			return entriesCommand(g, cmd, args, "inbox/flush", params, "Posted %s.", "Nothing waits in a digest.")
		}),
	}
	cmd.Flags().StringVar(&digest, "digest", "", "only this digest, such as dig_42")
	return cmd
}

func newInboxWakeCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "wake THREAD",
		Short: "Tell the agent again what is not acknowledged",
		Long: `Marks entries as new again that the thread's agent was told but that are not
acknowledged. It also removes what keeps new entries from starting a turn: an
interrupt by a person, or a bound on wakes. It starts nothing if the policy of the
inbox says "wake none".`,
		Args: cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			return entriesCommand(g, cmd, args, "inbox/wake", map[string]any{}, "New again: %s.", "No interrupt and no bound keeps it from being woken any more.")
		}),
	}
}

// entriesCommand calls a method that answers with entries. In text, some has
// their ids.
func entriesCommand(g *globals, cmd *cobra.Command, args []string, method string, params map[string]any, some, none string) error {
	c, err := g.caller(cmd)
	if err != nil {
		return err
	}
	defer c.close()
	thread, err := c.needInboxThread(args)
	if err != nil {
		return err
	}
	params["thread_id"] = thread
	raw, result, err := change[inbox.EntriesResult](c, method, "", params)
	if err != nil {
		return ofInbox(err, thread)
	}
	return c.printEntryIDs(raw, result.EntryIDs, some, none)
}

func (c *caller) printEntryIDs(raw jsontext.Value, ids []notify.ID, some, none string) error {
	switch {
	case c.format != "text":
		return c.printData(raw, "")
	case len(ids) == 0:
		return c.printText(none+"\n", nil)
	}
	return c.printText(fmt.Sprintf(some, idList(ids))+"\n", nil)
}

// shownIDs is how many ids a sentence names.
const shownIDs = 10

// idList names ids in a sentence.
func idList(ids []notify.ID) string {
	var names []string
	for _, id := range ids[:min(len(ids), shownIDs)] {
		names = append(names, timeline.OneLine(string(id)))
	}
	text := strings.Join(names, ", ")
	if n := len(ids) - shownIDs; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
