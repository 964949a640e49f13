package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/seed82539d15/holon/turns"
)

// The bounds of looks at directories that clients name: a file system of the network may
// not answer for minutes, and such a look cannot be called off.
const (
	lookWithin = 5 * time.Second
	maxLooks   = 16 // at once; further ones wait
)

// cleaned returns the one name of a directory: agents, lists and comparisons get it as it was
// looked at. "" is none.
func cleaned(dir string) string {
	if dir == "" {
		return ""
	}
	return filepath.Clean(dir)
}

// sameDirectory compares names of which the log may have one that was not cleaned.
func sameDirectory(a, b string) bool { return cleaned(a) == cleaned(b) }

// directories looks whether agents can work in a directory. It is safe for use by many
// goroutines.
type directories struct{ looks chan struct{} }

func newDirectories() directories { return directories{make(chan struct{}, maxLooks)} }

// usable returns an *InvalidError about the member cwd unless dir is a directory of this
// machine, as the server sees it, or the error of ctx.
func (d directories) usable(ctx context.Context, dir string) error {
	late := time.NewTimer(lookWithin)
	defer late.Stop()
	silent := turns.Invalid("cwd", turns.ReasonNoDirectory, "the file system of %.200q has not answered within %v", dir, lookWithin)
	select {
	case d.looks <- struct{}{}:
	case <-late.C:
		return silent
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	seen := make(chan error, 1)
	go func() {
		defer func() { <-d.looks }()
		seen <- isDirectory(dir)
	}()
	select {
	case err := <-seen:
		return err
	case <-late.C:
		return silent
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func isDirectory(dir string) error {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return turns.Invalid("cwd", turns.ReasonNoDirectory, "%.200q does not exist on the server's machine", dir)
	case err != nil:
		return turns.Invalid("cwd", turns.ReasonNoDirectory, "%.200q cannot be used: %v", dir, errors.Unwrap(err))
	case !info.IsDir():
		return turns.Invalid("cwd", turns.ReasonNoDirectory, "%.200q is not a directory", dir)
	}
	return nil
}
