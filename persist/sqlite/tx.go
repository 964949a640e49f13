package sqlite

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// tx is a transaction over one connection. It implements ledger.Reader, and
// persist.Tx on the connection that writes.
type tx struct{ c *conn }

// statements is the SQL of tables and indexes, spelled once for each. It
// belongs to the connection it is used with.
type statements struct {
	tables map[*ledger.Table]tableSQL
	ranges map[rangeShape]string
	gets   map[*ledger.Index]string
}

type tableSQL struct{ insert, update, delete string }

// rangeShape is what tells the SQL of two ranges apart.
type rangeShape struct {
	index         *ledger.Index
	prefix        int
	after, newest bool
}

func newStatements() *statements {
	return &statements{tables: map[*ledger.Table]tableSQL{}, ranges: map[rangeShape]string{}, gets: map[*ledger.Index]string{}}
}

func (s *statements) table(t *ledger.Table) tableSQL {
	sql, ok := s.tables[t]
	if !ok {
		where := allOf(t.Key)
		if t.CAS != "" {
			where += " AND " + t.CAS + " = ?"
		}
		sql = tableSQL{
			insert: "INSERT INTO " + t.Name + " (" + strings.Join(t.Columns, ", ") + ") VALUES (" +
				strings.TrimSuffix(strings.Repeat("?,", len(t.Columns)), ",") + ")",
			update: "UPDATE " + t.Name + " SET " + strings.Join(t.Mutable, " = ?, ") + " = ? WHERE " + where,
			delete: "DELETE FROM " + t.Name + " WHERE " + allOf(t.Key),
		}
		s.tables[t] = sql
	}
	return sql
}

// allOf is the condition that these columns have the values bound.
func allOf(columns []string) string { return strings.Join(columns, " = ? AND ") + " = ?" }

// from is the beginning of a query by an index. The index is named, so that
// the query fails where it is missing instead of walking the table.
func from(ix *ledger.Index) string {
	sql := "SELECT " + strings.Join(ix.Table.Columns, ", ") + " FROM " + ix.Table.Name
	if ix.Name != "" {
		sql += " INDEXED BY " + ix.Name
	}
	return sql + " WHERE "
}

// only spells the condition of a partial index as its migration does, which is
// how SQLite knows that it may be used.
func only(ix *ledger.Index) (conditions []string) {
	for _, o := range ix.Where {
		var list []string
		for _, v := range o.Values {
			switch v := v.(type) {
			case nil:
				conditions = append(conditions, o.Column+" IS NULL")
			case int64:
				list = append(list, strconv.FormatInt(v, 10))
			default:
				list = append(list, "'"+fmt.Sprint(v)+"'")
			}
		}
		switch len(list) {
		case 0:
		case 1:
			conditions = append(conditions, o.Column+" = "+list[0])
		default:
			conditions = append(conditions, o.Column+" IN ("+strings.Join(list, ", ")+")")
		}
	}
	return conditions
}

func (s *statements) get(ix *ledger.Index) string {
	sql, ok := s.gets[ix]
	if !ok {
		sql = from(ix) + strings.Join(append(only(ix), allOf(ix.Columns)), " AND ")
		s.gets[ix] = sql
	}
	return sql
}

func (s *statements) scan(r ledger.Range) string {
	shape := rangeShape{r.Index, len(r.Prefix), r.After != nil, r.Newest}
	sql, ok := s.ranges[shape]
	if ok {
		return sql
	}
	ix, conditions, direction, above := r.Index, only(r.Index), "", " > ?"
	if r.Newest {
		direction, above = " DESC", " < ?"
	}
	if len(r.Prefix) > 0 {
		conditions = append(conditions, allOf(ix.Columns[:len(r.Prefix)]))
	}
	rest := ix.Columns[len(r.Prefix):]
	if r.After != nil {
		conditions = append(conditions, rest[0]+above)
	}
	if len(conditions) == 0 {
		conditions = []string{"true"}
	}
	sql = from(ix) + strings.Join(conditions, " AND ")
	if len(rest) > 0 {
		sql += " ORDER BY " + strings.Join(rest, direction+", ") + direction
	}
	s.ranges[shape] = sql
	return sql
}

// Get implements ledger.Reader.
func (t *tx) Get(ix *ledger.Index, key ...any) (found ledger.Values, err error) {
	_, err = t.c.queryOne(t.c.sql.get(ix), func(r row) {
		found = slices.Clone(r)
	}, bound(key)...)
	return found, err
}

// Scan implements ledger.Reader.
func (t *tx) Scan(r ledger.Range, f func(ledger.Values) error) error {
	args := bound(r.Prefix)
	if r.After != nil {
		args = append(args, r.After)
	}
	return t.c.query(t.c.sql.scan(r), f, args...)
}

// Put implements ledger.Tx.
func (t *tx) Put(r ledger.Row, first, base int64) error {
	table := r.Table()
	values, err := r.Values(first)
	if err != nil {
		return err
	}
	sql := t.c.sql.table(table)
	if r.New() {
		if table.CAS != "" && base != 0 {
			return ledger.ErrStale
		}
		_, err := t.c.exec(sql.insert, values...)
		if table.Unique != nil && isUnique(err) { // of an id: the key is new
			return fmt.Errorf("%w: %w", table.Unique, err)
		}
		return err
	}
	args := table.Update(values)
	if table.CAS != "" {
		args = append(args, base)
	}
	n, err := t.c.exec(sql.update, args...)
	switch {
	case err != nil || n == 1:
		return err
	case table.CAS != "":
		return ledger.ErrStale
	}
	return fmt.Errorf("%s has no row %v", table.Name, r.ID())
}

// Delete implements ledger.Tx.
func (t *tx) Delete(table *ledger.Table, key ...any) error {
	_, err := t.c.exec(t.c.sql.table(table).delete, bound(key)...)
	return err
}

// bound are values as the driver takes them.
func bound(list []any) []driver.Value {
	args := make([]driver.Value, len(list), len(list)+1)
	for i, v := range list {
		args[i] = v
	}
	return args
}

const insertEvent = `INSERT INTO events (seq, thread_seq, thread_id, item_id, method, time, params, span) VALUES (?,?,?,?,?,?,?,?)`

// Append implements persist.Tx.
func (t *tx) Append(e *notify.Event) error {
	var span any // NULL: nothing supersedes the event
	if e.Span != 0 {
		span = e.Span
	}
	_, err := t.c.exec(insertEvent, e.Seq, e.ThreadSeq, orNull(e.ThreadID), orNull(e.ItemID), e.Method, e.Time.Milli(), e.Params, span)
	return err
}

// orNull keeps absent ids out of the indexes.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
