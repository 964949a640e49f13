package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/rpc/client"
)

func newWatchCommand(g *globals) *cobra.Command {
	var options client.Options
	var after, superseded, consumer, content string
	var limit int
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Follow what happens, live or from a cursor",
		Long: `Shows events as they happen, as a timeline on a terminal and as plain lines
elsewhere, until Ctrl-C. It reconnects by itself and misses no event.

A retry supersedes earlier output. On a terminal its lines are removed
(--superseded=hide) or struck out (mark), unless they have scrolled away; in
plain lines a marker says what is superseded. show changes nothing.

--within follows a thread and all threads below it, also those that start later.
--content summary shows only the type and the title of each item, not what agents
print. --whole shows one thread in full all the same.

-o jsonl prints every notification exactly as received, one per line, superseded
ones too unless --superseded=hide asks the server to leave them out.
-o json prints one object with all of them, finished when the watch ends.

--consumer keeps the position in a cursor of this name on the server: the watch
starts after it (0: a new one), and advances it past what it has printed, at
least once a second. After a crash it prints again what it had not confirmed.
Use a name with the same --thread, --within and --method each time.

  holon watch                                 everything from now on
  holon watch --after 0                       everything from the beginning, then live
  holon watch --consumer laptop               everything since the last time
  holon watch --thread thread_… --method 'item/*'
  holon watch --within thread_… --content summary
  holon watch --content summary --whole thread_…
  holon watch --after 0 --limit 100 -o jsonl`,
		Args: cobra.NoArgs,
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			format, err := g.format("text", "json", "jsonl")
			if err != nil {
				return err
			}
			if options.AfterSeq, options.LogID, err = parseCursor(after); err != nil {
				return err
			}
			if limit < 0 {
				return usagef("--limit %d: give a number of events, or 0 for no limit", limit)
			}
			if cmd.Flags().Changed("consumer") && strings.TrimSpace(consumer) == "" {
				return usagef("--consumer: give a name, such as laptop")
			}
			if options.Summary = content == contentSummary; content != "" && !options.Summary {
				return usagef("--content %s: give %s, or leave it out for all", content, contentSummary)
			}
			if len(options.WholeThreadIDs) > 0 && !options.Summary {
				return usagef("--whole: give --content %s with it; without it all threads are whole", contentSummary)
			}
			mode, err := supersededMode(superseded, format)
			if err != nil {
				return err
			}
			c, err := g.client(cmd)
			if err != nil {
				return err
			}
			defer c.Close()
			find := g.finder(cmd, c)
			if options.ThreadIDs, err = find.followed(options.ThreadIDs); err != nil {
				return err
			}
			if options.WithinThreadIDs, err = find.followed(options.WithinThreadIDs); err != nil {
				return err
			}
			if options.WholeThreadIDs, err = find.followed(options.WholeThreadIDs); err != nil {
				return err
			}
			if mode == timeline.Hide {
				// The server need not send it if it can leave it out.
				options.Collapse = format != "text" || collapses(cmd.Context(), c)
			}
			var k *keeper
			if consumer != "" {
				var start int64
				if k, start, err = readPosition(cmd.Context(), c, consumer, options.ThreadIDs); err != nil {
					return err
				}
				defer k.stop()
				if options.AfterSeq == nil {
					options.AfterSeq = &start
				}
			}
			return watch(cmd.Context(), &g.console, c, options, format, mode, limit, k)
		}),
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&options.ThreadIDs, "thread", nil, "only this thread; repeatable")
	flags.StringArrayVar(&options.WithinThreadIDs, "within", nil, "only this thread and those below it; repeatable")
	flags.StringVar(&content, "content", "", "summary: without what agents print")
	flags.StringArrayVar(&options.WholeThreadIDs, "whole", nil, "with --content summary: show this thread in full; repeatable")
	flags.StringArrayVar(&options.Methods, "method", nil, "only this method, or a kind such as item/*; repeatable")
	flags.StringVar(&after, "after", "", "start after this seq (0: from the beginning); LOG_ID:SEQ also checks that it is the same log")
	flags.StringVar(&consumer, "consumer", "", "start after the cursor of this name, and advance it")
	flags.StringVar(&superseded, "superseded", "", "superseded lines: hide (default), mark or show")
	flags.IntVar(&limit, "limit", 0, "end after this many events; 0: no limit")
	return cmd
}

// contentSummary is the only value of --content.
const contentSummary = "summary"

// supersededMode reads --superseded. By default programs get the log unchanged.
func supersededMode(flag, format string) (timeline.Superseded, error) {
	mode := timeline.Superseded(flag)
	switch {
	case flag == "" && format == "text":
		return timeline.Hide, nil
	case flag == "":
		return timeline.Show, nil
	case mode != timeline.Hide && mode != timeline.Mark && mode != timeline.Show:
		return "", usagef("--superseded: %s", nearest.NoneOf(mode, []timeline.Superseded{timeline.Hide, timeline.Mark, timeline.Show}))
	case mode == timeline.Mark && format != "text":
		return "", usagef("--superseded mark: -o %s has nothing to mark it with; give hide or show", format)
	}
	return mode, nil
}

// collapses reports whether the server can leave out superseded events. If the
// call fails, the next call reports why.
func collapses(ctx context.Context, c *client.Client) bool {
	var hello struct {
		Capabilities struct {
			Collapse json.RawMessage `json:"collapse"` // false if there is none
		} `json:"capabilities"`
	}
	if c.Call(ctx, "initialize", nil, &hello) != nil {
		return false
	}
	var kinds []string
	return json.Unmarshal(hello.Capabilities.Collapse, &kinds) == nil && slices.Contains(kinds, "superseded")
}

// parseCursor reads SEQ or LOG_ID:SEQ; "" is a live subscription.
func parseCursor(text string) (after *int64, logID string, err error) {
	if text == "" {
		return nil, "", nil
	}
	number := text
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		logID, number = text[:i], text[i+1:]
	}
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil || seq < 0 || strings.HasPrefix(number, "+") {
		return nil, "", usagef("--after %q: give a seq such as 41, or LOG_ID:41", text)
	}
	return &seq, logID, nil
}

// viewer shows the items of a feed; a timeline.Renderer is one.
type viewer interface {
	Event(client.Event) error
	State(client.State) error
	Tick() error
	Close() error
}

func watch(ctx context.Context, con *console, c *client.Client, options client.Options, format string, superseded timeline.Superseded, limit int, k *keeper) error {
	view := newViewer(con, format, timeline.Options{
		Threads: len(options.ThreadIDs) != 1, Short: tableID(con), Title: titleOf(ctx, c),
		Superseded: superseded, HowToAnswer: true, Idle: "waiting for events",
	})
	f := startFeed(ctx, c, options)
	defer f.end()
	var children *childFeed
	if format == "text" && len(options.ThreadIDs) > 0 && len(options.WithinThreadIDs) == 0 {
		children = startChildFeed(ctx, c, options.AfterSeq, func(threadID, _ string) bool { return slices.Contains(options.ThreadIDs, threadID) })
		children.apart, children.summary, children.whole = options.ThreadIDs, options.Summary, options.WholeThreadIDs
		defer children.end()
	}
	f.keeper = k
	if format == "text" && !con.isTerminal(con.out) { // a terminal has a line of status
		f.idle = func() { con.note("Nothing to show yet: waiting for events. Ctrl-C ends.") }
	}
	seen, err := f.show(view, children, con.ticks(), limit)
	if closeErr := view.Close(); closeErr != nil {
		k.stop() // what was held back may not have been printed
		err = cmp.Or(err, closeErr)
	} else if k != nil {
		endKeeper(ctx, con, k, seen, err)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil // Ctrl-C ends the watch
	}
	if err == nil && seen > 0 && format == "text" && limit == 0 && k != nil {
		con.note("stopped after seq %d; continue with: holon watch --consumer %s", seen, timeline.OneLine(k.consumer))
	} else if err == nil && seen > 0 && format == "text" && limit == 0 {
		con.note("stopped after seq %d; continue with: holon watch --after %d", seen, seen)
	}
	return err
}

// titlePatience bounds the question for a title: the events wait for it.
const titlePatience = time.Second

// titleOf asks the server for titles of threads, "" for one that it does not tell.
func titleOf(ctx context.Context, c *client.Client) func(id string) string {
	return func(id string) string {
		ctx, cancel := context.WithTimeout(ctx, titlePatience)
		defer cancel()
		var read struct {
			Thread struct {
				Title string `json:"title"`
			} `json:"thread"`
		}
		if c.Call(ctx, "thread/read", map[string]any{"thread_id": id}, &read) != nil {
			return ""
		}
		return read.Thread.Title
	}
}

// endKeeper confirms what a watch has printed, and says if that could not be done.
// The cursor of another log is left alone.
func endKeeper(ctx context.Context, con *console, k *keeper, seen int64, err error) {
	if client.IsKind(err, client.KindLogChanged) {
		k.stop()
		return
	}
	if at, err := k.end(ctx, seen); at < seen {
		why := "the connection is lost"
		if err != nil {
			why = timeline.OneLine(err.Error())
		}
		con.note("holon: the cursor %s is at %d, not at %d: %s; the next watch shows again what came between", timeline.OneLine(k.consumer), at, seen, why)
	}
}

// show runs the loop and returns the last seq shown, of children aside.
func (f *feed) show(view viewer, children *childFeed, ticks <-chan time.Time, limit int) (seen int64, err error) {
	count := 0
	var quiet <-chan time.Time
	if f.idle != nil {
		quiet = time.After(quietFor)
	}
	for {
		found, own := children.items()
		select {
		case item, open := <-found:
			err = children.show(view, item, open, true)
		case item, open := <-own:
			err = children.show(view, item, open, false)
		case item, open := <-f.items:
			if !open {
				return seen, f.err
			}
			if item.state != nil {
				f.keeper.state(*item.state)
				err = view.State(*item.state)
			} else if err = view.Event(item.event); err == nil {
				seen = max(seen, item.event.Seq)
				count++
				quiet = nil
			}
			if err != nil || limit > 0 && count == limit {
				return seen, err
			}
		case <-f.keeper.ticks():
			f.keeper.keep(printed(view, seen))
		case <-ticks:
			err = view.Tick()
		case <-quiet:
			quiet = nil
			f.idle()
		}
		if err != nil {
			return seen, err
		}
	}
}

func newViewer(con *console, format string, options timeline.Options) viewer {
	switch format {
	case "jsonl":
		return lineViewer{silentViewer{con}}
	case "json":
		return &objectViewer{silentViewer: silentViewer{con}}
	}
	return con.newTimeline(options)
}

// silentViewer shows only changes of the connection, on stderr.
type silentViewer struct{ con *console }

func (v silentViewer) Event(client.Event) error   { return nil }
func (v silentViewer) State(s client.State) error { v.con.noteState(s); return nil }
func (v silentViewer) Tick() error                { return nil }
func (v silentViewer) Close() error               { return nil }

// lineViewer prints each notification as received.
type lineViewer struct{ silentViewer }

func (v lineViewer) Event(e client.Event) error {
	_, err := v.con.jsonOut().Write(append(e.Line, '\n'))
	return err
}

// objectViewer prints one object and writes its events at once, so that memory
// does not grow with them.
type objectViewer struct {
	silentViewer
	any   bool
	logID string
	after int64
}

func (v *objectViewer) Event(e client.Event) error {
	start := ",\n"
	if !v.any {
		start = "{\"events\":[\n"
	}
	v.any = true
	v.after = max(v.after, e.Seq)
	_, err := fmt.Fprintf(v.con.jsonOut(), "%s%s", start, e.Line)
	return err
}

func (v *objectViewer) State(s client.State) error {
	v.logID, v.after = s.LogID, max(v.after, s.AfterSeq)
	return v.silentViewer.State(s)
}

func (v *objectViewer) Close() error {
	if !v.any {
		if _, err := io.WriteString(v.con.jsonOut(), "{\"events\":["); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(v.con.jsonOut(), "\n],\"next_after_seq\":%d,\"log_id\":%q}\n", v.after, v.logID)
	return err
}
