package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/seed82539d15/holon/turns"
)

// Backup writes a whole, compact copy of the database to a file that must not
// exist. Others may read and write meanwhile. The copy has everything that was
// acknowledged before the call. Only its owner can read it.
func (s *Reader) Backup(ctx context.Context, dest string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	dest, err := filepath.Abs(dest)
	if err != nil {
		return err
	}
	// A separate connection: a large copy must not take one from readers, and
	// VACUUM INTO does not work on a connection that is query_only.
	c, err := dial(s.path, url.Values{"mode": {"rw"}, "_busy_timeout": {"5000"}})
	if err != nil {
		return fmt.Errorf("back up %s: %w", s.path, err)
	}
	err = vacuumInto(c, dest)
	return errors.Join(err, c.close())
}

// restoring is the name of the database during a restore.
const restoring = "restoring.db"

// errCutShort says that a restore was killed before it was complete. A server
// must not begin an empty log in its place.
var errCutShort = errors.New("a restore into this directory was cut short: remove the directory and restore again")

// checkRestored refuses a directory in which a restore was cut short.
func checkRestored(dir string) error {
	_, err := os.Lstat(filepath.Join(dir, restoring))
	switch {
	case err == nil:
		return fmt.Errorf("open %s: %w", dir, errCutShort)
	case errors.Is(err, os.ErrNotExist):
		return nil
	}
	return err
}

// ErrNotEmpty says that the directory to restore into is not empty.
var ErrNotEmpty = errors.New("the directory is not empty")

// Restore makes a data directory of a backup. The directory must be empty or
// absent. The restored log will differ from the original, so it gets a new
// identity: a new log_id, so that cursors of the original are refused, and a new
// secret, so that its leases are refused. Idempotency keys are kept: their
// responses are about events that the restored log has too. Cursors are kept where
// the backup has them: none is above the end of the log. A backup of an older
// schema is restored as it is; Open migrates it. Restore returns where the log
// begins and ends.
func Restore(file, dir string) (at turns.Position, err error) {
	switch info, err := os.Stat(file); {
	case err != nil:
		return at, err
	case info.IsDir():
		return at, fmt.Errorf("restore %s: it is a directory, and a backup is one file", file)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return at, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return at, err
	}
	if len(entries) > 0 {
		return at, fmt.Errorf("restore into %s: %w", dir, ErrNotEmpty)
	}
	if err := checkBackup(file); err != nil {
		return at, fmt.Errorf("restore %s: %w", file, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return at, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return at, err
	}
	temp := filepath.Join(dir, restoring)
	defer func() {
		if err != nil { // leave the directory as empty as it was
			err = errors.Join(err, removeIfThere(temp), removeIfThere(lock.path()))
		}
		err = errors.Join(err, lock.release())
	}()
	if err := copyInto(file, temp); err != nil {
		return at, fmt.Errorf("restore %s: %w", file, err)
	}
	if at, err = renewIdentity(temp); err != nil {
		return at, fmt.Errorf("restore %s: %w", file, err)
	}
	if err := syncPath(temp); err != nil {
		return at, err
	}
	if err := os.Rename(temp, filepath.Join(dir, FileName)); err != nil {
		return at, err
	}
	return at, errors.Join(syncPath(dir), syncPath(filepath.Dir(dir)))
}

// checkBackup checks that the file is a sound database of a log.
func checkBackup(file string) error {
	c, err := dial(file, url.Values{"mode": {"ro"}, "_busy_timeout": {"5000"}})
	if err != nil {
		return err
	}
	defer c.close()
	if problems, err := integrity(c); err != nil {
		return fmt.Errorf("it is no sound database: %w", err)
	} else if len(problems) > 0 {
		return fmt.Errorf("it is damaged: %s", problems[0])
	}
	version, err := userVersion(c)
	if err != nil {
		return err
	}
	if known := SchemaVersion(); version > known {
		return &NewerError{Database: version, Program: known}
	}
	id := ""
	if version > 0 {
		if _, err := c.queryOne("SELECT log_id FROM meta", func(r row) { id = r.Text(0) }); err != nil {
			return err
		}
	}
	if id == "" {
		return errors.New("it is no backup of a log")
	}
	return nil
}

func copyInto(file, temp string) error {
	c, err := dial(file, url.Values{"mode": {"ro"}, "_busy_timeout": {"5000"}})
	if err != nil {
		return err
	}
	return errors.Join(vacuumInto(c, temp), c.close())
}

// renewIdentity gives a copied log a new log_id and secret.
func renewIdentity(path string) (at turns.Position, err error) {
	c, err := dial(path, settings(false)) // write-ahead logging is a property of the file
	if err != nil {
		return at, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if at.LogID, err = newLogID(); err != nil {
		return at, err
	}
	version, err := userVersion(c)
	if err != nil {
		return at, err
	}
	if version >= cursorsVersion {
		if err := lowerCursors(c); err != nil {
			return at, err
		}
	}
	// Both in one transaction: a log with a new log_id and the old secret would
	// look as if its restore had been complete.
	renew, args := "UPDATE meta SET log_id = ?", []driver.Value{at.LogID}
	if version >= secretVersion { // the migration of an older schema makes its first secret
		renew, args = "UPDATE meta SET log_id = ?, secret = ?", append(args, newSecret())
	}
	if _, err := c.exec(renew, args...); err != nil {
		return at, err
	}
	err = ends(c, &at.First, &at.Latest)
	return at, err
}

// cursorsVersion is the schema version that introduced cursors.
const cursorsVersion = 12

// lowerCursors brings cursors of the log's events that are above its end down to
// it: the next events get those seqs, and their consumers would never see them. A
// backup is one snapshot, so only a damaged one has such cursors.
func lowerCursors(c *conn) error {
	_, err := c.exec(`UPDATE cursors SET last_sequence = latest, last_delivery_id = '', last_delivered_at = 0, delivered_seq = 0,
		last_error = 'the log was restored and ends at ' || latest || ', the cursor was at ' || last_sequence
		FROM (SELECT coalesce((SELECT max(seq) FROM events), (SELECT first_seq - 1 FROM meta)) AS latest)
		WHERE stream_name = 'events' AND last_sequence > 0 AND last_sequence > latest`)
	if err != nil {
		return fmt.Errorf("lower cursors: %w", err)
	}
	return nil
}

// integrity returns the problems that SQLite finds in its file.
func integrity(c *conn) (problems []string, err error) {
	err = c.query("PRAGMA integrity_check(20)", func(r row) error {
		if text := r.Text(0); text != "ok" {
			problems = append(problems, text)
		}
		return nil
	})
	return problems, err
}
