package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/cmd/holon/servers"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
)

// directory is where the agent of a thread works.
type directory struct {
	cwd     string // for thread/start; "" = the agent's own
	typed   bool   // a person gave it: it is that or nothing
	exists  bool   // it is that of a thread that exists already
	without string // said of a thread that was made without a cwd, or exists and works elsewhere; "" = nothing
}

// directoryFor returns that of --cwd; else that of the thread, if it exists; else the
// terminal's, if the server is here and the agent has none of its own. agent is the name of
// one, "" for the server's default. thread is "" for a new one.
func directoryFor(ctx context.Context, g *globals, c *client.Client, flag, agent, thread string) (d directory, err error) {
	if flag != "" {
		d.cwd, err = cwd(flag)
		d.typed = true
		return d, err
	}
	if thread != "" {
		var read api.ThreadReadResult
		if err := c.Call(ctx, "thread/read", map[string]any{"thread_id": thread}, &read); err == nil && read.Thread != nil {
			d = directory{cwd: read.Thread.Cwd, exists: true}
			if here, err := os.Getwd(); err == nil && d.cwd != "" && !sameDirectory(d.cwd, here) {
				d.without = "The thread works in " + timeline.OneLine(d.cwd) + "."
			}
			return d, nil
		}
	}
	var list struct {
		Agents []agentRow `json:"agents"`
	}
	if err := c.Call(ctx, "agent/list", nil, &list); err != nil {
		return d, nil // the request for the thread says what is wrong, if it is
	}
	i := slices.IndexFunc(list.Agents, func(a agentRow) bool { return agent == "" || a.Name == agent })
	if i < 0 || list.Agents[i].Directory == "" {
		return d, nil // it works in none, or an older server does not say
	}
	own := timeline.OneLine(list.Agents[i].Directory)
	if list.Agents[i].DirectoryGiven {
		d.without = "The agent works in " + own + ", which its configuration names."
		return d, nil
	}
	d.without = "The agent works in " + own + ", the server's directory; --cwd DIR names another."
	var who api.InitializeResult
	if here, err := os.Getwd(); err == nil && utf8.ValidString(here) && initialize(ctx, c, &who) == nil && isHere(g, c, who.LogID) {
		d.cwd = here
	}
	return d, nil
}

// sameDirectory reports whether two paths are of one directory, by whatever links.
func sameDirectory(a, b string) bool {
	if a == b {
		return true
	}
	of, errA := os.Stat(a)
	is, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(of, is)
}

// isHere reports whether the server of a client, which says that it has this log, has the
// directories of this terminal.
func isHere(g *globals, c *client.Client, logID string) bool {
	endpoint, err := c.Endpoint()
	return err == nil && servers.Here(servers.At(g.env("XDG_RUNTIME_DIR")), g.loaded.Data, endpoint.URL, logID)
}

// startIn starts a thread in the directory by call, which sends thread/start, or finds one.
// What no person has typed is left out if that is not possible: a thread may have been made
// elsewhere meanwhile, and a server may run in another root. A thread that exists is found
// without its directory, except by the key of the request that has made it there.
func (d directory) startIn(params map[string]any, call func(params map[string]any) error) (err error) {
	tries := []string{d.cwd, ""}
	if d.exists {
		tries = []string{"", d.cwd}
	}
	if d.typed || d.cwd == "" {
		tries = tries[:1]
	}
	for _, cwd := range tries {
		delete(params, "cwd")
		if cwd != "" {
			params["cwd"] = cwd
		}
		err = call(params)
		var refused *client.Error
		if !errors.As(err, &refused) || refused.Kind != "conflict" && refused.Kind != "idempotency_conflict" && refused.Field != "cwd" {
			return err
		}
	}
	if client.IsKind(err, "idempotency_conflict") {
		err = &hintedError{err, "The same key finds what it has started only with the same flags, and from the same directory; --cwd DIR names that."}
	}
	return err
}

// cwd returns the directory for agents: absolute, as the protocol requires.
func cwd(flag string) (string, error) {
	path, err := filepath.Abs(flag)
	if err != nil {
		return "", usagef("--cwd: %w", err)
	}
	if !utf8.ValidString(path) {
		return "", usagef("--cwd: the name of the directory is not UTF-8: %q; rename it", path)
	}
	return path, nil
}
