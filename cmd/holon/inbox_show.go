package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/cmd/holon/toon"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/sanitize"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/rpc/client"
)

func newInboxShowCommand(g *globals) *cobra.Command {
	var thread string
	var limit int
	cmd := &cobra.Command{
		Use:   "show ENTRY",
		Short: "Show an entry with everything that is in it",
		Long: `Shows the items of an entry as they arrived, the oldest first, also of one that is
acknowledged or superseded. Payloads that are no text are shown as TOON, which
reads like YAML. On a terminal long ones are cut; -o json prints them whole.

  holon inbox show ent_42`,
		Args: cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			if limit < 0 {
				return usagef("--limit %d: give 0 for all, or more", limit)
			}
			if _, err := entrySeq(args[0]); args[0] != latest && err != nil {
				return err
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			if thread, err = c.finder().inbox(thread); err != nil {
				return err
			}
			if args[0], err = entryNamed(c, thread, args[0], false); err != nil {
				return err
			}
			seq, err := entrySeq(args[0])
			if err != nil {
				return err
			}
			if thread == "" {
				if thread, err = c.threadOf(args[0]); err != nil {
					return err
				}
			}
			found, err := c.expand(thread, args[0], limit)
			if err != nil {
				return err
			}
			if found.Entry, err = c.entry(thread, seq); err != nil {
				return err
			}
			if c.format != "text" {
				return c.printValue(found, "items")
			}
			return found.print(c)
		}),
	}
	bindEntryThread(cmd, &thread)
	cmd.Flags().IntVarP(&limit, "limit", "n", 100, "show the first N items; 0 shows all")
	return cmd
}

// bindEntryThread adds --thread to a command about entries.
func bindEntryThread(cmd *cobra.Command, thread *string) {
	cmd.Flags().StringVar(thread, "thread", "", "the thread of the inbox (default: found by the entry)")
}

// entrySeq returns the number in the id of an entry: the seq of the event that posted
// it.
func entrySeq(id string) (int64, error) {
	seq, ok := notify.ID(id).Seq(inbox.EntryPrefix)
	if !ok {
		return 0, usagef("%q is no id of an entry, such as ent_42; holon inbox lists them", id)
	}
	return seq, nil
}

// entryNamed returns the id of the entry that a person names: "latest" is the newest one
// that is not acknowledged, in the inbox of thread, or in ownInbox if that is "". With
// as, the name is taken as it is.
func entryNamed(c *caller, thread, name string, as bool) (string, error) {
	if name != latest || as || c.format != "text" {
		return name, nil
	}
	if thread == "" {
		var err error
		if thread, err = c.needInboxThread(nil); err != nil {
			return "", err
		}
	}
	found, err := inboxList{limit: 1}.fetch(c, thread)
	switch {
	case err != nil:
		return "", err
	case len(found.Entries) == 0:
		return "", &hintedError{fmt.Errorf("nothing waits in the inbox of %s", nameByID(c.finder(), thread)), "Name another inbox with --thread THREAD; holon inbox --threads lists those in which something waits."}
	}
	var e inbox.Entry
	if err := jsonv2.Unmarshal(found.Entries[0], &e); err != nil {
		return "", fmt.Errorf("read an entry: %w", err)
	}
	return string(e.EntryID), nil
}

// threadOf finds the thread in whose inbox an entry or an item is by the event that posted or
// stored it.
func (c *caller) threadOf(id string) (string, error) {
	word, method, list := "entry", notify.InboxPosted, "holon inbox lists the entries."
	seq, ok := notify.ID(id).Seq(inbox.RawPrefix)
	if ok {
		word, method, list = "item", notify.InboxReceived, "holon inbox items lists the items."
	} else {
		var err error
		if seq, err = entrySeq(id); err != nil {
			return "", err
		}
	}
	_, page, err := ask[struct {
		Events []struct {
			Seq    int64  `json:"seq"`
			Method string `json:"method"`
			Params struct {
				ThreadID string `json:"thread_id"`
			} `json:"params"`
		} `json:"events"`
	}](c, "event/list", map[string]any{"after_seq": seq - 1, "limit": 1})
	switch {
	case client.IsKind(err, client.KindCursorExpired):
		return "", &hintedError{fmt.Errorf("the event of %s has been pruned, so its thread is unknown", id), "Name it: --thread THREAD"}
	case err != nil && !client.IsKind(err, client.KindCursorAhead):
		return "", err
	case len(page.Events) == 1 && page.Events[0].Seq == seq && page.Events[0].Method == method:
		return page.Events[0].Params.ThreadID, nil
	}
	return "", &hintedError{fmt.Errorf("there is no %s %s", word, id), list}
}

// expandedEntry is an entry with its items, as programs get it.
type expandedEntry struct {
	ThreadID string           `json:"thread_id"`
	Entry    jsontext.Value   `json:"entry,omitzero"`
	Items    []jsontext.Value `json:"items"` // as received

	more bool // later ones were left out
}

// expand reads the first items of an entry; limit 0 reads all.
func (c *caller) expand(thread, id string, limit int) (expandedEntry, error) {
	found := expandedEntry{ThreadID: thread, Items: []jsontext.Value{}}
	params := map[string]any{"thread_id": thread, "entry_id": id}
	var pages client.Pages
	for {
		params["limit"] = 1000
		if left := limit - len(found.Items); limit > 0 && left < 1000 {
			params["limit"] = left
		}
		_, page, err := ask[struct {
			Items []jsontext.Value `json:"items"`
			Next  notify.ID        `json:"next_after_raw_id"`
		}](c, "inbox/expand", params)
		if err != nil {
			return found, ofInbox(err, thread)
		}
		found.Items = append(found.Items, page.Items...)
		more, err := pages.Follow(string(page.Next))
		if err != nil {
			return found, fmt.Errorf("inbox/expand: %w", err)
		}
		if found.more = more; !more || limit > 0 && len(found.Items) >= limit {
			return found, nil
		}
		params["after_raw_id"] = page.Next
	}
}

// entry reads the entry with this number as it is now, nil if it is gone.
func (c *caller) entry(thread string, seq int64) (jsontext.Value, error) {
	params := map[string]any{"thread_id": thread, "limit": 1, "include_acked": true, "include_superseded": true}
	if seq > 1 {
		params["after_entry_id"] = inbox.EntryID(seq - 1)
	}
	_, page, err := ask[struct {
		Entries []jsontext.Value `json:"entries"`
	}](c, "inbox/read", params)
	if err != nil || len(page.Entries) == 0 {
		return nil, ofInbox(err, thread)
	}
	var e inbox.Entry
	if err := jsonv2.Unmarshal(page.Entries[0], &e); err != nil || e.EntryID != inbox.EntryID(seq) {
		return nil, err
	}
	return page.Entries[0], nil
}

// print prints the entry for a person.
func (f expandedEntry) print(c *caller) error {
	if f.Entry != nil {
		var e inbox.Entry
		if err := jsonv2.Unmarshal(f.Entry, &e); err != nil {
			return fmt.Errorf("read the entry: %w", err)
		}
		state := entryState(e)
		if !e.AckedAt.IsZero() {
			state += " " + whenAt(e.AckedAt)
		}
		told := ""
		if e.ToldByTurnID != "" {
			told = "in turn " + e.ToldByTurnID
		}
		if err := c.printFields(8, [][2]string{
			{"entry", string(e.EntryID)}, {"thread", f.ThreadID}, {"source", e.Source}, {"about", groupOf(e)}, {"summary", e.Summary}, {"link", shownLink(e.Link)},
			{"items", fmt.Sprint(e.Count)}, {"posted", whenAt(e.PostedAt)}, {"told", told}, {"state", state},
		}); err != nil {
			return err
		}
	}
	for _, raw := range f.Items {
		var item inbox.RawItem
		if err := jsonv2.Unmarshal(raw, &item); err != nil {
			return fmt.Errorf("read an item: %w", err)
		}
		if _, err := io.WriteString(c.out, "\n"+c.itemText(item)); err != nil {
			return err
		}
	}
	if f.more {
		c.note("These are the first %d items; --limit 0 shows all.", len(f.Items))
	}
	return nil
}

// shownLink returns a link of an entry or an item as people are shown it; "" if it is none.
func shownLink(address string) string {
	link, _, _ := sanitize.Link(address)
	return link
}

// groupOf returns what the items of an entry have in common; "" = nothing is known.
func groupOf(e inbox.Entry) string {
	switch {
	case e.Fallback:
		return "events of the kind " + e.EventFamily
	case e.EventFamily != "":
		return strings.TrimSpace(e.ResourceRef + " (" + e.EventFamily + ")")
	}
	return e.ResourceRef
}

// whenAt works like when, for a time.
func whenAt(t notify.Time) string {
	if t.IsZero() {
		return ""
	}
	text, err := t.MarshalText()
	if err != nil {
		return ""
	}
	return when(string(text))
}

// maxPayloadLines is how many lines of a payload a terminal shows: more than that
// hides the other items.
const maxPayloadLines = 40

// maxPayloadLine is how many bytes of one of these lines it shows.
const maxPayloadLine = 2000

// itemText returns an item for a person.
func (c *caller) itemText(item inbox.RawItem) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s", timeline.OneLine(string(item.RawID)), whenAt(item.OccurredAt))
	if item.Sender != "" {
		fmt.Fprintf(&b, "  from %s", timeline.OneLine(item.Sender))
	}
	if item.Outcome != "" {
		fmt.Fprintf(&b, "  %s", timeline.OneLine(item.Outcome))
	}
	if !item.AckedAt.IsZero() {
		b.WriteString("  (acknowledged)")
	}
	b.WriteString("\n")
	text := payloadText(item)
	// The summary of a message is the beginning of its text.
	if summary := timeline.OneLine(item.Summary); summary != "" && (item.Source != inbox.SourceMessage || text == "") {
		b.WriteString("  " + summary + "\n")
	}
	if link := shownLink(item.Link); link != "" {
		b.WriteString("  " + link + "\n")
	}
	lines := strings.Split(strings.TrimRight(timeline.Clean(text), "\n"), "\n")
	left := 0
	if c.isTerminal(c.out) && len(lines) > maxPayloadLines {
		left = len(lines) - maxPayloadLines
		lines = lines[:maxPayloadLines]
	}
	for _, line := range lines {
		if c.isTerminal(c.out) && len(line) > maxPayloadLine {
			line = strings.ToValidUTF8(line[:maxPayloadLine], "") + "…"
		}
		if line != "" || len(lines) > 1 {
			b.WriteString(strings.TrimRight("    "+line, " \t") + "\n")
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "    … %s; -o json shows all\n", counted(left, "more line", "more lines"))
	}
	if item.Truncated {
		fmt.Fprintf(&b, "    (only the beginning of %d bytes is kept)\n", item.TotalBytes)
	}
	return b.String()
}

// payloadText returns a payload for a person, not sanitized: the text of a message or
// a timer, other values as TOON.
func payloadText(item inbox.RawItem) string {
	var text string
	if item.Payload.Kind() == '"' && jsonv2.Unmarshal(item.Payload, &text) == nil {
		return text
	}
	if item.Source == inbox.SourceMessage || item.Source == inbox.SourceTimer {
		var message struct {
			Text string `json:"text"`
		}
		if jsonv2.Unmarshal(item.Payload, &message) == nil && message.Text != "" {
			return message.Text
		}
	}
	if len(item.Payload) == 0 {
		return ""
	}
	if pretty, err := toon.Append(nil, item.Payload); err == nil {
		return string(pretty)
	}
	pretty, err := json.MarshalIndent(json.RawMessage(item.Payload), "", "  ")
	if err != nil {
		return string(item.Payload)
	}
	return string(pretty)
}
