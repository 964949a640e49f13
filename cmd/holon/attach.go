package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

func newAttachCommand(g *globals) *cobra.Command {
	var after string
	var full bool
	cmd := &cobra.Command{
		Use:   "attach THREAD",
		Short: "Follow a thread, and answer its questions",
		Long: `Shows a thread as holon run does: its active turn, or else its newest one, and all
that follows. Questions of its agent are asked on the terminal. The command ends when
the thread is closed. Ctrl-C ends only the command: turns continue.

  holon attach latest
  holon attach "fix the tests"
  holon attach 8c1d04fe --after 0     from the beginning`,
		Args: oneName(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, logID, err := parseCursor(after)
			if err != nil || logID != "" {
				return usagef("--after %s: give a seq such as 41", inQuotes(after))
			}
			if g.output == "json" {
				return usagef("-o json: an attached thread has no end; this command prints text, jsonl")
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			k := &control{caller: c}
			defer k.end()
			if c.format == "toon" {
				return usagef("-o toon: this command prints text, jsonl")
			}
			return k.attach(args[0], from, full)
		},
	}
	cmd.Flags().StringVar(&after, "after", "", "start after this seq (0: from the beginning)")
	cmd.Flags().BoolVar(&full, "full", false, "show all lines of long outputs, not the first 20")
	return cmd
}

// attach follows a thread until the person leaves or it is closed. It handles signals
// itself: they only end the command.
func (k *control) attach(name string, from *int64, full bool) error {
	c := k.caller
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, endSignals()...)
	defer signal.Stop(signals)
	s, after, err := k.attachAt(name, from)
	if err != nil {
		return err
	}
	refused, err := c.mayNotAnswer()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	run := &turnRun{
		con: c.console, ctx: ctx, client: c.client, threadID: s.thread.ThreadID, name: nameOf(c.finder(), s.thread), after: after, caughtUp: s.thread.LatestSeq, signals: signals,
	}
	if run.after >= s.thread.LatestSeq && s.thread.State == threads.Closed {
		c.note("%s is closed: nothing follows.", s)
		return nil
	}
	if c.format == "text" && c.isTerminal(c.out) {
		c.note("Attached to %s; Ctrl-C leaves it.", s)
	}
	run.questions = questionsAt(c.console, false)
	run.view = newRunViewer(c.console, c.format, false, shortening(timeline.Options{Short: tableID(c.console), AskedBelow: run.questions.from != nil && refused == "", Idle: "no turn is active · Ctrl-C leaves", Hint: "Ctrl-C leaves"}, run.name, full))
	run.questions.refused = refused
	defer run.questions.end()
	err = run.follow()
	if closeErr := run.view.Close(); err == nil || errors.Is(err, errLeft) {
		err = errors.Join(closeErr, err)
	}
	if errors.Is(err, errLeft) {
		k.sayWhatGoesOn(s, run)
		return nil
	}
	return err
}

// mayNotAnswer explains why the holder of a named token is not asked what agents ask; "" = they
// are.
func (c *caller) mayNotAnswer() (why string, err error) {
	var who api.InitializeResult
	if err := initialize(c.ctx, c.client, &who); err != nil || who.Token == nil || who.Token.Role.Covers(tokens.RoleRespond) {
		return "", err
	}
	return fmt.Sprintf("the token %s has the role %s; an answer takes %s", timeline.OneLine(who.Token.Name), timeline.OneLine(string(who.Token.Role)), tokens.RoleRespond), nil
}

// attachAt finds the thread, and where to begin. A signal ends it.
func (k *control) attachAt(name string, from *int64) (s subject, after int64, err error) {
	ctx, stop := signal.NotifyContext(k.caller.ctx, endSignals()...)
	defer stop()
	c := *k.caller
	c.ctx = ctx
	own := &control{caller: &c}
	if s, err = own.subjectThread(c.finder(), name); err == nil && from != nil {
		return s, *from, nil
	}
	if err == nil {
		after, err = own.newestTurn(&s.thread)
	}
	if ctx.Err() != nil {
		err = &exitError{code: exitFailed, err: errors.New("stopped by a signal")}
	}
	return s, after, err
}

// newestTurn returns the position before the active turn of a thread, else before its newest
// one, as far as the log goes back.
func (k *control) newestTurn(t *threads.Thread) (after int64, err error) {
	c := k.caller
	list, err := activeTurns(c, map[string]any{"thread_id": t.ThreadID}, 1)
	if err == nil && len(list) == 0 {
		_, err = readNewest(c, turnListing, map[string]any{"thread_id": t.ThreadID}, 1, func(t *turns.Turn) { list = append(list, t) })
	}
	if err != nil {
		return 0, err
	}
	after = t.CreatedSeq - 1
	if len(list) > 0 {
		after = list[0].CreatedSeq - 1
	}
	return c.kept(t.ThreadID, max(0, after))
}

// kept returns this position in the log, or where the log begins by now.
func (c *caller) kept(threadID string, after int64) (int64, error) {
	err := c.client.Call(c.ctx, "event/list", map[string]any{"thread_id": threadID, "after_seq": after, "limit": 1}, nil)
	var pruned *client.Error
	if client.IsKind(err, client.KindCursorExpired) && errors.As(err, &pruned) {
		return max(after, pruned.FirstSeq-1), nil
	}
	return after, err
}

// sayWhatGoesOn prints what runs in a thread that a person has left.
func (k *control) sayWhatGoesOn(s subject, run *turnRun) {
	c := *k.caller
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithTimeout(c.ctx, 2*time.Second)
	defer cancel()
	now := s
	active, err := activeTurns(&c, map[string]any{"thread_id": s.thread.ThreadID}, 1)
	if err == nil && len(active) > 0 {
		now, err = (&control{caller: &c}).subjectOf(active[0])
	}
	switch {
	case err != nil:
		c.note("left %s; %s", s, run.left())
	case len(active) == 0:
		c.note("left %s; no turn of it is active", s)
	case now.turn.Progress == turns.Interrupting:
		c.note("left %s; its turn is being interrupted at the server: %s", s, now.does())
	default:
		c.note("left %s; its turn goes on at the server: %s", s, now.does())
		c.note("  stop it with: holon interrupt %s", nameToStop(c.console, run.name, now.turn))
	}
	c.note("  see it with:  holon attach %s --after %d", run.name, max(run.after, run.result.Seq))
}
