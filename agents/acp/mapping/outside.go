package mapping

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// maxGathered is how much text is collected for one item outside of a turn:
// half of the limit of an item in the log.
const maxGathered = 512 << 10

// gathering joins ops into items that are created ended, the only items outside
// of a turn. The zero value is ready.
type gathering struct{ open map[string]*gathered }

type gathered struct {
	content items.Content
	text    *items.Text
}

// Outside maps an update that comes while no prompt runs, into items that are
// created ended, and SetThread. Text is collected until other content comes or
// Flush is called. A tool call is collected until it ends, or until a prompt
// begins and continues it.
func (s *Session) Outside(raw jsontext.Value) []items.Op {
	s.update(raw)
	ops := s.outside.gather(s.out.take())
	if g := s.outside.open[s.messages.open.item]; g != nil && g.text.Len() > maxGathered {
		s.messages.end(items.StatusCompleted)
		ops = append(ops, s.outside.gather(s.out.take())...)
	}
	return ops
}

// Flush returns the text and the plan that Outside has collected, as ended
// items. Call it when the agent has been silent for a moment.
func (s *Session) Flush() []items.Op {
	s.messages.end(items.StatusCompleted)
	s.plans.end(items.StatusCompleted)
	return s.outside.gather(s.out.take())
}

// Gone returns all that Outside has collected; open tool calls end interrupted.
// Call it when no more messages of the session come and no prompt runs.
func (s *Session) Gone() []items.Op {
	ops := s.Flush()
	s.calls.end()
	return append(ops, s.outside.gather(s.out.take())...)
}

// Replayed maps an update of the history that the agent repeats. It takes what
// is about the thread (mode, options, commands, title) and no items, because
// the log has them.
func (s *Session) Replayed(raw jsontext.Value) []items.Op {
	if f, err := fieldsOf(raw); err == nil {
		s.thread.update(f.text("sessionUpdate"), f)
	}
	return s.out.take()
}

// gather takes the ops of the mapping and returns those that are allowed outside
// of a turn.
func (g *gathering) gather(ops []items.Op) []items.Op {
	var out []items.Op
	ended := func(id string, status items.Status, content items.Content) {
		delete(g.open, id)
		out = append(out, items.Create{ItemID: id, Status: status, Content: content})
	}
	for _, op := range ops {
		switch op := op.(type) {
		case items.Create:
			if !openStatus(op.Status) {
				out = append(out, op)
				continue
			}
			if g.open == nil {
				g.open = map[string]*gathered{}
			}
			g.open[op.ItemID] = gather(op.Content)
		case items.Append:
			if o := g.open[op.ItemID]; o != nil {
				o.text.Add(op.Text)
			}
		case items.Update:
			o := g.open[op.ItemID]
			if o == nil {
				continue
			}
			if op.Content != nil {
				*o = *gather(op.Content)
			}
			if !openStatus(op.Status) {
				ended(op.ItemID, op.Status, items.WithText(o.content, o.text.String()))
			}
		case items.SetUsage:
			session := items.Usage{ // without the tokens, which belong to an ended turn
				Type: items.KindUsage, ContextUsed: op.Usage.ContextUsed, ContextSize: op.Usage.ContextSize, Cost: op.Usage.Cost,
			}
			out = append(out, items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: session})
		case items.SetThread:
			out = append(out, op)
		}
	}
	return out
}

func gather(c items.Content) *gathered {
	text, _ := items.TextOf(c)
	return &gathered{content: items.WithText(c, ""), text: items.NewText(text, maxKept)}
}

func openStatus(s items.Status) bool { return s == "" || s.Open() }
