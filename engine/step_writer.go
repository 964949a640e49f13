package engine

import (
	"fmt"
	"slices"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// stepWriter adds the beginnings and ends of steps.
type stepWriter struct{ d *decision }

// start begins a try of a path, and of the steps above it that have none. A live
// try of the path is superseded with all below it: their open items end as
// interrupted, then comes the marker.
func (w *stepWriter) start(path, reason string) (*notify.Span, error) {
	t := w.d.change.tries()
	if !notify.ValidStep(path) {
		return nil, fmt.Errorf("%.60q cannot name a step: %w", path, items.ErrRefused)
	}
	if t.live[""] == nil {
		return nil, fmt.Errorf("the turn has no attempts: %w", items.ErrRefused)
	}
	begins := []string{path}
	for above := notify.StepAbove(path); above != "" && t.live[above] == nil; above = notify.StepAbove(above) {
		begins = append(begins, above)
	}
	live := t.live[path] != nil
	if !live && len(t.live)+len(begins) > turns.MaxSteps {
		return nil, fmt.Errorf("more than %d live steps: %w", turns.MaxSteps, items.ErrRefused)
	}
	if t.total+len(begins) > turns.MaxTries {
		return nil, fmt.Errorf("more than %d tries of steps: %w", turns.MaxTries, items.ErrRefused)
	}
	reason = cutText(reason)
	if live {
		w.endOpenItems(path)
		w.d.change.rewind(path, nil, turns.RewindEvent{Reason: turns.CauseStep, Message: reason})
	}
	slices.Reverse(begins)
	var span *notify.Span
	for _, p := range begins {
		span = w.d.change.beginTry(p)
		e := &turns.StepEvent{Type: "started", Status: turns.StepInProgress}
		if p == path {
			e.Reason = reason
		}
		w.d.change.add(notify.StepStarted, t.turnID, inTry(span), "", e)
	}
	return span, nil
}

// end ends the try of a path that is under way, and those below it that are. The
// status "" means completed.
func (w *stepWriter) end(path string, status turns.StepStatus) error {
	if status == "" {
		status = turns.StepCompleted
	}
	row := w.d.change.tries().rows[path]
	switch {
	case path == "" || row == nil:
		return fmt.Errorf("step %.60q has not been started: %w", path, items.ErrRefused)
	case row.Status.Ended():
		return fmt.Errorf("step %.60q has ended as %s: %w", path, row.Status, items.ErrRefused)
	case !status.Ended():
		return fmt.Errorf("a step cannot end as %.60q: %w", status, items.ErrRefused)
	}
	w.endAll(path, status)
	return nil
}

// endAll ends the tries of the path and below it that are under way, the deepest
// first, but not the attempt itself.
func (w *stepWriter) endAll(path string, status turns.StepStatus) {
	if len(w.d.change.tries().rows) < 2 {
		return // there is only the attempt
	}
	t := w.d.change.mutableTries()
	rows := t.liveRows()
	slices.Reverse(rows)
	slices.SortStableFunc(rows, func(x, y *turns.Step) int { return len(y.Lineage) - len(x.Lineage) })
	for _, row := range rows {
		if row.Step != "" && !row.Status.Ended() && covers(path, row.Step) {
			w.d.change.add(notify.StepEnded, t.turnID, inTry(t.live[row.Step]), "", &turns.StepEvent{Type: "ended", Status: status})
		}
	}
}

// endOpenItems ends the open items of the live try of a path and of those below
// it, which are about to be superseded.
func (w *stepWriter) endOpenItems(path string) {
	for _, o := range w.d.active().open.list {
		if o.isInput() || o.span == nil || !covers(path, o.span.Step) {
			continue
		}
		w.d.items.closeItem(o, items.StatusInterrupted)
		w.d.active().open.remove(o.row.ItemID)
	}
	w.d.active().open.supersede(path)
}
