// Package servers is the registry of the servers that run for a user on this
// machine: a file each in XDG_RUNTIME_DIR/holon, written by `holon serve` and
// removed when it stops. People see from it where servers run. Clients find a
// server by its data directory, never by this registry alone; so does Find, which
// finds the process of a server.
package servers

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/rpc/client"
)

// Bounds of what is read: a user has few servers, and an entry is short.
const (
	maxEntries    = 100
	maxEntryBytes = 64 << 10
)

// Registry is a directory of entries. "" keeps none.
type Registry string

// Entry is one server.
type Entry struct {
	client.ServerRecord
	Data string `json:"data"` // its data directory, absolute
}

// At returns the registry of a user whose XDG_RUNTIME_DIR is given, an empty one
// if that is not set: no other directory is as surely the user's own.
func At(runtimeDir string) Registry {
	if !filepath.IsAbs(runtimeDir) {
		return ""
	}
	return Registry(filepath.Join(runtimeDir, "holon"))
}

// file names the entry of a data directory.
func (r Registry) file(data string) string {
	sum := sha256.Sum256([]byte(data))
	return filepath.Join(string(r), fmt.Sprintf("%x.json", sum[:8]))
}

// Add writes the entry of a server. It replaces an older one of its data
// directory.
func (r Registry) Add(e Entry) error {
	if r == "" {
		return nil
	}
	data, err := filepath.Abs(e.Data)
	if err != nil {
		return fmt.Errorf("registry of servers: %w", err)
	}
	e.Data = data
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("registry of servers: %w", err)
	}
	if err := os.MkdirAll(string(r), 0o700); err != nil {
		return fmt.Errorf("registry of servers: %w", err)
	}
	// Whoever reads sees the old or the new entry. CreateTemp gives mode 0600.
	f, err := os.CreateTemp(string(r), "new.*")
	if err != nil {
		return fmt.Errorf("registry of servers: %w", err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), r.file(data))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("registry of servers: %w", err), os.Remove(f.Name()))
	}
	return nil
}

// Remove removes the entry of a data directory if it is this process's.
func (r Registry) Remove(data string) error {
	if r == "" {
		return nil
	}
	data, err := filepath.Abs(data)
	if err != nil {
		return err
	}
	e, err := read(r.file(data))
	if errors.Is(err, fs.ErrNotExist) || err == nil && e.PID != os.Getpid() {
		return nil
	}
	return errors.Join(err, os.Remove(r.file(data)))
}

// List returns the entries of servers that run, by their data directories. What
// cannot be read, and what a killed server has left, is not among them.
func (r Registry) List() []Entry {
	if r == "" {
		return nil
	}
	files, err := os.ReadDir(string(r))
	if err != nil {
		return nil // nobody has entered a server yet
	}
	var entries []Entry
	for _, f := range files[:min(len(files), maxEntries)] {
		if !strings.HasSuffix(f.Name(), ".json") || !f.Type().IsRegular() {
			continue
		}
		if e, err := read(filepath.Join(string(r), f.Name())); err == nil && e.Alive() {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Data, b.Data) })
	return entries
}

func read(path string) (Entry, error) {
	var e Entry
	f, err := os.Open(path)
	if err != nil {
		return e, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxEntryBytes))
	if err != nil {
		return e, err
	}
	return e, json.Unmarshal(text, &e)
}
