package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
)

// Exit codes of every subcommand.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// globals is what all subcommands share: the standard streams, the flags that
// each takes, and the settings once read. One goroutine, the command's, uses it.
type globals struct {
	in      io.Reader
	out     io.Writer
	err     io.Writer
	environ []string

	url     string
	output  string
	started bool // a subcommand's own code has begun
	loaded  *config.Loaded
}

// usageError is a wrong command line that only the subcommand could tell.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...)}
}

// exitError ends the command with a code; err is printed unless nil.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}
func (e *exitError) Unwrap() error { return e.err }

// settings reads the configuration once and prints its warnings.
func (g *globals) settings(cmd *cobra.Command) (*config.Loaded, error) {
	if g.loaded != nil {
		return g.loaded, nil
	}
	loaded, err := config.Load(cmd.Flags(), g.environ)
	if err != nil {
		return nil, err
	}
	for _, warning := range loaded.Warnings {
		fmt.Fprintln(g.err, "holon: warning:", warning)
	}
	g.loaded = loaded
	return loaded, nil
}

// client returns a client of the server that --url, HOLON_URL or the data
// directory name; a data directory that somebody has named is that of a server
// that runs, or an error. The caller closes it.
func (g *globals) client(cmd *cobra.Command) (*client.Client, error) {
	loaded, err := g.settings(cmd)
	if err != nil {
		return nil, err
	}
	named := loaded.Sources["data"].Origin != config.FromDefault
	resolve := client.DiscoverOrDefault(loaded.Data)
	if named {
		resolve = client.Discover(loaded.Data)
	}
	// A token leaves this machine only for a server whose data directory
	// somebody named on purpose.
	if g.url != "" {
		resolve = client.At(g.url, "--url", loaded.Data, named)
	} else if url := g.env("HOLON_URL"); url != "" {
		resolve = client.At(url, "HOLON_URL", loaded.Data, named)
	}
	c := client.New(resolve)
	if _, err := c.Endpoint(); err != nil {
		if g.url != "" || g.env("HOLON_URL") != "" {
			return nil, &usageError{err: err}
		}
		return nil, err
	}
	return c, nil
}

// dial is format, for a command that prints text or JSON, and then client.
func (g *globals) dial(cmd *cobra.Command) (format string, c *client.Client, err error) {
	if format, err = g.format("text", "json", "jsonl"); err != nil {
		return "", nil, err
	}
	c, err = g.client(cmd)
	return format, c, err
}

// env is the last value of a variable, "" if it is not set.
func (g *globals) env(name string) string {
	value := ""
	for _, entry := range g.environ {
		if rest, ok := strings.CutPrefix(entry, name+"="); ok {
			value = rest
		}
	}
	return value
}

// format returns -o, which must be among allowed; the first is the default.
func (g *globals) format(allowed ...string) (string, error) {
	if g.output == "" {
		return allowed[0], nil
	}
	if !slices.Contains(allowed, g.output) {
		return "", usagef("-o %s: this command prints %s", g.output, strings.Join(allowed, ", "))
	}
	return g.output, nil
}

// printJSON writes one value as one indented object for -o json, on one line
// for -o jsonl.
func (g *globals) printJSON(value any, indent bool) error {
	encoder := json.NewEncoder(g.jsonOut())
	encoder.SetEscapeHTML(false)
	if indent {
		encoder.SetIndent("", "  ")
	}
	return encoder.Encode(value)
}

// note writes a sentence for a person to stderr.
func (g *globals) note(format string, args ...any) {
	fmt.Fprintf(g.err, format+"\n", args...)
}

// complain prints an error and what to do about it.
func (g *globals) complain(err error) {
	fmt.Fprintf(g.err, "holon: %s\n", timeline.Clean(err.Error()))
	if hint := g.hint(err); hint != "" {
		fmt.Fprintf(g.err, "  %s\n", hint)
	}
}

// interruptible ends the context of run at SIGINT and SIGTERM.
func interruptible(run func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		cmd.SetContext(ctx)
		err := run(cmd, args)
		if err != nil && ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))) {
			return &exitError{code: exitFailed, err: errors.New("stopped by a signal")}
		}
		return err
	}
}

// isTerminal tells whether a stream is a terminal that understands escapes.
func (g *globals) isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && g.env("TERM") != "dumb"
}

// columns is the width of the terminal on stdout, 80 if unknown.
func (g *globals) columns() int {
	if file, ok := g.out.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// windowRows is the height of the terminal on stdout, 24 if unknown.
func (g *globals) windowRows() int {
	if file, ok := g.out.(*os.File); ok {
		if _, height, err := term.GetSize(int(file.Fd())); err == nil && height > 0 {
			return height
		}
	}
	return 24
}

// utf8Locale tells whether the locale's character set is UTF-8. Without any
// locale it counts as such: agents' text is UTF-8 whatever the terminal is.
func (g *globals) utf8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(g.env(name)); value != "" {
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return true
}

// cwd is the directory for agents: absolute, as the protocol wants it.
func cwd(flag string) (string, error) {
	if flag == "" {
		return "", nil
	}
	path, err := filepath.Abs(flag)
	if err != nil {
		return "", fmt.Errorf("--cwd: %w", err)
	}
	return path, nil
}
