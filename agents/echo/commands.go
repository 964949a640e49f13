package echo

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// maxWord is the largest delta of an echo. A text without white space is
// streamed too.
const maxWord = 4 << 10

// A group of ops in one Emit ends at 256 ops or 64 KiB of text: large enough
// that the cost per op is small, and small enough that the intake, which is
// bounded in bytes, holds several groups.
const (
	groupOps   = 256
	groupBytes = 64 << 10
)

// say makes a message and streams it by words.
func say(ctx context.Context, p *turns.Prompt, c command) error {
	id := items.NewID()
	if err := p.Emit(ctx, items.Create{ItemID: id, Step: c.step, Content: items.NewAgentMessage("")}); err != nil {
		return err
	}
	for rest := c.text; rest != ""; {
		var word string
		word, rest = cutWord(rest)
		if err := p.Emit(ctx, items.Append{ItemID: id, Text: word}); err != nil {
			return err
		}
	}
	return p.Emit(ctx, items.Update{ItemID: id, Status: items.StatusCompleted})
}

// cutWord splits a text after its first word and the white space around it.
func cutWord(s string) (word, rest string) {
	inWord, spaceAfter := false, false
	for i, r := range s {
		space := unicode.IsSpace(r)
		if spaceAfter && !space || i+utf8.RuneLen(r) > maxWord {
			return s[:i], s[i:]
		}
		inWord = inWord || !space
		spaceAfter = inWord && space
	}
	return s, ""
}

// deltas makes one message of n deltas of size bytes. The text is a pattern
// that continues over the deltas: byte k of the message is byte k mod 64 of the
// pattern, so that a reader notices missing, duplicate or misplaced text.
func deltas(ctx context.Context, p *turns.Prompt, c command) error {
	id := items.NewID()
	if err := p.Emit(ctx, items.Create{ItemID: id, Step: c.step, Content: items.NewAgentMessage("")}); err != nil {
		return err
	}
	text := strings.Repeat(pattern, c.size/len(pattern)+2)
	group := grouper{ctx: ctx, p: p, alone: c.wait > 0}
	for i := range c.n {
		from := i * c.size % len(pattern)
		if err := group.add(items.Append{ItemID: id, Text: text[from : from+c.size]}, c.size); err != nil {
			return err
		}
		if c.wait > 0 {
			if err := pause(ctx, c.wait); err != nil {
				return err
			}
		}
	}
	if err := group.add(items.Update{ItemID: id, Status: items.StatusCompleted}, 0); err != nil {
		return err
	}
	return group.flush()
}

const pattern = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+\n"

// finishedItems makes n messages of size bytes, each finished at once: the
// least work for an agent and the most events for the log.
func finishedItems(ctx context.Context, p *turns.Prompt, c command) error {
	var content items.Content = items.NewAgentMessage(strings.Repeat(pattern, c.size/len(pattern)+1)[:c.size])
	group := grouper{ctx: ctx, p: p}
	for range c.n {
		op := items.Create{ItemID: items.NewID(), Step: c.step, Status: items.StatusCompleted, Content: content}
		if err := group.add(op, c.size); err != nil {
			return err
		}
	}
	return group.flush()
}

// clock makes n messages at a steady pace. Each is finished at once and has the
// time of its Emit, so that a reader can measure its latency.
func clock(ctx context.Context, p *turns.Prompt, c command) error {
	tick := time.Tick(c.wait)
	for range c.n {
		select {
		case <-tick:
		case <-ctx.Done():
			return ctx.Err()
		}
		op := items.Create{ItemID: items.NewID(), Step: c.step, Status: items.StatusCompleted}
		op.Content = items.NewAgentMessage(strconv.FormatInt(time.Now().UnixNano(), 10))
		if err := p.Emit(ctx, op); err != nil {
			return err
		}
	}
	return nil
}

// grouper emits ops in groups. With alone each op is its own group.
type grouper struct {
	ctx   context.Context
	p     *turns.Prompt
	alone bool
	ops   []items.Op
	bytes int
}

func (g *grouper) add(op items.Op, bytes int) error {
	if g.ops == nil {
		g.ops = make([]items.Op, 0, groupOps)
	}
	g.ops = append(g.ops, op)
	g.bytes += bytes
	if g.alone || len(g.ops) == groupOps || g.bytes >= groupBytes {
		return g.flush()
	}
	return nil
}

func (g *grouper) flush() error {
	if len(g.ops) == 0 {
		return nil
	}
	ops := g.ops
	g.ops, g.bytes = nil, 0 // the sink may keep the slice
	return g.p.Emit(g.ctx, ops...)
}

func sleep(ctx context.Context, _ *turns.Prompt, c command) error { return pause(ctx, c.wait) }

// stubborn waits and ignores interrupts meanwhile. Only the end of the turn
// itself, without this agent, ends the wait.
func stubborn(_ context.Context, p *turns.Prompt, c command) error {
	select {
	case <-time.After(c.wait):
		return nil
	case <-p.Over:
		return turns.ErrPromptOver
	}
}

// ask asks for a permission and says the answer.
func ask(ctx context.Context, p *turns.Prompt, c command) error {
	answer, err := p.Ask(ctx, items.PermissionRequest{
		Type: items.KindPermissionRequest, Title: c.text,
		Subject: items.Subject{Type: "other"},
		Options: []items.Option{
			{OptionID: items.AllowOnce, Name: "Allow", Kind: items.AllowOnce},
			{OptionID: items.RejectOnce, Name: "Reject", Kind: items.RejectOnce},
		},
	}, turns.AskOptions{Resumes: true})
	if err != nil {
		return err
	}
	said := fmt.Sprintf("%q was not answered (%s)", c.text, answer.Outcome.Type)
	if answer.Outcome.OptionID != "" {
		said = fmt.Sprintf("%q was answered with %s", c.text, answer.Outcome.OptionID)
	}
	return say(ctx, p, command{step: c.step, text: said})
}

func fail(_ context.Context, _ *turns.Prompt, c command) error {
	return &ending{turns.FailedWith(turns.KindAgentFailed, c.text)}
}

// withdraw makes an item, finishes it and deletes it.
func withdraw(ctx context.Context, p *turns.Prompt, c command) error {
	id := items.NewID()
	if err := p.Emit(ctx, items.Create{ItemID: id, Step: c.step, Status: items.StatusCompleted, Content: items.NewAgentMessage("This will be withdrawn.")}); err != nil {
		return err
	}
	return p.Emit(ctx, items.Delete{ItemID: id})
}

func progress(ctx context.Context, p *turns.Prompt, c command) error {
	return p.Emit(ctx, items.Progress{Message: c.text})
}

// crash leaves an incomplete message, like an agent that dies, in the first n
// attempts of its turn.
func crash(ctx context.Context, p *turns.Prompt, c command) error {
	if p.Attempt > c.n {
		return nil
	}
	id := items.NewID()
	err := p.Emit(ctx,
		items.Create{ItemID: id, Step: c.step, Content: items.NewAgentMessage("")},
		items.Append{ItemID: id, Text: "I am about to"})
	if err != nil {
		return err
	}
	end := turns.FailedWith(turns.KindAgentFailed, "the agent died: /crash")
	end.Cause = turns.CauseCrash
	return &ending{end}
}

// transient fails the first n attempts of its turn with a transient failure.
func transient(_ context.Context, p *turns.Prompt, c command) error {
	if p.Attempt > c.n {
		return nil
	}
	end := turns.FailedWith(turns.KindAgentFailed, "it may go better another time: /transient")
	end.Cause = turns.CauseTransient
	return &ending{end}
}

// step starts a step, or retries it.
func step(ctx context.Context, p *turns.Prompt, c command) error {
	return p.Emit(ctx, items.StepStart{Step: c.step})
}

// retryStep starts a step again, with a reason.
func retryStep(ctx context.Context, p *turns.Prompt, c command) error {
	return p.Emit(ctx, items.StepStart{Step: c.step, Reason: "/again"})
}

func endStep(ctx context.Context, p *turns.Prompt, c command) error {
	return p.Emit(ctx, items.StepEnd{Step: c.step})
}
