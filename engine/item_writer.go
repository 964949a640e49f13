package engine

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/question"
	"github.com/seed82539d15/holon/turns"
)

// itemWriter adds the events of items: those of agents and workers, questions,
// and user messages.
type itemWriter struct {
	d            *decision
	cancelReason string // of questions that end unanswered
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
		Content: content.raw, Truncated: content.truncated, TotalBytes: content.total, Changed: linesOf(op.Content, status), Kind: kind,
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
	if offset, fits := o.appendText(text); fits {
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
		w.d.active().open.last.inLog = true // it may have been the last message
	}
	if act.waitsForPerson() && act.pendingQuestions() == 0 {
		act.clock.wait(false)
		if act.turn.Progress == turns.Waiting {
			w.d.turn.addProgress(turns.Running, "")
		}
	}
	return nil
}

// closeItems ends all open items and returns the ids of the user messages that
// the agent never received.
func (w *itemWriter) closeItems(status items.Status) (undelivered []string) {
	for _, o := range w.d.active().open.list {
		if o.isInput() {
			_ = w.addUpdated(o, items.StatusInterrupted)
			undelivered = append(undelivered, o.row.ItemID)
			continue
		}
		w.closeItem(o, status)
	}
	return undelivered
}

// closeItem ends an item because its turn or try ends.
func (w *itemWriter) closeItem(o *openItem, status items.Status) {
	if o.row.Type.IsQuestion() {
		w.resolve(o, w.cancelled(), "")
		return
	}
	_ = w.addUpdated(o, status)
}

// addUpdated adds item/updated with the whole content. The caller stores the row
// in the open item if the item stays open.
func (w *itemWriter) addUpdated(o *openItem, status items.Status) (row *items.Item) {
	w.d.change.flushDelta()
	content, err := o.encode(w.d.rules.cfg.MaxItemBytes)
	if err != nil && w.d.change.err == nil {
		w.d.change.err = err
	}
	return w.addEncoded(o, status, content)
}

// addEncoded adds item/updated with this content. It does not change o.
func (w *itemWriter) addEncoded(o *openItem, status items.Status, c encoded) (row *items.Item) {
	return w.d.change.item(o.row, o.row.TurnID, notify.ItemUpdated, o.row.ItemID, o.scope(), &items.Updated{
		ItemID: o.row.ItemID, Type: "updated", Status: status, Content: c.raw, Truncated: c.truncated, TotalBytes: c.total, Changed: linesOf(o.content, status),
	})
}

// linesOf counts the lines that a file_change has changed that ends completed; nil for
// all others, and if it says nothing of lines. A text that is not known counts as empty.
func linesOf(c items.Content, status items.Status) *items.Lines {
	f, ok := c.(items.FileChange)
	if !ok || status != items.StatusCompleted {
		return nil
	}
	var texts []question.Texts
	for _, change := range f.Changes {
		texts = append(texts, question.Texts{Before: change.OldText, After: change.NewText})
	}
	added, removed := question.CountLines(texts)
	if added+removed == 0 {
		return nil
	}
	return &items.Lines{Added: int64(added), Removed: int64(removed)}
}

// rowWithText returns the row of an open item with the text of its deltas. item/deleted
// has no content, so the row must keep what readers have of the item. Text that is
// in no delta is stored before.
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

// mustBeNew refuses an id that an item has already. It need not read the store if
// NewID made the id after all others of the thread, which is the case unless the
// agent chooses ids itself.
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

// readEnded reads an item that is not open, from this unit or the store; nil if
// there is none.
func (w *itemWriter) readEnded(itemID string) (*items.Item, error) {
	for i := len(w.d.change.rows.items) - 1; i >= 0; i-- {
		if w.d.change.rows.items[i].ItemID == itemID {
			return w.d.change.rows.items[i], nil
		}
	}
	return w.d.rules.log.Item(context.Background(), itemID)
}
