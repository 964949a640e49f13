package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/rpc/client"
)

// Lists come oldest first; a person wants the newest. A listing pages through
// and keeps the last rows, up to this many pages of 1,000.
const maxPages = 100

// listing is one of the commands that print rows of the server.
type listing struct {
	method string // thread/list
	member string // threads
	head   []string
	flex   int      // the column that gives way on narrow terminals
	drop   []string // those that are left out there, the first first
	row    func(raw json.RawMessage) ([]string, error)
}

// rowsFound is what a listing got. More is true if older rows were left out.
type rowsFound struct {
	rows   []json.RawMessage
	latest int64
	more   bool
}

// fetch pages through a list and keeps the newest limit rows (0: all).
func (l listing) fetch(ctx context.Context, c *client.Client, filter map[string]any, limit int) (rowsFound, error) {
	var found rowsFound
	params := map[string]any{"limit": 1000}
	for name, value := range filter {
		if value != "" {
			params[name] = value
		}
	}
	for page := range maxPages {
		var result map[string]json.RawMessage
		if err := c.Call(ctx, l.method, params, &result); err != nil {
			return found, err
		}
		var rows []json.RawMessage
		var next string
		for member, into := range map[string]any{l.member: &rows, "next_cursor": &next, "latest_seq": &found.latest} {
			if raw := result[member]; raw != nil {
				if err := json.Unmarshal(raw, into); err != nil {
					return found, fmt.Errorf("read %s of %s: %w", member, l.method, err)
				}
			}
		}
		found.rows = append(found.rows, rows...)
		if limit > 0 && len(found.rows) > limit {
			found.rows = append(found.rows[:0:0], found.rows[len(found.rows)-limit:]...)
			found.more = true
		}
		if next == "" {
			return found, nil
		}
		if page == maxPages-1 {
			return found, fmt.Errorf("there are more than %d rows; narrow the list, or page with: holon call %s '{\"cursor\":\"%s\"}'", maxPages*1000, l.method, next)
		}
		params["cursor"] = next
	}
	return found, nil
}

// print fetches and prints a listing.
func (l listing) print(g *globals, cmd *cobra.Command, filter map[string]any, limit int) error {
	format, err := g.format("text", "json", "jsonl")
	if err != nil {
		return err
	}
	if limit < 0 {
		return usagef("--limit %d: give 0 for all, or more", limit)
	}
	c, err := g.client(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	found, err := l.fetch(cmd.Context(), c, filter, limit)
	if err != nil {
		return err
	}
	switch format {
	case "json":
		if found.rows == nil {
			found.rows = []json.RawMessage{}
		}
		return g.printJSON(map[string]any{l.member: found.rows, "latest_seq": found.latest}, true)
	case "jsonl":
		for _, row := range found.rows {
			if err := g.printRaw(row, false); err != nil {
				return err
			}
		}
		return nil
	}
	if len(found.rows) == 0 {
		g.note("There are no %s here.", l.member)
		return nil
	}
	t := newTable(l.head...)
	t.drop = l.drop
	for _, raw := range found.rows {
		cells, err := l.row(raw)
		if err != nil {
			return fmt.Errorf("read a row of %s: %w", l.method, err)
		}
		t.add(cells...)
	}
	if err := t.write(g, l.flex); err != nil {
		return err
	}
	if found.more {
		g.note("These are the newest %d; --limit 0 shows all.", limit)
	}
	return nil
}

// bindLimit adds --limit.
func bindLimit(cmd *cobra.Command, limit *int) {
	cmd.Flags().IntVarP(limit, "limit", "n", 50, "show the newest N; 0 shows all")
}

// when shows a time for a table: local, without what goes without saying.
func when(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	at = at.Local()
	if time.Since(at) < 20*time.Hour {
		return at.Format("15:04:05")
	}
	return at.Format("2006-01-02 15:04")
}
