package turns

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

func (r *WriteItemsResult) setSeq(seq int64) { r.Seq = seq }

// WriteItems writes to the items of a lease's turn. The Field of an
// *InvalidError begins with the op: ops[2].status. A write to a step or an item
// that was taken back is kept as turn/late and refused with all others, of which
// nothing is kept. Errors: *InvalidError, ErrLease, ErrNotFound, ErrNotActive,
// items.ErrNotFound, ErrItemConflict, *SupersededError, ErrKeyConflict,
// ErrDraining, ErrStorageFull, ErrStorageFailed.
func (e *Engine) WriteItems(ctx context.Context, c WriteItems) (WriteItemsResult, error) {
	ops, err := c.decode(e.cfg.MaxItemBytes)
	if err != nil {
		return WriteItemsResult{}, err
	}
	return byLease(ctx, e, leased[WriteItemsResult]{
		lease: c.Lease, key: c.Key,
		do: func(_ *actor, b *builder) (WriteItemsResult, error) {
			b.private()
			if err := b.refuseLateOps(ops); err != nil {
				return WriteItemsResult{}, err
			}
			r := WriteItemsResult{Items: make([]WrittenItem, len(ops))}
			for i, op := range ops {
				status, err := b.write(op)
				if err != nil {
					return WriteItemsResult{}, err
				}
				r.Items[i] = WrittenItem{ItemID: op.itemID, Status: status}
			}
			return r, nil
		},
		written: func(b *builder) ([]lateEvent, error) { return b.lateOps(c.Lease, ops) },
		failed:  func(a *actor, err error) error { return a.ifTaken(ops, err) },
	})
}

// workerOp is an ItemOp that can be.
type workerOp struct {
	op     items.Op
	itemID string
	given  bool // of a create: the worker has chosen the id
	step   string
	epoch  int
	field  string // before the names of its members
}

// invalid is an *InvalidError about a member of the op.
func (op workerOp) invalid(member, reason, format string, args ...any) error {
	return invalid(op.field+member, reason, format, args...)
}

// decode checks what can be checked without the turn.
func (c WriteItems) decode(maxItemBytes int) ([]workerOp, error) {
	switch {
	case len(c.Ops) == 0:
		return nil, invalid("ops", reasonRequired, "give at least one op")
	case len(c.Ops) > MaxBatchOps:
		return nil, invalid("ops", reasonTooMany, "at most %d", MaxBatchOps)
	}
	size := 0
	list := make([]workerOp, len(c.Ops))
	for i, op := range c.Ops {
		if size += len(op.Content) + len(op.Text); size > MaxBatchBytes {
			return nil, invalid("ops", reasonTooLarge, "the contents and texts have more than %d bytes", MaxBatchBytes)
		}
		w := workerOp{itemID: op.ItemID, given: op.ItemID != "", step: op.Step, epoch: op.Epoch, field: fmt.Sprintf("ops[%d].", i)}
		if err := w.decode(op); err != nil {
			return nil, err
		}
		list[i] = w
	}
	return list, nil
}

func (w *workerOp) decode(op ItemOp) error {
	if err := w.checkMembers(op); err != nil {
		return err
	}
	var content items.Content
	if op.Content != nil {
		var err error
		if content, err = contentOf(op.Content); err != nil {
			return w.invalid("content", reasonInvalid, "%v", err)
		}
		switch kind := content.Kind(); {
		case kind == items.KindUserMessage:
			return w.invalid("content", reasonInvalid, "only clients make user messages, with turn/start and turn/steer")
		case kind.IsQuestion():
			return w.invalid("content", reasonInvalid, "a worker cannot make a %s", kind)
		}
	}
	switch op.Op {
	case OpCreate:
		if content == nil {
			return w.invalid("content", reasonRequired, "must not be empty")
		}
		if !w.given {
			w.itemID = items.NewID()
		}
		w.op = items.Create{ItemID: w.itemID, Step: op.Step, Status: op.Status, Content: content}
	case OpAppend:
		w.op = items.Append{ItemID: op.ItemID, Text: op.Text}
	case OpUpdate:
		w.op = items.Update{ItemID: op.ItemID, Status: op.Status, Content: content}
	case OpDelete:
		w.op = items.Delete{ItemID: op.ItemID}
	}
	return nil
}

// contentOf reads content as strictly as params are read: what a worker says is
// stored or refused. The role of a message need not be said.
func contentOf(raw jsontext.Value) (items.Content, error) {
	content, err := items.Decode(items.Raw(raw))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, reflect.New(reflect.TypeOf(content)).Interface(), json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("decode %s: %w", content.Kind(), err)
	}
	m, ok := content.(items.AgentMessage)
	if !ok {
		return content, nil
	}
	text := ""
	for _, part := range m.Content {
		if part.Type != "output_text" {
			return nil, fmt.Errorf("a part of a message has the type %.60q, not output_text", part.Type)
		}
		text += part.Text
	}
	if m.Role == "" {
		m.Role = "assistant"
	}
	return items.WithText(m, text), nil // one part: it is what deltas add to
}

// checkMembers refuses members that the verb does not have: what a worker has
// said must not be passed over.
func (w *workerOp) checkMembers(op ItemOp) error {
	has := map[string]bool{
		"step": op.Step != "", "epoch": op.Epoch != 0, "status": op.Status != "", "content": op.Content != nil, "text": op.Text != "",
	}
	takes := map[ItemVerb][]string{
		OpCreate: {"step", "epoch", "status", "content"}, OpAppend: {"text"}, OpUpdate: {"status", "content"}, OpDelete: {},
	}
	members, known := takes[op.Op]
	if !known {
		return w.invalid("op", reasonUnknown, "must be create, append, update or delete")
	}
	for _, name := range []string{"step", "epoch", "status", "content", "text"} {
		if has[name] && !slices.Contains(members, name) {
			return w.invalid(name, reasonInvalid, "does not belong to %s", op.Op)
		}
	}
	switch {
	case w.given && !threads.ValidID(op.ItemID):
		return w.invalid("item_id", reasonInvalid, "must be 1 to 64 of A-Z a-z 0-9 _ -")
	case !w.given && op.Op != OpCreate:
		return w.invalid("item_id", reasonRequired, "must not be empty")
	case op.Step != "" && !notify.ValidStep(op.Step):
		return w.invalid("step", reasonInvalid, "names no step")
	case op.Epoch < 0:
		return w.invalid("epoch", reasonRange, "must be 1 or more")
	case op.Status != "" && (!slices.Contains(items.Statuses, op.Status) || op.Status == items.StatusPending || op.Status == items.StatusDeleted):
		return w.invalid("status", reasonUnknown, "cannot be set")
	case !utf8.ValidString(op.Text):
		return w.invalid("text", reasonInvalid, "is not UTF-8")
	}
	return nil
}

// refuseLateOps looks for ops in tries that were taken back within the attempt
// that stands. A *lateError has all of them.
func (b *builder) refuseLateOps(ops []workerOp) error {
	var found *lateError
	for _, op := range ops {
		late, epoch, err := b.isLate(op)
		if err != nil {
			return err
		}
		if late == nil {
			continue
		}
		if found == nil {
			found = late
		}
		found.written = append(found.written, b.lateOp(op, late.stands.Step, epoch))
	}
	if found != nil {
		return found
	}
	return nil
}

// isLate reports whether the op belongs to a try that was taken back, and to
// which epoch of it.
func (b *builder) isLate(op workerOp) (late *lateError, epoch int, err error) {
	if _, creates := op.op.(items.Create); creates {
		_, late, err = b.tryOf(op.field, op.step, op.epoch)
		return late, op.epoch, err
	}
	if b.openItems().get(op.itemID) != nil {
		return nil, 0, nil
	}
	row, err := b.finished(op.itemID)
	if err != nil || row == nil || row.TurnID != b.steps().turnID || len(row.Lineage) == 0 {
		return nil, 0, err
	}
	if span := b.steps().live[row.Step]; span != nil && slices.Equal(span.Lineage, row.Lineage) {
		return nil, 0, nil
	}
	return b.superseded(row.Step), row.Epoch, nil
}

// lateOp is the op as a turn/late keeps it.
func (b *builder) lateOp(op workerOp, step string, epoch int) lateEvent {
	method, params := b.asEvent(op.op)
	return lateEvent{step: step, epoch: epoch, method: method, params: params}
}

// lateOps are all ops of a worker whose attempt was given up.
func (b *builder) lateOps(l Lease, ops []workerOp) (list []lateEvent, err error) {
	for _, op := range ops {
		step, epoch := op.step, op.epoch
		if _, creates := op.op.(items.Create); creates {
			if epoch == 0 {
				epoch, err = b.a.epochIn(l.TurnID, l.Attempt, step)
			}
		} else {
			epoch = l.Attempt
			var row *items.Item
			if row, err = b.finished(op.itemID); row != nil && row.TurnID == l.TurnID {
				step, epoch = row.Step, row.Epoch
			}
		}
		if err != nil {
			return nil, err
		}
		list = append(list, b.lateOp(op, step, epoch))
	}
	return list, nil
}

// write does one op, which is not late, and says what status its item has.
func (b *builder) write(op workerOp) (items.Status, error) {
	var err error
	switch is := op.op.(type) {
	case items.Create:
		err = b.createByWorker(op, is)
	case items.Append:
		if err = b.mine(op); err == nil {
			if err = op.refused("item_id", b.appendText(is)); err == nil {
				b.sayTruncated(op.itemID)
			}
		}
	case items.Update:
		if err = b.mine(op); err == nil {
			err = op.refused("status", b.update(is))
		}
	case items.Delete:
		if err = b.mine(op); err == nil {
			err = op.refused("item_id", b.delete(is))
		}
	}
	if err != nil {
		return "", err
	}
	if o := b.openItems().get(op.itemID); o != nil {
		return o.row.Status, nil
	}
	row, err := b.finished(op.itemID)
	if err != nil {
		return "", err
	}
	return row.Status, nil
}

// sayTruncated stores an open item whose text has just outgrown its bound. From
// then on there are no deltas, so that what more is appended is in nothing but
// memory; a worker outlives that, and the item must not look whole then.
func (b *builder) sayTruncated(itemID string) {
	if o := b.openItems().get(itemID); o.text.Truncated() && !o.row.Truncated {
		o.row = b.updated(o, o.row.Status)
	}
}

// createByWorker makes an item. An id of the worker's own is new in the whole
// log: here it is looked for, and of two turns that take one at the same moment
// the store refuses the second.
func (b *builder) createByWorker(op workerOp, is items.Create) error {
	if row := b.steps().rows[op.step]; op.step != "" && row.Status.Ended() {
		return op.invalid("step", reasonEnded, "step %s has ended as %s", op.step, row.Status)
	}
	if op.given {
		row, err := b.finished(op.itemID)
		if err != nil {
			return err
		}
		if row != nil {
			return ErrItemConflict
		}
	}
	return op.refused("status", b.create(is))
}

// ifTaken is what a refused commit means if another turn has taken one of the
// ids meanwhile.
func (a *actor) ifTaken(ops []workerOp, err error) error {
	for _, op := range ops {
		if _, creates := op.op.(items.Create); !creates || !op.given {
			continue
		}
		if row, e := a.e.store.Item(context.Background(), op.itemID); e == nil && row != nil {
			return ErrItemConflict
		}
	}
	return err
}

// mine says whether the op's item is one of the turn that its worker may
// change.
func (b *builder) mine(op workerOp) error {
	var row *items.Item
	if o := b.openItems().get(op.itemID); o != nil {
		row = o.row
	} else {
		var err error
		if row, err = b.finished(op.itemID); err != nil {
			return err
		}
	}
	_, deletes := op.op.(items.Delete)
	switch {
	case row == nil || row.TurnID != b.steps().turnID:
		return fmt.Errorf("%sitem_id: %w", op.field, items.ErrNotFound)
	case row.Type == items.KindUserMessage:
		return op.invalid("item_id", reasonInvalid, "is a user message")
	case !row.Status.Open() && !deletes, row.Status == items.StatusDeleted:
		return op.invalid("item_id", reasonEnded, "has ended as %s", row.Status)
	}
	return nil
}

// refused makes of what the rules of items do not allow an error about a member
// of the op.
func (op workerOp) refused(member string, err error) error {
	if errors.Is(err, items.ErrRefused) {
		return op.invalid(member, reasonInvalid, "%v", err)
	}
	return err
}
