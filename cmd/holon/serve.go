package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/cmd/holon/daemon"
	"github.com/seed82539d15/holon/cmd/holon/servers"
	"github.com/seed82539d15/holon/internal/host"
)

func newServeCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Start the server",
		Long: `Starts the server: SQLite in the data directory, the echo agent and the
configured agents. The agent that --agent names is the default. SIGTERM (and
SIGHUP, unless it was started with nohup) drains: running turns get drain_seconds.
A second SIGTERM ends it at once. holon stop sends the signal, and can let running
turns end before.

  holon serve
  holon serve --agent opencode
  holon serve --agent mine=acp:my-agent\ --acp
  holon serve --listen 127.0.0.1:8080 --listen unix:/run/user/1000/holon.sock
  holon serve --agent git=exec:git\ log\ -5`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := loadSettings(g, cmd)
			if err != nil {
				return err
			}
			var kill atomic.Pointer[func()]
			stop, done := stopSignals(&kill)
			defer done()
			stderr := daemon.OpenStderr(g.err)
			defer stderr.Close()
			options := daemon.Options{
				Config: loaded.Config, Version: version, Commit: builtFrom(), Stdin: g.in, Stdout: g.out, Stderr: stderr, Stop: stop,
				Servers: servers.At(g.env("XDG_RUNTIME_DIR")), Descriptors: descriptors(), Memory: memory(),
				DataByDefault: loaded.Sources["data"].Origin == config.FromDefault,
				OnAgents:      func(f func()) { kill.Store(&f) },
			}
			if options.Text = inText(g, loaded.LogFormat); options.Text {
				if isTerminalFile(g.err) {
					options.Welcome = g.args
					options.AskedForLog = loaded.Sources["log_level"].Origin != config.FromDefault
				}
			}
			for _, warning := range loaded.Warnings {
				options.Say(zapcore.WarnLevel, "holon: warning: "+warning)
			}
			exit := &exitError{code: exitUsage}
			if err = loaded.Validate(); err == nil {
				if err = daemon.Run(cmd.Context(), options); err == nil {
					return nil
				}
				if usage, ok := errors.AsType[*daemon.UsageError](err); ok {
					err = usage.Err
				} else {
					exit.code = exitFailed
				}
			}
			// Said here: nothing may wait for the reader of stderr.
			options.Say(zapcore.ErrorLevel, complaint(g, err))
			return exit
		},
	}
	config.Bind(cmd.Flags())
	return cmd
}

// inText reports whether what serve writes to stderr is text, in this format of the log.
func inText(g *globals, format string) bool {
	return format == config.LogText || format == config.LogAuto && isTerminalFile(g.err)
}

// sayAs prints why a command did not begin. That of serve is in the format of its log, as far
// as that is known without its settings.
func sayAs(g *globals, cmd *cobra.Command, text string) {
	if cmd.CommandPath() != "holon serve" || inText(g, cmp.Or(valueOf(g.args, "--log-format"), g.env("HOLON_LOG_FORMAT"), config.LogAuto)) {
		fmt.Fprintln(g.err, text)
		return
	}
	stderr := daemon.OpenStderr(g.err)
	defer stderr.Close()
	(&daemon.Options{Stderr: stderr}).Say(zapcore.ErrorLevel, text)
}

// descriptors returns how many file descriptors this process may have open; 0 = not known. Go
// has raised the limit to the hard one by now.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(limit.Cur, math.MaxInt32))
}

// memory returns how much memory this process and what it starts may use; 0 = not known.
func memory() int64 {
	n, err := host.Memory()
	if err != nil {
		return 0
	}
	return n
}

// killWithin is how long the end of the agents' processes may take after a
// second signal.
const killWithin = 500 * time.Millisecond

// stopSignals closes stop at the first of endSignals. At a second SIGTERM or SIGINT it
// kills the agents' processes and ends this process: two signals mean that the
// sender does not want to wait. The process dies of that signal: a supervisor then
// knows that it was asked for, and does not start the server again.
func stopSignals(kill *atomic.Pointer[func()]) (stop <-chan struct{}, done func()) {
	dropSignals()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, endSignals()...)
	first := make(chan struct{})
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		close(first)
		second, ok := <-signals
		for ok && second == syscall.SIGHUP { // the shell and the kernel both tell that a terminal is closed
			second, ok = <-signals
		}
		if !ok {
			return
		}
		if f := kill.Load(); f != nil {
			killed := make(chan struct{})
			go func() {
				(*f)()
				close(killed)
			}()
			select {
			case <-killed:
			case <-time.After(killWithin):
			}
		}
		signal.Reset(second)
		_ = syscall.Kill(os.Getpid(), second.(syscall.Signal)) // another thread may get it, a moment later
		<-time.After(killWithin)
		os.Exit(exitFailed) // process 1 of a container does not die of it
	}()
	return first, func() {
		signal.Stop(signals)
		close(signals)
	}
}
