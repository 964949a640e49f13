package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"golang.org/x/sync/errgroup"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// threadSummary is what a thread does, or how its last turn ended, for a person.
type threadSummary struct {
	Status string    // working, waiting, queued, idle, interrupted, failed, paused or closed
	Since  time.Time // of the status; zero = unknown
	Doing  string    // of an active turn: its words, and the tool or question; of a failed one: why
	Last   time.Time // last activity: the time of the newest event

	turn *turns.Turn // the active turn; nil = none
}

// Bounds of summaries.
const (
	maxSummaries  = 1000 // threads: their turns are read one by one
	summaryReads  = 8    // requests in flight
	summaryActive = 1000 // active turns that are looked at
)

// summaries says what threads do, in their order: of the newest maxSummaries. It reads
// rows of turns and items, because threads have no summary of their own: this is the one
// place to change when they have.
func summaries(ctx context.Context, c *client.Client, list []threads.Thread) ([]threadSummary, error) {
	all := make([]threadSummary, len(list))
	active, err := activeTurns(ctx, c, nil, summaryActive)
	if err != nil {
		return nil, err
	}
	of := map[string]*turns.Turn{}
	for _, t := range active {
		of[t.ThreadID] = t
	}
	var group errgroup.Group
	group.SetLimit(summaryReads)
	for i := max(0, len(list)-maxSummaries); i < len(list); i++ {
		group.Go(func() (err error) {
			all[i], err = summarize(ctx, c, &list[i], of[list[i].ThreadID])
			return err
		})
	}
	return all, group.Wait()
}

// activeTurns are the newest active turns, the newest last. The filter is that of turn/list.
func activeTurns(ctx context.Context, c *client.Client, filter map[string]any, limit int) (list []*turns.Turn, err error) {
	params := map[string]any{"state": turns.Active}
	for name, value := range filter {
		params[name] = value
	}
	found, err := turnListing.fetch(ctx, c, params, limit)
	if err != nil {
		return nil, err
	}
	for _, raw := range found.rows {
		t := new(turns.Turn)
		if err := jsonv2.Unmarshal(raw, t); err != nil {
			return nil, fmt.Errorf("read a row of turn/list: %w", err)
		}
		list = append(list, t)
	}
	return list, nil
}

// summarize is the summary of one thread. active is its active turn, nil if there is
// none.
func summarize(ctx context.Context, c *client.Client, t *threads.Thread, active *turns.Turn) (s threadSummary, err error) {
	if s.Last, err = timeOf(ctx, c, t.LatestSeq); err != nil {
		return s, err
	}
	switch {
	case active != nil:
		s.turn, s.Status, s.Since = active, "working", firstStart(active)
		s.Doing, err = doing(ctx, c, active)
		if active.WaitsForPerson() {
			s.Status = "waiting"
		}
	case t.State == threads.Closed || t.State == threads.Closing:
		s.Status, s.Since = string(t.State), t.ClosedAt.Time
	default:
		err = s.ended(ctx, c, t)
	}
	if s.Last.IsZero() { // its event is pruned
		s.Last = later(s.Since, t.StartedAt.Time)
	}
	return s, err
}

// ended fills in what the newest turn of a thread without an active one says.
func (s *threadSummary) ended(ctx context.Context, c *client.Client, t *threads.Thread) error {
	var page struct {
		Turns []turns.Turn `json:"turns"`
	}
	err := c.Call(ctx, "turn/list", map[string]any{"thread_id": t.ThreadID, "order": "desc", "limit": 1}, &page)
	if err != nil && !client.IsKind(err, "thread_not_found") {
		return err
	}
	s.Status = "idle"
	if len(page.Turns) > 0 {
		switch last := &page.Turns[0]; last.State {
		case turns.Queued:
			s.Status, s.Since = "queued", last.QueuedAt.Time
		case turns.Failed:
			s.Status, s.Since, s.Doing = "failed", last.CompletedAt.Time, last.Reason
			if last.Error != nil {
				s.Doing = last.Error.Message
			}
		case turns.Interrupted:
			s.Status, s.Since = "interrupted", last.CompletedAt.Time
		default:
			s.Since = last.CompletedAt.Time
		}
	}
	if t.State == threads.Paused {
		s.Status = "paused"
	}
	return nil
}

// doing says in a line what an active turn does: the words of its state, and the tool,
// command or question that is open.
func doing(ctx context.Context, c *client.Client, t *turns.Turn) (string, error) {
	_, text := turnState(t, time.Now())
	status := "in_progress"
	if t.WaitsForPerson() {
		status = "pending"
	}
	var page struct {
		Items []itemRow `json:"items"`
	}
	// The newest few: beside a message there may be tools.
	err := c.Call(ctx, "item/list", map[string]any{"turn_id": t.TurnID, "status": status, "order": "desc", "limit": 5}, &page)
	if err != nil {
		return text, err
	}
	for _, row := range page.Items {
		content := timeline.ReadContent(row.Content)
		switch content.Type {
		case "user_message", "agent_message", "reasoning", "usage", "plan":
		default:
			return text + ": " + timeline.Fit(content.Summary(row.Status), 60), nil
		}
	}
	if t.ProgressMessage != "" {
		text += ": " + timeline.OneLine(t.ProgressMessage)
	}
	return text, nil
}

// timeOf is the time of an event, zero if it is pruned.
func timeOf(ctx context.Context, c *client.Client, seq int64) (time.Time, error) {
	var page struct {
		Events []struct {
			Seq    int64 `json:"seq"`
			Params struct {
				Timestamp notify.Time `json:"timestamp"`
			} `json:"params"`
		} `json:"events"`
	}
	err := c.Call(ctx, "event/list", map[string]any{"after_seq": max(0, seq-1), "limit": 1}, &page)
	if client.IsKind(err, client.KindCursorExpired) || err == nil && (len(page.Events) == 0 || page.Events[0].Seq != seq) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return page.Events[0].Params.Timestamp.Time, nil
}

func firstStart(t *turns.Turn) time.Time {
	return cmp.Or(t.FirstStartedAt, t.StartedAt).Time
}

// later is the latest of times.
func later(times ...time.Time) (last time.Time) {
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}
