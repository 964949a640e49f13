// Package echo is the agent that needs no set-up: it answers with its input,
// streamed by words. Lines that begin with a slash are commands for what an
// agent can do: wait, ask, fail, die, or produce much output. It is for trials,
// tests and load. docs/agents-reference.md lists the commands.
package echo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// Kind is what Info says the agent is.
const Kind = "echo"

// Agent answers with its input. It keeps no state: its methods may be called
// from any number of goroutines.
type Agent struct{ name string }

var _ turns.Local = (*Agent)(nil)

// New returns an echo agent of this name.
func New(name string) *Agent { return &Agent{name: name} }

// Info describes the agent.
func (a *Agent) Info() turns.AgentInfo { return turns.AgentInfo{Name: a.name, Kind: Kind} }

// Directory implements turns.Local: what is tried with echo, in which directory a thread
// works and that a missing one is refused, is as with any agent.
func (a *Agent) Directory(cwd string) (string, error) { return process.Directory(cwd, "") }

// Run executes the lines of the prompt in their order. A line with an error
// fails the turn before anything is executed.
func (a *Agent) Run(ctx context.Context, p *turns.Prompt) turns.Outcome {
	script, err := scriptOf(p.Input)
	if err != nil {
		return turns.FailedWith("invalid_params", err.Error())
	}
	for i, c := range script {
		if ctx.Err() != nil {
			out := interrupted()
			out.Unread = i == 0
			return out
		}
		err := c.run(ctx, p, c)
		var end *ending
		switch {
		case errors.As(err, &end):
			return end.outcome
		case err != nil:
			return interrupted() // ctx has ended, or the turn has without this agent
		}
	}
	return turns.Outcome{State: turns.Completed, StopReason: "end_turn"}
}

// scriptOf parses the input. A message that tells entries of the inbox is only
// repeated: what arrived from outside gives no commands. After a restart the script goes on
// behind the question that it had waited for.
func scriptOf(input []items.UserMessage) (script []command, err error) {
	if len(input) > 0 && input[0].Origin == items.OriginResume {
		if script, err = scriptOf(input[1:]); err != nil {
			return nil, err
		}
		return goOn(script, input[0].Answers), nil
	}
	for len(input) > 0 {
		n := 0
		for n < len(input) && input[n].Origin != items.OriginWake {
			n++
		}
		if n > 0 {
			part, err := parse(textOf(input[:n]))
			if err != nil {
				return nil, err
			}
			script = append(script, part...)
		}
		if n < len(input) {
			script = append(script, command{run: say, text: textOf(input[n : n+1])})
			n++
		}
		input = input[n:]
	}
	return script, nil
}

// goOn prints the answer to the question for which a script has waited, and leaves out what
// was done before.
func goOn(script []command, answers []items.ToldAnswer) []command {
	for i, c := range script {
		for _, a := range answers {
			if c.asks && c.text == a.Title {
				said := command{run: say, step: c.step, text: fmt.Sprintf("%q was answered after a restart: %s", a.Title, a.Answer)}
				return append([]command{said}, script[i+1:]...)
			}
		}
	}
	return script
}

// ending is how a command ends the whole turn.
type ending struct{ outcome turns.Outcome }

func (e *ending) Error() string { return "the turn ends here" }

func interrupted() turns.Outcome {
	return turns.Outcome{State: turns.Interrupted, StopReason: "cancelled"}
}

// textOf returns all text of the input, one message after the other. Other parts are
// named, so that their arrival can be seen.
func textOf(input []items.UserMessage) string {
	s := ""
	for _, m := range input {
		for _, p := range m.Quoted().Content {
			if s != "" {
				s += "\n"
			}
			switch p.Type {
			case items.PartText:
				s += p.Text
			case items.PartImage:
				s += "[image " + p.MimeType + "]"
			case items.PartResource:
				s += "[" + p.URI + "]"
			default:
				s += "[" + p.Type + "]"
			}
		}
	}
	return s
}

// pause waits for d, or for the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
