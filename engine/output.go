package engine

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// maxNotices is how many refused ops of a turn are told of; a broken agent
// must not fill the log with them.
const maxNotices = 20

// takeOutput commits what agents have handed in, as much as one unit takes.
// It reports whether there was anything.
func (a *actor) takeOutput() bool {
	if !a.loaded { // an agent speaks to a thread that was not busy
		if a.in.noOutput() {
			return false
		}
		if err := a.load(); err != nil {
			a.startBy = a.tryLater("a thread that its agent speaks to cannot be read now", err)
			return false
		}
	}
	var b *builder
outputs:
	for b == nil || !b.change.full() {
		o, ok := a.in.takeOutput()
		if !ok {
			break
		}
		if b == nil {
			b = a.build()
		}
		if o.run != nil && o.run.givenUp {
			b.lateOutput(o)
			continue
		}
		if o.run == nil || a.active == nil || a.active.run != o.run {
			b.outside(o)
			continue
		}
		switch {
		case o.ask != nil:
			b.ask(o.ask)
		case o.end != nil && a.isStopped(): // it was cancelled with everything else, which is no end of a turn
			break outputs
		case o.end != nil && (o.end.Cause != "" && b.change.begun || b.mustReadMessage()): // it may take back what has not been committed
			a.in.putBack(o)
			break outputs
		case o.end != nil:
			b.promptEnded(*o.end)
		case o.delivered != "":
			b.delivered(o.delivered)
		case o.sync != nil:
			b.after = append(b.after, func(ledger.Receipt) { close(o.sync) })
		default:
			for i, op := range o.ops {
				if b.change.mustCommitFirst(op) {
					o.ops = o.ops[i:]
					a.in.putBack(o)
					break outputs
				}
				b.op(op)
			}
		}
		if o.end != nil {
			break // nothing of this turn follows
		}
	}
	if b == nil {
		return false
	}
	a.commitOutput(b)
	return true
}

// op applies one op of the agent to the active turn. Units of agent output
// change the actor's memory at once; commitOutput sees to it that they last.
func (b *builder) op(op items.Op) {
	var err error
	switch op := op.(type) {
	case items.Create:
		err = b.create(op)
	case items.Append:
		err = b.appendText(op)
	case items.Update:
		err = b.update(op)
	case items.Delete:
		err = b.delete(op)
	case items.Progress:
		err = b.say(op)
	case items.SetThread:
		err = b.setThread(op)
	case items.StepStart:
		_, err = b.startStep(op.Step, op.Reason)
	case items.StepEnd:
		err = b.endStep(op.Step, turns.StepStatus(op.Status))
	case items.SetUsage:
		op.Usage.Type = items.KindUsage
		b.a.active.usage = &op.Usage
	}
	if err != nil {
		b.refused(err)
	}
}

// refused tells of an op that cannot be.
func (b *builder) refused(err error) {
	act := b.a.active
	if act.notices++; act.notices > maxNotices {
		return
	}
	text := "the agent sent something that cannot be: " + err.Error()
	if act.notices == maxNotices {
		text += " (further ones are not shown)"
	}
	_ = b.create(items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: items.NewNotice("warning", text)})
}

func (b *builder) create(op items.Create) error {
	act, cfg := b.a.active, b.a.e.cfg
	if op.Content == nil || op.ItemID == "" {
		return fmt.Errorf("an item without id or content: %w", items.ErrRefused)
	}
	kind, was := op.Content.Kind(), items.Absent
	if o := b.openItems().get(op.ItemID); o != nil {
		was = o.row.Status
	}
	status, err := items.Next(was, kind, items.VerbCreate, op.Status)
	if err != nil {
		return err
	}
	if err := b.mustBeNew(op.ItemID); err != nil {
		return err
	}
	if kind.IsQuestion() {
		return fmt.Errorf("a question is asked, not created: %w", items.ErrRefused)
	}
	span, err := b.change.spanAt(op.Step)
	if err != nil {
		return err
	}
	if status.Open() && len(b.openItems().list) >= cfg.MaxOpenItems {
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
	row := b.change.item(nil, act.turn.TurnID, notify.ItemCreated, op.ItemID, in(span), &items.Created{
		ItemID: op.ItemID, Type: "created", Status: status,
		Content: content.raw, Truncated: content.truncated, TotalBytes: content.total, Kind: kind,
	})
	if o != nil {
		o.row = row
		b.openItems().add(o)
		return nil
	}
	o = &openItem{row: row, span: span, content: op.Content}
	b.openItems().count(o)
	b.openItems().ended(o)
	return nil
}

func (b *builder) appendText(op items.Append) error {
	o := b.openItems().get(op.ItemID)
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
		b.change.addDelta(o, offset, text)
	}
	return nil
}

func (b *builder) update(op items.Update) error {
	o := b.openItems().get(op.ItemID)
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
		b.change.flushDelta() // of the text that is replaced now
		o.replace(op.Content, b.a.e.cfg.MaxItemBytes)
	}
	content, err := o.encode(b.a.e.cfg.MaxItemBytes)
	if err != nil {
		*o = prev
		return fmt.Errorf("%w: %w", err, items.ErrRefused)
	}
	o.row = b.put(o, status, content)
	if !status.Open() {
		b.openItems().remove(op.ItemID)
		b.openItems().ended(o)
	}
	return nil
}

func (b *builder) delete(op items.Delete) error {
	act := b.a.active
	var (
		row *items.Item
		at  place
	)
	o := b.openItems().get(op.ItemID)
	if o != nil {
		row, at = o.row, o.place()
		if o.ask != nil {
			b.after = append(b.after, func(ledger.Receipt) {
				o.ask.answer <- turns.Answer{Status: items.StatusCancelled, Outcome: items.Outcome{Type: items.OutcomeCancelled}}
			})
		}
	} else {
		var err error
		if row, err = b.finished(op.ItemID); err != nil {
			return fmt.Errorf("%w: %w", err, items.ErrRefused)
		}
		if row == nil || row.TurnID != act.turn.TurnID {
			return fmt.Errorf("delete of item %.60q, which is not of this turn: %w", op.ItemID, items.ErrRefused)
		}
		if at, err = b.change.placeOf(row); err != nil {
			return err
		}
	}
	if _, err := items.Next(row.Status, row.Type, items.VerbDelete, ""); err != nil {
		return err
	}
	if o != nil {
		var err error
		if row, err = b.withText(o); err != nil {
			return fmt.Errorf("%w: %w", err, items.ErrRefused)
		}
	}
	b.change.item(row, act.turn.TurnID, notify.ItemDeleted, op.ItemID, at, &items.Deleted{
		ItemID: op.ItemID, Type: "deleted", Status: items.StatusDeleted,
	})
	b.openItems().remove(op.ItemID)
	if o == nil && row.Type == items.KindAgentMessage {
		b.openItems().last.inLog = true // it may have been the last
	}
	if act.isWaiting && act.pendingQuestions() == 0 {
		act.setWaiting(b.a.e, false)
		if b.activeRow().Progress == turns.Waiting {
			b.progress(turns.Running, "")
		}
	}
	return nil
}

// withText is the row of an open item as its events leave it, its deltas
// included: item/deleted has no content, and what a reader has of the item stays
// in the row. What no delta has told is told before.
func (b *builder) withText(o *openItem) (*items.Item, error) {
	switch {
	case o.text == nil:
		return o.row, nil
	case o.text.Truncated():
		return b.updated(o, o.row.Status), nil
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
func (b *builder) mustBeNew(itemID string) error {
	if items.Made(itemID) && itemID > b.change.newest {
		return nil
	}
	row, err := b.finished(itemID)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", err, items.ErrRefused)
	case row != nil:
		return fmt.Errorf("an item with the id %.60q exists already: %w", itemID, items.ErrRefused)
	}
	return nil
}

// finished reads an item that is not open: from this unit, else the store.
func (b *builder) finished(itemID string) (*items.Item, error) {
	for i := len(b.change.rows.items) - 1; i >= 0; i-- {
		if b.change.rows.items[i].ItemID == itemID {
			return b.change.rows.items[i], nil
		}
	}
	return b.a.e.store.Item(context.Background(), itemID)
}

// say sends a change of state at once, and a message alone at most once a
// second: the newest waits. A turn that waits for a person, or is being
// interrupted, is that whatever its agent says.
func (b *builder) say(op items.Progress) error {
	act, is := b.a.active, b.activeRow().Progress
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
	b.progress(state, message)
	act.progressNext = nil
	if message != "" {
		act.progressAt = time.Now()
	}
	return nil
}
