package acp

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/items"
)

// flushBytes is roughly how many bytes are emitted at once: what the engine
// commits at once.
const flushBytes = 512 << 10

// opBuffer collects ops that are emitted together, and the bytes of the budget
// that are given back then.
type opBuffer struct {
	s     *session
	run   *promptRun // the prompt that runs, nil = none
	to    *promptRun // the prompt that ops belong to, nil = the thread
	ops   []items.Op
	bytes int
}

// add collects ops for a prompt, or for the thread outside of one.
func (buf *opBuffer) add(to *promptRun, ops ...items.Op) {
	if len(ops) == 0 {
		return
	}
	if to != buf.to {
		buf.emit()
	}
	buf.to = to
	for _, op := range ops {
		if n := len(buf.ops); n > 0 && joins(buf.ops[n-1], op) {
			last := buf.ops[n-1].(items.Append)
			last.Text += op.(items.Append).Text
			buf.ops[n-1] = last
			continue
		}
		buf.ops = append(buf.ops, op)
	}
}

// joinBytes bounds joined deltas, as the log does when it merges them.
const joinBytes = 4 << 10

// joins reports whether two deltas can be one.
func joins(a, b items.Op) bool {
	last, ok := a.(items.Append)
	if !ok {
		return false
	}
	next, ok := b.(items.Append)
	return ok && next.ItemID == last.ItemID && len(last.Text)+len(next.Text) <= joinBytes
}

// flush emits the collected ops and gives their bytes back.
func (buf *opBuffer) flush() {
	buf.emit()
	if buf.bytes > 0 {
		buf.s.pr.budget.give(buf.bytes)
		buf.bytes = 0
	}
}

func (buf *opBuffer) drop() {
	buf.ops = nil
	buf.flush()
}

func (buf *opBuffer) emit() {
	ops := buf.ops
	buf.ops = nil // the receiver may keep them
	if len(ops) == 0 {
		return
	}
	if buf.to != nil {
		if err := buf.to.emit(ops); err != nil {
			buf.s.a.late.Add(int64(len(ops)))
		}
		return
	}
	buf.s.outside(ops)
}

// outside stores what the agent says about a thread while no prompt runs there.
func (s *session) outside(ops []items.Op) {
	host := s.a.host.Load()
	var err error
	if host == nil {
		err = errors.New("nobody serves the agent")
	} else {
		err = (*host).Emit(s.ctx, s.threadID, ops)
	}
	if err != nil {
		s.a.late.Add(int64(len(ops)))
		s.pr.log().Warn("what an agent said outside of a turn is lost", zap.String("thread", s.threadID), zap.Error(err))
	}
}

func extension(kind string, raw jsontext.Value) items.Op {
	return items.Create{
		ItemID: items.NewID(), Status: items.StatusCompleted,
		Content: items.Extension{Type: items.KindExtension, NativeKind: kind, Payload: raw},
	}
}

func notice(severity, text string, data jsontext.Value) items.Op {
	n := items.NewNotice(severity, text)
	n.Data = data
	return items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: n}
}
