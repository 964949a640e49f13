package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/turns"
)

// awaitOptions are what `holon await` waits for.
type awaitOptions struct {
	turnIDs []string
	owner   string
	all     bool
	timeout time.Duration
}

func newAwaitCommand(g *globals) *cobra.Command {
	var options awaitOptions
	cmd := &cobra.Command{
		Use:   "await [TURN…]",
		Short: "Wait for the ends of turns, and print their results",
		Long: `Waits until one of the turns has ended, or with --all until all have, and prints
how each ended and the last message of its agent. Ctrl-C stops the waiting, not
the turns. --timeout 0 does not wait.

With --owner, the printed results count as told to the agent of that thread: they
are acknowledged in the thread's inbox and no longer wake the agent. Without a TURN
it waits for all child turns of the owner that have not ended or were not told.

The exit code is 0 if one turn has ended (with --all: every turn) and each turn that
has ended has completed; 3 if each has completed, but one stopped early, such as by
refusal or max_tokens (its stop_reason); 1 otherwise.

An agent that runs it with --owner and its own thread stops waiting when a person's
turn is queued behind its own, or when it is sent a message: it should end its turn.

  holon await turn_…
  holon await turn_… turn_… --all --timeout 1h
  holon await --owner thread_… -o json`,
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			options.turnIDs = args
			if len(args) == 0 && options.owner == "" {
				return usagef("which TURN? --owner THREAD waits for the child turns of a thread")
			}
			if limit := turns.MaxAwaitSeconds * time.Second; options.timeout < 0 || options.timeout > limit {
				return usagef("--timeout %s: give a duration from 0 to %s", options.timeout, limit)
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			find := c.finder()
			if options.owner != "" {
				find = c.finder().telling() // its agent counts as told
			}
			if options.owner, err = find.thread(options.owner); err != nil {
				return err
			}
			if options.turnIDs, err = find.turns(args); err != nil {
				return err
			}
			raw, answer, err := options.wait(c)
			if err != nil {
				return err
			}
			if c.format != "text" {
				err = c.printData(raw, "results")
			} else {
				err = options.print(c, answer)
			}
			if code := options.exitCode(answer); err == nil && code != exitOK {
				return &exitError{code: code}
			}
			return err
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.owner, "owner", "", "the thread for which the turns work: the results count as told to its agent")
	flags.BoolVar(&options.all, "all", false, "wait for all of the turns, not for one")
	flags.DurationVar(&options.timeout, "timeout", turns.AwaitSeconds*time.Second, "how long to wait, such as 90s; 0: only look")
	return cmd
}

// wait waits on the server, and shows on a terminal that it does. After the loss of
// the connection it waits again: nothing was told then.
func (o awaitOptions) wait(c *caller) (raw jsontext.Value, answer turns.AwaitResult, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		until := time.Now().Add(o.timeout)
		for waited := false; ; {
			raw, answer, err = o.call(c, max(0, time.Until(until)))
			if waited = waited || lostWhileWaiting(err); !waited || !unanswered(err) || c.ctx.Err() != nil || !time.Now().Before(until) {
				return
			}
			select {
			case <-c.ctx.Done():
				err = context.Cause(c.ctx)
				return
			case <-time.After(time.Second):
			}
		}
	}()
	if c.format != "text" || !c.isTerminal(c.out) {
		<-done
		return raw, answer, err
	}
	view := c.newTimeline(timeline.Options{Idle: "waiting for " + o.what() + " · Ctrl-C ends the waiting, not the work"})
	for ticks := c.ticks(); ; {
		select {
		case <-done:
			if closeErr := view.Close(); err == nil {
				err = closeErr
			}
			return raw, answer, err
		case <-ticks:
			if tickErr := view.Tick(); tickErr != nil {
				return nil, answer, tickErr
			}
		}
	}
}

func (o awaitOptions) call(c *caller, timeout time.Duration) (jsontext.Value, turns.AwaitResult, error) {
	params := map[string]any{"timeout_seconds": timeout.Seconds()}
	if len(o.turnIDs) > 0 {
		params["turn_ids"] = o.turnIDs
	}
	if o.owner != "" {
		params["owner_thread_id"] = o.owner
	}
	if o.all {
		params["wait_for"] = turns.WaitAll
	}
	return ask[turns.AwaitResult](c, "turn/await", params)
}

// lostWhileWaiting reports whether the server stops, or the connection was lost, while
// a request waited there.
func lostWhileWaiting(err error) bool {
	return client.IsKind(err, client.KindUnavailable) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}

// unanswered reports whether the same request can be answered later.
func unanswered(err error) bool {
	var refused *client.Error
	if errors.As(err, &refused) {
		return refused.Kind == client.KindUnavailable
	}
	return err != nil && !client.IsWrongServer(err)
}

// what describes what is waited for.
func (o awaitOptions) what() string {
	switch n := len(o.turnIDs); {
	case n == 0:
		return "child turns of " + timeline.OneLine(short(o.owner))
	case n == 1:
		return timeline.OneLine(short(o.turnIDs[0]))
	case o.all:
		return fmt.Sprintf("%d turns", n)
	default:
		return fmt.Sprintf("one of %d turns", n)
	}
}

// exitCode returns exitOK if the turns to wait for have ended, and all that ended completed.
func (o awaitOptions) exitCode(answer turns.AwaitResult) int {
	ended, left, looked, code := 0, 0, 0, exitOK
	for i := range answer.Results {
		switch r := &answer.Results[i]; {
		case r.Review != nil && (r.Review.State == turns.Rejected || r.Review.State == turns.Blocked):
			return exitFailed
		case r.State == turns.Completed:
			ended++
			if r.StoppedEarly() {
				code = exitEarly
			}
		case r.Accepted(), r.State == turns.NotFound, r.State == turns.InvalidScope:
			return exitFailed
		case r.Outside && o.owner != "":
			looked++
		default:
			left++
		}
	}
	if left+looked > 0 && ended == 0 || left > 0 && o.all {
		return exitFailed
	}
	return code
}

// print prints results for a person.
func (o awaitOptions) print(c *caller, answer turns.AwaitResult) error {
	if len(answer.Results) == 0 {
		c.note("%s has no child turn that has not ended or was not told.", shownID(c.console, o.owner))
		return nil
	}
	var b strings.Builder
	for i := range answer.Results {
		r := &answer.Results[i]
		b.WriteString(shownID(c.console, r.TurnID))
		if r.Title != "" {
			b.WriteString(" " + inQuotes(r.Title))
		}
		b.WriteString(": " + o.outcome(r) + "\n")
		if !r.Accepted() {
			continue
		}
		for line := range strings.SplitSeq(strings.TrimRight(timeline.Clean(r.Text), "\n"), "\n") {
			if line != "" {
				line = "  " + line
			}
			if r.Text != "" {
				b.WriteString(line + "\n")
			}
		}
		if r.TextTruncated {
			fmt.Fprintf(&b, "  (the middle is left out; holon items --turn %s -o json has the whole)\n", timeline.OneLine(r.TurnID))
		}
	}
	if _, err := io.WriteString(c.out, b.String()); err != nil {
		return err
	}
	switch answer.Reason {
	case turns.CutQueued:
		c.note("A person's turn is queued behind yours: end your turn. The work goes on.")
	case turns.CutSteered:
		c.note("Somebody has sent a message to your turn: end it, if you do not see the message. The work goes on.")
	}
	if i := slices.IndexFunc(answer.Results, func(r turns.Result) bool { return r.Outside && !r.Accepted() }); i >= 0 && o.owner != "" {
		c.note("Work in a thread that is not below %s is not waited for here. To wait for it: holon await %s", shownID(c.console, o.owner), shownID(c.console, answer.Results[i].TurnID))
	}
	if answer.TimedOut {
		c.note("Waited %s; the work goes on.", o.timeout)
	}
	return nil
}

// outcome describes how far a turn is, and what a review has found.
func (o awaitOptions) outcome(r *turns.Result) string {
	text := o.state(r)
	if r.State == turns.InReview {
		if text = ""; r.StoppedEarly() {
			text = turns.EarlyStop(r.StopReason) + ", "
		}
		text += "waits for a review: holon review " + timeline.OneLine(short(r.EndOf()))
	} else if r.Review != nil {
		text += ", " + timeline.OneLine(string(r.Review.State)) + " in a review"
		if r.Review.Note != "" {
			text += ": " + timeline.OneLine(r.Review.Note)
		}
	}
	if r.ContinuedBy != "" {
		text = "rejected, and continued by " + timeline.OneLine(short(r.ContinuedBy)) + ": " + text
	}
	return text
}

// state describes how far a turn is.
func (o awaitOptions) state(r *turns.Result) string {
	time := timeline.Elapsed(time.Duration(r.ElapsedMs) * time.Millisecond)
	switch r.State {
	case turns.Completed:
		if r.StoppedEarly() {
			return "stopped early in " + time + ": " + timeline.OneLine(r.StopReason)
		}
		return "completed in " + time
	case turns.Interrupted:
		return "interrupted after " + time
	case turns.Failed:
		text := "failed after " + time
		if r.Error != nil {
			text += fmt.Sprintf(" (%s): %s", timeline.OneLine(r.Error.Kind), timeline.OneLine(r.Error.Message))
		}
		return text
	case turns.NotFound:
		return "there is no such turn"
	case turns.InvalidScope:
		if o.owner != "" {
			return "is no child turn of " + timeline.OneLine(short(o.owner))
		}
		return "is not visible here"
	case turns.Active:
		return "has been running for " + time
	case turns.Queued:
		return "queued"
	}
	return timeline.OneLine(strings.ReplaceAll(string(r.State), "_", " ")) + ", " + time
}
