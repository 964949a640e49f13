package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	agentenv "github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/turns"
)

// jobOptions are what `holon job` asks for, besides the prompt.
type jobOptions struct {
	agent, cwd, title string
	timeout           time.Duration
}

// How often a job is asked for again that has no end yet.
const (
	askAgainAfter  = time.Second
	lookAgainAfter = 5 * time.Second // at a review, which a person gives
	unreachableFor = 10 * time.Minute
)

func newJobCommand(g *globals) *cobra.Command {
	var options jobOptions
	cmd := &cobra.Command{
		Use:   "job NAME [PROMPT]",
		Short: "Have a job done once for the turn of this program, and print its result",
		Long: `For programs that an agent of kind exec runs: has another agent do PROMPT in a child
thread, waits for the end, and prints the last message of that agent. NAME is the job's
name in this turn, such as build/linux. When the turn is tried again after a crash, the
same program gets what has completed at once, and waits for what goes on:

  a=$(holon job find --agent scout "Find the cause of issue 7")
  holon job lint --agent builds "make lint" & lint=$!
  holon job tests --agent builds "make test" & tests=$!
  wait $lint && wait $tests

A job is the same work each time: the same NAME with another PROMPT or agent is an error.
One that has failed is tried again when the turn is. PROMPT is text; "-", or no PROMPT
with input piped in, reads it from stdin.

The exit code is 0 if the job has completed, 3 if it stopped early, 1 if it failed or
was interrupted or blocked, and 2 if this is no turn of an agent: the program finds its
turn in HOLON_THREAD_ID, HOLON_TURN_ID and HOLON_ATTEMPT, which the server sets.`,
		Args: cobra.MinimumNArgs(1),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			params, err := options.params(&g.console, args)
			if err != nil {
				return err
			}
			c, err := g.caller(cmd)
			if err != nil {
				return err
			}
			defer c.close()
			raw, r, err := waitForJob(c, params)
			if err != nil {
				return err
			}
			return printJob(c, args[0], raw, r)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.agent, "agent", "", "which agent does it (default: the one of this turn)")
	flags.StringVar(&options.cwd, "cwd", "", "the directory that it works in (default: that of this turn)")
	flags.StringVar(&options.title, "title", "", "what people see of it (default: NAME)")
	flags.DurationVar(&options.timeout, "timeout", 0, "fail the job after this time, such as 10m")
	return cmd
}

// params returns those of turn/start.
func (o jobOptions) params(con *console, args []string) (map[string]any, error) {
	parent := map[string]any{"thread_id": con.env(agentenv.EnvThreadID), "turn_id": con.env(agentenv.EnvTurnID)}
	if parent["thread_id"] == "" || parent["turn_id"] == "" {
		return nil, usagef("this is no turn of an agent: %s and %s are not set. They are in programs that an agent of kind exec runs; a worker sets them to those of the turn that it has claimed", agentenv.EnvThreadID, agentenv.EnvTurnID)
	}
	if attempt := con.env(agentenv.EnvAttempt); attempt != "" {
		n, err := strconv.Atoi(attempt)
		if err != nil || n < 1 {
			return nil, usagef("%s is %q: it is the number of an attempt, from 1", agentenv.EnvAttempt, timeline.OneLine(attempt))
		}
		parent["attempt"] = n
	}
	if err := turns.CheckJob("NAME", args[0]); err != nil {
		return nil, &usageError{err: err}
	}
	if o.timeout < 0 {
		return nil, usagef("--timeout %s: give a duration such as 90s or 10m", o.timeout)
	}
	prompt, _, err := readPrompt(con, args[1:])
	if err != nil {
		return nil, err
	}
	params := map[string]any{
		"job": args[0], "parent": parent, "wait_seconds": turns.MaxWaitSeconds,
		"input": []turns.InputMessage{{Type: "message", Role: "user", Content: []items.Part{{Type: items.PartText, Text: prompt}}}},
	}
	for name, value := range map[string]string{"agent": o.agent, "cwd": o.cwd, "title": o.title} {
		if value != "" {
			params[name] = value
		}
	}
	if o.timeout > 0 {
		params["timeout_seconds"] = o.timeout.Seconds()
	}
	return params, nil
}

// waitForJob asks for the job until it has ended. Its program has nothing else to do: it asks
// again when a person's turn has cut the wait short, when its turn is between two attempts, and
// when the server is full, or restarts.
func waitForJob(c *caller, params map[string]any) (raw jsontext.Value, r turns.Result, err error) {
	answered, said := time.Now(), false
	for {
		whole, started, err := ask[turns.StartResult](c, "turn/start", params)
		pause := askAgainAfter
		var refused *client.Error
		switch {
		case c.ctx.Err() != nil:
			return nil, r, context.Cause(c.ctx)
		case err == nil && len(started.Results) == 1:
			answered, r = time.Now(), started.Results[0]
			if r.Accepted() {
				raw, err = firstResult(whole)
				return raw, r, err
			}
			if r.State == turns.InReview {
				if pause = lookAgainAfter; !said {
					c.note("The job waits for a review: holon review %s", shownID(c.console, r.EndOf()))
					said = true
				}
			}
		case err == nil:
			answered = time.Now() // it could not wait
		case errors.As(err, &refused) && refused.Kind != client.KindUnavailable:
			if !refused.Retryable {
				return nil, r, err
			}
			answered, pause = time.Now(), max(pause, refused.RetryAfter)
		case !lostWhileWaiting(err) && !unanswered(err) || time.Since(answered) > unreachableFor:
			return nil, r, err
		}
		select {
		case <-time.After(pause):
		case <-c.ctx.Done():
			return nil, r, context.Cause(c.ctx)
		}
	}
}

// firstResult returns the result in an answer to turn/start, as received.
func firstResult(answer jsontext.Value) (jsontext.Value, error) {
	var members struct {
		Results []jsontext.Value `json:"results"`
	}
	if err := json.Unmarshal(answer, &members); err != nil || len(members.Results) == 0 {
		return nil, fmt.Errorf("read the result of the job: %w", err)
	}
	return members.Results[0], nil
}

// printJob prints the result of a job, and returns an error with the exit code.
func printJob(c *caller, name string, raw jsontext.Value, r turns.Result) error {
	bad := r.State != turns.Completed || r.Review != nil && r.Review.State == turns.Blocked
	switch {
	case c.format != "text":
		if err := c.printData(raw, ""); err != nil {
			return err
		}
	case !bad:
		text, err := wholeText(c, r)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(c.out, strings.TrimRight(timeline.Clean(text), "\n")+"\n"); err != nil {
			return err
		}
	}
	switch {
	case bad:
		return &exitError{code: exitFailed, err: fmt.Errorf("job %s: %s", timeline.OneLine(name), awaitOptions{}.outcome(&r))}
	case r.StoppedEarly():
		return &exitError{code: exitEarly}
	}
	return nil
}

// wholeText returns what the agent has said last, all of it: a result has the head and the tail
// of a long text.
func wholeText(c *caller, r turns.Result) (string, error) {
	if !r.TextTruncated {
		return r.Text, nil
	}
	_, list, err := ask[api.ItemListResult](c, "item/list", map[string]any{"turn_id": r.EndOf(), "type": items.KindAgentMessage, "order": api.OrderDesc, "limit": 1})
	if err != nil || len(list.Items) == 0 {
		return r.Text, err
	}
	var m items.AgentMessage
	if err := json.Unmarshal(list.Items[0].Content, &m); err != nil {
		return "", fmt.Errorf("read the last message of the job: %w", err)
	}
	return items.SaidIn(m).Text, nil
}
