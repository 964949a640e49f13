package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"

	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// readForest reads the threads, their unended turns and open questions, and the last
// turns of those that are shown and run none. What happens meanwhile is in events
// after f.latest.
func (c *caller) readForest(root string) (*forest, error) {
	f := newForest(root)
	latest, err := readRows(c, threadListing, nil, func(t *threads.Thread) { f.addThread(*t) })
	if err != nil {
		return nil, err
	}
	f.latest = latest
	if root != "" && f.threads[root] == nil {
		return nil, c.client.Call(c.ctx, "thread/read", map[string]any{"thread_id": root}, nil)
	}
	for _, state := range []turns.State{turns.Active, turns.Queued} {
		if _, err := readRows(c, turnListing, map[string]any{"state": state}, f.addTurn); err != nil {
			return nil, err
		}
	}
	if _, err := readRows(c, itemListing, map[string]any{"status": "pending"}, func(row *struct {
		ItemID   string         `json:"item_id"`
		ThreadID string         `json:"thread_id"`
		TurnID   string         `json:"turn_id"`
		Content  jsontext.Value `json:"content"`
	}) {
		f.ask(row.ThreadID, questionOf(row.ItemID, row.TurnID, row.Content))
	}); err != nil {
		return nil, err
	}
	wordQuestions(c.ctx, c.client, f)
	return f, c.readLastTurns(f)
}

// wordQuestions puts new questions into the words that holon respond has for them, with what they
// are about. One of which that cannot be read keeps its own.
func wordQuestions(ctx context.Context, c *client.Client, f *forest) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(8) // as in readLastTurns
	for threadID, list := range f.unworded() {
		for _, q := range list {
			group.Go(func() error {
				q.about = false
				if read, _, err := readQuestion(ctx, c, threadID, q.ItemID); err == nil {
					q.Text = questionLine(read.phrase)
				}
				return nil
			})
		}
	}
	_ = group.Wait() // it has no error
}

// readRows reads all rows of a list.
func readRows[R any](c *caller, l listing, filter map[string]any, add func(*R)) (latest int64, err error) {
	return readNewest(c, l, filter, 0, add)
}

// readNewest reads the newest rows of a list; limit 0 reads all.
func readNewest[R any](c *caller, l listing, filter map[string]any, limit int, add func(*R)) (latest int64, err error) {
	found, err := l.fetch(c.ctx, c.client, filter, limit)
	if err != nil {
		return 0, err
	}
	for _, raw := range found.rows {
		row := new(R)
		if err := jsonv2.Unmarshal(raw, row); err != nil {
			return 0, fmt.Errorf("read a row of %s: %w", l.method, err)
		}
		add(row)
	}
	return found.latest, nil
}

// readLastTurns reads the last turns of the threads that are shown without one.
func (c *caller) readLastTurns(f *forest) error {
	var without []*treeThread
	var collect func([]*treeThread)
	collect = func(list []*treeThread) {
		for _, t := range list {
			if t.Turn == nil {
				without = append(without, t)
			}
			collect(t.Children)
		}
	}
	collect(f.arrange())
	var group errgroup.Group
	group.SetLimit(8) // requests in flight
	for _, t := range without {
		group.Go(func() error {
			var page struct {
				Turns []json.RawMessage `json:"turns"`
			}
			err := c.client.Call(c.ctx, "turn/list", map[string]any{"thread_id": t.ID, "order": "desc", "limit": 1}, &page)
			if err != nil && !client.IsKind(err, "thread_not_found") {
				return err
			}
			if len(page.Turns) == 0 {
				return nil
			}
			last := new(turns.Turn)
			if err := jsonv2.Unmarshal(page.Turns[0], last); err != nil {
				return fmt.Errorf("read a row of turn/list: %w", err)
			}
			if last.State.Ended() {
				t.last = last
			}
			return nil
		})
	}
	return group.Wait()
}
