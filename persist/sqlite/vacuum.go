package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// vacuumInto writes a compact copy of one snapshot of the database to a file
// that must not exist. The file appears whole or not at all: the copy is made
// beside it, synced, and renamed.
func vacuumInto(c *conn, dest string) (err error) {
	if _, err := os.Lstat(dest); err == nil {
		return fmt.Errorf("%s exists already", dest)
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(dest)
	f, err := os.CreateTemp(dir, ".holon-copy-*") // mode 0600, and VACUUM INTO takes an empty file
	if err != nil {
		return err
	}
	temp := f.Name()
	defer func() {
		if err != nil {
			err = errors.Join(err, removeIfThere(temp))
		}
	}()
	if err := f.Close(); err != nil {
		return err
	}
	if _, err := c.exec("VACUUM INTO ?", temp); err != nil {
		return classify("copy the database", err)
	}
	if err := syncPath(temp); err != nil {
		return err
	}
	// Link refuses to replace a file that has appeared meanwhile; rename does
	// not, but not every file system has links.
	switch err := os.Link(temp, dest); {
	case err == nil:
		err = os.Remove(temp)
		if err != nil {
			return err
		}
	case errors.Is(err, os.ErrExist):
		return err
	default:
		if err := os.Rename(temp, dest); err != nil {
			return err
		}
	}
	return syncPath(dir)
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// syncPath makes a file, or the names in a directory, durable.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
