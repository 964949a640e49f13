package acp

import (
	"context"
	"strings"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// handoverBytes is how much of a thread a new session gets: some pages, which
// every model accepts.
const handoverBytes = 64 << 10

// transcript returns the conversation of the thread before this turn, for an agent
// that has lost it. ok is false if there is none or it cannot be read.
func (a *Agent) transcript(ctx context.Context, p *turns.Prompt) (first []block, ok bool) {
	host := a.host.Load()
	if host == nil {
		return nil, false
	}
	list, err := (*host).Transcript(ctx, p.ThreadID, handoverBytes)
	if err != nil {
		a.cfg.Log.Warn("the transcript for an agent cannot be read", zap.String("thread", p.ThreadID), zap.Error(err))
		return nil, false
	}
	var b strings.Builder
	for _, it := range list {
		if it.TurnID == p.TurnID {
			continue
		}
		switch c, _ := items.Decode(it.Content); c := c.(type) { // what does not decode is left out
		case items.UserMessage:
			said(&b, "User", c.Text())
		case items.AgentMessage:
			text, _ := items.TextOf(c)
			said(&b, "You", text)
		}
	}
	if b.Len() == 0 {
		return nil, false
	}
	return []block{text("What was said in this conversation before; your own memory of it is lost:\n\n" + b.String() + "\nIt goes on with the following message.")}, true
}

func said(b *strings.Builder, who, what string) {
	if what = strings.TrimSpace(what); what != "" {
		b.WriteString(who + ": " + what + "\n\n")
	}
}
