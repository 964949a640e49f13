package sqlite

import (
	"crypto/rand"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/uuid"
)

//go:embed migrations/*.sql
var migrations embed.FS

// NewerError says that the database was written by a later version of the
// program.
type NewerError struct{ Database, Program int }

// Error implements error.
func (e *NewerError) Error() string {
	return fmt.Sprintf("the database has schema version %d, this program knows %d: use a newer program", e.Database, e.Program)
}

// migrate brings the database to the newest schema: forward only, in one
// transaction. A database that has data is copied to dir/backups first.
func migrate(c *conn, dir string, o Options) error {
	steps, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	version, err := userVersion(c)
	if err != nil {
		return err
	}
	switch {
	case version > len(steps):
		return &NewerError{Database: version, Program: len(steps)}
	case version == len(steps):
		return nil
	case version == 0:
		return classify("make the schema", upgrade(c, steps, version))
	}
	began := o.Now()
	m := Migration{From: version, To: len(steps), Copy: copyName(dir, version, began)}
	tell := func() {
		if o.Migrating != nil {
			o.Migrating(m)
		}
	}
	tell()
	if err := copyBefore(c, m.Copy); err != nil {
		return err
	}
	if err := upgrade(c, steps, version); err != nil {
		return classify("migrate to schema version "+strconv.Itoa(len(steps)), err)
	}
	m.Took = max(1, o.Now().Sub(began))
	tell()
	return nil
}

// upgrade executes the steps after version in one transaction, so that a
// database always has one of the released schemas.
func upgrade(c *conn, steps []string, version int) (err error) {
	if err := c.run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil && !c.c.AutoCommit() {
			_ = c.run("ROLLBACK") // the first error is reported; opening fails anyway
		}
	}()
	for i := version; i < len(steps); i++ {
		if err := step(c, steps[i], i+1); err != nil {
			return fmt.Errorf("%s: %w", steps[i], err)
		}
	}
	if err := c.run("PRAGMA user_version = " + strconv.Itoa(len(steps))); err != nil {
		return err
	}
	return c.run("COMMIT")
}

// userVersion returns the schema version of the database; 0 if it is empty.
func userVersion(c *conn) (int, error) {
	text, err := c.pragma("user_version")
	if err != nil {
		return 0, fmt.Errorf("read the schema version: %w", err)
	}
	version, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("read the schema version: %w", err)
	}
	return version, nil
}

// SchemaVersion returns the newest schema version that this program knows.
func SchemaVersion() int {
	steps, _ := fs.Glob(migrations, "migrations/*.sql") // the pattern is a constant
	return len(steps)
}

// copyName returns the path of the copy from before a migration.
func copyName(dir string, version int, now time.Time) string {
	return filepath.Join(dir, "backups", fmt.Sprintf("before-schema-%d-%s.db", version+1, now.UTC().Format("20060102T150405.000Z")))
}

// copyBefore writes a copy of the database before a migration.
func copyBefore(c *conn, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return vacuumInto(c, path)
}

func step(c *conn, name string, version int) error {
	sql, err := migrations.ReadFile(name)
	if err != nil {
		return err
	}
	if err := c.run(string(sql)); err != nil {
		return err
	}
	switch version {
	case 1:
		id, err := newLogID()
		if err != nil {
			return err
		}
		if _, err := c.exec("INSERT INTO meta (id, log_id, first_seq, runtime) VALUES (1, ?, 1, ?)", id, []byte("{}")); err != nil {
			return err
		}
	case secretVersion:
		if _, err := c.exec("UPDATE meta SET secret = ?", newSecret()); err != nil {
			return err
		}
	}
	return nil
}

// The secret with which leases are signed: the schema version that introduced
// it, and its size, which is the output size of the signing hash.
const (
	secretVersion = 2
	secretBytes   = 32
)

func newSecret() []byte {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // it never fails
	return secret
}

// newLogID returns an id that no other log has, so that a cursor of one log is
// not accepted by another.
func newLogID() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", err
	}
	return "log_" + id.String(), nil
}
