package acp

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/items"
)

// handBytes is about how much is handed over at a time: what the engine
// commits at once.
const handBytes = 512 << 10

// hands gathers what is handed over together, and the bytes that are given
// back then.
type hands struct {
	s     *session
	run   *promptRun // the prompt that runs, nil = none
	to    *promptRun // whom ops are for
	ops   []items.Op
	bytes int
}

// add gathers ops for a prompt, or for the thread outside of one.
func (h *hands) add(to *promptRun, ops ...items.Op) {
	if len(ops) == 0 {
		return
	}
	if to != h.to {
		h.emit()
	}
	h.to = to
	for _, op := range ops {
		if n := len(h.ops); n > 0 && joins(h.ops[n-1], op) {
			last := h.ops[n-1].(items.Append)
			last.Text += op.(items.Append).Text
			h.ops[n-1] = last
			continue
		}
		h.ops = append(h.ops, op)
	}
}

// joinBytes is the most that joined deltas have: what the log merges too.
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

// over hands over what was gathered and gives its bytes back.
func (h *hands) over() {
	h.emit()
	if h.bytes > 0 {
		h.s.pr.budget.give(h.bytes)
		h.bytes = 0
	}
}

func (h *hands) drop() {
	h.ops = nil
	h.over()
}

func (h *hands) emit() {
	ops := h.ops
	h.ops = nil // whoever takes them may keep them
	if len(ops) == 0 {
		return
	}
	if h.to != nil {
		if err := h.to.emit(ops); err != nil {
			h.s.a.late.Add(int64(len(ops)))
		}
		return
	}
	h.s.outside(ops)
}

// outside stores what was said to a thread while no prompt runs there.
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
