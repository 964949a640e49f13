package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	processes "github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/rpc/client"
)

const (
	// startPatience bounds the start of a server: a recovery of a large log
	// takes seconds.
	startPatience = 60 * time.Second
	startPoll     = 50 * time.Millisecond
	startLog      = "serve.log"
)

// ensureServer returns a client of the server that runs on the data directory,
// and starts one if there is none. The caller closes it.
func ensureServer(g *globals, cmd *cobra.Command, start bool) (*client.Client, error) {
	loaded, err := g.settings(cmd)
	if err != nil {
		return nil, err
	}
	a, err := g.access()
	if err != nil {
		return nil, err
	}
	if a.from == fromVariable { // that of another server: this one may not even exist yet
		a.token, a.from = "", ""
	}
	c := client.New(a.of(client.Discover(loaded.Data)))
	g.server = c
	_, err = c.Endpoint()
	if err == nil {
		err = awaitReady(cmd.Context(), c, nil)
	} else if none := (*client.NoServerError)(nil); start && errors.As(err, &none) {
		err = launch(cmd.Context(), &g.console, c, loaded)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// launch starts a server on the data directory and waits until c finds it
// ready.
func launch(ctx context.Context, con *console, c *client.Client, loaded *config.Loaded) error {
	if err := os.MkdirAll(loaded.Data, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	began := time.Now()
	con.note("holon: starting a server for %s …", loaded.Data)
	exited, err := spawn(loaded, con.environ)
	if err != nil {
		return err
	}
	if err := awaitReady(ctx, c, exited); err != nil {
		return fmt.Errorf("%w%s", err, lastLines(filepath.Join(loaded.Data, startLog)))
	}
	con.note("holon: the server is ready after %.1f s", time.Since(began).Seconds())
	return nil
}

// spawn starts holon serve in a new session, so that it outlives this command
// and its terminal. exited receives when it has ended.
func spawn(loaded *config.Loaded, environ []string) (exited <-chan error, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	args := []string{"serve", "--data", loaded.Data}
	if loaded.File != "" {
		file, err := filepath.Abs(loaded.File)
		if err != nil {
			return nil, fmt.Errorf("config file: %w", err)
		}
		args = append(args, "--config", file)
	}
	if loaded.Sources["listen"].Origin == config.FromDefault && taken(loaded.Listen[0]) {
		// Another server has the default address. Clients find this one by its
		// server.json, on any address.
		args = append(args, "--listen", "127.0.0.1:0")
	}
	if loaded.Sources["log_format"].Origin == config.FromDefault {
		args = append(args, "--log-format", config.LogText) // people read it
	}
	log, err := os.OpenFile(filepath.Join(loaded.Data, startLog), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the server's log: %w", err)
	}
	defer log.Close()
	server := exec.Command(program, args...)
	server.Dir = "/"
	server.Env = processes.WithoutOwn(environ) // a token of its user is not for the server; the rest it leaves out itself
	server.Stdout, server.Stderr = log, log
	server.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Wait() }()
	return done, nil
}

// taken reports whether a program listens at a TCP address.
func taken(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// awaitReady polls until the server is ready. A server that has exited may have
// lost a race against another start on the same directory: the other one gets a
// moment to become ready.
func awaitReady(ctx context.Context, c *client.Client, exited <-chan error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("the server was not ready after %s", startPatience))
	defer cancel()
	ticker := time.Tick(startPoll)
	var ended error
	var grace <-chan time.Time
	for {
		err := c.Ready(ctx)
		if err == nil {
			return nil
		}
		var refused *client.Error
		if errors.As(err, &refused) && refused.HTTPStatus < 500 || client.IsWrongServer(err) {
			return err
		}
		select {
		case <-ticker:
		case err := <-exited:
			ended, exited = fmt.Errorf("the server ended at its start: %v", err), nil
			grace = time.After(3 * time.Second)
		case <-grace:
			return ended
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// lastLines returns the end of a log for an error message.
func lastLines(path string) string {
	data, err := os.ReadFile(path)
	if err != nil || len(data) == 0 {
		return ""
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	if len(lines) > 5 {
		lines = lines[len(lines)-5:]
	}
	return fmt.Sprintf("\n  the end of %s:\n  %s", path, bytes.Join(lines, []byte("\n  ")))
}
