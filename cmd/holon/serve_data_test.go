package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/persist/sqlite"
)

// A checkout whose servers had their log in ./data keeps it, and is told that a server
// without --data uses another one.
func TestServeNamesTheDataOfBefore(t *testing.T) {
	const line = "The log in ./data is not used. To serve it: "
	for name, test := range map[string]struct {
		log  bool // ./data has one
		link bool // the default directory is ./data
		args []string
		want bool
	}{
		"a log is there":           {log: true, want: true},
		"the directory has no log": {},
		"it was named":             {log: true, args: []string{"--data", "data"}},
		"another one was named":    {log: true, args: []string{"--data", "other"}},
		"it is the default":        {log: true, link: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, state := t.TempDir(), t.TempDir()
			t.Chdir(dir)
			t.Setenv("XDG_STATE_HOME", state)
			t.Setenv("XDG_CONFIG_HOME", t.TempDir())
			if err := os.Mkdir("data", 0o700); err != nil {
				t.Fatal(err)
			}
			if test.link {
				if err := os.Symlink(filepath.Join(dir, "data"), filepath.Join(state, "holon")); err != nil {
					t.Fatal(err)
				}
			}
			if test.log {
				if out := serveOnce(t, "--data", "data"); !strings.Contains(out, "is serving on") {
					t.Fatal(out)
				}
				if _, err := os.Stat(filepath.Join("data", sqlite.FileName)); err != nil {
					t.Fatal(err)
				}
			}
			if out := serveOnce(t, test.args...); strings.Contains(out, line) != test.want || strings.Count(out, "--data data") != strings.Count(out, line) {
				t.Errorf("it says:\n%s", out)
			}
		})
	}
}

// serveOnce starts a server and stops it once it serves; it returns what stderr got.
func serveOnce(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var errs buffer
	g := &globals{console: console{in: strings.NewReader(""), out: &buffer{}, err: &errs, environ: []string{"HOME=" + t.TempDir()}}}
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, g, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...))
	}()
	eventually(t, "the server serves", func() bool { return strings.Contains(errs.String(), " is serving on ") || len(ended) > 0 })
	cancel()
	<-ended
	return errs.String()
}
