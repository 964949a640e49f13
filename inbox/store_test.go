package inbox

import (
	"bytes"
	"cmp"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/seed82539d15/holon/ledger"
)

// memStore is a store in memory that keeps columns, as a database does: what a
// row does not write into its columns is lost. It implements ledger.Reader.
type memStore struct {
	tables map[*ledger.Table][]*memRow
}

// memRow is a stored row: its columns, and what the domain reads from them.
type memRow struct {
	v   ledger.Values
	row ledger.Row
}

func newMemStore() *memStore { return &memStore{tables: map[*ledger.Table][]*memRow{}} }

// plan is an index with its columns resolved.
type plan struct {
	columns []int
	where   []condition
}

type condition struct {
	column int
	values []any
}

var plans = map[*ledger.Index]*plan{}

func planOf(ix *ledger.Index) *plan {
	p := plans[ix]
	if p == nil {
		p = &plan{where: conditions(ix.Table, ix.Where)}
		for _, c := range ix.Columns {
			p.columns = append(p.columns, ix.Table.Column(c))
		}
		plans[ix] = p
	}
	return p
}

func conditions(t *ledger.Table, list []ledger.Only) (out []condition) {
	for _, o := range list {
		out = append(out, condition{t.Column(o.Column), o.Values})
	}
	return out
}

func meets(v ledger.Values, list []condition) bool {
	for _, c := range list {
		if !slices.Contains(c.values, any(v[c.column])) {
			return false
		}
	}
	return true
}

func hasPrefix(v ledger.Values, columns []int, prefix []any) bool {
	for i, want := range prefix {
		if any(v[columns[i]]) != want {
			return false
		}
	}
	return true
}

// compareColumns orders two columns of one kind; nil comes first.
func compareColumns(a, b any) int {
	switch x := a.(type) {
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
		return 1
	case string:
		if y, ok := b.(string); ok {
			return cmp.Compare(x, y)
		}
		return 1
	}
	if b == nil {
		return 0
	}
	return -1
}

// Get implements ledger.Reader.
func (s *memStore) Get(ix *ledger.Index, key ...any) (ledger.Values, error) {
	p := planOf(ix)
	if len(key) != len(p.columns) {
		return nil, fmt.Errorf("get by %d of the %d columns of %s %s", len(key), len(p.columns), ix.Table.Name, ix.Name)
	}
	for _, r := range s.tables[ix.Table] {
		if hasPrefix(r.v, p.columns, key) && meets(r.v, p.where) {
			return slices.Clone(r.v), nil
		}
	}
	return nil, nil
}

// Scan implements ledger.Reader. The values that f gets are overwritten after it.
func (s *memStore) Scan(r ledger.Range, f func(ledger.Values) error) error {
	p, only := planOf(r.Index), conditions(r.Index.Table, r.Only)
	if r.Live != nil || r.First != 0 {
		return errors.New("this store knows neither Live nor First")
	}
	sign := 1
	if r.Newest {
		sign = -1
	}
	var list []*memRow
	next := len(r.Prefix)
	for _, m := range s.tables[r.Index.Table] {
		switch {
		case !hasPrefix(m.v, p.columns, r.Prefix) || !meets(m.v, p.where) || !meets(m.v, only):
		case r.After != nil && sign*compareColumns(m.v[p.columns[next]], r.After) <= 0:
		case r.Until != nil && sign*compareColumns(m.v[p.columns[next]], r.Until) >= 0:
		default:
			list = append(list, m)
		}
	}
	slices.SortStableFunc(list, func(x, y *memRow) int {
		for _, c := range p.columns {
			if n := compareColumns(x.v[c], y.v[c]); n != 0 {
				return sign * n
			}
		}
		return 0
	})
	var buffer ledger.Values
	for _, m := range list[min(r.Skip, len(list)):] {
		buffer = append(buffer[:0], m.v...)
		err := f(buffer)
		for i := range buffer {
			buffer[i] = nil
		}
		if errors.Is(err, ledger.ErrEnough) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unique lists the indexes of which no two rows may share the columns.
var unique = map[*ledger.Table][]*ledger.Index{
	Table: {ByThread}, RawTable: {RawBySeq, RawByNative}, DigestTable: {DigestBySeq, DigestOpen}, EntryTable: {EntryBySeq},
	SubscriptionTable: {SubscriptionByID}, TimerTable: {TimerByID},
}

// read makes a row of its columns.
func read(t *ledger.Table, v ledger.Values) (ledger.Row, error) {
	if t == Table {
		return ReadRow(v)
	}
	return tables[t].read(v)
}

// put writes a row as a database does: a new one is inserted, of another one the
// mutable columns change. Rows are written one after the other, and unique
// indexes hold after each.
func (s *memStore) put(r ledger.Row, first int64) error {
	t := r.Table()
	if gone, ok := r.(*ledger.Removal); ok {
		s.tables[t] = slices.DeleteFunc(s.tables[t], func(m *memRow) bool { return any(m.v[t.Column(t.Key[0])]) == gone.Key[0] })
		return nil
	}
	isNew := r.New()
	v, err := r.Values(first)
	if err != nil {
		return err
	}
	if len(v) != len(t.Columns) {
		return fmt.Errorf("a row of %s has %d columns, not %d", t.Name, len(v), len(t.Columns))
	}
	row, err := read(t, slices.Clone(v))
	if err != nil {
		return err
	}
	if again, err := row.Values(0); err != nil || !sameValues(v, again) {
		return fmt.Errorf("a row of %s is written as %v and read as %v (%v)", t.Name, v, again, err)
	}
	key := v[t.Column(t.Key[0])]
	at := slices.IndexFunc(s.tables[t], func(m *memRow) bool { return m.v[t.Column(t.Key[0])] == key })
	switch {
	case isNew && at >= 0:
		return fmt.Errorf("a new row of %s has the key %v of another one", t.Name, key)
	case !isNew && at < 0:
		return fmt.Errorf("the row %v of %s that changes does not exist", key, t.Name)
	case isNew:
		s.tables[t] = append(s.tables[t], &memRow{v, row})
		at = len(s.tables[t]) - 1
	default:
		for i, name := range t.Columns {
			if !slices.Contains(t.Mutable, name) && !sameValue(v[i], s.tables[t][at].v[i]) {
				return fmt.Errorf("the column %s of %s %v changes from %v to %v, and no update writes it", name, t.Name, key, s.tables[t][at].v[i], v[i])
			}
		}
		s.tables[t][at] = &memRow{v, row}
	}
	for _, ix := range unique[t] {
		p := planOf(ix)
		if !meets(v, p.where) {
			continue
		}
		for i, m := range s.tables[t] {
			same := i != at && meets(m.v, p.where)
			for _, c := range p.columns {
				same = same && m.v[c] == v[c]
			}
			if same {
				return fmt.Errorf("two rows of %s share %v", t.Name, ix.Columns)
			}
		}
	}
	return nil
}

func sameValue(a, b any) bool {
	if x, ok := a.([]byte); ok {
		y, ok := b.([]byte)
		return ok && bytes.Equal(x, y)
	}
	if _, ok := b.([]byte); ok {
		return false
	}
	return a == b
}

// sameValues reports whether the columns of two rows are equal. Blobs that are
// nil and empty differ, as in a database.
func sameValues(a, b ledger.Values) bool {
	return slices.EqualFunc(a, b, func(x, y driver.Value) bool { return sameValue(x, y) })
}

// all returns the rows of a table in the order of their insertion.
func all[R ledger.Row](s *memStore, t *ledger.Table) []R {
	list := make([]R, len(s.tables[t]))
	for i, m := range s.tables[t] {
		list[i] = m.row.(R)
	}
	return list
}

// clone copies the store. Rows are replaced and never changed, so they are shared.
func (s *memStore) clone() *memStore {
	c := newMemStore()
	for t, list := range s.tables {
		c.tables[t] = slices.Clone(list)
	}
	return c
}

// memState is a ledger.State in memory: rows as a rebuild from the log makes
// them. It remembers what was put.
type memState struct {
	rows    map[*ledger.Table]map[any]ledger.Row
	touched []ledger.Row
}

func newMemState() *memState {
	return &memState{rows: map[*ledger.Table]map[any]ledger.Row{}}
}

// Row implements ledger.State.
func (s *memState) Row(t *ledger.Table, id any) ledger.Row {
	if key, ok := id.(OpenKey); ok {
		for _, row := range s.rows[t] {
			if d := row.(*Digest); d.Open && key == (OpenKey{d.ThreadID, d.Source, d.ResourceRef, d.EventFamily}) {
				return d
			}
		}
		return nil
	}
	if key, ok := id.(AboutKey); ok {
		var newest *Raw
		for _, row := range s.rows[t] {
			if r := row.(*Raw); r.About != "" && r.AboutKey() == key && (newest == nil || r.NewerThan(newest)) {
				newest = r
			}
		}
		if newest == nil {
			return nil
		}
		return newest
	}
	return s.rows[t][id]
}

// Rows implements ledger.State.
func (s *memState) Rows(t *ledger.Table, group string, visit func(ledger.Row) bool) {
	last, upTo := ThroughOf(group)
	var list []ledger.Row
	for _, row := range s.rows[t] {
		if upTo && createdSeq(row) <= last || !upTo && row.(interface{ Group() string }).Group() == group {
			list = append(list, row)
		}
	}
	slices.SortFunc(list, func(x, y ledger.Row) int { return cmp.Compare(createdSeq(y), createdSeq(x)) })
	for _, row := range list {
		if !visit(row) {
			return
		}
	}
}

// Put implements ledger.State.
func (s *memState) Put(row ledger.Row) {
	t := row.Table()
	if gone, ok := row.(*ledger.Removal); ok {
		for id, r := range s.rows[t] {
			if createdSeq(r) == gone.Key[0].(int64) {
				delete(s.rows[t], id)
			}
		}
		return
	}
	if s.rows[t] == nil {
		s.rows[t] = map[any]ledger.Row{}
	}
	s.rows[t][row.ID()] = row
	s.touched = append(s.touched, row)
}
