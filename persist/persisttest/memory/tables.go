package memory

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/seed82539d15/holon/ledger"
)

// record is a row: its columns by their names.
type record map[string]any

// tables keeps records, and for each index that was used their order. It belongs
// to one goroutine at a time. It implements persist.Tx.
type tables struct {
	records map[string]map[*record]bool // by the name of the table
	orders  map[*ledger.Index][]*record // made at the first use
	keys    map[*ledger.Table]*ledger.Index
	unique  []*ledger.Index
	undo    []func() // of the running transaction, the last change last
}

func newTables(unique ...*ledger.Index) *tables {
	return &tables{
		records: map[string]map[*record]bool{}, orders: map[*ledger.Index][]*record{},
		keys: map[*ledger.Table]*ledger.Index{}, unique: unique,
	}
}

// rollBack undoes everything since the last commit.
func (t *tables) rollBack() {
	for undo := t.undo; len(undo) > 0; undo = undo[:len(undo)-1] {
		undo[len(undo)-1]()
	}
	t.undo = nil
}

// order returns the records of an index in its order.
func (t *tables) order(ix *ledger.Index) []*record {
	list, ok := t.orders[ix]
	if !ok {
		for r := range t.records[ix.Table.Name] {
			if passes(*r, ix.Where) {
				list = append(list, r)
			}
		}
		slices.SortFunc(list, func(a, b *record) int { return compareKey(*a, ix.Columns, keyOf(*b, ix.Columns)) })
		t.orders[ix] = list
	}
	return list
}

// add puts a record into its table and the table's orders.
func (t *tables) add(table string, r *record) {
	if t.records[table] == nil {
		t.records[table] = map[*record]bool{}
	}
	t.records[table][r] = true
	for ix, list := range t.orders {
		if ix.Table.Name == table && passes(*r, ix.Where) {
			t.orders[ix] = slices.Insert(list, after(list, ix.Columns, keyOf(*r, ix.Columns)), r)
		}
	}
}

func (t *tables) remove(table string, r *record) {
	delete(t.records[table], r)
	for ix, list := range t.orders {
		if ix.Table.Name == table && passes(*r, ix.Where) {
			i := from(list, ix.Columns, keyOf(*r, ix.Columns))
			i += slices.Index(list[i:], r) // among those with the same key
			t.orders[ix] = slices.Delete(list, i, i+1)
		}
	}
}

// replace replaces one record by another; nil = none.
func (t *tables) replace(table string, old, r *record) {
	if old != nil {
		t.remove(table, old)
	}
	if r != nil {
		t.add(table, r)
	}
	t.undo = append(t.undo, func() {
		if r != nil {
			t.remove(table, r)
		}
		if old != nil {
			t.add(table, old)
		}
	})
}

// find returns the record that the first columns of an index find.
func (t *tables) find(ix *ledger.Index, key []any) *record {
	list := t.order(ix)
	if i := from(list, ix.Columns, key); i < len(list) && compareKey(*list[i], ix.Columns, key) == 0 {
		return list[i]
	}
	return nil
}

// Get implements ledger.Reader.
func (t *tables) Get(ix *ledger.Index, key ...any) (ledger.Values, error) {
	r := t.find(ix, key)
	if r == nil {
		return nil, nil
	}
	return valuesOf(*r, ix.Table), nil
}

// Scan implements ledger.Reader.
func (t *tables) Scan(r ledger.Range, f func(ledger.Values) error) error {
	list, columns := t.order(r.Index), r.Index.Columns
	low, high := from(list, columns, r.Prefix), after(list, columns, r.Prefix)
	above, below := r.After, r.Until
	if r.Newest {
		above, below = below, above
	}
	if above != nil {
		low = after(list, columns, append(slices.Clone(r.Prefix), above))
	}
	if below != nil {
		high = from(list, columns, append(slices.Clone(r.Prefix), below))
	}
	for skip := r.Skip; low < high; {
		next := list[low]
		if r.Newest {
			high--
			next = list[high]
		} else {
			low++
		}
		if !passes(*next, r.Only) || t.superseded(*next, r.Live) {
			continue
		}
		if skip--; skip >= 0 {
			continue
		}
		values := valuesOf(*next, r.Index.Table)
		if r.First > 0 {
			values = values[:r.First]
		}
		if err := f(values); err == ledger.ErrEnough {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (t *tables) superseded(r record, s *ledger.Superseded) bool {
	if s == nil {
		return false
	}
	by := t.find(s.By, []any{r[s.Ref]})
	return by != nil && (*by)[s.After] != nil && compare(r[s.Seq], (*by)[s.After]) > 0
}

// key returns the index by the key of a table.
func (t *tables) key(table *ledger.Table) *ledger.Index {
	if t.keys[table] == nil {
		t.keys[table] = &ledger.Index{Table: table, Columns: table.Key}
	}
	return t.keys[table]
}

// Put implements persist.Tx.
func (t *tables) Put(row ledger.Row, first, base int64) error {
	table := row.Table()
	values, err := row.Values(first)
	if err != nil {
		return err
	}
	next := record{}
	for i, c := range table.Columns {
		next[c] = owned(values[i])
	}
	if row.New() {
		if table.CAS != "" && base != 0 {
			return ledger.ErrStale
		}
		return t.insert(table, next)
	}
	old := t.find(t.key(table), keyOf(next, table.Key))
	switch {
	case table.CAS != "" && (old == nil || (*old)[table.CAS] != base):
		return ledger.ErrStale
	case old == nil:
		return fmt.Errorf("%s has no row %v", table.Name, row.ID())
	}
	updated := record{}
	for c, v := range *old {
		updated[c] = v
	}
	for _, c := range table.Mutable {
		updated[c] = next[c]
	}
	t.replace(table.Name, old, &updated)
	return nil
}

func (t *tables) insert(table *ledger.Table, r record) error {
	for _, ix := range append([]*ledger.Index{t.key(table)}, t.unique...) {
		if ix.Table.Name != table.Name || !passes(r, ix.Where) || t.find(ix, keyOf(r, ix.Columns)) == nil {
			continue
		}
		if table.Unique != nil {
			return table.Unique
		}
		return fmt.Errorf("%s has a row of this %v", table.Name, ix.Columns)
	}
	t.replace(table.Name, nil, &r)
	return nil
}

// Delete implements persist.Tx.
func (t *tables) Delete(table *ledger.Table, key ...any) error {
	if r := t.find(t.key(table), key); r != nil {
		t.replace(table.Name, r, nil)
	}
	return nil
}

// from returns the index of the first record whose columns are not below the
// key; after that of the first whose columns are above it.
func from(list []*record, columns []string, key []any) int {
	return sort.Search(len(list), func(i int) bool { return compareKey(*list[i], columns, key) >= 0 })
}

func after(list []*record, columns []string, key []any) int {
	return sort.Search(len(list), func(i int) bool { return compareKey(*list[i], columns, key) > 0 })
}

// compareKey compares the first columns of a record with a key.
func compareKey(r record, columns []string, key []any) int {
	for i, k := range key {
		if c := compare(r[columns[i]], k); c != 0 {
			return c
		}
	}
	return 0
}

// compare orders integers, then texts; nil is before both.
func compare(a, b any) int {
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
	}
	if x, ok := a.(string); ok {
		if y, ok := b.(string); ok {
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(rank(a), rank(b))
}

func rank(v any) int {
	switch v.(type) {
	case nil:
		return 0
	case int64:
		return 1
	}
	return 2
}

func passes(r record, only []ledger.Only) bool {
	for _, o := range only {
		if !slices.ContainsFunc(o.Values, func(v any) bool { return compare(r[o.Column], v) == 0 }) {
			return false
		}
	}
	return true
}

func keyOf(r record, columns []string) []any {
	key := make([]any, len(columns))
	for i, c := range columns {
		key[i] = r[c]
	}
	return key
}

func valuesOf(r record, table *ledger.Table) ledger.Values {
	values := make(ledger.Values, len(table.Columns))
	for i, c := range table.Columns {
		values[i] = owned(r[c])
	}
	return values
}

// owned returns a copy of a value that no other code can change. An absent blob
// is nil.
func owned(v any) any {
	b, ok := v.([]byte)
	if !ok {
		return v
	}
	if b == nil {
		return nil
	}
	return bytes.Clone(b)
}
