package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/internal/bench/baseline"
	"github.com/seed82539d15/holon/internal/bench/baseline/fanout"
	"github.com/seed82539d15/holon/internal/bench/baseline/fsync"
	"github.com/seed82539d15/holon/internal/bench/baseline/idle"
	"github.com/seed82539d15/holon/internal/bench/baseline/jsonrpc"
	"github.com/seed82539d15/holon/internal/bench/baseline/post"
	"github.com/seed82539d15/holon/internal/bench/baseline/replay"
	"github.com/seed82539d15/holon/internal/bench/baseline/sqlite"
	"github.com/seed82539d15/holon/internal/bench/ingest"
	"github.com/seed82539d15/holon/internal/bench/process"
	"github.com/seed82539d15/holon/internal/bench/receiver"
)

// ChildCommand is the subcommand of cmd that calls Child.
const ChildCommand = "bench-child"

// children are the baselines, the floods of inboxes, and the receiver of webhooks.
var children = map[string]func(ctx context.Context, args []string, in io.Reader, out io.Writer) error{
	"fanout":   fanout.Run,
	"flood":    ingest.Run,
	"fsync":    fsync.Run,
	"idle":     idle.Run,
	"jsonrpc":  jsonrpc.Run,
	"post":     post.Run,
	"receiver": receiver.Run,
	"replay":   replay.Run,
	"sqlite":   sqlite.Run,
}

// Child runs the program args[0] with the other arguments.
func Child(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) > 0 {
		if f := children[args[0]]; f != nil {
			return f(ctx, args[1:], in, out)
		}
	}
	return fmt.Errorf("name one of the programs %s", strings.Join(slices.Sorted(maps.Keys(children)), ", "))
}

// startBaseline starts a baseline.
func (r *run) startBaseline(name string, args ...string) (*process.Process, error) {
	return r.startChild("baseline-"+name, r.o.Executable, append([]string{ChildCommand, name}, args...))
}

// startNice starts a program with the lowest priority.
func (r *run) startNice(name string, args ...string) (*process.Process, error) {
	nice, err := exec.LookPath("nice")
	if err != nil {
		return nil, err
	}
	return r.startChild(name, nice, append([]string{"-n", "19", r.o.Executable, ChildCommand, name}, args...))
}

func (r *run) startChild(name, path string, args []string) (*process.Process, error) {
	p, err := process.Start(process.Command{Name: name, Path: path, Args: args, Dir: r.dir, Env: process.Environ(r.dir)})
	if err == nil {
		r.children = append(r.children, p)
	}
	return p, err
}

// resultOf runs a baseline that prints one result and ends.
func resultOf[T any](ctx context.Context, r *run, name string, args ...string) (result T, err error) {
	p, err := r.startBaseline(name, args...)
	if err != nil {
		return result, err
	}
	line, err := p.Line(ctx)
	if err != nil {
		return result, err
	}
	if err := json.Unmarshal(line, &result); err != nil {
		return result, fmt.Errorf("%s printed %.100q: %w", name, line, err)
	}
	return result, p.Stop()
}

// listening starts a baseline that listens, and returns its address.
func (r *run) listening(ctx context.Context, name string, args ...string) (*process.Process, string, error) {
	p, err := r.startBaseline(name, args...)
	if err != nil {
		return nil, "", err
	}
	line, err := p.Line(ctx)
	if err != nil {
		return nil, "", err
	}
	var ready baseline.Ready
	if err := json.Unmarshal(line, &ready); err != nil {
		return nil, "", fmt.Errorf("%s printed %.100q: %w", name, line, err)
	}
	return p, ready.Address, nil
}
