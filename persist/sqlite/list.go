package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
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

// listing builds the query of one page of rows.
type listing struct {
	where  []string
	args   []driver.Value
	limit  int
	key    string // the column of the order
	newest bool   // first
}

func newListing(key, cursor string, limit int, newest bool) (*listing, error) {
	l := &listing{key: key, newest: newest}
	from, first := key+" > ?", int64(0)
	if newest {
		from, first = key+" < ?", math.MaxInt64
	}
	if cursor != "" {
		var err error
		if first, err = strconv.ParseInt(cursor, 10, 64); err != nil || first < 0 {
			return nil, fmt.Errorf("cursor %.40q: %w", cursor, notify.ErrBadCursor)
		}
	}
	if limit <= 0 {
		limit = defaultLimit
	}
	l.where, l.args, l.limit = []string{from}, []driver.Value{first}, min(limit, maxLimit)
	return l, nil
}

// equal chooses rows; an empty value chooses all.
func (l *listing) equal(column, value string) {
	if value != "" {
		l.where = append(l.where, column+" = ?")
		l.args = append(l.args, value)
	}
}

// turn chooses the items of a turn: they are among its thread's, between its
// first event and, once it has ended, its last.
func (l *listing) turn(t *turns.Turn) {
	l.equal("thread_id", t.ThreadID)
	l.equal("turn_id", t.TurnID)
	l.where = append(l.where, "created_seq > ?")
	l.args = append(l.args, t.CreatedSeq)
	if t.State.Ended() {
		l.where = append(l.where, "created_seq < ?")
		l.args = append(l.args, t.UpdatedSeq)
	}
}

func (l *listing) sql(columns, table string) string {
	order := " ORDER BY " + l.key
	if l.newest {
		order += " DESC"
	}
	return "SELECT " + columns + " FROM " + table + " WHERE " + strings.Join(l.where, " AND ") + order +
		" LIMIT " + strconv.Itoa(maxLimit+1)
}

// list reads one page. of makes a row and says how large it is and where it
// stands.
func list[T any](c *conn, l *listing, columns, table string, of func(row) (v T, size int, seq int64, err error)) (out turns.List[T], err error) {
	var first int64
	if err := ends(c, &first, &out.Latest); err != nil {
		return out, err
	}
	bytes, last := 0, int64(0)
	err = c.query(l.sql(columns, table), func(r row) error {
		if len(out.Rows) >= l.limit {
			out.Next = strconv.FormatInt(last, 10)
			return errEnough
		}
		v, size, seq, err := of(r)
		if err != nil {
			return err
		}
		if len(out.Rows) > 0 && bytes+size+rowBytes > listBytes {
			out.Next = strconv.FormatInt(last, 10)
			return errEnough
		}
		bytes += size + rowBytes
		last = seq
		out.Rows = append(out.Rows, v)
		return nil
	}, l.args...)
	return out, err
}

// ListThreads implements turns.Reader.
func (s *View) ListThreads(ctx context.Context, q threads.Query) (out turns.List[threads.Thread], err error) {
	l, err := newListing("created_seq", q.Cursor, q.Limit, q.Newest)
	if err != nil {
		return out, err
	}
	l.equal("state", string(q.State))
	l.equal("agent", q.Agent)
	err = s.read(ctx, func(c *conn) error {
		out, err = list(c, l, threadColumns, "threads", func(r row) (v threads.Thread, size int, seq int64, err error) {
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

// ListTurns implements turns.Reader.
func (s *View) ListTurns(ctx context.Context, q turns.Query) (out turns.List[turns.Turn], err error) {
	l, err := newListing("created_seq", q.Cursor, q.Limit, q.Newest)
	if err != nil {
		return out, err
	}
	l.equal("thread_id", q.ThreadID)
	l.equal("state", string(q.State))
	err = s.read(ctx, func(c *conn) error {
		out, err = list(c, l, turnColumns, "turns", func(r row) (v turns.Turn, size int, seq int64, err error) {
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

// ListItems implements turns.Reader.
func (s *View) ListItems(ctx context.Context, q items.Query) (out turns.List[items.Item], err error) {
	err = s.read(ctx, func(c *conn) error {
		out, err = listItems(c, q)
		return err
	})
	return out, err
}

func listItems(c *conn, q items.Query) (out turns.List[items.Item], err error) {
	l, err := newListing("created_seq", q.Cursor, q.Limit, q.Newest)
	if err != nil {
		return out, err
	}
	if q.TurnID != "" {
		t, err := oneTurn(c, q.TurnID)
		if err != nil {
			return out, err
		}
		if t == nil || q.ThreadID != "" && q.ThreadID != t.ThreadID {
			var first int64
			return out, ends(c, &first, &out.Latest)
		}
		l.turn(t)
	} else {
		l.equal("thread_id", q.ThreadID)
	}
	l.equal("type", string(q.Type))
	if q.Status == items.StatusPending {
		l.where = append(l.where, unfinishedItem, "status = 'pending'") // the first finds its partial index
	} else {
		l.equal("status", string(q.Status))
	}
	if !q.IncludeSuperseded {
		l.where = append(l.where, liveItem)
	}
	tries := newLineages(c)
	return list(c, l, itemColumns, "items", func(r row) (v items.Item, size int, seq int64, err error) {
		it := items.Read(r)
		if err := errors.Join(tries.of(it), foldText(c, it)); err != nil {
			return v, 0, 0, err
		}
		return *it, len(it.Content), it.CreatedSeq, nil
	})
}

var newestTurns = "SELECT " + turnColumns + " FROM turns WHERE thread_id = ? ORDER BY created_seq DESC LIMIT ?"

// ReadThread implements turns.Reader.
func (s *View) ReadThread(ctx context.Context, threadID string, turnLimit int) (out turns.ThreadSnapshot, err error) {
	var first int64
	err = s.read(ctx, func(c *conn) error {
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
	err = s.read(ctx, func(c *conn) error {
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
func (s *View) ReadItem(ctx context.Context, itemID string) (it *items.Item, latest int64, err error) {
	var first int64
	err = s.read(ctx, func(c *conn) error {
		if err := ends(c, &first, &latest); err != nil {
			return err
		}
		if _, err := c.queryOne("SELECT "+itemColumns+" FROM items WHERE item_id = ?", func(r row) { it = items.Read(r) }, itemID); err != nil || it == nil {
			return err
		}
		return errors.Join(newLineages(c).of(it), foldText(c, it))
	})
	return it, latest, err
}
