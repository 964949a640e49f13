package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/cmd/holon/servers"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// exitNoServer is the exit code of holon stop if there is nothing to stop.
const exitNoServer = 3

// stopOptions are how to stop.
type stopOptions struct {
	wait       time.Duration // until no turn runs; 0: do not wait
	now        bool
	keepPaused bool
	yes        bool
}

func newStopCommand(g *globals) *cobra.Command {
	var options stopOptions
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Stop the server",
		Long: `Stops the server that runs on the data directory, and waits until its process has
ended. It sends SIGTERM, as systemctl stop and Ctrl-C do: running turns get
drain_seconds to end. Queued turns, and turns that wait for a person, for child turns,
for their next attempt or for a worker, continue after the next start. On a terminal it
says what runs, and asks before it stops it.

--wait lets running turns end first: the server is paused, so that no other turn starts,
and is stopped once none runs, or when the time is over. The next start ends this pause.
Ctrl-C ends the waiting and the pause; the server goes on. --now does not wait: agents
are killed, as by a second SIGTERM.

--keep-paused pauses the server, and the next start stays paused until holon resume.

The server must run on this machine, as this user. The exit code is 0 if it has ended, 3
if none runs, and 1 if it was not stopped or has not ended.

  holon stop
  holon stop --wait 1h
  holon stop --wait 10m --data ~/other -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("holon stop stops the server, and takes no name; holon interrupt %s stops what a thread does", inShell(args[0], "THREAD"))
			}
			return nil
		},
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			switch waits := cmd.Flags().Changed("wait"); {
			case waits && (options.wait <= 0 || options.wait > turns.MaxTimeout-pauseMargin):
				return usagef("--wait %s: give a duration such as 1h, less than %s", options.wait, turns.MaxTimeout)
			case waits && options.now:
				return usagef("--now does not wait: give either --wait or --now")
			}
			s, err := findServer(g, cmd, options)
			if err != nil {
				return err
			}
			defer s.close()
			return s.run()
		}),
	}
	flags := cmd.Flags()
	flags.DurationVar(&options.wait, "wait", 0, "let running turns end first, for at most this time, such as 1h")
	flags.BoolVar(&options.now, "now", false, "do not let running turns end")
	flags.BoolVar(&options.keepPaused, "keep-paused", false, "the next start stays paused until holon resume")
	flags.BoolVarP(&options.yes, "yes", "y", false, "do not ask")
	return cmd
}

const (
	// pauseMargin is how much longer than the wait the pause lasts: if this command is
	// killed, the server goes on by itself.
	pauseMargin = time.Minute
	// keptReason is the reason of a pause that the next start does not end.
	keptReason = "holon stop --keep-paused"
	// lookEvery is how often the turns are looked at.
	lookEvery = 500 * time.Millisecond
	// lookWithin is how long an answer may take; a server that does not answer is
	// stopped all the same.
	lookWithin = 5 * time.Second
	// endMargin is how long the end of a server may take beside drain_seconds; it is 10 s
	// on a machine that is not busy.
	endMargin = 24 * time.Second
	// signalEvery is how often --now repeats the signal: two that come at once may be
	// received as one.
	signalEvery = 100 * time.Millisecond
	// endedEvery is how often it is checked whether the process has ended.
	endedEvery = 20 * time.Millisecond
)

// stopping is a server that is to be stopped. One goroutine uses it.
type stopping struct {
	*control
	options stopOptions
	server  *servers.Running
	drain   time.Duration // drain_seconds
	agents  map[string]config.Agent

	workers map[string]bool // threads, by id: whether their agent is a worker
	state   serverStatus
	running []*turns.Turn // as they were seen last
	asking  []*turns.Turn // those that wait for a person and cannot go on after a restart
	pauseAt time.Time     // of the pause that this command has made; zero = none
}

// findServer finds the server of the data directory, and whether it answers.
func findServer(g *globals, cmd *cobra.Command, options stopOptions) (*stopping, error) {
	format, err := g.format("text", "json", "jsonl")
	if err != nil {
		return nil, err
	}
	loaded, err := g.settings(cmd)
	if err != nil {
		return nil, err
	}
	if url := givenURL(g); url != "" && (g.url != "" || loaded.Sources["data"].Origin != config.FromFlag) && !servers.Of(loaded.Data, url, "") {
		return nil, &hintedError{fmt.Errorf("%s is not the server on %s", url, loaded.Data),
			"holon stop finds a server by its data directory. On the machine of that one: holon stop --data DIR"}
	}
	server, err := servers.Find(loaded.Data)
	if err != nil {
		return nil, noServer(g, err)
	}
	c := &caller{console: &g.console, ctx: cmd.Context(), format: format}
	s := &stopping{
		control: &control{caller: c}, options: options, server: server,
		drain: loaded.DrainTimeout, agents: loaded.Agents, workers: map[string]bool{},
	}
	resolve := client.Discover(server.Data)
	if endpoint, err := resolve(); err == nil {
		g.url = endpoint.URL // a token of the environment may be for another server
	}
	if strings.HasPrefix(g.tokenOfEnvironment(), tokens.AgentPrefix) {
		return nil, &hintedError{errors.New("this is an agent of that server, which would end with it"), "Ask a person to stop the server."}
	}
	if c.client, err = g.connectTo(resolve); err != nil {
		return nil, err
	}
	err = s.greet()
	switch {
	case err == nil:
	case c.ctx.Err() != nil, options.wait > 0, options.keepPaused:
		s.close()
		return nil, err
	default:
		c.note("What runs there is not known: %s", timeline.OneLine(redact(c.client, err.Error())))
	}
	return s, nil
}

// noServer returns the error of a command that has found no server to stop. The registry has
// others that may be meant.
func noServer(g *globals, err error) error {
	var none *client.NoServerError
	var other *servers.OtherUserError
	var unknown *servers.NotServingError
	switch {
	case errors.As(err, &none):
		hint := "There is nothing to stop. " + g.hint(err)
		if others := servers.At(g.env("XDG_RUNTIME_DIR")).List(); len(others) > 0 {
			hint = "There is nothing to stop there."
			for _, e := range others {
				hint += "\nA server runs on " + e.Data + ": holon stop --data " + e.Data
			}
		}
		return &exitError{code: exitNoServer, err: &hintedError{err, hint}}
	case errors.As(err, &other):
		return &hintedError{err, fmt.Sprintf("Only that user stops it: sudo -u '#%d' holon stop --data %s", other.UID, other.Data)}
	case errors.As(err, &unknown):
		return &hintedError{err, "If it starts or ends, try again in a moment. In a container it is stopped from there, or with the container."}
	}
	return err
}

func (s *stopping) close() {
	s.end()
	s.caller.close()
}

// greet asks the server for its bounds, and looks at it.
func (s *stopping) greet() error {
	ctx, cancel := context.WithTimeout(s.caller.ctx, lookWithin)
	defer cancel()
	var who api.InitializeResult
	if err := initialize(ctx, s.caller.client, &who); err != nil {
		return err
	}
	if d := who.Limits.DrainSeconds; d > 0 {
		s.drain = time.Duration(d * float64(time.Second))
	}
	return s.look()
}

// look reads the state of the server, and which turns run.
func (s *stopping) look() error {
	c := *s.caller
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithTimeout(c.ctx, lookWithin)
	defer cancel()
	var state serverStatus
	if err := c.client.Call(c.ctx, "holon/status", nil, &state); err != nil {
		return err
	}
	s.state = state
	active, err := activeTurns(&c, nil, 0)
	if err != nil {
		return err
	}
	var running, asking []*turns.Turn
	for _, t := range active {
		if t.WaitsForPerson() && !t.Resumable {
			asking = append(asking, t)
		}
		runs, err := s.runs(&c, t)
		if err != nil {
			return err
		}
		if runs {
			running = append(running, t)
		}
	}
	s.running, s.asking = running, asking
	return nil
}

// runs reports whether a turn would lose something if the server stopped now. Those that
// wait, and those of workers, continue after the next start.
func (s *stopping) runs(c *caller, t *turns.Turn) (bool, error) {
	if t.WaitsForPerson() || t.WaitsForChildren() || !t.RetryAt.IsZero() || t.ClaimedSeq > 0 {
		return false, nil
	}
	if t.Progress != turns.Starting {
		return true, nil
	}
	offered, err := s.ofWorker(c, t.ThreadID) // and waits for a claim
	return !offered, err
}

// ofWorker reports whether the turns of a thread are for workers.
func (s *stopping) ofWorker(c *caller, threadID string) (bool, error) {
	if is, known := s.workers[threadID]; known {
		return is, nil
	}
	_, read, err := ask[api.ThreadReadResult](c, "thread/read", map[string]any{"thread_id": threadID})
	if err != nil {
		return false, err
	}
	is := false
	for _, agent := range s.state.Agents {
		is = is || agent.Name == read.Thread.Agent && agent.Kind == config.KindWorker
	}
	s.workers[threadID] = is
	return is, nil
}

// run stops the server.
func (s *stopping) run() error {
	began := time.Now()
	if err := s.prepare(); err != nil {
		if s.caller.ctx.Err() != nil {
			err = errors.New("stopped by a signal, and the server was not stopped")
		}
		s.giveUp()
		return err
	}
	if err := s.terminate(); err != nil {
		return err
	}
	return s.report(time.Since(began))
}

// prepare asks, pauses and waits, as it is wanted. After an error nothing is stopped.
func (s *stopping) prepare() error {
	o := s.options
	if n := len(s.running); n > 0 && o.wait == 0 && s.state.State != "draining" {
		if err := s.confirm(o.yes, s.question()); err != nil {
			return err
		}
		_ = s.look() // turns may have begun meanwhile; what is not known of them is not reported
	}
	switch {
	case o.wait > 0 && s.state.State != "draining":
		return s.waitForTurns()
	case o.keepPaused:
		return s.pause(time.Time{})
	}
	return nil
}

// question describes what a stop would cut.
func (s *stopping) question() string {
	text := fmt.Sprintf("Stop the server on %s? ", s.server.Data)
	if s.options.now {
		text += counted(len(s.running), "turn runs, and is cut short:\n", "turns run, and are cut short:\n")
	} else {
		text += counted(len(s.running), "turn runs", "turns run") + fmt.Sprintf(", with %s to end (--wait 1h gives more):\n", s.drain)
	}
	for i, t := range s.running {
		if i == shownActive {
			return text + fmt.Sprintf("  … and %d more\n", len(s.running)-i)
		}
		_, does := turnState(t, time.Now())
		text += "  " + s.name(t.TurnID, t.ThreadID, t.Title) + ": " + does + "\n"
	}
	return text
}

// name names a turn in a list: its title is all that is known without its thread.
func (s *stopping) name(turnID, threadID, title string) string {
	id := tableID(s.caller.console)
	text := id(turnID) + " of " + id(threadID)
	if title != "" {
		text += " " + inQuotes(title)
	}
	return text
}

// pause pauses the server, with --keep-paused for longer than until the next start. A
// pause that somebody else has made stays as it is.
func (s *stopping) pause(until time.Time) error {
	began := time.Now().Truncate(time.Millisecond)
	params := map[string]any{"reason": turns.PausedToStop}
	if s.options.keepPaused {
		params["reason"] = keptReason
	} else {
		params["timeout_seconds"] = (time.Until(until) + pauseMargin).Seconds()
	}
	if _, _, err := change[turns.PauseResult](s.caller, "holon/pause", "", params); err != nil {
		return err
	}
	if err := s.look(); err != nil {
		return err
	}
	s.pauseAt = time.Time{}
	if at := s.state.pausedAt(); !at.Before(began) {
		s.pauseAt = at
	}
	return nil
}

// pausedAt returns when the pause began; zero if the server is not paused.
func (s serverStatus) pausedAt() time.Time {
	if s.PausedAt == nil || s.State != "paused" {
		return time.Time{}
	}
	at, _ := time.Parse(time.RFC3339, *s.PausedAt) // zero is nobody's pause
	return at
}

var errResumed = errors.New("somebody has ended the pause, so the server was not stopped")

// waitForTurns pauses the server and waits until no turn runs, or the time is over, or the
// server ends.
func (s *stopping) waitForTurns() error {
	until := time.Now().Add(s.options.wait).Round(0) // also while the machine sleeps
	paused, said := false, ""
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		switch err := s.lookAgain(&paused, until); {
		case s.caller.ctx.Err() != nil:
			return s.caller.ctx.Err()
		case !s.server.Alive() || s.state.State == "draining":
			return nil // somebody else has stopped it
		case errors.Is(err, errResumed), err != nil && !unanswered(err):
			return err
		case err == nil && len(s.running) == 0:
			return nil
		case !time.Now().Before(until):
			s.caller.note("The time is over: %s on, with %s to end.", counted(len(s.running), "turn goes", "turns go"), s.drain)
			return nil
		case err == nil:
			if now := s.waitsFor(); now != said && s.caller.format == "text" {
				s.caller.note("%s", now)
				said = now
			}
		}
		select {
		case <-ticker.C:
		case <-s.caller.ctx.Done():
		}
	}
}

// lookAgain looks, and pauses the server if it is not paused yet, or if the pause of
// somebody else has ended.
func (s *stopping) lookAgain(paused *bool, until time.Time) error {
	if *paused {
		if err := s.look(); err != nil || s.state.State != "running" {
			return err
		}
		if !s.pauseAt.IsZero() {
			s.pauseAt = time.Time{}
			return &hintedError{errResumed, "Stop it without waiting, or wait again: holon stop --wait " + s.options.wait.String()}
		}
	}
	err := s.pause(until)
	*paused = *paused || err == nil
	return err
}

// waitsFor returns a line about the turns that still run.
func (s *stopping) waitsFor() string {
	const shown = 3
	var names []string
	for _, t := range s.running {
		if len(names) == shown {
			names = append(names, fmt.Sprintf("%d more", len(s.running)-shown))
			break
		}
		names = append(names, s.name(t.TurnID, t.ThreadID, t.Title))
	}
	return "No further turn starts. Waiting for " + counted(len(s.running), "turn: ", "turns: ") + strings.Join(names, ", ") + ". Ctrl-C ends the waiting."
}

// giveUp ends the pause that this command has made. One of somebody else stays, also if it
// has replaced that of this command meanwhile.
func (s *stopping) giveUp() {
	if s.pauseAt.IsZero() {
		return
	}
	kept := "The server stays paused. End the pause with: holon resume"
	if s.options.keepPaused {
		s.caller.note("%s", kept)
		return
	}
	c := *s.caller
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithTimeout(context.WithoutCancel(c.ctx), lookWithin)
	defer cancel()
	var state serverStatus
	err := c.client.Call(c.ctx, "holon/status", nil, &state)
	if err == nil && state.State == "paused" && !state.pausedAt().Equal(s.pauseAt) {
		c.note("Somebody else has paused the server meanwhile. %s", kept)
		return
	}
	if err == nil {
		_, _, err = change[turns.PauseResult](&c, "holon/resume", "", map[string]any{"reason": "holon stop was given up"})
	}
	if err != nil {
		c.note("The pause could not be ended: %s\n%s", timeline.OneLine(redact(c.client, err.Error())), kept)
		return
	}
	c.note("The server goes on; its pause has ended.")
}

// terminate sends the signal and waits until the process has ended.
func (s *stopping) terminate() error {
	within, again := s.drain+endMargin, (<-chan time.Time)(nil)
	if s.options.now {
		within = endMargin
		ticker := time.NewTicker(signalEvery)
		defer ticker.Stop()
		again = ticker.C
	}
	if !s.options.now && s.state.State == "draining" { // a second signal would cut the drain
		s.caller.note("Process %d is stopping already; waiting for its end.", s.server.PID)
	} else if err := s.signal(); err != nil {
		return err
	}
	over := time.NewTimer(within)
	defer over.Stop()
	check := time.NewTicker(endedEvery)
	defer check.Stop()
	for s.server.Alive() {
		select {
		case <-check.C:
		case <-again:
			if err := s.signal(); err != nil {
				return err
			}
		case <-over.C:
			return &hintedError{fmt.Errorf("process %d still runs, %s after it was told to stop", s.server.PID, within),
				fmt.Sprintf("Its log says why. holon stop --now ends it without waiting, or kill -KILL %d: what is in the log is safe, and the next start does what is left.", s.server.PID)}
		case <-s.caller.ctx.Done():
			return fmt.Errorf("process %d is stopping, and goes on to without this command", s.server.PID)
		}
	}
	return nil
}

func (s *stopping) signal() error {
	if err := s.server.Signal(syscall.SIGTERM); err != nil && s.server.Alive() {
		return fmt.Errorf("send SIGTERM to process %d: %w", s.server.PID, err)
	}
	return nil
}
