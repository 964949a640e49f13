package main

import (
	"fmt"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/rpc/client"
)

// ownInbox is the thread whose inbox is meant where no THREAD is given, if it
// exists: that of the person at the terminal.
const ownInbox = "me"

func newInboxCommand(g *globals) *cobra.Command {
	var list inboxList
	var threads bool
	cmd := &cobra.Command{
		Use:   "inbox [THREAD]",
		Short: "Read what has arrived from outside, and acknowledge it",
		Long: `Lists the entries of an inbox that are not acknowledged, the newest last. Without
THREAD it is the inbox of the thread "me" if there is one; otherwise, and with
--threads, the threads in whose inboxes something waits. An inbox of your own is
a thread of the agent mailbox:

  holon call thread/start '{"thread_id":"me","agent":"mailbox"}'

  holon inbox                        your entries
  holon inbox show ent_42            the contents of one
  holon inbox ack ent_42             acknowledge it; --all: everything you see
  holon inbox send me "look at it"   write into an inbox
  holon inbox items                  everything that has come, also what waits for more
  holon inbox watch                  live`,
		Args: cobra.MaximumNArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			if list.limit < 0 {
				return usagef("--limit %d: give 0 for all, or more", list.limit)
			}
			if threads && len(args) > 0 {
				return usagef("--threads is about all threads; leave out %s", args[0])
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			thread, err := c.inboxThread(args)
			if client.IsKind(err, threadNames.notFound) && len(args) > 0 {
				err = noInbox(cmd, args[0], err)
			}
			if err != nil {
				return err
			}
			if threads || thread == "" {
				return c.printInboxes(thread != "")
			}
			return list.print(c, thread)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&threads, "threads", false, "list the threads in whose inboxes something waits")
	flags.BoolVar(&list.acked, "acked", false, "acknowledged entries too")
	flags.BoolVar(&list.superseded, "superseded", false, "superseded entries too: earlier snapshots of a digest")
	bindLimit(cmd, &list.limit)
	cmd.AddCommand(
		newInboxShowCommand(g),
		newInboxItemsCommand(g),
		newInboxAckCommand(g),
		newInboxSendCommand(g),
		newInboxWatchCommand(g),
		newInboxPolicyCommand(g),
		newInboxSubscribeCommand(g),
		newInboxUnsubscribeCommand(g),
		newInboxSubscriptionsCommand(g),
		newInboxFlushCommand(g),
		newInboxWakeCommand(g),
	)
	return cmd
}

// noInbox adds to the error for a name that stands for no thread which subcommand it may
// mean.
func noInbox(cmd *cobra.Command, name string, err error) error {
	if is := nearest.Of(name, subcommands(cmd)); is != "" {
		return &hintedError{err, "Did you mean holon inbox " + is + "?"}
	}
	return err
}

// inboxThread returns the thread whose inbox a command is about: the one that is
// named, else ownInbox, else "" because that does not exist.
func (c *caller) inboxThread(args []string) (string, error) {
	if len(args) > 0 {
		return c.finder().inbox(args[0])
	}
	err := c.client.Call(c.ctx, "thread/read", map[string]any{"thread_id": ownInbox}, nil)
	if client.IsKind(err, "thread_not_found") {
		return "", nil
	}
	return ownInbox, err
}

// needInboxThread works like inboxThread, for a command that needs one, and changes it.
func (c *caller) needInboxThread(args []string) (thread string, err error) {
	if len(args) > 0 {
		return c.finder().telling().inbox(args[0])
	}
	thread, err = c.inboxThread(args)
	if err == nil && thread == "" {
		err = errNoOwnInbox()
	}
	return thread, err
}

func errNoOwnInbox() error {
	return usagef("which THREAD? Only a thread %q would be meant without one, and there is none", ownInbox)
}

// ofInbox adds to the error of a call about an inbox how its thread is started.
func ofInbox(err error, thread string) error {
	if !client.IsKind(err, "thread_not_found") {
		return err
	}
	return &hintedError{err, "holon threads lists the threads. Start an inbox of this name with: " + mailboxCommand(thread)}
}

// mailboxCommand starts a thread that has an inbox and no turns.
func mailboxCommand(thread string) string {
	return fmt.Sprintf(`holon call thread/start '{"thread_id":%s,"agent":"mailbox"}'`, quoted(thread))
}

// inboxList are the flags that choose entries.
type inboxList struct {
	acked, superseded bool
	limit             int // 0 = all
}

// inboxEntries is a list of entries as programs get it. The counts are of the
// whole inbox, as of the seq.
type inboxEntries struct {
	ThreadID       string           `json:"thread_id"`
	Entries        []jsontext.Value `json:"entries"` // as received, the newest last
	AsOfSeq        int64            `json:"as_of_seq"`
	UnackedEntries int              `json:"unacked_entries"`
	PendingItems   int              `json:"pending_items"`
	Wakes          *inbox.Wakes     `json:"wakes,omitzero"` // why its thread is not told what is new

	more bool // older ones were left out
}

// fetch reads the newest entries.
func (l inboxList) fetch(c *caller, thread string) (found inboxEntries, err error) {
	found = inboxEntries{ThreadID: thread, Entries: []jsontext.Value{}}
	params := map[string]any{"thread_id": thread, "order": api.OrderDesc}
	if l.acked {
		params["include_acked"] = true
	}
	if l.superseded {
		params["include_superseded"] = true
	}
	var pages client.Pages
	for first := true; ; first = false {
		params["limit"] = 1000
		if left := l.limit - len(found.Entries); l.limit > 0 && left < 1000 {
			params["limit"] = left
		}
		_, page, err := ask[struct {
			Entries []jsontext.Value `json:"entries"`
			AsOfSeq int64            `json:"as_of_seq"`
			Next    notify.ID        `json:"next_after_entry_id"`
			Unacked int              `json:"unacked_entries"`
			Pending int              `json:"pending_items"`
		}](c, "inbox/read", params)
		if err != nil {
			return found, ofInbox(err, thread)
		}
		if first { // the newest page: later ones have nothing newer
			found.AsOfSeq, found.UnackedEntries, found.PendingItems = page.AsOfSeq, page.Unacked, page.Pending
		}
		found.Entries = append(found.Entries, page.Entries...)
		more, err := pages.Follow(string(page.Next))
		if err != nil {
			return found, fmt.Errorf("inbox/read: %w", err)
		}
		if found.more = more; !more || l.limit > 0 && len(found.Entries) >= l.limit || len(found.Entries) >= maxRows {
			slices.Reverse(found.Entries)
			return found, nil
		}
		params["after_entry_id"] = page.Next
	}
}

// print fetches and prints entries.
func (l inboxList) print(c *caller, thread string) error {
	found, err := l.fetch(c, thread)
	if err != nil {
		return err
	}
	if found.Wakes, err = readWakes(c, thread); err != nil {
		return err
	}
	if c.format != "text" {
		return c.printValue(found, "entries")
	}
	if err := found.table(c); err != nil {
		return err
	}
	name := nameByID(c.finder(), thread)
	if len(found.Entries) == 0 && found.PendingItems == 0 {
		c.note("Nothing waits in the inbox of %s. Write into it with: holon inbox send %s \"…\"", name, name)
	}
	if found.more {
		c.note("These are the newest %d; --limit 0 shows all.", len(found.Entries))
	}
	if line := tellNow(shownID(c.console, thread), found.Wakes); line != "" {
		c.note("%s", line)
	}
	if n := found.PendingItems; n > 0 {
		c.note("%s in digests for more of the same; post them now with: holon inbox flush %s", counted(n, "item waits", "items wait"), name)
	}
	return nil
}

// table prints entries for a person. STATE is there if an entry has one.
func (f inboxEntries) table(c *caller) error {
	if len(f.Entries) == 0 {
		return nil
	}
	entries := make([]inbox.Entry, len(f.Entries))
	for i, raw := range f.Entries {
		if err := jsonv2.Unmarshal(raw, &entries[i]); err != nil {
			return fmt.Errorf("read an entry: %w", err)
		}
	}
	head := []string{"ENTRY", "AGE", "SOURCE", "ITEMS", "SUMMARY"}
	states := slices.ContainsFunc(entries, func(e inbox.Entry) bool { return entryState(e) != "" })
	if states {
		head = slices.Insert(head, 4, "STATE")
	}
	t := newTable(head...)
	t.drop = []string{"SOURCE", "ITEMS"}
	for _, e := range entries {
		row := []string{string(e.EntryID), age(e.LastAt.Time), e.Source, fmt.Sprint(e.Count), e.Summary}
		if states {
			row = slices.Insert(row, 4, entryState(e))
		}
		t.add(row...)
	}
	return t.write(c.console, len(head)-1)
}

// entryState describes what has become of an entry, "" for nothing yet.
func entryState(e inbox.Entry) string {
	switch {
	case !e.AckedAt.IsZero():
		return "acknowledged"
	case e.SupersededBy != "":
		return "superseded by " + string(e.SupersededBy)
	case e.ToldByTurnID != "":
		return "told"
	}
	return ""
}

// printInboxes lists the threads in whose inboxes something waits. own says that
// ownInbox exists.
func (c *caller) printInboxes(own bool) error {
	type row struct {
		ThreadID string          `json:"thread_id"`
		Agent    string          `json:"agent"`
		Title    string          `json:"title"`
		Inbox    api.InboxCounts `json:"inbox"`
	}
	found, err := threadListing.fetch(c.ctx, c.client, nil, 0)
	if err != nil {
		return err
	}
	result := struct {
		Threads []jsontext.Value `json:"threads"`
		Latest  int64            `json:"latest_seq"`
	}{[]jsontext.Value{}, found.latest}
	t := newTable("THREAD", "UNACKED", "PENDING", "AGENT", "TITLE")
	t.drop = []string{"AGENT", "TITLE"}
	for _, raw := range found.rows {
		var thread row
		if err := jsonv2.Unmarshal(raw, &thread); err != nil {
			return fmt.Errorf("read a thread: %w", err)
		}
		if thread.Inbox.Unacked+thread.Inbox.Pending == 0 {
			continue
		}
		result.Threads = append(result.Threads, jsontext.Value(raw))
		t.add(tableID(c.console)(thread.ThreadID), fmt.Sprint(thread.Inbox.Unacked), fmt.Sprint(thread.Inbox.Pending), thread.Agent, thread.Title)
	}
	if c.format != "text" {
		return c.printValue(result, "threads")
	}
	if len(result.Threads) > 0 {
		if err := t.write(c.console, 4); err != nil {
			return err
		}
		c.note("Read one with: holon inbox THREAD")
		return nil
	}
	c.note("Nothing waits in the inbox of any thread.")
	if !own {
		c.note("%s", "Start an inbox of your own with: "+mailboxCommand(ownInbox))
	}
	return nil
}

// age formats for a table how long ago something was: in one unit.
func age(at time.Time) string {
	d := max(0, time.Since(at))
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// quoted returns a text as JSON within single quotes of a shell.
func quoted(s string) string {
	raw, err := jsontext.AppendQuote(nil, timeline.OneLine(s))
	if err != nil || slices.Contains(raw, '\'') {
		return `"…"`
	}
	return string(raw)
}
