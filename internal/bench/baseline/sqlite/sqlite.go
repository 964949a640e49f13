// Package sqlite is the baseline of durable appends: one goroutine that only
// writes the event, item, turn and thread rows of finished turns into the
// server's schema, with the server's pragmas, in groups.
package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"

	store "github.com/seed82539d15/holon/persist/sqlite"
)

// Result is the output of the program: one JSON object.
type Result struct {
	Events  int64   `json:"events"`
	Seconds float64 `json:"seconds"`
}

// load is the amount of data.
type load struct {
	threads int // one turn each
	items   int // finished messages of a turn
	size    int // bytes of text in each
	group   int // events in a transaction
}

// Run writes into a new database in --dir and prints its Result.
func Run(_ context.Context, args []string, _ io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("sqlite", flag.ContinueOnError)
	dir := flags.String("dir", "", "a new directory")
	var l load
	flags.IntVar(&l.threads, "threads", 64, "threads, each with one turn")
	flags.IntVar(&l.items, "items", 1000, "messages of each turn")
	flags.IntVar(&l.size, "size", 200, "bytes of text in a message")
	flags.IntVar(&l.group, "group", 256, "events in a transaction")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *dir == "" {
		return errors.New("--dir is missing")
	}
	r, err := write(*dir, l)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

func write(dir string, l load) (r Result, err error) {
	// The server's migrations make the schema.
	s, err := store.Open(store.Options{Dir: dir})
	if err != nil {
		return r, err
	}
	if err := s.Close(); err != nil {
		return r, err
	}
	list, err := makeThreads(l)
	if err != nil {
		return r, err
	}
	w, err := open(filepath.Join(dir, store.FileName))
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	began := time.Now()
	if err := w.all(list, l); err != nil {
		return r, err
	}
	return Result{Events: w.seq, Seconds: time.Since(began).Seconds()}, nil
}

// The write-ahead log is written back about as often as in the server.
const checkpointBytes = 4 << 20

// writer is a connection with its statements.
type writer struct {
	conn  *sqlite3.SQLiteConn
	stmts []*stmt

	insertEvent, insertItem, insertThread, advanceThread, insertTurn, endTurn *stmt
	begin, commit                                                             *stmt

	seq   int64
	bytes int
	buf   []byte
}

func open(path string) (*writer, error) {
	c, err := (&sqlite3.SQLiteDriver{}).Open("file:" + path +
		"?_journal_mode=WAL&_synchronous=FULL&_txlock=immediate&_busy_timeout=5000&_foreign_keys=1&_mutex=no") // no lock: there is one goroutine
	if err != nil {
		return nil, err
	}
	w := &writer{conn: c.(*sqlite3.SQLiteConn)}
	const pragmas = "PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY"
	if _, err := w.conn.ExecContext(context.Background(), pragmas, nil); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	for sql, to := range map[string]**stmt{
		"BEGIN IMMEDIATE": &w.begin,
		"COMMIT":          &w.commit,
		"INSERT INTO events (seq, thread_seq, thread_id, item_id, method, time, params) VALUES (?,?,?,?,?,?,?)": &w.insertEvent,
		`INSERT INTO items (created_seq, item_id, thread_id, turn_id, attempt, type, status, truncated, total_bytes,
			created_at, updated_at, updated_seq, content) VALUES (?,?,?,?,1,?,'completed',0,0,?,?,?,?)`: &w.insertItem,
		`INSERT INTO threads (created_seq, thread_id, state, agent, title, cwd, agent_session_id, parent_thread_id,
			parent_turn_id, reason, started_at, closed_at, updated_seq, latest_seq, latest_thread_seq)
			VALUES (?,?,'running','echo','','','','','','',?,0,?,?,1)`: &w.insertThread,
		"UPDATE threads SET latest_seq=?, latest_thread_seq=? WHERE thread_id=?": &w.advanceThread,
		`INSERT INTO turns (created_seq, turn_id, thread_id, state, attempt, rank, progress, progress_message, origin,
			message, reason, stop_reason, parent_thread_id, parent_turn_id, timeout_seconds, queued_at, started_at,
			completed_at, updated_seq) VALUES (?,?,?,'active',1,0,'running','','client','','','','','',0,0,?,0,?)`: &w.insertTurn,
		"UPDATE turns SET state='completed', completed_at=?, updated_seq=? WHERE created_seq=?": &w.endTurn,
	} {
		if *to, err = w.prepare(sql); err != nil {
			return nil, errors.Join(err, w.close())
		}
	}
	return w, nil
}

func (w *writer) close() error {
	var errs []error
	for _, s := range w.stmts {
		errs = append(errs, s.s.Close())
	}
	return errors.Join(append(errs, w.conn.Close())...)
}

// stmt is a prepared statement with its arguments, which are reused.
type stmt struct {
	s    *sqlite3.SQLiteStmt
	args []driver.NamedValue
}

func (w *writer) prepare(sql string) (*stmt, error) {
	p, err := w.conn.Prepare(sql)
	if err != nil {
		return nil, fmt.Errorf("prepare %.40q: %w", sql, err)
	}
	s := &stmt{s: p.(*sqlite3.SQLiteStmt)}
	s.args = make([]driver.NamedValue, s.s.NumInput())
	for i := range s.args {
		s.args[i].Ordinal = i + 1
	}
	w.stmts = append(w.stmts, s)
	return s, nil
}

func (s *stmt) exec(args ...driver.Value) error {
	for i, v := range args {
		s.args[i].Value = v
	}
	_, err := s.s.ExecContext(context.Background(), s.args)
	return err
}

// checkpoint writes the write-ahead log back when it is due.
func (w *writer) checkpoint() error {
	if w.bytes < checkpointBytes {
		return nil
	}
	w.bytes = 0
	_, err := w.conn.ExecContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)", nil)
	return err
}
