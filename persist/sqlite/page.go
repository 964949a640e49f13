package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/events"
	"github.com/seed82539d15/holon/notify"
)

// scanEvents bounds the events that one page looks at, so that a filter that
// matches nothing returns in time with its place moved on.
const scanEvents = 20_000

// prealloc is the room made for a page's events at once.
const prealloc = 1000

// eventColumns are what the events of a page have: params holds all the rest,
// and every further column costs a tenth of the replay rate.
const eventColumns = "seq, method, time, params"

// Page implements notify.Log.
func (s *View) Page(ctx context.Context, q notify.Query) (p notify.Page, err error) {
	err = s.read(ctx, func(c *conn) error {
		p, err = pageOf(c, q)
		return err
	})
	return p, err
}

func pageOf(c *conn, q notify.Query) (notify.Page, error) {
	var p notify.Page
	if err := ends(c, &p.First, &p.Latest); err != nil {
		return p, err
	}
	p.Scanned = q.After
	if q.Collapse {
		p.AsOf = p.Latest
	}
	if q.After >= p.Latest {
		return p, nil
	}
	if q.Frames && q.Filter.All() {
		if ok, err := framesOf(c, q, &p); ok || err != nil {
			return p, err
		}
	}
	upTo, seqs, err := window(c, q, p.Latest)
	if err != nil {
		return p, err
	}
	from, args := pageSQL(q, upTo, seqs)
	if q.Filter.All() && !q.Collapse {
		p.Events = make([]notify.Event, 0, min(int64(max(1, q.MaxEvents)), upTo-q.After, prealloc))
	}
	bytes := 0
	if err := c.query("SELECT "+eventColumns+" "+from, func(r row) error {
		params := r.Blob(3)
		if len(p.Events) > 0 && (len(p.Events) >= q.MaxEvents || bytes+len(params) > q.MaxBytes) {
			p.More = true
			return errEnough
		}
		bytes += len(params)
		p.Events = append(p.Events, notify.Event{Seq: r.Int(0), Method: r.Text(1), Time: notify.TimeFromMilli(r.Int(2)), Params: params})
		return nil
	}, args...); err != nil {
		return p, err
	}
	if p.More {
		p.Scanned = p.Events[len(p.Events)-1].Seq
	} else {
		p.Scanned = upTo
		p.More = upTo < p.Latest
	}
	return p, nil
}

// live leaves out what is superseded: as of the newest marker of the snapshot,
// because a marker writes the rows of what it takes back. Markers are of no
// try and always there.
const live = ` AND method <> 'turn/late' AND (span IS NULL
	OR NOT EXISTS (SELECT 1 FROM steps s WHERE s.seq = events.span AND events.seq > s.hidden_after))`

// A page of frames is made by SQLite and read as one value: row by row, the
// way through the driver takes as long again as the query. Params are lines.
const (
	pageSize   = "SELECT count(*), coalesce(sum(length(params)), 0) FROM events WHERE seq > ? AND seq <= ?"
	pageFrames = `SELECT count(*), CAST(group_concat('{"jsonrpc":"2.0","method":"' || method || '","params":' || params || '}' || char(10), '') AS BLOB)
		FROM (SELECT method, params FROM events WHERE seq > ? AND seq <= ?`
	pageOrder = " ORDER BY seq)"
)

// framesOf fills the page with frames. It returns false, and leaves the page
// alone, if they are too large or, without collapse, not dense: the page is
// then read row by row.
func framesOf(c *conn, q notify.Query, p *notify.Page) (bool, error) {
	upTo := min(p.Latest, q.After+int64(max(1, q.MaxEvents)))
	framesSQL := pageFrames + pageOrder
	if q.Collapse {
		framesSQL = pageFrames + live + pageOrder
	}
	// Also with collapse the size is that of all events, because what is
	// superseded takes as long to find as the frames take to make: half of a
	// page whose whole is too large comes row by row.
	var n, size int64
	if _, err := c.queryOne(pageSize, func(r row) { n, size = r.Int(0), r.Int(1) }, q.After, upTo); err != nil {
		return false, err
	}
	if n != upTo-q.After && !q.Collapse || size > int64(q.MaxBytes) {
		return false, nil
	}
	var frames []byte
	if _, err := c.queryOne(framesSQL, func(r row) { n, frames = r.Int(0), r.Blob(1) }, q.After, upTo); err != nil {
		return false, err
	}
	if int64(bytes.Count(frames, []byte{'\n'})) != n {
		return false, nil
	}
	p.Frames, p.Scanned, p.More = frames, upTo, upTo < p.Latest
	return true, nil
}

// ends reads where the log begins and ends.
func ends(c *conn, first, latest *int64) error {
	_, err := c.queryOne("SELECT first_seq, (SELECT max(seq) FROM events) FROM meta", func(r row) {
		*first, *latest = r.Int(0), r.Int(0)-1
		if r[1] != nil {
			*latest = r.Int(1)
		}
	})
	return err
}

// reachOfThread is the seq of a thread's event that is so many after the next.
const reachOfThread = "SELECT seq FROM events WHERE thread_id = ? AND seq > ? ORDER BY seq LIMIT 1 OFFSET ?"

// window is how far this page looks. For several threads seqs are the ones to
// read: the first of each thread's, merged, because one query over all of
// them would sort everything they still have.
func window(c *conn, q notify.Query, latest int64) (upTo int64, seqs []int64, err error) {
	threads := q.Filter.ThreadIDs
	sparse := len(q.Filter.Methods) > 0 || q.Collapse // what is looked at need not be in the page
	switch {
	case len(threads) == 0 && !sparse:
		return latest, nil, nil
	case len(threads) == 0:
		return min(latest, q.After+scanEvents), nil, nil
	case len(threads) == 1 && !sparse:
		return latest, nil, nil
	}
	upTo = latest
	if len(threads) == 1 { // counted by SQLite: the seqs themselves are not needed
		_, err := c.queryOne(reachOfThread, func(r row) { upTo = min(upTo, r.Int(0)) }, threads[0], q.After, int64(scanEvents-1))
		return upTo, nil, err
	}
	limit := int64(max(1, q.MaxEvents)) + 1
	for _, id := range threads {
		n, last := int64(0), int64(0)
		if err := c.query("SELECT seq FROM events WHERE thread_id = ? AND seq > ? ORDER BY seq LIMIT ?", func(r row) error {
			n, last = n+1, r.Int(0)
			seqs = append(seqs, last)
			return nil
		}, id, q.After, limit); err != nil {
			return 0, nil, err
		}
		if n == limit {
			upTo = min(upTo, last) // what this thread has beyond was not looked at
		}
	}
	slices.Sort(seqs)
	seqs = slices.Compact(seqs) // a thread may be named twice
	if n := int64(len(seqs)); n > limit {
		seqs = seqs[:limit]
		upTo = min(upTo, seqs[limit-1])
	}
	return upTo, seqs, nil
}

// pageSQL is the page's query without its columns: one event more than asked
// for, to know whether there are more.
func pageSQL(q notify.Query, upTo int64, seqs []int64) (string, []driver.Value) {
	var b strings.Builder
	args := []driver.Value{q.After, upTo}
	b.WriteString("FROM events WHERE ")
	switch {
	case len(q.Filter.ThreadIDs) == 1:
		b.WriteString("seq > ? AND seq <= ? AND thread_id = ?")
		args = append(args, q.Filter.ThreadIDs[0])
	case len(q.Filter.ThreadIDs) > 1:
		b.WriteString("seq > ? AND seq <= ? AND seq IN (SELECT value FROM json_each(?))")
		raw, _ := encode(seqs, false) // numbers always encode
		args = append(args, string(raw))
	default:
		b.WriteString("seq > ? AND seq <= ?")
	}
	if len(q.Filter.Methods) > 0 {
		methods := events.Methods(q.Filter) // there are fewer methods than statements worth preparing
		b.WriteString(" AND method IN (")
		for i, m := range methods {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteByte('?')
			args = append(args, m)
		}
		b.WriteByte(')')
	}
	if q.Collapse {
		b.WriteString(live)
	}
	b.WriteString(" ORDER BY seq LIMIT ?")
	return b.String(), append(args, int64(max(1, q.MaxEvents))+1)
}
