package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// The bounds of a page of rows (CONTRACT, section 3). rowBytes is about what
// a row takes in JSON beside its content.
const (
	defaultLimit = 100
	maxLimit     = 1000
	listBytes    = 1 << 20
	rowBytes     = 512
)

// listing is one page of rows: those that one index finds in the order of key,
// and of these the ones that pass the filters. What an index finds has no
// bound, so it is looked at in windows, up to turns.MaxListScan rows in all.
type listing struct {
	columns, table string
	key            string // the column of the order: the seq of the row's making
	newest         bool   // first
	limit          int
	after, before  int64 // what is left of the order, both exclusive

	index      []string // conditions that the index answers
	indexArgs  []driver.Value
	filter     []string // conditions that each row is looked at for
	filterArgs []driver.Value
}

func newListing(columns, table, key, cursor string, limit int, newest bool) (*listing, error) {
	l := &listing{columns: columns, table: table, key: key, newest: newest, before: math.MaxInt64}
	if cursor != "" {
		at, err := strconv.ParseInt(cursor, 10, 64)
		if err != nil || at < 0 {
			return nil, fmt.Errorf("cursor %.40q: %w", cursor, notify.ErrBadCursor)
		}
		l.moveTo(at)
	}
	if limit <= 0 {
		limit = defaultLimit
	}
	l.limit = min(limit, maxLimit)
	return l, nil
}

// moveTo makes the listing go on behind a row.
func (l *listing) moveTo(key int64) {
	if l.newest {
		l.before = min(l.before, key)
	} else {
		l.after = max(l.after, key)
	}
}

// find chooses the index.
func (l *listing) find(condition string, args ...driver.Value) {
	l.index, l.indexArgs = append(l.index, condition), append(l.indexArgs, args...)
}

// equal looks for a value in each row; an empty one is not looked for. The
// plus sign keeps SQLite from choosing an index of the column instead.
func (l *listing) equal(column, value string) {
	if value != "" {
		l.where("+"+column+" = ?", value)
	}
}

func (l *listing) where(condition string, args ...driver.Value) {
	l.filter, l.filterArgs = append(l.filter, condition), append(l.filterArgs, args...)
}

func (l *listing) order() string {
	if l.newest {
		return " ORDER BY " + l.key + " DESC"
	}
	return " ORDER BY " + l.key
}

func (l *listing) within(more ...string) string {
	between := []string{l.key + " > ?", l.key + " < ?"}
	return " FROM " + l.table + " WHERE " + strings.Join(slices.Concat(between, l.index, more), " AND ") + l.order()
}

// reachSQL finds the last row of a window; its last argument is how many rows
// come before that one.
func (l *listing) reachSQL() string {
	return "SELECT " + l.key + l.within() + " LIMIT 1 OFFSET ?"
}

// windowSQL reads the rows of a window that pass.
func (l *listing) windowSQL() string {
	return "SELECT " + l.columns + l.within(l.filter...) + " LIMIT " + strconv.Itoa(maxLimit+1)
}

// reach is the key of the last of n rows; false if there are fewer.
func (l *listing) reach(c *conn, n int) (key int64, found bool, err error) {
	found, err = c.queryOne(l.reachSQL(), func(r row) { key = r.Int(0) },
		slices.Concat([]driver.Value{l.after, l.before}, l.indexArgs, []driver.Value{int64(n - 1)})...)
	return key, found, err
}

// window is the part of the listing that ends with the row of this key.
func (l *listing) window(key int64) *listing {
	w := *l
	if l.newest {
		w.after = max(w.after, key-1)
	} else {
		w.before = min(w.before, key+1)
	}
	return &w
}

// list reads one page. of makes a row and says how large it is and where it
// stands. The first window is somewhat larger than the page and each further
// one larger again, so that a page without filters costs little more than its
// rows.
func list[T any](c *conn, l *listing, of func(row) (v T, size int, seq int64, err error)) (out turns.List[T], err error) {
	var first int64
	if err := ends(c, &first, &out.Latest); err != nil {
		return out, err
	}
	bytes, last := 0, int64(0)
	full := func() error {
		out.Next = strconv.FormatInt(last, 10)
		return errEnough
	}
	take := func(r row) error {
		if len(out.Rows) >= l.limit {
			return full()
		}
		v, size, seq, err := of(r)
		if err != nil {
			return err
		}
		if len(out.Rows) > 0 && bytes+size+rowBytes > listBytes {
			return full()
		}
		bytes += size + rowBytes
		last = seq
		out.Rows = append(out.Rows, v)
		return nil
	}
	for looked, size := 0, 2*l.limit; ; size *= 4 {
		size = min(size, turns.MaxListScan-looked)
		end, more, err := l.reach(c, size)
		if err != nil {
			return out, err
		}
		w := l
		if more {
			w = l.window(end)
		}
		if err := c.query(w.windowSQL(), take, slices.Concat([]driver.Value{w.after, w.before}, w.indexArgs, w.filterArgs)...); err != nil {
			return out, err
		}
		if out.Next != "" || !more {
			return out, nil
		}
		l.moveTo(end)
		if looked += size; looked >= turns.MaxListScan {
			out.Next = strconv.FormatInt(end, 10)
			return out, nil
		}
	}
}

// ListThreads implements turns.Reader.
func (s *View) ListThreads(ctx context.Context, q threads.Query) (out turns.List[threads.Thread], err error) {
	l, err := threadListing(q)
	if err != nil {
		return out, err
	}
	err = s.read(ctx, func(c *conn) error {
		out, err = list(c, l, func(r row) (v threads.Thread, size int, seq int64, err error) {
			t, err := threads.Read(r)
			if err != nil {
				return v, 0, 0, err
			}
			return *t, t.Bytes(), t.CreatedSeq, nil
		})
		return err
	})
	return out, err
}

func threadListing(q threads.Query) (*listing, error) {
	l, err := newListing(threadColumns, "threads", "created_seq", q.Cursor, q.Limit, q.Newest)
	if err != nil {
		return nil, err
	}
	if q.State != "" {
		l.find("state = ?", string(q.State))
	}
	l.equal("agent", q.Agent)
	return l, nil
}

// ListTurns implements turns.Reader.
func (s *View) ListTurns(ctx context.Context, q turns.Query) (out turns.List[turns.Turn], err error) {
	l, err := turnListing(q)
	if err != nil {
		return out, err
	}
	err = s.read(ctx, func(c *conn) error {
		out, err = list(c, l, func(r row) (v turns.Turn, size int, seq int64, err error) {
			t, err := turns.Read(r)
			if err != nil {
				return v, 0, 0, err
			}
			return *t, t.Bytes(), t.CreatedSeq, nil
		})
		return err
	})
	return out, err
}

func turnListing(q turns.Query) (*listing, error) {
	l, err := newListing(turnColumns, "turns", "created_seq", q.Cursor, q.Limit, q.Newest)
	switch {
	case err != nil:
		return nil, err
	case q.ThreadID != "":
		l.find("thread_id = ?", q.ThreadID)
		l.equal("state", string(q.State))
	case q.State != "":
		l.find("state = ?", string(q.State))
	}
	return l, nil
}

// ListItems implements turns.Reader.
func (s *View) ListItems(ctx context.Context, q items.Query) (out turns.List[items.Item], err error) {
	err = s.read(ctx, func(c *conn) error {
		out, err = listItems(c, q)
		return err
	})
	return out, err
}

func listItems(c *conn, q items.Query) (out turns.List[items.Item], err error) {
	var turn *turns.Turn
	if q.TurnID != "" {
		if turn, err = oneTurn(c, q.TurnID); err != nil {
			return out, err
		}
	}
	l, err := itemListing(q, turn)
	if err != nil {
		return out, err
	}
	if q.TurnID != "" && (turn == nil || q.ThreadID != "" && q.ThreadID != turn.ThreadID) {
		var first int64
		return out, ends(c, &first, &out.Latest)
	}
	tries := newLineages(c)
	return list(c, l, func(r row) (v items.Item, size int, seq int64, err error) {
		it := items.Read(r)
		if err := errors.Join(tries.of(it), foldText(c, it)); err != nil {
			return v, 0, 0, err
		}
		return *it, len(it.Content), it.CreatedSeq, nil
	})
}

// itemListing lists items. turn is that of q.TurnID, nil if there is none. Of
// what is unfinished there is little in the whole log; the items of a turn are
// among its thread's, between its first event and, once it has ended, its
// last.
func itemListing(q items.Query, turn *turns.Turn) (*listing, error) {
	l, err := newListing(itemColumns, "items", "created_seq", q.Cursor, q.Limit, q.Newest)
	if err != nil {
		return nil, err
	}
	thread := q.ThreadID
	if turn != nil {
		thread = turn.ThreadID
		l.after = max(l.after, turn.CreatedSeq)
		if turn.State.Ended() {
			l.before = min(l.before, turn.UpdatedSeq)
		}
	}
	switch {
	case q.Status.Open():
		l.find(unfinishedItem)
		l.equal("thread_id", thread)
	case thread != "":
		l.find("thread_id = ?", thread)
	}
	l.equal("turn_id", q.TurnID)
	l.equal("type", string(q.Type))
	l.equal("status", string(q.Status))
	if !q.IncludeSuperseded {
		l.where(liveItem)
	}
	return l, nil
}

var newestTurns = "SELECT " + turnColumns + " FROM turns WHERE thread_id = ? ORDER BY created_seq DESC LIMIT ?"

// ReadThread implements turns.Reader.
func (s *View) ReadThread(ctx context.Context, threadID string, turnLimit int) (out turns.ThreadSnapshot, err error) {
	var first int64
	err = s.points.read(ctx, func(c *conn) error {
		if err := ends(c, &first, &out.Latest); err != nil {
			return err
		}
		if out.Thread, err = oneThread(c, threadID); err != nil {
			return err
		}
		if out.Thread == nil || turnLimit <= 0 {
			return nil
		}
		bytes := 0
		return c.query(newestTurns, func(r row) error {
			t, err := turns.Read(r)
			if err != nil {
				return err
			}
			if bytes += t.Bytes() + rowBytes; bytes > listBytes && len(out.Turns) > 0 {
				return errEnough
			}
			out.Turns = append(out.Turns, *t)
			return nil
		}, threadID, int64(turnLimit))
	})
	return out, err
}

// ReadTurn implements turns.Reader.
func (s *View) ReadTurn(ctx context.Context, q turns.TurnQuery) (out turns.TurnSnapshot, err error) {
	var first int64
	err = s.points.read(ctx, func(c *conn) error {
		if err := ends(c, &first, &out.Latest); err != nil {
			return err
		}
		if out.Turn, err = oneTurn(c, q.TurnID); err != nil || out.Turn == nil {
			return err
		}
		if err := readSteps(c, q, &out); err != nil || q.Items <= 0 {
			return err
		}
		l, err := listItems(c, items.Query{TurnID: q.TurnID, Limit: q.Items, IncludeSuperseded: q.IncludeSuperseded})
		out.Items, out.Next = l.Rows, l.Next
		return err
	})
	return out, err
}

// ReadItem implements turns.Reader.
func (s *View) ReadItem(ctx context.Context, itemID string) (*items.Item, int64, error) {
	return s.item(ctx, s.points, itemID)
}
