package persist

import (
	"context"
	"crypto/sha256"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/events"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

func (f *folding) compare(ctx context.Context, r turns.Reader, t *threads.Thread) error {
	f.diffs = append(f.diffs, compareRows("threads", t.ThreadID, t, f.row)...)
	err := eachRow(func(cursor string) (turns.List[turns.Turn], error) {
		return r.ListTurns(ctx, turns.Query{ThreadID: f.thread, Cursor: cursor})
	}, func(row *turns.Turn) error {
		f.diffs = append(f.diffs, compareRows("turns", row.TurnID, row, f.turns[row.TurnID])...)
		delete(f.turns, row.TurnID)
		return f.compareTries(ctx, r, row.TurnID)
	})
	if err != nil {
		return err
	}
	if err := eachRow(func(cursor string) (turns.List[items.Item], error) {
		return r.ListItems(ctx, items.Query{ThreadID: f.thread, Cursor: cursor, IncludeSuperseded: true})
	}, f.compareItem); err != nil {
		return err
	}
	for id := range f.turns {
		f.diff("turns", id, "row", "missing", "a row")
	}
	for id := range f.items {
		f.diff("items", id, "row", "missing", "a row")
	}
	return nil
}

// rowReader is what a store has besides turns.Reader for the rows of inboxes.
type rowReader interface {
	ReadRows(ctx context.Context, f func(Snapshot) error) error
}

// compareInbox compares the rows of the thread's inbox, in one snapshot. Once an
// event of the whole log has removed the inbox of a closed thread, there must be
// none but those that are removed after it.
func (out *Refolded) compareInbox(ctx context.Context, r turns.Reader, f *folding) error {
	store, ok := r.(rowReader)
	if !ok {
		return nil
	}
	closed := f.row != nil && f.row.State == threads.Closed && f.inbox.row != nil
	var latest int64
	var diffs, gone []Difference
	if err := store.ReadRows(ctx, func(s Snapshot) (err error) {
		if _, latest, err = s.Ends(); err != nil {
			return err
		}
		if diffs, err = f.inbox.compare(s, f.thread); err != nil {
			return err
		}
		taken, err := f.compareTaken(s)
		if f.diffs = append(f.diffs, taken...); err != nil || !closed {
			return err
		}
		none := newFoldedInbox()
		none.removed = true
		gone, err = none.compare(s, f.thread)
		return err
	}); err != nil {
		return err
	}
	if closed {
		if err := out.readRemovals(ctx, r, latest); err != nil {
			return err
		}
		if at := out.removed[f.thread]; at != 0 && at <= latest {
			diffs = gone
		}
	}
	f.diffs = append(f.diffs, diffs...)
	return nil
}

// compareTaken compares which ends of child turns the inbox has: a part of the rows
// of turns of other threads.
func (f *folding) compareTaken(s ledger.Reader) (diffs []Difference, err error) {
	for turnID, seq := range f.taken {
		v, err := s.Get(turns.TakenOf, turnID)
		if err != nil {
			return nil, err
		}
		d, err := compareColumns(turns.TakenTable, turnID, v, &turns.Taken{TurnID: turnID, Seq: seq})
		if err != nil {
			return nil, err
		}
		diffs = append(diffs, d...)
	}
	return diffs, nil
}

// readRemovals reads up to a seq which inboxes of closed threads were removed.
func (out *Refolded) readRemovals(ctx context.Context, log notify.Log, upTo int64) error {
	if out.removed == nil {
		out.removed = map[string]int64{}
	}
	err := eachEventAfter(ctx, log, notify.Filter{Methods: []string{notify.InboxExpired}}, out.removedTo, upTo, func(_ string, h notify.Header, body any) error {
		if b, ok := body.(*inbox.Expired); ok && b.SubjectThreadID != "" {
			out.removed[b.SubjectThreadID] = h.Seq
		}
		return nil
	})
	if err == nil {
		out.removedTo = max(out.removedTo, upTo)
	}
	return err
}

// compareTries compares the rows of a turn's tries.
func (f *folding) compareTries(ctx context.Context, r turns.Reader, turnID string) error {
	want := f.tries[turnID]
	err := eachRow(func(cursor string) (turns.List[turns.Step], error) {
		return r.ListSteps(ctx, turns.StepQuery{TurnID: turnID, Cursor: cursor, IncludeSuperseded: true})
	}, func(row *turns.Step) error {
		var log *turns.Step
		if len(want) > 0 && want[0].Seq == row.Seq {
			log, want = want[0], want[1:]
		}
		f.diffs = append(f.diffs, compareRows("steps", fmt.Sprint(row.Seq), row, log)...)
		return nil
	})
	if err != nil {
		return err
	}
	for _, s := range want {
		f.diff("steps", fmt.Sprint(s.Seq), "row", "missing", "a row")
	}
	return nil
}

func (f *folding) compareItem(row *items.Item) error {
	want := f.items[row.ItemID]
	if want == nil {
		f.diff("items", row.ItemID, "row", "there", "none")
		return nil
	}
	delete(f.items, row.ItemID)
	log := want.Item
	if i := tryAt(f.tries[log.TurnID], log.Step, log.Epoch); len(log.Lineage) > 0 && i >= 0 {
		try := f.tries[log.TurnID][i]
		if try.HiddenBy != 0 && log.CreatedSeq > try.HiddenAfter {
			log.Superseded, log.SupersededBySeq = true, try.HiddenBy
		}
	}
	if log.Status.Open() {
		folded, err := items.Fold(log.Content, want.deltas)
		if err != nil {
			return err
		}
		log.Content = folded
	} else if hashJSON(row.Content) == want.hash {
		log.Content = row.Content
	} else {
		log.Content = items.Raw(`"other content"`)
	}
	f.diffs = append(f.diffs, compareRows("items", row.ItemID, row, &log)...)
	return nil
}

func (f *folding) diff(table, id, column, row, log string) {
	f.diffs = append(f.diffs, Difference{Table: table, ID: id, Column: column, Row: row, Log: log})
}

// eachRow calls f with every row of a list.
func eachRow[T any](page func(cursor string) (turns.List[T], error), f func(*T) error) error {
	for cursor := ""; ; {
		p, err := page(cursor)
		if err != nil {
			return err
		}
		for i := range p.Rows {
			if err := f(&p.Rows[i]); err != nil {
				return err
			}
		}
		if cursor = p.Next; cursor == "" {
			return nil
		}
	}
}

// eachEvent decodes every event up to a seq that passes the filter.
func eachEvent(ctx context.Context, log notify.Log, filter notify.Filter, upTo int64, f func(string, notify.Header, any) error) error {
	return eachEventAfter(ctx, log, filter, 0, upTo, f)
}

func eachEventAfter(ctx context.Context, log notify.Log, filter notify.Filter, after, upTo int64, f func(string, notify.Header, any) error) error {
	for after < upTo {
		p, err := log.Page(ctx, notify.Query{After: after, Filter: filter, MaxEvents: refoldEvents, MaxBytes: refoldBytes})
		if err != nil {
			return err
		}
		for i := range p.Events {
			e := &p.Events[i]
			if e.Seq > upTo {
				return nil
			}
			h, body, err := events.Decode(e.Method, e.Params)
			if err != nil {
				return err
			}
			if h.Seq != e.Seq {
				return fmt.Errorf("event %d has the seq %d in its params", e.Seq, h.Seq)
			}
			if err := f(e.Method, h, body); err != nil {
				return err
			}
		}
		if p.Scanned <= after {
			return nil
		}
		after = p.Scanned
	}
	return nil
}

// compareRows compares two structs of one type, member by member. JSON is
// compared as values.
func compareRows[T any](table, id string, row, log *T) []Difference {
	if row == nil || log == nil {
		return []Difference{{Table: table, ID: id, Column: "row", Row: presence(row), Log: presence(log)}}
	}
	var diffs []Difference
	a, b := reflect.ValueOf(row).Elem(), reflect.ValueOf(log).Elem()
	for i := range a.NumField() {
		x, y := a.Field(i).Interface(), b.Field(i).Interface()
		if reflect.DeepEqual(x, y) {
			continue
		}
		p, q := normal(x), normal(y)
		if p == q {
			continue
		}
		column, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
		if column == "-" {
			column = strings.ToLower(a.Type().Field(i).Name)
		}
		diffs = append(diffs, Difference{Table: table, ID: id, Column: column, Row: short(p), Log: short(q)})
	}
	return diffs
}

// compareColumns compares the columns of a stored row, nil if there is none, with
// those of a folded one, nil if there is none. What did not fit into an inbox is in
// no event, so its count is not compared.
func compareColumns(t *ledger.Table, id string, stored ledger.Values, folded ledger.Row) (diffs []Difference, err error) {
	if stored == nil || folded == nil {
		if stored == nil && folded == nil {
			return nil, nil
		}
		d := Difference{Table: t.Name, ID: id, Column: "row", Row: "there", Log: "missing"}
		if stored == nil {
			d.Row, d.Log = d.Log, d.Row
		}
		return []Difference{d}, nil
	}
	want, err := folded.Values(0)
	if err != nil {
		return nil, err
	}
	for i, column := range t.Columns {
		p, q := normalColumn(stored[i]), normalColumn(want[i])
		if p != q && column != "lagged" {
			diffs = append(diffs, Difference{Table: t.Name, ID: id, Column: column, Row: short(p), Log: short(q)})
		}
	}
	return diffs, nil
}

// normalColumn returns a column in one normal form; blobs are JSON.
func normalColumn(v any) string {
	if b, ok := v.([]byte); ok {
		if v = any(jsontext.Value(b)); len(b) == 0 {
			v = nil
		}
	}
	return normal(v)
}

func presence[T any](v *T) string {
	if v == nil {
		return "missing"
	}
	return "there"
}

// normal returns a value as JSON in one normal form.
func normal(v any) string {
	b, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		return fmt.Sprintf("%v", v)
	}
	return string(b)
}

func hashJSON(raw items.Raw) [sha256.Size]byte { return sha256.Sum256([]byte(normal(raw))) }

func short(s string) string {
	if len(s) > 120 {
		return s[:120] + "…"
	}
	return s
}
