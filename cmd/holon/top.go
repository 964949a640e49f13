package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/config"
	fullscreen "github.com/seed82539d15/holon/cmd/holon/dashboard"
	"github.com/seed82539d15/holon/cmd/holon/servers"
	"github.com/seed82539d15/holon/rpc/client"
)

func newTopCommand(g *globals) *cobra.Command {
	var bell bool
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Open the dashboard: what needs you, what works, what is done",
		Long: `Opens a full screen with all threads: which of them need you, what each of the
others is doing, and what is done. holon alone opens it too, on a terminal.
Agents continue when you leave it.

  holon top
  holon top --bell      ring when a thread begins to wait for you`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !g.onTerminal() {
				return usagef("the dashboard needs a terminal for input and output; holon threads and holon watch do without")
			}
			return runDashboard(g, bell)(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&bell, "bell", false, "ring the terminal's bell when a thread begins to wait for you")
	return cmd
}

// onTerminal reports whether a full screen can be shown.
func (g *globals) onTerminal() bool { return g.isTerminal(g.in) && g.isTerminal(g.out) }

// interactive reports whether a person is likely to be there: not in a pipeline of
// continuous integration, which may have a terminal too.
func (g *globals) interactive() bool { return g.onTerminal() && g.env("CI") == "" }

// runDashboard opens the dashboard of the server that is named. Without one it
// offers to start one.
func runDashboard(g *globals, bell bool) func(*cobra.Command, []string) error {
	return interruptible(func(cmd *cobra.Command, _ []string) error {
		loaded, err := g.settings(cmd)
		if err != nil {
			return err
		}
		directory, err := os.Getwd()
		if err != nil {
			return fmt.Errorf("find the working directory: %w", err)
		}
		o := fullscreen.Options{
			Data: loaded.Data, Cwd: directory, Explain: g.hint, Bell: bell,
			In: g.in, Out: g.out, Environ: g.environ,
			Here: func(c *client.Client, logID string) bool { return isHere(g, c, logID) },
		}
		var none *client.NoServerError
		named := g.url != "" || g.env("HOLON_URL") != ""
		if _, err := client.Discover(loaded.Data)(); !named && errors.As(err, &none) {
			o.Elsewhere = elsewhere(servers.At(g.env("XDG_RUNTIME_DIR")), loaded.Data)
			var launched atomic.Bool
			o.Connect = func(ctx context.Context, data string) (*client.Client, error) {
				c, started, err := connectTo(ctx, g, cmd, data)
				if started {
					launched.Store(true)
				}
				return c, err
			}
			_, err := fullscreen.Run(cmd.Context(), o)
			if launched.Load() {
				g.note("The server that the dashboard started goes on, and so do its agents.\nTo stop it: holon stop%s", dataFlag(g))
			}
			return err
		}
		c, err := g.client(cmd)
		if err != nil {
			return err
		}
		defer c.Close()
		if err := reach(cmd.Context(), c); err != nil {
			return err
		}
		o.Client = c
		_, err = fullscreen.Run(cmd.Context(), o)
		return err
	})
}

// answerTime bounds the wait for the first answer: a person waits for it.
const answerTime = 5 * time.Second

// reach finds out whether a server answers, before the screen is taken: an error
// is better read without it. A server that starts is fine.
func reach(ctx context.Context, c *client.Client) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, fmt.Errorf("the server did not answer within %s", answerTime))
	defer cancel()
	err := c.Ready(ctx)
	var refused *client.Error
	if errors.As(err, &refused) && refused.HTTPStatus >= 500 {
		return nil
	}
	return err
}

// elsewhere returns the servers of this user on other data directories.
func elsewhere(registry servers.Registry, data string) []fullscreen.Server {
	var found []fullscreen.Server
	for _, e := range registry.List() {
		if e.Data == data || len(e.URLs) == 0 {
			continue
		}
		found = append(found, fullscreen.Server{Data: e.Data, URL: e.URLs[0]})
	}
	return found
}

// dataFlag names the data directory for another command, "" where that finds it without.
func dataFlag(g *globals) string {
	switch g.loaded.Sources["data"].Origin {
	case config.FromDefault, config.FromEnv:
		return ""
	}
	return " --data " + g.loaded.Data
}

// connectTo returns a client of the server of a data directory. It starts the one of the
// configured directory if none runs, and reports whether it did.
func connectTo(ctx context.Context, g *globals, cmd *cobra.Command, data string) (c *client.Client, launched bool, err error) {
	var none *client.NoServerError
	if data == g.loaded.Data {
		_, before := client.Discover(data)()
		quiet := *g // the screen belongs to the dashboard
		quiet.err = io.Discard
		c, err = ensureServer(&quiet, cmd, true)
		return c, err == nil && errors.As(before, &none), err
	}
	c = client.New(client.Discover(data))
	if _, err := c.Endpoint(); err != nil {
		c.Close()
		return nil, false, err
	}
	if err := awaitReady(ctx, c, nil); err != nil {
		c.Close()
		return nil, false, err
	}
	return c, false, nil
}
