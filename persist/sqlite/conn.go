package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"

	sqlite3 "github.com/mattn/go-sqlite3"

	"github.com/seed82539d15/holon/ledger"
)

// conn is one connection with its prepared statements. It belongs to one
// goroutine at a time. Queries end when ctx ends. Changes do not, because a
// transaction must be completed.
type conn struct {
	c     *sqlite3.SQLiteConn
	stmts map[string]*stmt
	sql   *statements
	ctx   context.Context // of the reader that has the connection
}

// stmt is a prepared statement with the arguments of its last use. They are kept
// so that a use allocates only what boxing takes.
type stmt struct {
	s    *sqlite3.SQLiteStmt
	args []driver.NamedValue
	sql  string
	open bool // a query is running, which another use would restart
}

// row is one result row. Blobs belong to the caller; texts are strings.
type row = ledger.Values

// dial opens a connection with these settings of the driver.
func dial(path string, settings url.Values) (*conn, error) {
	d := &sqlite3.SQLiteDriver{}
	if settings == nil {
		settings = url.Values{}
	}
	// One goroutine uses a connection at a time, so SQLite need not lock it
	// for every column of every row.
	settings.Set("_mutex", "no")
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: settings.Encode()}
	c, err := d.Open(u.String())
	if err != nil {
		return nil, err
	}
	return &conn{c: c.(*sqlite3.SQLiteConn), stmts: map[string]*stmt{}, sql: newStatements(), ctx: context.Background()}, nil
}

// close closes the statements and the connection.
func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.s.Close())
	}
	return errors.Join(append(errs, c.c.Close())...)
}

// run executes SQL that takes no arguments and is not worth preparing.
func (c *conn) run(sql string) error {
	_, err := c.c.ExecContext(context.Background(), sql, nil)
	return err
}

// prepare returns the statement of this text; it is made at its first use.
func (c *conn) prepare(sql string) (*stmt, error) {
	if s := c.stmts[sql]; s != nil {
		return s, nil
	}
	s, err := c.compile(sql)
	if err == nil {
		c.stmts[sql] = s
	}
	return s, err
}

// compile makes a statement of this text.
func (c *conn) compile(sql string) (*stmt, error) {
	p, err := c.c.Prepare(sql)
	if err != nil {
		return nil, fmt.Errorf("prepare %.60q: %w", sql, err)
	}
	s := &stmt{s: p.(*sqlite3.SQLiteStmt), sql: sql}
	s.args = make([]driver.NamedValue, s.s.NumInput())
	for i := range s.args {
		s.args[i].Ordinal = i + 1
	}
	return s, nil
}

// exec executes a prepared statement and returns the number of rows changed.
func (c *conn) exec(sql string, args ...driver.Value) (int64, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return 0, err
	}
	return s.exec(args...)
}

// query executes a prepared statement and calls f with each row. The row is
// reused; f's error ends the query.
func (c *conn) query(sql string, f func(row) error, args ...driver.Value) error {
	s, err := c.prepare(sql)
	if err != nil {
		return err
	}
	if s.open { // f of a running query uses the same statement
		if s, err = c.compile(sql); err != nil {
			return err
		}
		defer func() { _ = s.s.Close() }() // it only reads: its query has ended
	}
	return s.query(c.ctx, f, args...)
}

// queryOne calls f with the only row, if there is one. f may keep it.
func (c *conn) queryOne(sql string, f func(row), args ...driver.Value) (found bool, err error) {
	err = c.query(sql, func(r row) error {
		found = true
		f(r)
		return errEnough
	}, args...)
	return found, err
}

// errEnough ends a query early, without an error.
var errEnough = ledger.ErrEnough

func (s *stmt) bind(args []driver.Value) error {
	if len(args) != len(s.args) {
		return fmt.Errorf("%d arguments for %d places of %.60q", len(args), len(s.args), s.sql)
	}
	for i, v := range args {
		s.args[i].Value = v
	}
	return nil
}

func (s *stmt) exec(args ...driver.Value) (int64, error) {
	if err := s.bind(args); err != nil {
		return 0, err
	}
	res, err := s.s.ExecContext(context.Background(), s.args)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (s *stmt) query(ctx context.Context, f func(row) error, args ...driver.Value) (err error) {
	if err := s.bind(args); err != nil {
		return err
	}
	rows, err := s.s.QueryContext(ctx, s.args)
	if err != nil {
		return err
	}
	s.open = true
	defer func() {
		s.open = false
		if e := rows.Close(); err == nil {
			err = e
		}
	}()
	dest := make(row, len(rows.Columns()))
	for {
		switch err := rows.Next(dest); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := f(dest); err == errEnough {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// pragma reads a setting that is one value.
func (c *conn) pragma(name string) (string, error) {
	value := ""
	_, err := c.queryOne("PRAGMA "+name, func(r row) { value = fmt.Sprint(r[0]) })
	return value, err
}
