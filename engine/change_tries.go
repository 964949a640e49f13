package engine

import (
	"fmt"
	"slices"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// tries returns the tries of the unit's turn as the unit leaves them so far. That turn is
// the active one, unless selectTries has selected another.
func (c *change) tries() *tries {
	if c.nextTries == nil {
		return c.committedTries
	}
	return c.nextTries
}

// mutableTries works like tries, for a caller that changes them.
func (c *change) mutableTries() *tries {
	if c.nextTries == nil {
		c.nextTries = c.committedTries.clone()
		if c.next.isActive(c.nextTries.turnID) {
			c.next.active.tries = c.nextTries
		}
	}
	return c.nextTries
}

// selectTries makes the turn of t the turn of the unit. From then on only the unit may
// change t.
func (c *change) selectTries(t *tries) { c.nextTries = t }

// root returns the live attempt; nil for a turn from before there were attempts.
func (c *change) root() *notify.Span { return c.tries().live[""] }

// liveTry returns the live try of a path.
func (c *change) liveTry(path string) (*notify.Span, error) {
	if span := c.tries().live[path]; span != nil {
		return span, nil
	}
	return nil, fmt.Errorf("step %.60q has not been started: %w", path, items.ErrRefused)
}

// scopeOf returns the scope of the events of an item that is not open. An item that
// was superseded has no scope any more.
func (c *change) scopeOf(row *items.Item) (scope, error) {
	if len(row.Lineage) == 0 {
		return scope{attempt: row.Attempt}, nil
	}
	span := c.tries().live[row.Step]
	if span == nil || !slices.Equal(span.Lineage, row.Lineage) {
		return scope{}, fmt.Errorf("item %.60q was superseded: %w", row.ItemID, items.ErrRefused)
	}
	return inTry(span), nil
}

// mustCommitFirst reports whether the op supersedes a try that may have begun in
// this unit. The op needs a unit of its own then.
func (c *change) mustCommitFirst(op items.Op) bool {
	s, ok := op.(items.StepStart)
	return ok && c.beginsTry && c.tries().live[s.Step] != nil
}

// beginTry makes the next try of a path, under the live try of its parent. The
// first event that is added in it makes its row. A live try of the path must have
// been superseded before.
func (c *change) beginTry(path string) *notify.Span {
	t := c.mutableTries()
	p := t.paths[path]
	p.epoch++
	span := notify.NewSpan(t.turnID, path, p.epoch, t.parent(path))
	t.live[path], t.paths[path] = span, p
	t.total++
	c.beginsTry = true
	return span
}

// rewind adds the marker that supersedes the live try of the path with all below
// it. Their items and steps must have ended. The try must have begun in an earlier
// unit, because a marker names the seq before that of the first try. row is the
// turn's, for path "" only.
func (c *change) rewind(path string, row *turns.Turn, e turns.RewindEvent) {
	t := c.mutableTries()
	p := t.paths[path]
	e.Type, e.Step, e.NewEpoch, e.SupersededAfterSeq = "rewind", path, p.epoch+1, p.first-1
	h := c.add(notify.StreamRewind, t.turnID, scope{}, "", &e)
	for _, s := range t.liveRows() {
		next := turns.ApplyStep(s, h, &e)
		if next == nil {
			continue
		}
		if (s.Seq < 0 || p.first < 0) && c.err == nil {
			c.err = fmt.Errorf("a try of step %q is superseded by the unit that begins it", s.Step)
		}
		c.putStep(next)
		delete(t.live, s.Step)
		delete(t.rows, s.Step)
		if s.Step == "" {
			t.supersededAttempts[s.Epoch] = next
		}
	}
	if path == "" {
		c.foldTurn(row, h, &e)
	}
}

// foldStep folds an event that was added in a try into the row of the try. first
// says that it is the try's first event.
func (c *change) foldStep(span *notify.Span, first bool, h notify.Header, body any) {
	var prev *turns.Step
	if !first {
		switch body.(type) {
		case *turns.StepEvent, *turns.EndedEvent:
			prev = c.tries().rows[span.Step]
		default:
			return
		}
	}
	row := turns.ApplyStep(prev, h, body)
	if row == nil {
		return
	}
	c.putStep(row)
	if t := c.nextTries; t != nil && t.live[span.Step] == span {
		t.rows[span.Step] = row
		if p := t.paths[span.Step]; p.first == 0 {
			p.first = row.Seq
			t.paths[span.Step] = p
		}
	}
}

// putStep adds a row to the unit. It replaces an earlier row of the same try.
func (c *change) putStep(row *turns.Step) {
	if c.stepIndex == nil {
		c.stepIndex = map[int64]int{}
	}
	if i, ok := c.stepIndex[row.Seq]; ok {
		c.rows.steps[i] = row
		return
	}
	c.stepIndex[row.Seq] = len(c.rows.steps)
	c.rows.steps = append(c.rows.steps, row)
}
