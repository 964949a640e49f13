package engine

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// maxNotices is how many refused ops of a turn are told of; a broken agent
// must not fill the log with them.
const maxNotices = 20

// takeOutput commits what agents have handed in, as much as one unit takes.
// It reports whether there was anything.
func (a *actor) takeOutput() bool {
	if a.held != nil || a.dead != nil {
		return false
	}
	if !a.loaded { // an agent speaks to a thread that was not busy
		if a.in.noOutput() {
			return false
		}
		if err := a.load(); err != nil {
			a.startRetryAt = a.retryTime("a thread that its agent speaks to cannot be read now", err)
			return false
		}
	}
	var d *decision
	for d == nil || !d.change.full() {
		o, ok := a.in.takeOutput()
		if !ok {
			break
		}
		if d == nil {
			d = a.observe()
		}
		rest, more := a.add(d, o)
		if rest != nil {
			a.in.putBack(*rest)
		}
		if !more {
			break
		}
	}
	if d == nil {
		return false
	}
	a.commitOutput(d)
	return true
}

// add adds one output to the decision. rest is what has to wait until the
// decision is committed, and more reports whether it takes further output.
func (a *actor) add(d *decision, o output) (rest *output, more bool) {
	act := d.active()
	switch {
	case o.run != nil && o.run.superseded && d.next().isActive(o.run.turnID):
		a.e.lateOutput.Add(d.late.keepOutput(o))
	case o.run == nil || act == nil || act.work.exec != o.run:
		a.outside(d, o)
	case o.end != nil && a.in.isStopped(): // it was cancelled with everything else, which is no end of a turn
		return nil, false
	case o.end != nil && (o.end.Cause != "" && d.change.beginsTry || d.items.readsLogForMessage()): // it may supersede what has not been committed
		return &o, false
	case o.end != nil:
		d.turn.promptEnded(*o.end)
		return nil, false // nothing of this prompt follows
	case o.question != nil:
		d.items.ask(o.question)
	case o.delivered != "":
		d.items.completeSteer(o.delivered)
	case o.sync != nil:
		d.addEffect(confirmSync{o.sync})
	default:
		for i, op := range o.ops {
			if d.change.mustCommitFirst(op) {
				o.ops = o.ops[i:]
				return &o, false
			}
			d.applyOp(op)
		}
	}
	return nil, true
}

// applyOp applies one op of the agent to the active turn. Units of agent output
// change the actor's memory at once; commitOutput sees to it that they last.
func (d *decision) applyOp(op items.Op) {
	var err error
	switch op := op.(type) {
	case items.Create:
		err = d.items.create(op)
	case items.Append:
		err = d.items.appendText(op)
	case items.Update:
		err = d.items.update(op)
	case items.Delete:
		err = d.items.delete(op)
	case items.Progress:
		err = d.turn.reportProgress(op)
	case items.SetThread:
		err = d.setThread(op)
	case items.StepStart:
		_, err = d.steps.start(op.Step, op.Reason)
	case items.StepEnd:
		err = d.steps.end(op.Step, turns.StepStatus(op.Status))
	case items.SetUsage:
		op.Usage.Type = items.KindUsage
		d.active().usage = &op.Usage
	}
	if err != nil {
		d.reportRefused(err)
	}
}

// reportRefused tells of an op that cannot be.
func (d *decision) reportRefused(err error) {
	act := d.active()
	if act.notices++; act.notices > maxNotices {
		return
	}
	text := "the agent sent something that cannot be: " + err.Error()
	if act.notices == maxNotices {
		text += " (further ones are not shown)"
	}
	_ = d.items.create(items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: items.NewNotice("warning", text)})
}

func (w *itemWriter) create(op items.Create) error {
	act, cfg := w.d.active(), w.d.rules.cfg
	if op.Content == nil || op.ItemID == "" {
		return fmt.Errorf("an item without id or content: %w", items.ErrRefused)
	}
	kind, was := op.Content.Kind(), items.Absent
	if o := w.d.active().open.get(op.ItemID); o != nil {
		was = o.row.Status
	}
	status, err := items.Next(was, kind, items.VerbCreate, op.Status)
	if err != nil {
		return err
	}
	if err := w.mustBeNew(op.ItemID); err != nil {
		return err
	}
	if kind.IsQuestion() {
		return fmt.Errorf("a question is asked, not created: %w", items.ErrRefused)
	}
	span, err := w.d.change.liveTry(op.Step)
	if err != nil {
		return err
	}
	if status.Open() && len(w.d.active().open.list) >= cfg.MaxOpenItems {
		return fmt.Errorf("more than %d open items: %w", cfg.MaxOpenItems, items.ErrRefused)
	}
	var (
		o       *openItem
		content encoded
	)
	if status.Open() {
		o = newOpenItem(nil, span, op.Content, cfg.MaxItemBytes)
		content, err = o.encode(cfg.MaxItemBytes)
	} else {
		content, err = fit(op.Content, cfg.MaxItemBytes)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", err, items.ErrRefused)
	}
	row := w.d.change.item(nil, act.turn.TurnID, notify.ItemCreated, op.ItemID, inTry(span), &items.Created{
		ItemID: op.ItemID, Type: "created", Status: status,
		Content: content.raw, Truncated: content.truncated, TotalBytes: content.total, Kind: kind,
	})
	if o != nil {
		o.row = row
		w.d.active().open.add(o)
		return nil
	}
	o = &openItem{row: row, span: span, content: op.Content}
	w.d.active().open.count(o)
	w.d.active().open.noteEnded(o)
	return nil
}

func (w *itemWriter) appendText(op items.Append) error {
	o := w.d.active().open.get(op.ItemID)
	if o == nil {
		return fmt.Errorf("text for item %.60q, which is not open: %w", op.ItemID, items.ErrRefused)
	}
	if _, err := items.Next(o.row.Status, o.row.Type, items.VerbAppend, ""); err != nil {
		return err
	}
	text := op.Text
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	if text == "" {
		return nil
	}
	if o.shared {
		o.text, o.shared = o.text.Clone(), false
	}
	offset := o.text.Len()
	if o.text.Add(text) {
		w.d.change.addDelta(o, offset, text)
	}
	return nil
}

func (w *itemWriter) update(op items.Update) error {
	o := w.d.active().open.get(op.ItemID)
	if o == nil {
		return fmt.Errorf("update of item %.60q, which is not open: %w", op.ItemID, items.ErrRefused)
	}
	status, err := items.Next(o.row.Status, o.row.Type, items.VerbUpdate, op.Status)
	if err != nil {
		return err
	}
	prev := *o
	if op.Content != nil {
		if op.Content.Kind() != o.row.Type {
			return fmt.Errorf("a %s cannot become a %s: %w", o.row.Type, op.Content.Kind(), items.ErrRefused)
		}
		w.d.change.flushDelta() // of the text that is replaced now
		o.setContent(op.Content, w.d.rules.cfg.MaxItemBytes)
	}
	content, err := o.encode(w.d.rules.cfg.MaxItemBytes)
	if err != nil {
		*o = prev
		return fmt.Errorf("%w: %w", err, items.ErrRefused)
	}
	o.row = w.addEncoded(o, status, content)
	if !status.Open() {
		w.d.active().open.remove(op.ItemID)
		w.d.active().open.noteEnded(o)
	}
	return nil
}

func (w *itemWriter) delete(op items.Delete) error {
	act := w.d.active()
	var (
		row *items.Item
		at  scope
	)
	o := w.d.active().open.get(op.ItemID)
	if o != nil {
		row, at = o.row, o.scope()
		if o.question != nil {
			w.d.addEffect(deliverAnswer{o.question, cancelled})
		}
	} else {
		var err error
		if row, err = w.readEnded(op.ItemID); err != nil {
			return fmt.Errorf("%w: %w", err, items.ErrRefused)
		}
		if row == nil || row.TurnID != act.turn.TurnID {
			return fmt.Errorf("delete of item %.60q, which is not of this turn: %w", op.ItemID, items.ErrRefused)
		}
		if at, err = w.d.change.scopeOf(row); err != nil {
			return err
		}
	}
	if _, err := items.Next(row.Status, row.Type, items.VerbDelete, ""); err != nil {
		return err
	}
	if o != nil {
		var err error
		if row, err = w.rowWithText(o); err != nil {
			return fmt.Errorf("%w: %w", err, items.ErrRefused)
		}
	}
	w.d.change.item(row, act.turn.TurnID, notify.ItemDeleted, op.ItemID, at, &items.Deleted{
		ItemID: op.ItemID, Type: "deleted", Status: items.StatusDeleted,
	})
	w.d.active().open.remove(op.ItemID)
	if o == nil && row.Type == items.KindAgentMessage {
		w.d.active().open.last.inLog = true // it may have been the last
	}
	if act.clock.waiting && act.pendingQuestions() == 0 {
		act.clock.wait(false)
		if act.turn.Progress == turns.Waiting {
			w.d.turn.addProgress(turns.Running, "")
		}
	}
	return nil
}

// rowWithText is the row of an open item as its events leave it, its deltas
// included: item/deleted has no content, and what a reader has of the item stays
// in the row. What no delta has told is told before.
func (w *itemWriter) rowWithText(o *openItem) (*items.Item, error) {
	switch {
	case o.text == nil:
		return o.row, nil
	case o.text.Truncated():
		return w.addUpdated(o, o.row.Status), nil
	}
	c, err := items.Decode(o.row.Content)
	if err != nil {
		return nil, err
	}
	row := *o.row
	row.Content, err = items.Encode(items.WithText(c, o.text.String()))
	return &row, err
}

// mustBeNew refuses an id that an item has already. An id that NewID has made
// after every other of the thread is new without a look at the store: that is
// what agents that number their own items never give and all others always do.
func (w *itemWriter) mustBeNew(itemID string) error {
	if items.Made(itemID) && itemID > w.d.next().newestItemID {
		return nil
	}
	row, err := w.readEnded(itemID)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", err, items.ErrRefused)
	case row != nil:
		return fmt.Errorf("an item with the id %.60q exists already: %w", itemID, items.ErrRefused)
	}
	return nil
}

// readEnded reads an item that is not open: from this unit, else the store.
func (w *itemWriter) readEnded(itemID string) (*items.Item, error) {
	for i := len(w.d.change.rows.items) - 1; i >= 0; i-- {
		if w.d.change.rows.items[i].ItemID == itemID {
			return w.d.change.rows.items[i], nil
		}
	}
	return w.d.rules.log.Item(context.Background(), itemID)
}

// reportProgress sends a change of state at once, and a message alone at most once a
// second: the newest waits. A turn that waits for a person, or is being
// interrupted, is that whatever its agent says.
func (w *turnWriter) reportProgress(op items.Progress) error {
	act := w.d.active()
	is := act.turn.Progress
	state, message := turns.Progress(op.State), cutText(op.Message)
	switch state {
	case "":
		state = is
	case turns.Starting, turns.Running:
		if is != turns.Starting && is != turns.Running {
			state = is
		}
	default:
		return fmt.Errorf("progress state %.60q is neither starting nor running: %w", op.State, items.ErrRefused)
	}
	switch {
	case state != is:
	case message == "":
		return nil
	case time.Since(act.progressAt) < progressEvery:
		act.progressNext = &message
		return nil
	}
	w.addProgress(state, message)
	act.progressNext = nil
	if message != "" {
		act.progressAt = time.Now()
	}
	return nil
}
