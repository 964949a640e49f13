package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/rpc/client"
)

func newInboxWatchCommand(g *globals) *cobra.Command {
	var after string
	var limit int
	cmd := &cobra.Command{
		Use:   "watch [THREAD]",
		Short: "Follow an inbox live",
		Long: `Shows entries as they are posted, told, acknowledged and superseded, until Ctrl-C.
It reconnects by itself and misses nothing. Without THREAD it follows the thread
"me" if there is one, otherwise the inboxes of all threads.

-o jsonl prints every inbox/* event exactly as received, one per line, also those
of items that still wait in a digest. -o json prints one object with all of them,
finished when the watch ends.

  holon inbox watch
  holon inbox watch thread_… --after 0 -o jsonl`,
		Args: cobra.MaximumNArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			// Not toon: a stream has no end, and the rows of TOON need their number.
			format, err := g.format("text", "json", "jsonl")
			if err != nil {
				return err
			}
			options := client.Options{Methods: []string{"inbox/*"}}
			if format == "text" {
				options.Methods = shownInboxEvents
			}
			if options.AfterSeq, options.LogID, err = parseCursor(after); err != nil {
				return err
			}
			if limit < 0 {
				return usagef("--limit %d: give a number of events, or 0 for no limit", limit)
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			thread, err := c.inboxThread(args)
			if err != nil {
				return err
			}
			if thread != "" {
				options.ThreadIDs = []string{thread}
				wakes, err := readWakes(c, thread)
				if err != nil {
					return err
				}
				if line := tellNow(shownID(c.console, thread), wakes); format == "text" && line != "" {
					c.note("%s", line)
				}
			}
			if g.isTerminal(g.out) && format == "text" {
				c.note("Watching the inbox of %s; Ctrl-C ends it.", inboxName(c.console, thread))
			}
			return c.watchInbox(options, format, limit)
		}),
	}
	cmd.Flags().StringVar(&after, "after", "", "start after this seq (0: from the beginning); LOG_ID:SEQ also checks that it is the same log")
	cmd.Flags().IntVar(&limit, "limit", 0, "end after this many events; 0: no limit")
	return cmd
}

func inboxName(con *console, thread string) string {
	if thread == "" {
		return "every thread"
	}
	return shownID(con, thread)
}

func (c *caller) watchInbox(options client.Options, format string, limit int) error {
	var view viewer = &inboxViewer{silentViewer: silentViewer{c.console}, threads: len(options.ThreadIDs) != 1}
	if format != "text" {
		view = newViewer(c.console, format, timeline.Options{})
	}
	f := startFeed(c.ctx, c.client, options)
	defer f.end()
	seen, err := f.show(view, nil, nil, limit)
	if closeErr := view.Close(); err == nil {
		err = closeErr
	}
	if c.ctx.Err() != nil && (errors.Is(err, c.ctx.Err()) || errors.Is(err, context.Cause(c.ctx))) {
		err = nil // Ctrl-C ends the watch
	}
	if err == nil && seen > 0 && format == "text" && limit == 0 {
		again := "holon inbox watch"
		if len(options.ThreadIDs) == 1 {
			again += " " + nameByID(c.finder(), options.ThreadIDs[0])
		}
		c.note("stopped after seq %d; continue with: %s --after %d", seen, again, seen)
	}
	return err
}

// inboxViewer prints a line for each event that a person wants to see.
type inboxViewer struct {
	silentViewer
	threads bool // name the thread in every line
}

// Event implements viewer.
func (v *inboxViewer) Event(e client.Event) error {
	text, err := inboxEventText(v.con, e)
	if err != nil || text == "" {
		return err
	}
	line := when(e.Time.Format("2006-01-02T15:04:05.000Z07:00")) + "  "
	if v.threads {
		line += "[" + shownID(v.con, e.ThreadID) + "] "
	}
	line = timeline.OneLine(line + text)
	// OneLine joins the two spaces that set off the time.
	_, err = io.WriteString(v.con.out, strings.Replace(line, " ", "  ", 1)+"\n")
	return err
}

// shownInboxEvents are the events that inboxEventText has words for.
var shownInboxEvents = []string{
	notify.InboxPosted, notify.InboxAcked, notify.InboxTold, notify.InboxUntold, notify.InboxWoken, notify.InboxStalled,
}

// inboxEventText describes what an event means, "" for one that is not shown.
func inboxEventText(con *console, e client.Event) (string, error) {
	read := func(body any) error {
		if err := jsonv2.Unmarshal(e.Params, body); err != nil {
			return fmt.Errorf("read %s %d: %w", timeline.OneLine(e.Method), e.Seq, err)
		}
		return nil
	}
	switch e.Method {
	case notify.InboxPosted:
		var body inbox.Posted
		err := read(&body)
		if body.Reason == inbox.ReasonJob {
			return "", err // a program asks for it
		}
		entry := body.Entry
		text := fmt.Sprintf("%s from %s, %s: %s", entry.EntryID, entry.Source, counted(entry.Count, "item", "items"), entry.Summary)
		if body.SupersedesEntryID != "" {
			text += fmt.Sprintf(" (supersedes %s)", body.SupersedesEntryID)
		}
		return text, err
	case notify.InboxAcked:
		var body inbox.Acked
		err := read(&body)
		if body.By == inbox.ByJob {
			return "", err
		}
		by := ""
		if body.By == inbox.ByTurn {
			by = " at the end of turn " + shownID(con, body.TurnID)
		}
		if len(body.RawIDs) > 0 {
			return idList(body.RawIDs) + " acknowledged", err
		}
		return fmt.Sprintf("%s acknowledged%s, %s", idList(body.EntryIDs), by, counted(body.RawCount, "item", "items")), err
	case notify.InboxTold:
		var body inbox.Told
		err := read(&body)
		return fmt.Sprintf("%s told in turn %s", idList(body.EntryIDs), shownID(con, body.TurnID)), err
	case notify.InboxUntold:
		var body inbox.Untold
		err := read(&body)
		if body.Reason == inbox.UntoldLease {
			return fmt.Sprintf("%s new again: not acknowledged since turn %s", idList(body.EntryIDs), shownID(con, body.TurnID)), err
		}
		return fmt.Sprintf("%s new again: the agent said nothing in turn %s", idList(body.EntryIDs), shownID(con, body.TurnID)), err
	case notify.InboxWoken:
		var body inbox.Woken
		err := read(&body)
		if len(body.EntryIDs) == 0 {
			return "woken", err
		}
		return idList(body.EntryIDs) + " new again: woken", err
	case notify.InboxStalled:
		var body inbox.Stalled
		err := read(&body)
		return fmt.Sprintf("new entries start no turn any more: %s (holon inbox wake %s)", body.Reason.Says(), shownID(con, e.ThreadID)), err
	}
	return "", nil
}
