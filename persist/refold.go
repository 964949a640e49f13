package persist

import (
	"context"
	"crypto/sha256"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/events"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Difference is a member of a row that differs from the log (I2). Column is the
// member's JSON name, or "row" if a whole row is missing or has no event.
type Difference struct {
	Table  string `json:"table"`
	ID     string `json:"id"`
	Column string `json:"column"`
	Row    string `json:"row"` // what the table has, shortened
	Log    string `json:"log"` // what the log gives
}

// String implements fmt.Stringer.
func (d Difference) String() string {
	return fmt.Sprintf("%s %s: %s is %s, the log gives %s", d.Table, d.ID, d.Column, d.Row, d.Log)
}

// Refolded is the result of Refold. Pruned counts the threads whose log is no
// longer whole, Busy those that changed at every try to read them.
type Refolded struct {
	Threads     int          `json:"threads"`
	Events      int64        `json:"events"`
	Pruned      int          `json:"pruned"`
	Busy        int          `json:"busy"`
	Differences []Difference `json:"differences"`
	More        bool         `json:"more"` // there were more differences than are kept
}

// The bounds of Refold: pages as large as those of streams, and as many
// differences as a person reads.
const (
	refoldEvents      = 1000
	refoldBytes       = 1 << 20
	refoldDifferences = 100
	refoldTries       = 3
)

// Refold rebuilds the rows of every thread whose log is whole and compares them
// with the stored rows. It uses the same Apply that made them, one thread at a
// time, in memory. It may run while the store is written. Its memory is bounded
// by the number of items of one thread, not by their content.
func Refold(ctx context.Context, r turns.Reader) (*Refolded, error) {
	out := &Refolded{}
	cursor := ""
	for {
		page, err := r.ListThreads(ctx, threads.Query{Cursor: cursor})
		if err != nil {
			return nil, fmt.Errorf("refold: %w", err)
		}
		for i := range page.Rows {
			if err := out.thread(ctx, r, &page.Rows[i]); err != nil {
				return nil, fmt.Errorf("refold %s: %w", page.Rows[i].ThreadID, err)
			}
		}
		if cursor = page.Next; cursor == "" {
			return out, out.runtime(ctx, r)
		}
	}
}

// thread refolds one thread. It retries if the thread changes meanwhile.
func (out *Refolded) thread(ctx context.Context, r turns.Reader, t *threads.Thread) error {
	for range refoldTries {
		pos, err := r.Position(ctx)
		if err != nil {
			return err
		}
		if t.CreatedSeq < pos.First {
			out.Pruned++
			return nil
		}
		f := newFolding(t.ThreadID, t.LatestSeq)
		if err := f.read(ctx, r); err != nil {
			return err
		}
		if err := f.compare(ctx, r, t); err != nil {
			return err
		}
		now, err := r.ReadThread(ctx, t.ThreadID, 0)
		if err != nil {
			return err
		}
		if pos, err = r.Position(ctx); err != nil {
			return err
		}
		if t.CreatedSeq < pos.First { // pruned while it was read
			out.Pruned++
			return nil
		}
		if now.Thread == nil || now.Thread.LatestSeq == t.LatestSeq {
			out.Threads++
			out.Events += f.events
			out.add(f.diffs)
			return nil
		}
		t = now.Thread
	}
	out.Busy++
	return nil
}

func (out *Refolded) add(diffs []Difference) {
	if room := refoldDifferences - len(out.Differences); len(diffs) > room {
		diffs, out.More = diffs[:room], true
	}
	out.Differences = append(out.Differences, diffs...)
}

// runtimeReader is what a store has beside turns.Reader.
type runtimeReader interface {
	Runtime(ctx context.Context) (turns.Runtime, error)
}

// runtime refolds the pause, if the whole log is there.
func (out *Refolded) runtime(ctx context.Context, r turns.Reader) error {
	pos, err := r.Position(ctx)
	if err != nil {
		return err
	}
	store, ok := r.(runtimeReader)
	if !ok || pos.First != 1 {
		return nil
	}
	f := newFolding("", pos.Latest)
	if err := eachEvent(ctx, r, notify.Filter{Methods: []string{notify.HolonPaused, notify.HolonResumed}}, pos.Latest, f.apply); err != nil {
		return err
	}
	row, err := store.Runtime(ctx)
	if err != nil {
		return err
	}
	if now, err := r.Position(ctx); err != nil || now.Latest != pos.Latest || now.First != 1 {
		return err // written or pruned meanwhile: the two cannot be compared
	}
	out.add(compareRows("runtime", "-", &row, &f.runtime))
	return nil
}

// folding is the rebuild of one thread: a ledger.State with its rows in memory.
// Of items that have ended it does not keep the content.
type folding struct {
	thread  string
	upTo    int64
	events  int64
	row     *threads.Thread
	turns   map[string]*turns.Turn
	items   map[string]*foldedItem
	tries   map[string][]*turns.Step // by turn, in the order in which they began
	runtime turns.Runtime
	diffs   []Difference
}

// foldedItem is an item whose content is kept only while it is open. Then the
// hash replaces it.
type foldedItem struct {
	items.Item
	deltas []string
	hash   [sha256.Size]byte
}

func newFolding(thread string, upTo int64) *folding {
	return &folding{
		thread: thread, upTo: upTo,
		turns: map[string]*turns.Turn{}, items: map[string]*foldedItem{}, tries: map[string][]*turns.Step{},
	}
}

func (f *folding) read(ctx context.Context, r turns.Reader) error {
	return eachEvent(ctx, r, notify.Filter{ThreadIDs: []string{f.thread}}, f.upTo, func(method string, h notify.Header, body any) error {
		f.events++
		if h.ThreadSeq != f.events {
			f.diff("events", fmt.Sprint(h.Seq), "thread_seq", fmt.Sprint(h.ThreadSeq), fmt.Sprint(f.events))
		}
		return f.apply(method, h, body)
	})
}

func (f *folding) apply(method string, h notify.Header, body any) error {
	old := f.items[items.OfBody(body)]
	switch b := body.(type) {
	case *items.Delta:
		if old != nil {
			old.deltas = append(old.deltas, b.Delta.Text)
		}
	case *items.Deleted: // the event has no content: the item keeps its own
		if old != nil {
			content, err := items.Fold(old.Content, old.deltas)
			if err != nil {
				return err
			}
			old.Content = content
		}
	}
	events.Fold(f, method, &h, body)
	if f.row != nil {
		f.row.LatestSeq, f.row.LatestThreadSeq = h.Seq, h.ThreadSeq
	}
	if i := tryAt(f.tries[h.TurnID], h.Step, h.Epoch); i >= 0 && len(h.Lineage) > 0 {
		if by := f.tries[h.TurnID][i].HiddenBy; by != 0 { // the fence should have refused it (I8)
			f.diff("events", fmt.Sprint(h.Seq), "lineage", fmt.Sprintf("a try that %d has superseded", by), notify.TurnLate)
		}
	}
	return nil
}

// Row implements ledger.State.
func (f *folding) Row(t *ledger.Table, id any) ledger.Row {
	switch t {
	case threads.Table:
		if f.row != nil {
			return f.row
		}
	case turns.Table:
		if row := f.turns[id.(string)]; row != nil {
			return row
		}
	case items.Table:
		if it := f.items[id.(string)]; it != nil {
			return &it.Item
		}
	case turns.RuntimeTable:
		return &f.runtime
	}
	return nil
}

// Rows implements ledger.State.
func (f *folding) Rows(_ *ledger.Table, turnID string, visit func(ledger.Row) bool) {
	list := f.tries[turnID]
	for i := len(list) - 1; i >= 0 && visit(list[i]); i-- {
	}
}

// Put implements ledger.State.
func (f *folding) Put(row ledger.Row) {
	switch r := row.(type) {
	case *threads.Thread:
		f.row = r
	case *turns.Turn:
		f.turns[r.TurnID] = r
	case *turns.Step:
		list := f.tries[r.TurnID]
		if i := tryAt(list, r.Step, r.Epoch); i >= 0 {
			list[i] = r
		} else {
			f.tries[r.TurnID] = append(list, r)
		}
	case *turns.Runtime:
		f.runtime = *r
	case *items.Item:
		it := &foldedItem{Item: *r}
		if old := f.items[r.ItemID]; old != nil {
			it.hash = old.hash
		}
		switch {
		case r.Status.Open():
			it.hash = [sha256.Size]byte{}
		case r.Content != nil:
			it.hash, it.Content = hashJSON(r.Content), nil
		}
		f.items[r.ItemID] = it
	}
}

// tryAt returns the index of a try, -1 if it is not in the list. It begins with
// the newest.
func tryAt(list []*turns.Step, step string, epoch int) int {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Epoch == epoch && list[i].Step == step {
			return i
		}
	}
	return -1
}

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
	for after := int64(0); after < upTo; {
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
