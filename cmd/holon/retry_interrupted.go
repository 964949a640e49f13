package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/requests"
	"github.com/seed82539d15/holon/cmd/holon/restarts"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/turns"
)

// lostTurns reads the turns that ended with a restart, and whose consumer has not dismissed
// them.
func lostTurns(ctx context.Context, c *client.Client) (lost restarts.Lost, consumer string, err error) {
	if consumer = requests.Consumer(ctx, c); consumer == "" {
		return lost, "", errors.New("the server does not say whose request this is")
	}
	lost, err = restarts.Read(ctx, c, consumer)
	return lost, consumer, err
}

// printLost prints how many turns ended with a restart, and what can be done about it. What
// cannot be read is said and is no failure: the status itself is known.
func printLost(c *caller) error {
	lost, _, err := lostTurns(c.ctx, c.client)
	switch says := lost.Says(time.Now()); {
	case c.ctx.Err() != nil:
		return context.Cause(c.ctx)
	case err != nil:
		if client.IsUnknown(err) { // an older server: it does not say what it has lost
			return nil
		}
		c.note("What has ended with a restart is not known: %v", err)
		return nil
	case says == "":
		return nil
	default:
		_, err := fmt.Fprintf(c.textOut(), "\n%s: holon retry --interrupted, or holon status --dismiss\n", says)
		return err
	}
}

// dismissLost reports to the server that the person knows of the turns that ended with a
// restart.
func dismissLost(c *caller) error {
	lost, consumer, err := lostTurns(c.ctx, c.client)
	if err != nil {
		return err
	}
	says := lost.Says(time.Now())
	if says == "" {
		return c.printOwn(`{"dismissed":0}`, restarts.None)
	}
	method, params := lost.Dismissal(consumer)
	if err := callRetrying(c.ctx, c.client, method, params, new(jsontext.Value)); err != nil && !restarts.Known(err) {
		return err
	}
	return c.printOwn(fmt.Sprintf(`{"dismissed":%d}`, len(lost.Turns)), "Dismissed: "+says+". Each can still be retried: holon retry TURN")
}

// printOwn prints a result that is not the server's, as data or as a sentence.
func (c *caller) printOwn(data, text string) error {
	if c.format != "text" {
		return c.printData(jsontext.Value(data), "")
	}
	return c.printText(text+"\n", nil)
}

// retriedTurns is what holon retry --interrupted has done, as data.
type retriedTurns struct {
	Retried []jsontext.Value `json:"retried"` // results of turn/retry
	Refused []refusedTurn    `json:"refused"`
	Left    []string         `json:"left"` // child turns whose owners were retried
}

type refusedTurn struct {
	TurnID string `json:"turn_id"`
	Error  string `json:"error"`
}

// shownLost is how many of them are listed before one is asked.
const shownLost = 20

// retryInterrupted retries the turns that ended with a restart.
func retryInterrupted(c *caller, flags changeFlags) error {
	k := &control{caller: c}
	defer k.end()
	lost, _, err := lostTurns(c.ctx, c.client)
	if err != nil {
		return err
	}
	done := retriedTurns{Retried: []jsontext.Value{}, Refused: []refusedTurn{}, Left: []string{}}
	if len(lost.Turns) == 0 && c.format == "text" {
		return c.printText(restarts.None+"\n", nil)
	}
	subjects := make(map[string]subject, len(lost.Turns))
	text := ""
	for i := range lost.Turns {
		t := &lost.Turns[i]
		s, err := k.subjectOf(t)
		if err != nil {
			return err
		}
		subjects[t.TurnID] = s
		if i < shownLost {
			text += "  " + s.String() + "\n" + s.began()
		}
	}
	if more := len(lost.Turns) - shownLost; more > 0 {
		text += "  and " + counted(more, "other", "others") + "\n"
	}
	if len(lost.Turns) > 0 {
		if err := k.confirm(flags.yes, lost.Says(time.Now())+":\n"+text+"Retry "+them(len(lost.Turns))+"? "); err != nil {
			return err
		}
	}
	var unsaid error
	left := lost.Retry(c.ctx, func(t *turns.Turn, params map[string]any) error {
		if flags.reason != "" {
			params["reason"] = flags.reason
		}
		s := subjects[t.TurnID]
		raw, r, err := change[turns.RetryResult](c, "turn/retry", params["idempotency_key"].(string), params)
		if err != nil {
			done.Refused = append(done.Refused, refusedTurn{t.TurnID, err.Error()})
			if c.format == "text" && c.ctx.Err() == nil {
				c.note("%s: not retried: %s", s, timeline.OneLine(err.Error()))
			}
			return err
		}
		done.Retried = append(done.Retried, raw)
		if c.format == "text" {
			unsaid = errors.Join(unsaid, c.printText(retried(s, r), nil))
		}
		return nil
	})
	for _, t := range left {
		done.Left = append(done.Left, t.TurnID)
		if c.format == "text" {
			c.note("%s: left to the turn that it works for, %s, which is retried", subjects[t.TurnID], shownID(c.console, t.Parent.TurnID))
		}
	}
	if c.format != "text" {
		if err := c.printValue(done, ""); err != nil {
			return err
		}
	}
	switch n := len(done.Refused); {
	case c.ctx.Err() != nil:
		return context.Cause(c.ctx)
	case unsaid != nil:
		return unsaid
	case n > 0:
		return fmt.Errorf("%s not retried", counted(n, "turn was", "turns were"))
	case lost.More:
		c.note("There are more: run it again.")
	}
	return nil
}

func them(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// retried describes what became of a retry.
func retried(s subject, r turns.RetryResult) string {
	state := timeline.OneLine(string(r.State))
	if r.Position > 0 {
		state += fmt.Sprintf(" at position %d", r.Position)
	}
	return fmt.Sprintf("%s: attempt %d, %s\n", s, r.Attempt, state)
}
