package sqlite

import (
	"errors"
	"fmt"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/notify/fold"
	"github.com/seed82539d15/holon/turns"
)

// Errors of units that were made wrongly; they say so before anything of the
// unit is written.
var (
	errNoTry    = errors.New("an event is of a try that has no row")
	errOneUnit  = errors.New("a try begins and is given up in one unit")
	errMarker   = errors.New("a marker does not take back what it says")
	errTwoTries = errors.New("a step has another try that stands")
)

// fence looks at the tries that a unit writes to, begins and takes back (I8):
// against what stands in the log before the unit, in the unit's transaction.
// What it returns as refused is the caller's; an error is the disk's.
func (b *batch) fence(u *turns.Unit) (refused, err error) {
	looked := int64(0) // the try that was read last: most units have events of one only
	for i := range u.Drafts {
		d := &u.Drafts[i]
		if d.Method == notify.StreamRewind {
			m, ok := d.Body.(*turns.RewindEvent)
			if !ok || d.Span != nil {
				return errMarker, nil
			}
			if refused, err = b.fenceMarker(u, i, m); refused != nil || err != nil {
				return refused, err
			}
		}
		if d.Span == nil {
			continue
		}
		if refused = fenceInUnit(u, i, d.Span); refused != nil {
			return refused, nil
		}
		if d.Span.Seq > 0 && d.Span.Seq != looked {
			looked = d.Span.Seq
			if refused, err = b.fenceInLog(d.Span); refused != nil || err != nil {
				return refused, err
			}
		}
	}
	for _, s := range u.Steps {
		if s.Seq < 0 {
			if refused, err = b.fenceBegin(u, s); refused != nil || err != nil {
				return refused, err
			}
		}
	}
	return nil, nil
}

// fenceInUnit looks at the try of the i-th draft among those of the unit: it
// must not come after a marker that takes it back, nor before it begins.
func fenceInUnit(u *turns.Unit, i int, s *notify.Span) error {
	known := s.Seq > 0
	for _, st := range u.Steps {
		if st.Seq != s.Seq {
			continue
		}
		known = known || place(st.Seq) <= i
		if at := place(st.HiddenBy); at >= 0 && i > at {
			return fmt.Errorf("append to a try of %s: %w", s.TurnID, turns.ErrSuperseded)
		}
	}
	if !known {
		return errNoTry
	}
	return nil
}

// tryStands finds out whether a try is there and has not been taken back.
const tryStands = "SELECT hidden_by IS NULL FROM steps WHERE seq = ? AND turn_id = ?"

// fenceInLog looks at a try that began in an earlier unit.
func (b *batch) fenceInLog(s *notify.Span) (refused, err error) {
	stands := false
	if _, err := b.w.conn.queryOne(tryStands, func(r row) { stands = r.int(0) != 0 }, s.Seq, s.TurnID); err != nil {
		return nil, err
	}
	if !stands {
		return fmt.Errorf("append to the try %d of %s: %w", s.Seq, s.TurnID, turns.ErrSuperseded), nil
	}
	return nil, nil
}

// place is the index of the draft that a provisional seq is of; −1 if it is a
// real one, or none.
func place(seq int64) int {
	if seq >= 0 {
		return -1
	}
	return int(-seq - 1)
}

// triesOfStep says how far the epochs of a step have come, and which try stands.
const triesOfStep = "SELECT max(epoch), max(CASE WHEN hidden_by IS NULL THEN seq END) FROM steps WHERE turn_id = ? AND step = ?"

func (b *batch) tries(turnID, step string) (highest int, standing int64, err error) {
	_, err = b.w.conn.queryOne(triesOfStep, func(r row) { highest, standing = int(r.int(0)), r.int(1) }, turnID, step)
	return highest, standing, err
}

// standingTry finds the try of a step and epoch, if it stands.
const standingTry = "SELECT seq FROM steps WHERE turn_id = ? AND step = ? AND epoch = ? AND hidden_by IS NULL"

// fenceBegin looks at a try that begins: its epoch is new, no other try of its
// step stands beside it, and what it is part of stands.
func (b *batch) fenceBegin(u *turns.Unit, s *turns.Step) (refused, err error) {
	if s.HiddenBy != 0 {
		return errOneUnit, nil
	}
	highest, standing, err := b.tries(s.TurnID, s.Step)
	switch {
	case err != nil:
		return nil, err
	case s.Epoch <= highest:
		return fmt.Errorf("begin epoch %d of %q in %s: %w", s.Epoch, s.Step, s.TurnID, turns.ErrSuperseded), nil
	case standing != 0 && !hiddenIn(u, standing):
		return fmt.Errorf("begin epoch %d of %q in %s: %w", s.Epoch, s.Step, s.TurnID, errTwoTries), nil
	case len(s.Lineage) < 2:
		return nil, nil
	}
	above := s.Lineage[len(s.Lineage)-2]
	for _, st := range u.Steps {
		if st.Seq < 0 && st.TurnID == s.TurnID && st.Step == above.Step && st.Epoch == above.Epoch && place(st.Seq) <= place(s.Seq) {
			return nil, nil
		}
	}
	seq := int64(0)
	if _, err := b.w.conn.queryOne(standingTry, func(r row) { seq = r.int(0) }, s.TurnID, above.Step, int64(above.Epoch)); err != nil {
		return nil, err
	}
	if seq == 0 || hiddenIn(u, seq) {
		return fmt.Errorf("begin %q in %s: %w", s.Step, s.TurnID, turns.ErrSuperseded), nil
	}
	return nil, nil
}

// hiddenIn reports whether a marker of the unit takes the try back.
func hiddenIn(u *turns.Unit, seq int64) bool {
	for _, s := range u.Steps {
		if s.Seq == seq && place(s.HiddenBy) >= 0 {
			return true
		}
	}
	return false
}

// liveTries are the tries of a turn that stand.
const liveTries = "SELECT " + stepColumns + " FROM steps WHERE turn_id = ? AND hidden_by IS NULL"

// fenceMarker looks at the marker that is the i-th draft: its epoch is new,
// and the rows of all that it takes back, and of nothing else, are with it.
func (b *batch) fenceMarker(u *turns.Unit, i int, m *turns.RewindEvent) (refused, err error) {
	turnID := u.Drafts[i].Header.TurnID
	highest, _, err := b.tries(turnID, m.Step)
	if err != nil {
		return nil, err
	}
	if m.NewEpoch <= highest {
		return fmt.Errorf("begin epoch %d of %q in %s: %w", m.NewEpoch, m.Step, turnID, turns.ErrSuperseded), nil
	}
	rows, gone := map[int64]*turns.Step{}, map[int64]bool{}
	for _, s := range u.Steps {
		switch at := place(s.HiddenBy); {
		case s.TurnID == turnID && at == i:
			rows[s.Seq] = s
		case at >= 0 && at < i: // an earlier marker of the unit
			gone[s.Seq] = true
		}
	}
	var marks fold.Markers
	marks.Add(fold.Marker{Step: m.Step, NewEpoch: m.NewEpoch, After: m.SupersededAfterSeq})
	if err := b.w.conn.query(liveTries, func(r row) error {
		s, err := stepOf(r)
		if err != nil {
			return err
		}
		after, hidden := marks.Hides(s.Lineage)
		if gone[s.Seq] {
			return nil
		}
		given := rows[s.Seq]
		delete(rows, s.Seq)
		// A bound inside of a try would leave it neither live nor taken back.
		if hidden != (given != nil) || hidden && (given.HiddenAfter != after || after >= s.Seq) {
			refused = fmt.Errorf("marker of %q in %s: %w", m.Step, turnID, errMarker)
		}
		return nil
	}, turnID); err != nil {
		return nil, err
	}
	for seq := range rows {
		if refused = errOneUnit; seq > 0 {
			refused = fmt.Errorf("take the try %d of %s back: %w", seq, turnID, turns.ErrSuperseded)
		}
	}
	return refused, nil
}

// hides is what the marker that is the i-th draft takes back, for those who
// hold frames in memory.
func hides(u *turns.Unit, i int) (list []notify.Hidden) {
	for _, s := range u.Steps {
		if place(s.HiddenBy) == i {
			list = append(list, notify.Hidden{Span: s.Seq, After: s.HiddenAfter})
		}
	}
	return list
}
