// Package replay is the baseline of replays: it reads rows of the log by range
// and writes them as frames to a plain socket. A client sends a line "AFTER
// UPTO" and gets the frames in between, one per line.
package replay

import (
	"bufio"
	"context"
	"database/sql/driver"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"

	sqlite3 "github.com/mattn/go-sqlite3"

	"github.com/seed82539d15/holon/internal/bench/baseline"
)

// Pages are ranges of seqs, so that no query stays open while a client is slow.
// Longer ranges were no faster.
const (
	pageRows = 1000
	chunk    = 64 << 10
)

// Run serves the log in the database --file.
func Run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	file := flags.String("file", "", "the database")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return baseline.Serve(ctx, in, out, func(l net.Listener) error {
		for {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			if err := serve(c, *file); err != nil { // one client at a time
				return err
			}
		}
	})
}

// frames makes one value of a whole range. Reading row by row through the
// driver took twice as long.
const frames = `SELECT CAST(group_concat('{"jsonrpc":"2.0","method":"' || method || '","params":' || params || '}' || char(10), '') AS BLOB)
	FROM (SELECT method, params FROM events WHERE seq > ? AND seq <= ? ORDER BY seq)`

func serve(c net.Conn, file string) error {
	defer c.Close()
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return err
	}
	var after, upTo int64
	if _, err := fmt.Sscan(line, &after, &upTo); err != nil {
		return err
	}
	db, err := (&sqlite3.SQLiteDriver{}).Open("file:" + file + "?_query_only=1&_busy_timeout=5000")
	if err != nil {
		return err
	}
	defer db.Close()
	s, err := db.Prepare(frames)
	if err != nil {
		return err
	}
	defer s.Close()
	w := bufio.NewWriterSize(c, chunk)
	for after < upTo {
		to := min(after+pageRows, upTo)
		if err := page(s.(*sqlite3.SQLiteStmt), w, after, to); err != nil {
			return err
		}
		after = to
	}
	return w.Flush()
}

func page(s *sqlite3.SQLiteStmt, w *bufio.Writer, after, to int64) error {
	rows, err := s.QueryContext(context.Background(), []driver.NamedValue{{Ordinal: 1, Value: after}, {Ordinal: 2, Value: to}})
	if err != nil {
		return err
	}
	var row [1]driver.Value
	if err = rows.Next(row[:]); err == nil {
		lines, _ := row[0].([]byte)
		_, err = w.Write(lines)
	}
	return errors.Join(err, rows.Close())
}
