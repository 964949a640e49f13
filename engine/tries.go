package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// tries are the tries of the steps of one turn, the turn's own (path "", an
// attempt) among them, as the owner of the turn has them: those that stand,
// and of every path what its next try must know. Rows and spans in it are
// never changed, only replaced; a builder that changes tries does so on a
// clone, which becomes the actor's memory with the commit.
type tries struct {
	turnID             string
	live               map[string]*notify.Span // those that stand, by path
	rows               map[string]*turns.Step  // of those
	paths              map[string]pathHistory
	supersededAttempts map[int]*turns.Step // rows of the attempts that were taken back
	total              int                 // in all
}

// pathHistory is what is known of all tries of a path: the epoch of the newest, and
// the seq of the first event of the first, before which nothing of the step is.
type pathHistory struct {
	epoch int
	first int64
}

func newTries(turnID string) *tries {
	return &tries{
		turnID: turnID, live: map[string]*notify.Span{}, rows: map[string]*turns.Step{},
		paths: map[string]pathHistory{}, supersededAttempts: map[int]*turns.Step{},
	}
}

// triesFromRows makes tries of their rows, which are in the order of their seq.
func triesFromRows(turnID string, rows []*turns.Step) *tries {
	t := newTries(turnID)
	for _, row := range rows {
		if row.TurnID != turnID {
			continue
		}
		t.total++
		p := t.paths[row.Step]
		if p.first == 0 {
			p.first = row.Seq
		}
		p.epoch = max(p.epoch, row.Epoch)
		t.paths[row.Step] = p
		switch {
		case row.HiddenBy == 0:
			span := notify.NewSpan(turnID, row.Step, row.Epoch, t.parent(row.Step))
			span.Seq = row.Seq
			t.live[row.Step], t.rows[row.Step] = span, row
		case row.Step == "":
			t.supersededAttempts[row.Epoch] = row
		}
	}
	return t
}

// parent is the try that a try of the path is part of; nil for the turn's own.
func (t *tries) parent(path string) *notify.Span {
	if path == "" {
		return nil
	}
	return t.live[notify.StepAbove(path)]
}

func (t *tries) clone() *tries {
	return &tries{
		turnID: t.turnID, live: maps.Clone(t.live), rows: maps.Clone(t.rows),
		paths: maps.Clone(t.paths), supersededAttempts: maps.Clone(t.supersededAttempts), total: t.total,
	}
}

// settle follows the commit that began tries; rows and spans have been
// settled with it.
func (t *tries) settle(first int64) {
	for path, p := range t.paths {
		if p.first < 0 {
			p.first = notify.Settle(p.first, first)
			t.paths[path] = p
		}
	}
}

// liveRows are the rows of what stands, in the order of their seq.
func (t *tries) liveRows() []*turns.Step {
	return slices.SortedFunc(maps.Values(t.rows), func(x, y *turns.Step) int { return cmp.Compare(x.Seq, y.Seq) })
}

// tries are the tries that the unit is about, as it leaves them so far: of the
// active turn, unless the builder was given others (selectTries).
func (c *change) tries() *tries {
	if c.nextTries == nil {
		return c.committedTries
	}
	return c.nextTries
}

// mutableTries is steps for who changes them.
func (c *change) mutableTries() *tries {
	if c.nextTries == nil {
		c.nextTries = c.committedTries.clone()
		if c.next.isActive(c.nextTries.turnID) {
			c.next.active.tries = c.nextTries
		}
	}
	return c.nextTries
}

// selectTries makes the unit one about the turn of t, which is changed with the unit
// and not by anybody else.
func (c *change) selectTries(t *tries) { c.nextTries = t }

// root is the standing attempt; nil of a turn from before there were any.
func (c *change) root() *notify.Span { return c.tries().live[""] }

// beginTry makes the next try of a path, under the try above that stands. The
// next event that is added in it makes its row; a try that stands on the path
// must have been taken back before.
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

// putStep adds a row to the unit, the last of each try.
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

// foldStep makes of an event that was added in a try what it changes of the
// try's row. first says that it is the try's first event.
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

// rewind adds the marker by which the try of the path that stands is taken
// back with all below it. What is open of them must have ended. The try must
// have begun in an earlier unit: a marker names the seq before the first one's.
// row is the turn's, for path "" only.
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
			c.err = fmt.Errorf("a try of step %q is taken back by the unit that begins it", s.Step)
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
