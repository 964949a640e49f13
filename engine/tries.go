package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// tries are the tries of the steps of one turn, including the turn's own (path
// "", an attempt): those that are live, and for every path what its next try must
// know. Rows and spans in it are replaced, never changed. A change changes a
// clone, which becomes part of the actor's state with the commit.
type tries struct {
	turnID             string
	live               map[string]*notify.Span // the live tries by path
	rows               map[string]*turns.Step  // of the live tries, by path
	paths              map[string]pathHistory
	supersededAttempts map[int]*turns.Step // rows of superseded attempts by epoch
	total              int                 // all tries, live or not
}

// pathHistory is what is known of all tries of a path: the epoch of the newest,
// and the seq of the first event of the first. No event of the step is before it.
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

// triesFromRows makes tries from their rows, which are in the order of seq.
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

// parent returns the live try that a try of the path belongs to; nil for the turn's own.
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

// assignSeqs replaces provisional seqs after the commit. Rows and spans have their
// seq from the commit already.
func (t *tries) assignSeqs(first int64) {
	for path, p := range t.paths {
		if p.first < 0 {
			p.first = notify.AssignSeq(p.first, first)
			t.paths[path] = p
		}
	}
}

// liveRows returns the rows of the live tries in the order of seq.
func (t *tries) liveRows() []*turns.Step {
	return slices.SortedFunc(maps.Values(t.rows), func(x, y *turns.Step) int { return cmp.Compare(x.Seq, y.Seq) })
}

// covers reports whether step is path or below it. The path "" covers all.
func covers(path, step string) bool {
	return path == "" || step == path || strings.HasPrefix(step, path) && step[len(path)] == '/'
}
