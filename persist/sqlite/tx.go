package sqlite

import (
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// tx is a transaction over one connection. It implements persist.Snapshot, and
// persist.Tx on the connection that writes.
type tx struct{ c *conn }

// statements is the SQL of tables and indexes, made once for each. It belongs to
// its connection.
type statements struct {
	tables map[*ledger.Table]tableSQL
	ranges map[rangeShape]string
	gets   map[*ledger.Index]string
}

type tableSQL struct{ insert, update, delete string }

// rangeShape is the part of a range on which its SQL depends.
type rangeShape struct {
	index                      *ledger.Index
	live                       *ledger.Superseded
	only                       string
	prefix, first              int
	after, until, newest, skip bool
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

// allOf returns the condition that these columns have the bound values.
func allOf(columns []string) string { return strings.Join(columns, " = ? AND ") + " = ?" }

// from returns the beginning of a query for these columns by an index. It names the
// index, so that the query fails if the index is missing, instead of scanning
// the table.
func from(ix *ledger.Index, columns []string) string {
	sql := "SELECT " + strings.Join(columns, ", ") + " FROM " + ix.Table.Name
	switch {
	case ix.Name != "":
		sql += " INDEXED BY " + ix.Name
	case ix.Unique: // the name that SQLite gives the index of a UNIQUE column
		sql += " INDEXED BY sqlite_autoindex_" + ix.Table.Name + "_1"
	}
	return sql + " WHERE "
}

// partial returns the condition of a partial index, written as in its migration:
// that is how SQLite knows that it may use the index.
func partial(ix *ledger.Index) (conditions []string) {
	for _, o := range ix.Where {
		conditions = append(conditions, oneOf(o, func(v any) string {
			if n, ok := v.(int64); ok {
				return strconv.FormatInt(n, 10)
			}
			return "'" + fmt.Sprint(v) + "'"
		}))
	}
	return conditions
}

// filter returns the condition of Range.Only. The plus sign keeps SQLite from
// choosing an index of the column.
func filter(list []ledger.Only) (conditions []string) {
	for _, o := range list {
		conditions = append(conditions, "+"+oneOf(o, func(any) string { return "?" }))
	}
	return conditions
}

// oneOf returns the condition that a column has one of the values, each as spelled.
func oneOf(o ledger.Only, spelled func(any) string) string {
	if len(o.Values) == 1 && o.Values[0] == nil {
		return o.Column + " IS NULL"
	}
	var list []string
	for _, v := range o.Values {
		list = append(list, spelled(v))
	}
	if len(list) == 1 {
		return o.Column + " = " + list[0]
	}
	return o.Column + " IN (" + strings.Join(list, ", ") + ")"
}

// notSuperseded returns the condition that a row of the table is not superseded.
func notSuperseded(table string, s *ledger.Superseded) string {
	return "NOT EXISTS (SELECT 1 FROM " + s.By.Table.Name + " s WHERE s." + s.By.Columns[0] + " = " + table + "." + s.Ref +
		" AND " + table + "." + s.Seq + " > s." + s.After + ")"
}

func (s *statements) get(ix *ledger.Index) string {
	sql, ok := s.gets[ix]
	if !ok {
		sql = from(ix, ix.Table.Columns) + strings.Join(append(partial(ix), allOf(ix.Columns)), " AND ")
		s.gets[ix] = sql
	}
	return sql
}

func (s *statements) scan(r ledger.Range) string {
	where := filter(r.Only)
	shape := rangeShape{r.Index, r.Live, strings.Join(where, " "), len(r.Prefix), r.First, r.After != nil, r.Until != nil, r.Newest, r.Skip > 0}
	sql, ok := s.ranges[shape]
	if ok {
		return sql
	}
	ix, conditions, direction, after, until := r.Index, partial(r.Index), "", " > ?", " < ?"
	if r.Newest {
		direction, after, until = " DESC", until, after
	}
	if len(r.Prefix) > 0 {
		conditions = append(conditions, allOf(ix.Columns[:len(r.Prefix)]))
	}
	rest := ix.Columns[len(r.Prefix):]
	if shape.after {
		conditions = append(conditions, rest[0]+after)
	}
	if shape.until {
		conditions = append(conditions, rest[0]+until)
	}
	conditions = append(conditions, where...)
	if r.Live != nil {
		conditions = append(conditions, notSuperseded(ix.Table.Name, r.Live))
	}
	if len(conditions) == 0 {
		conditions = []string{"true"}
	}
	columns := ix.Table.Columns
	if r.First > 0 {
		columns = columns[:r.First]
	}
	sql = from(ix, columns) + strings.Join(conditions, " AND ")
	if len(rest) > 0 {
		sql += " ORDER BY " + strings.Join(rest, direction+", ") + direction
	}
	if shape.skip {
		sql += " LIMIT -1 OFFSET ?"
	}
	s.ranges[shape] = sql
	return sql
}

// arguments returns the values that the SQL of a range binds.
func arguments(r ledger.Range) []driver.Value {
	args := bound(r.Prefix)
	for _, v := range [...]any{r.After, r.Until} {
		if v != nil {
			args = append(args, v)
		}
	}
	for _, o := range r.Only {
		if len(o.Values) > 1 || o.Values[0] != nil {
			args = append(args, bound(o.Values)...)
		}
	}
	if r.Skip > 0 {
		args = append(args, int64(r.Skip))
	}
	return args
}

// Get implements ledger.Reader.
func (t *tx) Get(ix *ledger.Index, key ...any) (found ledger.Values, err error) {
	_, err = t.c.queryOne(t.c.sql.get(ix), func(r row) { found = r }, bound(key)...) // no other row comes
	return found, err
}

// Scan implements ledger.Reader.
func (t *tx) Scan(r ledger.Range, f func(ledger.Values) error) error {
	return t.c.query(t.c.sql.scan(r), f, arguments(r)...)
}

// Ends implements persist.Snapshot.
func (t *tx) Ends() (first, latest int64, err error) {
	err = ends(t.c, &first, &latest)
	return first, latest, err
}

// Put implements persist.Tx.
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
		if table.Unique != nil && isUnique(err) { // it is the id that is taken: the key is new
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

// Delete implements persist.Tx.
func (t *tx) Delete(table *ledger.Table, key ...any) error {
	_, err := t.c.exec(t.c.sql.table(table).delete, bound(key)...)
	return err
}

// bound returns values as the driver takes them.
func bound(list []any) []driver.Value {
	args := make([]driver.Value, len(list), len(list)+2)
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
