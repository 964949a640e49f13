package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/rpc/admission"
	"github.com/seed82539d15/holon/rpc/client"
)

// Exit codes of every subcommand.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	exitEarly  = 3 // of run and await: the turn completed but stopped early
)

// globals is what all subcommands share: the console, the common flags, and the
// settings once they are read. From these it finds the server or the log for
// the command. One goroutine, the command's, uses it.
type globals struct {
	console
	url       string
	tokenFile string
	caFile    string
	output    string
	args      []string       // the command line, without the program
	program   string         // how this program was called; "" = not known
	running   *cobra.Command // the one whose own code has begun; nil = none
	loaded    *config.Loaded
	server    *client.Client // the one that connectTo has made last, for hints
}

// usageError is a wrong command line that only the subcommand can detect.
type usageError struct {
	err error
	of  *cobra.Command // whose help says more; nil = the command's that returned it
}

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
	loaded, err := loadSettings(g, cmd)
	if err != nil {
		return nil, err
	}
	for _, warning := range loaded.Warnings {
		fmt.Fprintln(g.err, "holon: warning:", warning)
	}
	return loaded, nil
}

// loadSettings reads the configuration.
func loadSettings(g *globals, cmd *cobra.Command) (loaded *config.Loaded, err error) {
	g.loaded, err = config.Load(cmd.Flags(), g.environ)
	return g.loaded, err
}

// client returns a client of the server that --url, HOLON_URL or the data
// directory name. If the user has named a data directory on which no server
// runs, it returns an error. The caller closes the client.
func (g *globals) client(cmd *cobra.Command) (*client.Client, error) {
	loaded, err := g.settings(cmd)
	if err != nil {
		return nil, err
	}
	data := loaded.Sources["data"].Origin
	resolve := client.DiscoverOrDefault(loaded.Data)
	if data != config.FromDefault {
		resolve = client.Discover(loaded.Data)
	}
	url, source := g.url, "--url"
	if url == "" {
		url, source = g.env("HOLON_URL"), "HOLON_URL"
	}
	if url != "" {
		if _, err := client.NormalURL(url); err != nil {
			return nil, usagef("%s: %w", source, err)
		}
		// The token of a data directory leaves this machine only if the same
		// command line names both.
		resolve = client.At(url, source, loaded.Data, data == config.FromFlag && g.url != "")
	}
	c, err := g.connectTo(resolve)
	if err != nil {
		return nil, err
	}
	if _, err := c.Endpoint(); err != nil {
		return nil, err
	}
	return c, nil
}

// format returns -o, which must be among allowed; the first is the default.
func (g *globals) format(allowed ...string) (string, error) {
	if g.output == "" {
		return allowed[0], nil
	}
	if !slices.Contains(allowed, g.output) {
		return "", usagef("-o %s: this command prints %s%s", timeline.OneLine(g.output), strings.Join(allowed, ", "), nearest.Hint(g.output, allowed))
	}
	return g.output, nil
}

// complain prints an error and what to do about it.
func (g *globals) complain(err error) {
	fmt.Fprintln(g.err, complaint(g, err))
}

// complaint returns the text of an error for a person.
func complaint(g *globals, err error) string {
	text := inFlags(g.running, err)
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Reason == string(admission.ReasonTokenMissing) {
		text = strings.Replace(text, refused.Message, "this server wants a token", 1) // what it says is for other programs
	}
	text = "holon: " + timeline.Clean(redact(g.server, text))
	if hint := g.hint(err); hint != "" {
		text += "\n  " + strings.ReplaceAll(hint, "\n", "\n  ")
	}
	return text
}

// interruptible ends the context of run at one of endSignals.
func interruptible(run func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), endSignals()...)
		defer stop()
		cmd.SetContext(ctx)
		err := run(cmd, args)
		if err != nil && ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))) {
			return &exitError{code: exitFailed, err: errors.New("stopped by a signal")}
		}
		return err
	}
}
