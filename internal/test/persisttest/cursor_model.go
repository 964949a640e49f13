package persisttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/notify"
)

// cursorModel is what the cursors of one history must be, written down without the
// code of package cursors: by name, in the order in which they were made.
type cursorModel struct {
	s     *cursors.Service
	h     Harness
	run   string
	now   time.Time
	rows  []*modelCursor
	event int // how many events were expected
}

type modelCursor struct {
	name cursors.Name
	last int64
	// What the newest sequence was confirmed with, and the last real delivery.
	confirmed, id, text string
	delivered           notify.Time
}

// cursorHistories runs random commands and compares every answer, every read and
// every list with the model.
func cursorHistories(t *testing.T, h Harness) {
	m := &cursorModel{h: h, now: epoch}
	m.s = cursors.New(cursors.Config{Log: h.Store, Reader: h.Store, Now: func() time.Time { return m.now }})
	runs := 0
	rapid.Check(t, func(r *rapid.T) {
		runs++
		m.run, m.rows = fmt.Sprintf("run_%d_", runs), nil
		for range 30 {
			m.now = m.now.Add(time.Second)
			m.step(r)
		}
		m.list(r)
	})
	if got := len(all(t, h.Store)); got != m.event || got == 0 {
		t.Errorf("%d events, want %d", got, m.event)
	}
}

func (m *cursorModel) draw(r *rapid.T) cursors.Name {
	return cursors.Name{
		ConsumerID: m.run + rapid.SampledFrom([]string{"a", "b"}).Draw(r, "consumer"),
		StreamName: rapid.SampledFrom([]string{"mail", "news"}).Draw(r, "stream"),
		SubjectID:  rapid.SampledFrom([]string{"", "thread_a"}).Draw(r, "subject"),
	}
}

func (m *cursorModel) find(n cursors.Name) *modelCursor {
	for _, row := range m.rows {
		if row.name == n {
			return row
		}
	}
	return nil
}

// put returns the row of the name, a new one if there is none.
func (m *cursorModel) put(n cursors.Name) *modelCursor {
	row := m.find(n)
	if row == nil {
		row = &modelCursor{name: n}
		m.rows = append(m.rows, row)
	}
	return row
}

func (m *cursorModel) step(r *rapid.T) {
	ctx := context.Background()
	n, to := m.draw(r), int64(pick(r, 6, "to"))
	row := m.find(n)
	var got cursors.Result
	var err error
	switch pick(r, 8, "command") {
	case 0:
		got, err = m.s.RecordError(ctx, cursors.RecordError{Name: n, Error: "down"})
		m.put(n).text = "down"
	case 1:
		got, err = m.s.Reset(ctx, cursors.Reset{Name: n, LastSequence: &to, Reason: "x"})
		if row == nil {
			m.refused(r, err, cursors.ErrNotFound)
			return
		}
		m.event++
		*row = modelCursor{name: n, last: to}
	case 2:
		got, err = m.s.Delete(ctx, cursors.Delete{Name: n, Reason: "x"})
		if row == nil {
			m.refused(r, err, cursors.ErrNotFound)
			return
		}
		m.event++
		m.rows = slices.DeleteFunc(m.rows, func(o *modelCursor) bool { return o == row })
	default:
		id := rapid.SampledFrom([]string{"", "x", "y"}).Draw(r, "delivery")
		got, err = m.s.Advance(ctx, cursors.Advance{Name: n, LastSequence: &to, DeliveryID: id})
		last, confirmed := int64(0), ""
		if row != nil {
			last, confirmed = row.last, row.confirmed
		}
		if to < last || to == last && id != confirmed {
			var not *cursors.NotMonotonicError
			if !errors.As(err, &not) {
				r.Fatalf("%v to %d %q after %d %q: %v", n, to, id, last, confirmed, err)
			}
			m.same(r, not.Cursor, row, n)
			return
		}
		row = m.put(n)
		row.text = ""
		if to > last {
			row.last, row.confirmed = to, id
			if id != "" {
				row.id, row.delivered = id, notify.TimeOf(m.now)
			}
		}
	}
	if err != nil {
		r.Fatal(err)
	}
	if got.Seq != int64(m.event) {
		r.Fatalf("seq %d, want %d", got.Seq, m.event)
	}
	m.same(r, got.Cursor, m.find(n), n)
	read, latest, err := m.s.Read(ctx, n)
	if err != nil || latest != int64(m.event) {
		r.Fatalf("read at %d, %v", latest, err)
	}
	m.same(r, read, m.find(n), n)
}

func (m *cursorModel) refused(r *rapid.T, err, want error) {
	if !errors.Is(err, want) {
		r.Fatalf("%v, want %v", err, want)
	}
}

// same compares a cursor with its row, nil if there must be none. Times of updates
// are not in the model.
func (m *cursorModel) same(r *rapid.T, c cursors.Cursor, row *modelCursor, n cursors.Name) {
	if row == nil {
		if c != cursors.Zero(n) {
			r.Fatalf("%+v, want the zero state", c)
		}
		return
	}
	if c.Name() != row.name || !c.Exists || c.LastSequence != row.last || c.LastDeliveryID != row.id || c.LastDeliveredAt != row.delivered ||
		c.LastError != row.text || c.UpdatedAt.IsZero() {
		r.Fatalf("%+v, want %+v", c, row)
	}
}

// list reads a list in small pages, with random filters.
func (m *cursorModel) list(r *rapid.T) {
	n := m.draw(r)
	q := cursors.Query{Limit: 1 + pick(r, 3, "limit"), Newest: rapid.Bool().Draw(r, "newest")}
	if rapid.Bool().Draw(r, "of a consumer") {
		q.ConsumerID = &n.ConsumerID
	}
	if rapid.Bool().Draw(r, "of a stream") {
		q.StreamName = &n.StreamName
	}
	if rapid.Bool().Draw(r, "of a subject") {
		q.SubjectID = &n.SubjectID
	}
	var want []*modelCursor
	for _, row := range m.rows {
		if passes(q.ConsumerID, row.name.ConsumerID) && passes(q.StreamName, row.name.StreamName) && passes(q.SubjectID, row.name.SubjectID) {
			want = append(want, row)
		}
	}
	if q.Newest {
		slices.Reverse(want)
	}
	var got []cursors.Cursor
	for {
		page, err := m.s.List(context.Background(), q)
		if err != nil || len(page.Rows) > q.Limit || page.Latest != int64(m.event) {
			r.Fatalf("%d rows at %d, %v", len(page.Rows), page.Latest, err)
		}
		for _, c := range page.Rows {
			if len(c.ConsumerID) > len(m.run) && c.ConsumerID[:len(m.run)] == m.run { // others are of earlier histories
				got = append(got, c)
			}
		}
		if page.Next == "" {
			break
		}
		at, err := strconv.ParseInt(page.Next, 10, 64)
		if last, _ := strconv.ParseInt(q.Cursor, 10, 64); err != nil || q.Cursor != "" && cmp.Compare(at, last) != map[bool]int{false: 1, true: -1}[q.Newest] {
			r.Fatalf("after the page at %q comes %q", q.Cursor, page.Next)
		}
		q.Cursor = page.Next
	}
	if len(got) != len(want) {
		r.Fatalf("%d rows of %+v, want %d", len(got), q, len(want))
	}
	for i := range got {
		m.same(r, got[i], want[i], want[i].name)
	}
}

func passes(filter *string, value string) bool { return filter == nil || *filter == value }
