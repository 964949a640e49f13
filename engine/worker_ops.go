package engine

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// workerOp is an ItemOp that has passed decodeOps.
type workerOp struct {
	op     items.Op
	itemID string
	ownID  bool // of a create: the worker has chosen the id
	step   string
	epoch  int
	field  string // before the names of its members
}

// invalid returns an *InvalidError about a member of the op.
func (op workerOp) invalid(member, reason, format string, args ...any) error {
	return turns.Invalid(op.field+member, reason, format, args...)
}

// decodeOps decodes ops and checks what can be checked without the turn.
func decodeOps(c turns.WriteItems, maxItemBytes int) ([]workerOp, error) {
	switch {
	case len(c.Ops) == 0:
		return nil, turns.Invalid("ops", turns.ReasonRequired, "give at least one op")
	case len(c.Ops) > turns.MaxBatchOps:
		return nil, turns.Invalid("ops", turns.ReasonTooMany, "at most %d", turns.MaxBatchOps)
	}
	size := 0
	list := make([]workerOp, len(c.Ops))
	for i, op := range c.Ops {
		if size += len(op.Content) + len(op.Text); size > turns.MaxBatchBytes {
			member := "content"
			if len(op.Text) > len(op.Content) {
				member = "text"
			}
			return nil, turns.Invalid(fmt.Sprintf("ops[%d].%s", i, member), turns.ReasonTooLarge, "the contents and texts have more than %d bytes", turns.MaxBatchBytes)
		}
		w := workerOp{itemID: op.ItemID, ownID: op.ItemID != "", step: op.Step, epoch: op.Epoch, field: fmt.Sprintf("ops[%d].", i)}
		if err := w.decode(op); err != nil {
			return nil, err
		}
		list[i] = w
	}
	return list, nil
}

func (w *workerOp) decode(op turns.ItemOp) error {
	if err := w.checkMembers(op); err != nil {
		return err
	}
	var content items.Content
	if op.Content != nil {
		var err error
		if content, err = items.FromAgent(op.Content); err != nil {
			return w.invalid("content", turns.ReasonInvalid, "%v", err)
		}
		switch kind := content.Kind(); {
		case kind == items.KindUserMessage:
			return w.invalid("content", turns.ReasonInvalid, "only clients make user messages, with turn/start and turn/steer")
		case kind.IsQuestion():
			return w.invalid("content", turns.ReasonInvalid, "a worker cannot make a %s", kind)
		}
	}
	switch op.Op {
	case turns.OpCreate:
		if content == nil {
			return w.invalid("content", turns.ReasonRequired, "must not be empty")
		}
		if !w.ownID {
			w.itemID = items.NewID()
		}
		w.op = items.Create{ItemID: w.itemID, Step: op.Step, Status: op.Status, Content: content}
	case turns.OpAppend:
		w.op = items.Append{ItemID: op.ItemID, Text: op.Text}
	case turns.OpUpdate:
		w.op = items.Update{ItemID: op.ItemID, Status: op.Status, Content: content}
	case turns.OpDelete:
		w.op = items.Delete{ItemID: op.ItemID}
	}
	return nil
}

// checkMembers refuses members that the verb does not have, so that nothing that a
// worker has sent is ignored.
func (w *workerOp) checkMembers(op turns.ItemOp) error {
	has := map[string]bool{
		"step": op.Step != "", "epoch": op.Epoch != 0, "status": op.Status != "", "content": op.Content != nil, "text": op.Text != "",
	}
	takes := map[turns.ItemVerb][]string{
		turns.OpCreate: {"step", "epoch", "status", "content"}, turns.OpAppend: {"text"}, turns.OpUpdate: {"status", "content"}, turns.OpDelete: {},
	}
	members, known := takes[op.Op]
	if !known {
		return w.invalid("op", turns.ReasonUnknown, "must be create, append, update or delete")
	}
	for _, name := range []string{"step", "epoch", "status", "content", "text"} {
		if has[name] && !slices.Contains(members, name) {
			return w.invalid(name, turns.ReasonInvalid, "does not belong to %s", op.Op)
		}
	}
	switch {
	case w.ownID && !threads.ValidID(op.ItemID):
		return w.invalid("item_id", turns.ReasonInvalid, "must be 1 to 64 of A-Z a-z 0-9 _ -")
	case !w.ownID && op.Op != turns.OpCreate:
		return w.invalid("item_id", turns.ReasonRequired, "must not be empty")
	case op.Step != "" && !notify.ValidStep(op.Step):
		return w.invalid("step", turns.ReasonInvalid, "names no step")
	case op.Epoch < 0:
		return w.invalid("epoch", turns.ReasonRange, "must be 1 or more")
	case op.Status == items.StatusPending:
		return w.invalid("status", turns.ReasonUnknown, "cannot be set: a question is pending by itself, so leave status out")
	case op.Status != "" && (!slices.Contains(items.Statuses, op.Status) || op.Status == items.StatusDeleted):
		return w.invalid("status", turns.ReasonUnknown, "cannot be set")
	case !utf8.ValidString(op.Text):
		return w.invalid("text", turns.ReasonInvalid, "is not UTF-8")
	}
	return nil
}

// asInvalid turns items.ErrRefused into an error about a member of the op. Other
// errors stay as they are.
func (op workerOp) asInvalid(member string, err error) error {
	if errors.Is(err, items.ErrRefused) {
		return op.invalid(member, turns.ReasonInvalid, "%v", err)
	}
	return err
}
