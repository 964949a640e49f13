package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// runOptions are the flags of run.
type runOptions struct {
	thread  string
	agent   string
	cwd     string
	where   directory
	title   string
	onBusy  string
	key     string
	timeout time.Duration
	quiet   bool

	attempts int
	backoff  time.Duration

	review string // the review policy; "" = the agent's

	parent     string // the thread that owns the turn; "" = none
	background bool   // nothing waits for the end of the turn
	full       bool   // outputs are not shortened
	detach     bool   // the command does not wait for it
}

func newRunCommand(g *globals) *cobra.Command {
	var options runOptions
	cmd := &cobra.Command{
		Use:   "run [flags] PROMPT…",
		Short: "Start a turn and watch it to its end",
		Long: `Starts a thread (or takes --thread) and a turn in it, and shows what happens until
the turn has ended. Questions of the agent are asked on the terminal. Ctrl-C
interrupts the turn; a second one exits without waiting for its end. The exit code
is 0 if the turn completed, 3 if it completed but stopped early, such as by refusal
or max_tokens (its stop_reason), and 1 otherwise. With --detach it only starts the
turn, and prints its name and that of its thread: holon attach shows it later.

PROMPT is text; "-", or no PROMPT with input piped in, reads it from stdin. The
turn continues at the server if this command is disconnected. A broken connection is
resumed without a gap.

With --parent the turn works for another thread, its owner, in a child thread of
that one: the owner's active turn waits for its end. With --background nothing
waits for it: this command prints the turn's id and ends, and the end of the turn
goes into the owner's inbox. --thread may then name any thread that exists, also
one that is not below the owner.

  holon run "hello"
  holon run --thread latest "and now the tests"
  holon run --detach --title "fix the tests" "the tests of package b fail"
  git diff | holon run --agent review -
  holon run -o json "hello" | jq -r .text
  holon run --background --parent thread_… --title "the tests" "run all tests"`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := g.format("text", "json", "jsonl")
			if err != nil {
				return err
			}
			if options.background && options.parent == "" {
				return usagef("--background: name the thread that is told of the end with --parent THREAD")
			}
			if options.background && options.detach {
				return usagef("--background leaves the turn by itself; leave out --detach")
			}
			if err := turns.CheckTitle("--title", options.title); options.parent != "" && err != nil {
				return &usageError{err: err} // before a thread is made for it
			}
			if busy := turns.OnBusy(options.onBusy); options.parent != "" && busy != "" && busy != turns.BusyQueue && busy != turns.BusyReject {
				return usagef("--on-busy %s: with --parent it is queue or reject", options.onBusy)
			}
			if err := turns.ReviewPolicy(options.review).Check("--review"); err != nil {
				return &usageError{err: err}
			}
			if options.timeout < 0 {
				return usagef("--timeout %s: give a duration such as 90s or 10m", options.timeout)
			}
			if options.attempts < 0 || options.backoff < 0 {
				return usagef("--max-attempts and --backoff: give a number of attempts and a duration such as 5s")
			}
			prompt, piped, err := readPrompt(&g.console, args)
			if err != nil {
				return err
			}
			c, err := g.client(cmd)
			if err != nil {
				return err
			}
			defer c.Close()
			find := g.changer(cmd, c)
			if options.onBusy == string(turns.BusyInterrupt) {
				find = find.ender()
			}
			if options.thread, err = find.threadToRun(options.thread, options.quiet); err != nil {
				return err
			}
			if options.parent, err = find.thread(options.parent); err != nil {
				return err
			}
			if options.parent == "" || options.cwd != "" { // else it works where its owner does
				if options.where, err = directoryFor(cmd.Context(), g, c, options.cwd, options.agent, options.thread); err != nil {
					return err
				}
			}
			if options.background || options.detach {
				return options.leave(cmd, g, c, prompt, format)
			}
			return options.run(cmd.Context(), &g.console, c, prompt, format, piped)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.thread, "thread", "", "the thread to continue; made, and said so, if it does not exist")
	flags.StringVar(&options.agent, "agent", "", "the agent of a new thread")
	flags.StringVar(&options.cwd, "cwd", "", "the working directory of a new thread's agent")
	flags.StringVar(&options.title, "title", "", "the title of a new thread; with --parent, of the turn too")
	flags.StringVar(&options.onBusy, "on-busy", "", "if the thread is busy: queue (default), reject, interrupt or steer; with --parent, the first two")
	flags.StringVar(&options.key, "idempotency-key", "", "the same key and prompt start only one turn, however often this is run")
	flags.DurationVar(&options.timeout, "timeout", 0, "fail the turn after this time, such as 10m")
	flags.IntVar(&options.attempts, "max-attempts", 0, "how often to try the turn if its agent or the server dies; 1: once (default: as the agent is configured)")
	flags.DurationVar(&options.backoff, "backoff", 0, "the wait before the second attempt, doubled for each further one")
	flags.StringVar(&options.review, "review", "", "which results wait for a review: none, on_success, on_failure or always (default: as the agent is configured)")
	flags.StringVar(&options.parent, "parent", "", "the thread for which the turn works; it runs in a child thread of that one or, with --background, in any other")
	flags.BoolVar(&options.background, "background", false, "with --parent: start the turn and leave; its end goes into the inbox of that thread")
	flags.BoolVar(&options.full, "full", false, "show all lines of long outputs, not the first 20")
	flags.BoolVarP(&options.detach, "detach", "d", false, "start the turn and leave it: holon attach shows it")
	flags.BoolVarP(&options.quiet, "quiet", "q", false, "print only the agent's text, at the end; with --detach or --background, only the turn's id")
	return cmd
}

// readPrompt returns the prompt and whether it came from stdin.
func readPrompt(con *console, args []string) (text string, piped bool, err error) {
	fromStdin := len(args) == 1 && args[0] == "-"
	if file, ok := con.in.(*os.File); len(args) == 0 && !(ok && con.isTerminal(file)) {
		fromStdin = true
	}
	if fromStdin {
		data, err := io.ReadAll(con.in)
		if err != nil {
			return "", false, fmt.Errorf("read the prompt from stdin: %w", err)
		}
		text, piped = strings.TrimRight(string(data), "\r\n"), true
	} else {
		text = strings.Join(args, " ")
	}
	if strings.TrimSpace(text) == "" {
		return "", false, usagef(`there is no prompt; give one: holon run "hello"`)
	}
	return text, piped, nil
}

// startedTurn is the answer to turn/start, as received and decoded. after is the
// cursor from which its events can be followed.
type startedTurn struct {
	raw      json.RawMessage
	TurnID   string          `json:"turn_id"`
	ThreadID string          `json:"thread_id"`
	State    turns.State     `json:"state"`
	Position int             `json:"position"`
	Parent   *threads.Parent `json:"parent"`
	Outside  bool            `json:"outside"` // its thread is not below the parent
	Wake     inbox.Wake      `json:"wake"`    // of the parent's inbox
	after    int64
	where    string // where the agent of a new thread works, if nobody has given a directory; "" = not known
	cwd      string // the directory of a new thread, as this command has given it; "" = it has not
}

// start starts thread and turn. Both calls carry keys, so that a retry after a
// lost answer starts nothing twice.
func (o runOptions) start(ctx context.Context, c *client.Client, prompt string) (s startedTurn, err error) {
	key, err := keyOr(o.key)
	if err != nil {
		return s, err
	}
	// A server has one space of keys: the thread needs a key different from the
	// turn's, within the 128 characters of a key.
	threadKey := uuid.NewSHA1(uuid.NameSpaceURL, []byte("holon run thread "+key)).String()
	thread := map[string]any{"idempotency_key": threadKey}
	for name, value := range map[string]string{"thread_id": o.thread, "agent": o.agent, "title": o.title} {
		if value != "" {
			thread[name] = value
		}
	}
	parent := map[string]any{"thread_id": o.parent}
	if o.parent != "" {
		thread["parent"] = parent
	}
	var started struct {
		ThreadID string `json:"thread_id"`
		Created  bool   `json:"created"`
		Seq      int64  `json:"seq"`
	}
	err = o.where.startIn(thread, func(params map[string]any) error { return callRetrying(ctx, c, "thread/start", params, &started) })
	switch is := client.IsKind; {
	case err == nil, o.thread == "", o.agent+o.cwd != "":
	case o.parent == "" && outside(err), o.parent != "" && is(err, "conflict"):
		// A token that is limited to threads cannot start another one, but continues in its own. And
		// with --background the turn may run in a thread that is not below its owner.
		var read api.ThreadReadResult
		err = c.Call(ctx, "thread/read", map[string]any{"thread_id": o.thread}, &read)
		started.ThreadID, started.Seq = o.thread, read.LatestSeq
	case o.background && is(err, client.KindForbidden):
		// An agent cannot read such a thread, but may start work there, if its configuration says so.
		started.ThreadID, err = o.thread, nil
	}
	if err != nil {
		return s, err
	}
	if started.Created && thread["cwd"] == nil || !started.Created && o.where.exists {
		s.where = o.where.without
	}
	if dir, ok := thread["cwd"].(string); ok && started.Created {
		s.cwd = dir
	}
	turn := map[string]any{
		"thread_id":       started.ThreadID,
		"input":           userInput(prompt),
		"idempotency_key": key,
	}
	if o.parent != "" {
		turn["parent"] = parent
		if o.title != "" {
			turn["title"] = o.title
		}
		if o.background {
			turn["background"] = true
		}
	}
	if o.onBusy != "" {
		turn["on_busy"] = o.onBusy
	}
	if o.timeout > 0 {
		turn["timeout_seconds"] = o.timeout.Seconds()
	}
	if o.review != "" {
		turn["review"] = o.review
	}
	if retry := o.retry(); retry != nil {
		turn["retry"] = retry
	}
	if err := callRetrying(ctx, c, "turn/start", turn, &s.raw); err != nil {
		var refused *client.Error
		// A thread with an id or a key of the caller's choice stays: a further run finds it.
		if started.Created && o.thread == "" && o.key == "" && errors.As(err, &refused) {
			closeUnused(ctx, c, started.ThreadID, "its first turn could not start")
		}
		return s, err
	}
	if err := json.Unmarshal(s.raw, &s); err != nil {
		return s, fmt.Errorf("read the answer to turn/start: %w", err)
	}
	s.after = started.Seq
	if started.Created {
		s.after-- // show the thread's own start too
	}
	s.after = max(0, s.after)
	return s, nil
}

// names returns how a person can name the thread, and the turn to stop it.
func (o runOptions) names(f finder, s startedTurn) (thread threads.Thread, name, toStop string) {
	thread.ThreadID = s.ThreadID
	if o.thread != "" || o.title != "" || o.key != "" { // else it has no title yet
		thread = readForName(f, s.ThreadID)
	}
	name = nameOf(f, thread)
	return thread, name, nameToStop(f.console, name, &turns.Turn{TurnID: s.TurnID, State: s.State})
}

// closeUnused closes a thread that has no turn. If that fails, it stays, empty.
func closeUnused(ctx context.Context, c *client.Client, threadID, reason string) {
	var list struct {
		Turns []json.RawMessage `json:"turns"`
	}
	if err := c.Call(ctx, "turn/list", map[string]any{"thread_id": threadID, "limit": 1}, &list); err != nil || len(list.Turns) > 0 {
		return
	}
	_ = c.Call(ctx, "thread/close", map[string]any{"thread_id": threadID, "reason": reason}, nil)
}

// retry returns the turn's retry policy, nil for that of its agent.
func (o runOptions) retry() map[string]any {
	if o.attempts == 0 && o.backoff == 0 {
		return nil
	}
	policy := map[string]any{"on_crash": "retry"}
	if o.attempts == 1 {
		policy["on_crash"] = "interrupt"
	}
	if o.attempts > 0 {
		policy["max_attempts"] = o.attempts
	}
	if o.backoff > 0 {
		policy["backoff_seconds"] = o.backoff.Seconds()
	}
	return policy
}

// userInput returns a prompt in the form of turn/start.
func userInput(text string) []any {
	return []any{map[string]any{
		"type": "message", "role": "user",
		"content": []any{map[string]any{"type": "input_text", "text": text}},
	}}
}

// keyOr returns the key, or a new one: a request that may be sent twice must take
// effect once.
func keyOr(key string) (string, error) {
	if key != "" {
		return key, nil
	}
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("make a key: %w", err)
	}
	return id.String(), nil
}

// callRetrying calls a method, and retries it if the connection broke after it
// had been made: only then is it unknown whether the change happened. An absent
// server is reported at once.
func callRetrying(ctx context.Context, c *client.Client, method string, params, result any) error {
	for attempt := 1; ; attempt++ {
		err := c.Call(ctx, method, params, result)
		var refused *client.Error
		absent := client.IsWrongServer(err) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist)
		if err == nil || errors.As(err, &refused) || attempt == 1 && absent || attempt == 5 {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Duration(attempt) * 200 * time.Millisecond):
		}
	}
}

// run starts the turn and follows it. It handles signals itself: the first
// SIGINT interrupts the turn, not the command.
func (o runOptions) run(ctx context.Context, con *console, c *client.Client, prompt, format string, piped bool) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, endSignals()...)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		run   *turnRun
		where string
		err   error
	}
	begun := make(chan outcome, 1)
	go func() {
		s, err := o.start(ctx, c, prompt)
		run := &turnRun{con: con, ctx: ctx, client: c, threadID: s.ThreadID, turnID: s.TurnID, after: s.after}
		if err == nil {
			_, run.name, run.toStop = o.names(finder{console: con, ctx: ctx, client: c}, s)
		}
		begun <- outcome{run, s.where, err}
	}()
	var run *turnRun
	select {
	case b := <-begun:
		if b.err != nil {
			return b.err
		}
		run = b.run
		if b.where != "" && format == "text" && !o.quiet {
			con.note("%s", b.where)
		}
	case <-signals:
		cancel()
		if b := <-begun; b.err == nil {
			run = b.run
			con.note("holon: %s", run.left())
		}
		return &exitError{code: exitFailed, err: errors.New("stopped before the turn had started")}
	}
	run.signals = signals
	run.questions = questionsAt(con, piped)
	run.view = newRunViewer(con, format, o.quiet, shortening(timeline.Options{Short: tableID(con), AskedBelow: run.questions.from != nil, Idle: "waiting for the turn", Hint: "Ctrl-C interrupts"}, run.name, o.full))
	defer run.questions.end()
	err := run.follow()
	if closeErr := run.view.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if n := len(run.running); n > 0 && format == "text" && !o.quiet {
		con.note("%s on in the background: holon tree %s", counted(n, "turn goes", "turns go"), run.name)
	}
	return run.report(format, o.quiet)
}

// runResult is what `holon run -o json` prints.
type runResult struct {
	ThreadID   string          `json:"thread_id"`
	TurnID     string          `json:"turn_id"`
	State      string          `json:"state"`
	Attempt    int             `json:"attempt,omitempty"`
	Text       string          `json:"text"`
	Format     items.Format    `json:"format,omitempty"` // plain: so was each message of the text
	Reason     string          `json:"reason,omitempty"`
	StopReason string          `json:"stop_reason,omitempty"`
	Error      json.RawMessage `json:"error,omitempty"`
	Usage      json.RawMessage `json:"usage,omitempty"`
	Review     json.RawMessage `json:"review,omitempty"` // the end waits for a review
	Seq        int64           `json:"seq"`
}

// stoppedEarly reports whether the turn has completed without coming to its own end.
func (r runResult) stoppedEarly() bool {
	return r.State == string(turns.Completed) && turns.StopsEarly(r.StopReason)
}

// ending describes in a sentence how an incomplete turn ended.
func (r runResult) ending() string {
	var failure struct {
		Message string `json:"message"`
	}
	why := r.Reason
	if json.Unmarshal(r.Error, &failure) == nil && failure.Message != "" {
		why = failure.Message
	}
	if r.stoppedEarly() {
		return "the turn stopped early: " + cleanText(r.StopReason)
	}
	text := "the turn " + map[string]string{"interrupted": "was interrupted", "failed": "failed"}[r.State]
	if why != "" {
		text += ": " + cleanText(why)
	}
	return text
}

// failure returns the kind of the turn's error, "" for none.
func (r runResult) failure() string {
	var failure struct {
		Kind string `json:"kind"`
	}
	if json.Unmarshal(r.Error, &failure) != nil {
		return ""
	}
	return failure.Kind
}

// report prints the result and turns the outcome into the exit code.
func (r *turnRun) report(format string, quiet bool) error {
	switch {
	case format == "json":
		if err := r.con.printJSON(r.result, true); err != nil {
			return err
		}
	case quiet && format == "text":
		text := r.result.Text
		if r.con.isTerminal(r.con.out) {
			text = cleanText(text)
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if _, err := io.WriteString(r.con.out, text); err != nil {
			return err
		}
		if r.result.State != "completed" || r.result.stoppedEarly() {
			r.con.note("holon: %s", r.result.ending())
		}
	}
	if r.result.Review != nil && (quiet || format != "text") {
		r.con.note("holon: the turn waits for a review: holon review %s", shownID(r.con, r.turnID))
	}
	if r.result.State != "completed" {
		if format == "text" && r.result.failure() == "agent_unavailable" {
			r.con.note("holon: %s", doctorHint)
		}
		if format == "text" && (r.result.Reason == turns.ServerRestarted || r.result.Reason == turns.ServerStopping) {
			r.con.note("holon: try it again with: holon retry %s", shownID(r.con, r.turnID))
		}
		return &exitError{code: exitFailed}
	}
	if r.result.stoppedEarly() {
		return &exitError{code: exitEarly}
	}
	return nil
}
