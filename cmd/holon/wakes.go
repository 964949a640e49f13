package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/threads"
)

// notTold describes how many new entries of its inbox a thread is not told; "" if none. Why, and
// what ends it, says tellNow: a cell of a table has no room for it.
func notTold(s *api.ThreadSummary) string {
	if s.Wakes == nil || s.Wakes.Waiting == 0 {
		return ""
	}
	return fmt.Sprintf("%d new, not told", s.Wakes.Waiting)
}

// tellNow explains why new entries are not told, and what ends that; "" if none wait. id is
// the thread's, as it is shown.
func tellNow(id string, w *inbox.Wakes) string {
	if text := w.Says(time.Local); text != "" {
		return fmt.Sprintf("%s (holon inbox wake %s)", text, id)
	}
	return ""
}

// notToldLines returns lines of tellNow for the newest of some threads.
func notToldLines(c *caller, rows []json.RawMessage) (lines []string, err error) {
	const shown = 3
	more := 0
	for _, raw := range slices.Backward(rows) {
		t, err := readSummary(raw)
		if err != nil {
			return nil, err
		}
		switch {
		case notTold(t.Summary) == "":
		case len(lines) == shown:
			more++
		default:
			lines = append(lines, tellNow(shownID(c.console, t.ThreadID), t.Summary.Wakes))
		}
	}
	slices.Reverse(lines)
	if more > 0 {
		lines = append(lines, fmt.Sprintf("… and %s", counted(more, "other thread", "other threads")))
	}
	return lines, nil
}

// sayNotTold prints below a table of threads what tellNow returns.
func sayNotTold(c *caller, rows []json.RawMessage) error {
	lines, err := notToldLines(c, rows)
	for _, line := range lines {
		c.note("%s", line)
	}
	return err
}

// printNotTold prints it for the newest open threads. What cannot be read is no failure: the
// status itself is known.
func printNotTold(c *caller) error {
	const newest = 1000 // a page: an owner is older than all its child threads
	found, err := summaryListing.fetch(c.ctx, c.client, withSummary(map[string]any{"state": string(threads.Running)}), newest)
	if err != nil {
		if c.ctx.Err() != nil {
			return context.Cause(c.ctx)
		}
		c.note("Which threads are not told what is new is not known: %v", err)
		return nil
	}
	lines, err := notToldLines(c, found.rows)
	if err != nil {
		return err
	}
	if found.more {
		c.note("Whether threads are not told what is new was looked at for the newest %d only: holon threads --limit 0 says it of all.", newest)
	}
	if len(lines) == 0 {
		return nil
	}
	_, err = fmt.Fprintf(c.textOut(), "\n%s\n", strings.Join(lines, "\n"))
	return err
}

// readWakes reads what keeps an inbox from waking its thread; nil if nothing does, or the
// server is an older one.
func readWakes(c *caller, thread string) (*inbox.Wakes, error) {
	raw, _, err := ask[struct{}](c, "thread/read", map[string]any{"thread_id": thread})
	if err != nil {
		return nil, ofInbox(err, thread)
	}
	var read struct {
		Thread json.RawMessage `json:"thread"`
	}
	if err := json.Unmarshal(raw, &read); err != nil {
		return nil, fmt.Errorf("read a thread: %w", err)
	}
	t, err := readSummary(read.Thread)
	return t.Summary.Wakes, err
}
