package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/rpc/client"
)

// maxRows bounds a listing of everything.
const maxRows = 100_000

// listing is a command that prints rows of the server.
type listing struct {
	method  string // thread/list
	member  string // threads
	head    []string
	flex    int      // the column that is shortened on narrow terminals
	flexToo int      // another one, if it is wider; 0 = none
	drop    []string // the columns that are left out there, in this order
	row     func(raw json.RawMessage) ([]string, error)
	begin   func() func(raw json.RawMessage) ([]string, error) // instead of row: the rows of one table, where one depends on those above it
	none    string                                             // what is said where there are no rows; "" = that there are none
	then    string                                             // what is said below them, with %s for the id of the last one; "" = nothing
	say     func(c *caller, rows []json.RawMessage) error      // says more below them; nil = nothing
}

// rowsFound are the rows of a listing. more is true if older rows were left
// out.
type rowsFound struct {
	rows   []json.RawMessage
	latest int64
	more   bool
}

// fetch reads the newest limit rows (0: all) and puts the newest last.
func (l listing) fetch(ctx context.Context, c *client.Client, filter map[string]any, limit int) (rowsFound, error) {
	var found rowsFound
	var pages client.Pages
	params := map[string]any{"order": "desc"}
	for name, value := range filter {
		if value != "" {
			params[name] = value
		}
	}
	for len(found.rows) < maxRows { // pages may be empty although more follow
		params["limit"] = 1000
		if left := limit - len(found.rows); limit > 0 && left < 1000 {
			params["limit"] = left
		}
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
		more, err := pages.Follow(next)
		if err != nil {
			return found, fmt.Errorf("%s: %w", l.method, err)
		}
		if found.more = more; !more || limit > 0 && len(found.rows) >= limit {
			slices.Reverse(found.rows)
			return found, nil
		}
		params["cursor"] = next
	}
	return found, fmt.Errorf("there are more than %d rows; narrow the list, or page with: holon call %s '{\"cursor\":\"%s\",\"order\":\"desc\"}'", maxRows, l.method, params["cursor"])
}

// print works like list, for a command that does nothing else.
func (l listing) print(g *globals, cmd *cobra.Command, filter map[string]any, limit int) error {
	c, err := g.caller(cmd)
	if err != nil {
		return err
	}
	defer c.close()
	_, err = l.list(c, filter, limit)
	return err
}

// list fetches and prints a listing, and reports whether there are rows.
func (l listing) list(c *caller, filter map[string]any, limit int) (some bool, err error) {
	if limit < 0 {
		return false, usagef("--limit %d: give 0 for all, or more", limit)
	}
	if err := c.finder().filter(filter); err != nil {
		return false, err
	}
	found, err := l.fetch(c.ctx, c.client, filter, limit)
	if err != nil {
		return false, err
	}
	switch some = len(found.rows) > 0; {
	case c.format == "toon":
		return some, c.printValue(map[string]any{l.member: append([]json.RawMessage{}, found.rows...), "latest_seq": found.latest}, l.member)
	case c.format != "text":
		return some, c.printRows(c.format, l.member, found.rows, found.latest)
	case !some:
		c.note("%s", cmp.Or(l.none, "There are no "+l.member+" here."))
		return false, nil
	}
	err = l.write(c.console, found.rows)
	if err == nil && found.more {
		c.note("These are the newest %d; --limit 0 shows all.", limit)
	}
	if err == nil && l.say != nil {
		err = l.say(c, found.rows)
	}
	if err == nil && l.then != "" {
		err = l.sayThen(c, found.rows[len(found.rows)-1])
	}
	return some, err
}

// sayThen prints what can be done with the last row.
func (l listing) sayThen(c *caller, last json.RawMessage) error {
	cells, err := l.row(last)
	if err == nil {
		c.note(l.then, tableID(c.console)(cells[0]))
	}
	return err
}

// write prints rows as a table.
func (l listing) write(con *console, rows []json.RawMessage) error {
	t, err := l.table(con, rows)
	if err != nil {
		return err
	}
	return t.write(con, l.flexible()...)
}

// flexible returns the columns that are shortened.
func (l listing) flexible() []int { return []int{l.flex, cmp.Or(l.flexToo, l.flex)} }

// table returns the table of rows.
func (l listing) table(con *console, rows []json.RawMessage) (*table, error) {
	t := newTable(l.head...)
	t.drop = l.drop
	shown := tableID(con)
	row := l.row
	if l.begin != nil {
		row = l.begin()
	}
	for _, raw := range rows {
		cells, err := row(raw)
		if err != nil {
			return nil, fmt.Errorf("read a row of %s: %w", l.method, err)
		}
		for i, head := range l.head {
			if slices.Contains(idHeads, head) {
				cells[i] = shown(cells[i])
			}
		}
		t.add(cells...)
	}
	return t, nil
}

// idHeads are the heads of the columns that have ids of threads, turns and items.
var idHeads = []string{"THREAD", "TURN", "ITEM", "OF"}

// tableID returns the function that shows ids in tables: their endings, or the whole with --long.
func tableID(con *console) func(id string) string {
	if con.long {
		return func(id string) string { return id }
	}
	return short
}

// bindLimit adds --limit.
func bindLimit(cmd *cobra.Command, limit *int) {
	cmd.Flags().IntVarP(limit, "limit", "n", 50, "show the newest N; 0 shows all")
}

// when shows a time for a table: local, without the date if it is recent.
func when(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	at = at.Local()
	if since := time.Since(at); since < 20*time.Hour && since > -20*time.Hour {
		return at.Format("15:04:05")
	}
	return at.Format("2006-01-02 15:04")
}
