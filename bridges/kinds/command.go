package kinds

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/bridges"
)

const (
	// commandTime is the default of Config.Timeout.
	commandTime = 20 * time.Second
	// exitNotNow is the exit status of a program that cannot deliver now
	// (EX_TEMPFAIL of sysexits.h).
	exitNotNow = 75
	// killAfter is the time between TERM and KILL, and how long processes that the
	// program has left running may hold its output.
	killAfter = 2 * time.Second
)

// command runs a program for each attempt, with the envelope on stdin.
type command struct {
	command []string
	timeout time.Duration
	records *process.Records
}

func newCommand(c Config, records *process.Records) *command {
	return &command{command: c.Command, timeout: cmp.Or(c.Timeout, commandTime), records: records}
}

// Edits returns false: the program gets Supersedes and decides itself what to do with it.
func (*command) Edits() bool { return false }

// Send runs the program once. No process of it is left when Send returns, as far as they
// can be found: one that has left the group, such as by setsid, is found by the mark in its
// environment, on Linux.
func (c *command) Send(ctx context.Context, o *bridges.Outgoing) bridges.Result {
	group, forget, failure := c.start()
	if failure != "" {
		return bridges.Result{Outcome: bridges.Failed, Error: failure, Unhealthy: true}
	}
	defer forget()
	r := &running{group: group}
	var background sync.WaitGroup
	background.Go(func() {
		_, _ = group.Stdin.Write(append(o.Body[:len(o.Body):len(o.Body)], '\n')) // EPIPE: a program need not read it
		group.Stdin.Close()
	})
	read := make(chan struct{})
	background.Go(func() {
		defer close(read)
		r.read()
	})
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	ended := r.await(ctx, read)
	state := group.End()
	group.Stdout.Drain()
	group.Stderr.Drain()
	group.Stdin.Close() // wakes the writer, if the program has not read; a second close fails harmlessly
	background.Wait()
	group.Stdout.Close()
	group.Stderr.Close()
	return r.result(ended, state)
}

// start starts the program; failure is a short reason why it could not.
func (c *command) start() (group *process.Group, forget func(), failure string) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil, string(process.BadCwd)
	}
	cmd, err := process.Command(c.command, dir)
	if err == nil {
		cmd.Env = process.Environment(dir, nil)
		group, err = process.Start(cmd)
	}
	if err != nil {
		var why *process.StartError
		if errors.As(err, &why) {
			return nil, nil, string(why.Reason)
		}
		return nil, nil, string(process.NotStarted)
	}
	group.Daemons = true
	if forget, err = c.records.Add(group, c.command[:1]); err != nil { // arguments may have secrets
		group.Discard()
		return nil, nil, notRecorded(err)
	}
	return group, forget, ""
}

// notRecorded explains why a program does not run: what is not recorded could outlive the server.
func notRecorded(err error) string {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return "not_recorded: the disk is full"
	}
	return "not_recorded: the record of the process cannot be written"
}

// running is a program that runs.
type running struct {
	group     *process.Group
	out, errs head
}

// read reads both outputs to their ends, and keeps their beginnings.
func (r *running) read() {
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(&r.out, r.group.Stdout) })
	both.Go(func() { _, _ = io.Copy(&r.errs, r.group.Stderr) })
	both.Wait()
}

// await returns when the program has ended and its outputs too, or when it was
// killed. The error is that of ctx if the program was ended for it.
func (r *running) await(ctx context.Context, read <-chan struct{}) (ended error) {
	timer := time.NewTimer(killAfter)
	timer.Stop()
	defer timer.Stop()
	done, exited := ctx.Done(), r.group.Exited()
	for exited != nil || read != nil {
		select {
		case <-exited:
			exited = nil
			timer.Reset(killAfter)
		case <-read:
			read = nil
		case <-done:
			done = nil
			if exited != nil {
				ended = ctx.Err()
			}
			r.group.Signal(syscall.SIGTERM)
			timer.Reset(killAfter)
		case <-timer.C:
			r.group.Kill()
			return ended
		}
	}
	return ended
}

// result returns the result of the attempt.
func (r *running) result(ended error, state *os.ProcessState) bridges.Result {
	text := r.out.String()
	if !state.Success() && r.errs.String() != "" {
		text += "\n" + r.errs.String()
	}
	out := bridges.Result{Outcome: bridges.Failed, Status: max(state.ExitCode(), 0)}
	if text != "" {
		out.Answer = show(text, nil)
	}
	status, _ := state.Sys().(syscall.WaitStatus)
	switch {
	case ended != nil:
		// It may have delivered before it was ended.
		out.Error, out.Arrived, out.Unhealthy = "canceled", true, false
		if errors.Is(ended, context.DeadlineExceeded) {
			out.Error, out.Unhealthy = "timeout", true
		}
	case status.Signaled():
		out.Error, out.Arrived, out.Unhealthy = "signal "+strconv.Itoa(int(status.Signal())), true, true
	case state.ExitCode() == 0:
		out.Outcome = bridges.Delivered
	case state.ExitCode() == exitNotNow:
		out.Outcome, out.Error = bridges.Wait, "exit 75"
	default:
		out.Error = "exit " + strconv.Itoa(state.ExitCode())
	}
	return out
}

// head keeps the beginning of what is written to it.
type head struct{ b []byte }

// Write takes all of b and never fails.
func (h *head) Write(b []byte) (int, error) {
	h.b = append(h.b, b[:min(len(b), maxAnswer-len(h.b))]...)
	return len(b), nil
}

func (h *head) String() string { return string(h.b) }
