package engine

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// lateWriter keeps, as turn/late, what superseded tries still write.
type lateWriter struct{ d *decision }

// keep adds turn/late with what a superseded try still wrote. The unit's tries
// (see selectTries) must be those of the turn; attempt, step and epoch are of the
// try. It reports false and adds nothing if the attempt has MaxLate of them
// already, or if there is no attempt of this number.
func (w *lateWriter) keep(attempt int, step string, epoch int, method string, params any) bool {
	t := w.d.change.tries()
	row := t.supersededAttempts[attempt]
	if root := t.rows[""]; row == nil && root != nil && root.Epoch == attempt {
		row = root // a step of it was superseded
	}
	if row == nil || row.Late >= turns.MaxLate {
		return false
	}
	raw, err := json.Marshal(params)
	if err != nil {
		w.d.change.err = fmt.Errorf("encode late %s: %w", method, err)
		return false
	}
	body := &turns.LateEvent{Type: "late", Step: step, Epoch: epoch, Event: turns.LateInner{Method: method, Params: raw}}
	next := turns.ApplyStep(row, w.d.change.add(notify.TurnLate, t.turnID, scope{attempt: attempt}, "", body), body)
	w.d.change.putStep(next)
	t = w.d.change.mutableTries()
	if _, gone := t.supersededAttempts[attempt]; gone {
		t.supersededAttempts[attempt] = next
	} else {
		t.rows[""] = next
	}
	return true
}

// LateItem is what turn/late has of an op on an item: the members of the op.
type LateItem struct {
	ItemID  string           `json:"item_id"`
	Type    string           `json:"type"`
	Status  items.Status     `json:"status,omitzero"`
	Content items.Raw        `json:"content,omitzero"`
	Delta   *items.DeltaText `json:"delta,omitzero"`
}

// keepOutput keeps the output of a run after its attempt was superseded, and returns the
// number of ops beyond the bound, which are lost. An agent that waits for an answer is
// released by the end of its run.
func (w *lateWriter) keepOutput(o output) (lost int64) {
	for _, op := range o.ops {
		method, params := w.asEvent(op)
		if method == "" || !w.keep(o.run.attempt, "", o.run.attempt, method, params) {
			lost++
		}
	}
	return lost
}

// asEvent returns the event that an op would have added; "" if it would have added
// none, such as the usage of an attempt.
func (w *lateWriter) asEvent(op items.Op) (method string, params any) {
	content := func(c items.Content) items.Raw {
		if c == nil {
			return nil
		}
		e, err := fit(c, w.d.rules.cfg.MaxItemBytes)
		if err != nil {
			return nil
		}
		return e.raw
	}
	switch op := op.(type) {
	case items.Create:
		return notify.ItemCreated, LateItem{ItemID: op.ItemID, Type: "created", Status: op.Status, Content: content(op.Content)}
	case items.Append:
		// No item bounds this text, and no event may be larger than a frame.
		text := items.NewText(strings.ToValidUTF8(op.Text, "\uFFFD"), w.d.rules.cfg.MaxItemBytes)
		return notify.ItemDelta, LateItem{ItemID: op.ItemID, Type: "delta", Delta: &items.DeltaText{Text: text.String()}}
	case items.Update:
		return notify.ItemUpdated, LateItem{ItemID: op.ItemID, Type: "updated", Status: op.Status, Content: content(op.Content)}
	case items.Delete:
		return notify.ItemDeleted, LateItem{ItemID: op.ItemID, Type: "deleted", Status: items.StatusDeleted}
	case items.StepStart:
		return notify.StepStarted, turns.StepEvent{Type: "started", Status: turns.StepInProgress, Reason: cutText(op.Reason)}
	case items.StepEnd:
		return notify.StepEnded, turns.StepEvent{Type: "ended", Status: turns.StepStatus(op.Status)}
	case items.Progress:
		return notify.TurnProgress, turns.ProgressEvent{Type: "progress", State: turns.Progress(op.State), Message: cutText(op.Message)}
	}
	return "", nil
}
