package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/persist/sqlite"
)

func newBackupCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the log to a file, also while the server runs",
		Long: `Writes a whole, compact copy of the database to FILE, which must not exist.
It has everything that was acknowledged before. The server may keep running.

  holon backup ~/holon-2026-11-21.db
  holon restore ~/holon-2026-11-21.db --data ~/restored`,
		Args: cobra.ExactArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			format, err := g.format("text", "json", "jsonl")
			if err != nil {
				return err
			}
			reader, err := openReader(g, cmd)
			if err != nil {
				return err
			}
			if dir := filepath.Dir(args[0]); !isDirectory(dir) {
				return errors.Join(fmt.Errorf("there is no directory %s", dir), reader.Close())
			}
			err = reader.Backup(cmd.Context(), args[0])
			if err = errors.Join(err, reader.Close()); err != nil {
				return err
			}
			info, err := os.Stat(args[0])
			if err != nil {
				return err
			}
			if format != "text" {
				return g.printJSON(map[string]any{"file": args[0], "bytes": info.Size()}, format == "json")
			}
			_, err = fmt.Fprintf(g.out, "%s: %d bytes\n", args[0], info.Size())
			return err
		}),
	}
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// openReader opens the log of the data directory for reading, beside a server
// that may be running.
func openReader(g *globals, cmd *cobra.Command) (*sqlite.Reader, error) {
	loaded, err := g.settings(cmd)
	if err != nil {
		return nil, err
	}
	reader, err := sqlite.OpenReader(loaded.Data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &noLogError{loaded.Data}
	}
	if err != nil {
		// SQLite must write in order to read, and only reports that it cannot open.
		if f := writable(loaded.Data); f.Level == sqlite.Error {
			err = fmt.Errorf("%w (%s)", err, f.Text)
		}
	}
	return reader, err
}

// noLogError says that a data directory has no log.
type noLogError struct{ dir string }

// Error implements error.
func (e *noLogError) Error() string {
	return "there is no log in " + e.dir + ": name the directory with --data, or make one with: holon serve"
}

// Unwrap reports that something does not exist.
func (e *noLogError) Unwrap() error { return fs.ErrNotExist }
