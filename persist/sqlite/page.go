package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/internal/events"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// scanEvents bounds the events that one page looks at, so that a filter that
// matches nothing returns in time, with a later position.
const scanEvents = 20_000

// prealloc is the capacity that a page's events get at once.
const prealloc = 1000

// The columns of a page's events. params holds all the rest; each further column
// costs a tenth of the replay rate. smallColumns leave out params that are too large.
const (
	eventColumns = "seq, method, time, params"
	smallColumns = "seq, method, time, CASE WHEN length(params) <= ? THEN params END"
)

// Page implements notify.Log.
func (s *Reader) Page(ctx context.Context, q notify.Query) (p notify.Page, err error) {
	if q.Frames && !q.Summary && q.Filter.All() {
		var ok bool
		err = s.scans.query(ctx, func(c *conn) error {
			p, ok, err = pageAtOnce(c, q)
			return err
		})
		if ok || err != nil {
			return p, err
		}
	}
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
	if q.Frames && !q.Summary && len(q.Filter.ThreadIDs) != 1 && len(q.Filter.Methods) == 0 {
		if ok, err := framesOf(c, q, &p); ok || err != nil {
			return p, err
		}
	}
	upTo, seqs, err := window(c, q, p.Latest)
	if err != nil {
		return p, err
	}
	from, args := pageSQL(q, upTo, seqs)
	if q.Filter.All() && !q.Collapse && !q.Summary {
		p.Events = make([]notify.Event, 0, min(int64(max(1, q.MaxEvents)), upTo-q.After, prealloc))
	}
	columns := eventColumns
	if q.Parts {
		columns, args = smallColumns, append([]driver.Value{int64(q.MaxBytes)}, args...)
	}
	bytes := 0
	if err := c.query("SELECT "+columns+" "+from, func(r row) error {
		params := r.Blob(3)
		if params == nil { // a large event, which comes alone
			if p.More = true; len(p.Events) == 0 {
				p.Events = append(p.Events, notify.Event{Seq: r.Int(0)})
			}
			return errEnough
		}
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
		if p.Large() != nil {
			err = largeOf(c, p.Scanned, &p)
		}
	} else {
		p.Scanned = upTo
		p.More = upTo < p.Latest
	}
	return p, err
}

// largeOf makes the page of an event that comes alone, without params.
func largeOf(c *conn, seq int64, p *notify.Page) error {
	p.Scanned, p.More = seq, seq < p.Latest
	_, err := c.queryOne("SELECT method, time, coalesce(thread_id, '') FROM events WHERE seq = ?", func(r row) {
		p.Events = []notify.Event{{Seq: seq, Method: r.Text(0), Time: notify.TimeFromMilli(r.Int(1)), ThreadID: r.Text(2)}}
	}, seq)
	return err
}

// live leaves out what is superseded as of the newest marker of the snapshot: a
// marker updates the rows of the tries that it supersedes. Markers belong to no
// try and are never left out.
const live = ` AND method <> 'turn/late' AND (span IS NULL
	OR NOT EXISTS (SELECT 1 FROM steps s WHERE s.seq = events.span AND events.seq > s.hidden_after))`

// noDeltas leaves out what is most of a log and in no summary, butOfThreads not those
// of threads that are whole.
const (
	noDeltas     = " AND method <> '" + notify.ItemDelta + "'"
	butOfThreads = " AND (method <> '" + notify.ItemDelta + "' OR thread_id IN (SELECT value FROM json_each(?)))"
)

// SQLite makes a page of frames, which is read as one value. Reading row by row
// through the driver would take twice as long. Params have no line feeds.
const (
	pageSize   = "SELECT count(*), coalesce(sum(length(params)), 0) FROM events WHERE seq > ? AND seq <= ?"
	pageSizes  = "SELECT seq, length(params) FROM events WHERE seq > ? AND seq <= ?"
	pageFrames = `SELECT count(*), CAST(group_concat('{"jsonrpc":"2.0","method":"' || method || '","params":' || params || '}' || char(10), '') AS BLOB)
		FROM (SELECT method, params FROM events WHERE seq > ? AND seq <= ?`
	pageOrder = " ORDER BY seq)"
	// The parts of pageAtOnce. The frames are made only if they are small enough.
	framesAtOnce = `SELECT (SELECT first_seq FROM meta), (SELECT max(seq) FROM events), n, size, CASE WHEN size <= ?1 THEN (
		SELECT CAST(group_concat('{"jsonrpc":"2.0","method":"' || method || '","params":' || params || '}' || char(10), '') AS BLOB)
		FROM (SELECT method, params FROM events WHERE seq > ?2 AND seq <= ?3`
	fromSizes = " FROM (SELECT count(*) AS n, coalesce(sum(length(params)), 0) AS size FROM events WHERE seq > ?2 AND seq <= ?3)"
	// ofThreads is for threads that have many of the events: the + keeps SQLite
	// from using their index.
	ofThreads = " AND +thread_id IN (SELECT value FROM json_each(?))"
)

// denseEvents decides how a page of several threads is read. If at least one
// event in denseEvents passes, the page is read in the order of the log. If
// fewer pass, the threads' index is faster.
const denseEvents = 8

// framesOf fills the page with frames. It returns false and does not change the
// page if the first event is too large, if too few events belong to the filter's
// threads, or if events are missing although none may be left out. The page is
// then read row by row.
func framesOf(c *conn, q notify.Query, p *notify.Page) (bool, error) {
	upTo := min(p.Latest, q.After+int64(max(1, q.MaxEvents)))
	sizeSQL, sizesSQL, framesSQL, args := pageSize, pageSizes, pageFrames, []driver.Value{q.After, upTo}
	if threads := q.Filter.ThreadIDs; len(threads) > 0 {
		raw, _ := encode(threads, false) // strings always encode
		sizeSQL, sizesSQL, framesSQL, args = sizeSQL+ofThreads, sizesSQL+ofThreads, framesSQL+ofThreads, append(args, string(raw))
	}
	if q.Collapse {
		framesSQL += live
	}
	framesSQL += pageOrder
	// Also with collapse the size is that of all events: finding what is
	// superseded takes as long as making the frames. So a page may end early that is
	// too large only without collapse.
	var n, size int64
	if _, err := c.queryOne(sizeSQL, func(r row) { n, size = r.Int(0), r.Int(1) }, args...); err != nil {
		return false, err
	}
	if len(q.Filter.ThreadIDs) > 0 && n*denseEvents < upTo-q.After && upTo < p.Latest {
		return false, nil
	}
	if size > int64(q.MaxBytes) { // the events that fit
		first := int64(0)
		n, size = 0, 0
		if err := c.query(sizesSQL+" ORDER BY seq", func(r row) error {
			if n == 0 {
				first = r.Int(0)
			}
			if size += r.Int(1); size > int64(q.MaxBytes) {
				return errEnough
			}
			n, upTo = n+1, r.Int(0)
			return nil
		}, args...); err != nil {
			return false, err
		}
		switch {
		case n == 0 && q.Parts && !q.Collapse: // with collapse it may be left out
			return true, largeOf(c, first, p)
		case n == 0:
			return false, nil
		}
		args[1] = upTo
	}
	if len(q.Filter.ThreadIDs) == 0 && n != upTo-q.After && !q.Collapse {
		return false, nil
	}
	var frames []byte
	if _, err := c.queryOne(framesSQL, func(r row) { n, frames = r.Int(0), r.Blob(1) }, args...); err != nil {
		return false, err
	}
	if int64(bytes.Count(frames, []byte{'\n'})) != n {
		return false, nil
	}
	p.Frames, p.Scanned, p.More = frames, upTo, upTo < p.Latest
	return true, nil
}

// pageAtOnce reads a page of frames without a filter with one query: a stream that
// replays asks for thousands of pages, each of one chunk. It returns false if the events
// are too large, or if some are missing although none may be left out. The page is then
// read with several queries.
func pageAtOnce(c *conn, q notify.Query) (p notify.Page, ok bool, err error) {
	sql := framesAtOnce + pageOrder + ") END" + fromSizes
	if q.Collapse {
		sql = framesAtOnce + live + pageOrder + ") END" + fromSizes
	}
	upTo := q.After + int64(max(1, q.MaxEvents))
	var n, size int64
	if _, err := c.queryOne(sql, func(r row) {
		p.First, p.Latest = r.Int(0), r.Int(0)-1
		if r[1] != nil {
			p.Latest = r.Int(1)
		}
		n, size, p.Frames = r.Int(2), r.Int(3), r.Blob(4)
	}, int64(q.MaxBytes), q.After, upTo); err != nil {
		return p, false, err
	}
	p.Scanned = max(q.After, min(upTo, p.Latest))
	p.More = p.Scanned < p.Latest
	frames := int64(bytes.Count(p.Frames, []byte{'\n'}))
	switch whole := n == p.Scanned-q.After && frames == n; {
	case size > int64(q.MaxBytes):
		return notify.Page{}, false, nil
	case !whole && (!q.Collapse || frames > n):
		return notify.Page{}, false, nil
	}
	if q.Collapse {
		p.AsOf = p.Latest
	}
	return p, true, nil
}

// position reads where the log begins and ends.
func position(c *conn, at *turns.Position) error {
	_, err := c.queryOne("SELECT log_id, first_seq, (SELECT max(seq) FROM events) FROM meta", func(r row) {
		*at = turns.Position{LogID: r.Text(0), First: r.Int(1), Latest: r.Int(1) - 1}
		if r[2] != nil {
			at.Latest = r.Int(2)
		}
	})
	return err
}

// ends works like position, without the id of the log.
func ends(c *conn, first, latest *int64) error {
	var at turns.Position
	err := position(c, &at)
	*first, *latest = at.First, at.Latest
	return err
}

// reachOfThread finds the seq of a thread's n-th next event.
const reachOfThread = "SELECT seq FROM events WHERE thread_id = ? AND seq > ? ORDER BY seq LIMIT 1 OFFSET ?"

// window returns how far this page looks. For several threads it also returns
// the seqs to read: the next of each thread, merged. One query over all threads
// would sort all events that they still have.
func window(c *conn, q notify.Query, latest int64) (upTo int64, seqs []int64, err error) {
	threads := q.Filter.ThreadIDs
	sparse := len(q.Filter.Methods) > 0 || q.Collapse || q.Summary // events that are looked at may be left out of the page
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
	return seqsOf(c, threads, q.After, latest, max(1, q.MaxEvents)+1)
}

// seqsOfThread finds the next seqs of a thread's events.
const seqsOfThread = "SELECT seq FROM events WHERE thread_id = ? AND seq > ? ORDER BY seq LIMIT ?"

// seqsOf merges the next seqs of several threads, up to limit. It first reads a
// share of each thread, then more of the thread that would end the page too
// soon. seqs has all of them up to upTo.
func seqsOf(c *conn, threads []string, after, latest int64, limit int) (upTo int64, seqs []int64, err error) {
	type source struct {
		id   string
		last int64 // the newest seq that was read
		more bool  // there may be later ones
		next int   // how many to read
	}
	sources := make([]source, len(threads))
	read := func(s *source) error {
		n := 0
		err := c.query(seqsOfThread, func(r row) error {
			n, s.last = n+1, r.Int(0)
			seqs = append(seqs, s.last)
			return nil
		}, s.id, s.last, int64(s.next))
		s.more, s.next = n == s.next, min(2*s.next, limit)
		return err
	}
	for i := range sources {
		sources[i] = source{id: threads[i], last: after, next: min(limit, limit/len(threads)+8)}
		if err := read(&sources[i]); err != nil {
			return 0, nil, err
		}
	}
	for {
		var first *source // the thread whose unread events may come next
		for i := range sources {
			if s := &sources[i]; s.more && (first == nil || s.last < first.last) {
				first = s
			}
		}
		slices.Sort(seqs)
		seqs = slices.Compact(seqs) // a thread may be named twice
		if upTo = latest; first != nil {
			upTo = first.last
		}
		if n := len(seqs); n >= limit && seqs[limit-1] <= upTo {
			return seqs[limit-1], seqs[:limit], nil
		}
		if first == nil {
			return upTo, seqs, nil
		}
		if err := read(first); err != nil {
			return 0, nil, err
		}
	}
}

// pageSQL returns the page's query without its columns. It reads one event more
// than MaxEvents, to know whether there are more.
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
	switch {
	case q.Summary && len(q.Whole) > 0:
		b.WriteString(butOfThreads)
		raw, _ := encode(q.Whole, false) // strings always encode
		args = append(args, string(raw))
	case q.Summary:
		b.WriteString(noDeltas)
	}
	b.WriteString(" ORDER BY seq LIMIT ?")
	return b.String(), append(args, int64(max(1, q.MaxEvents))+1)
}
