package turns

import (
	"errors"
	"fmt"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/notify/fold"
)

// Errors of units that were made wrongly. They are returned before anything of
// the unit is written.
var (
	errNoTry    = errors.New("an event belongs to a try that has no row")
	errOneUnit  = errors.New("a try begins and is superseded in one unit")
	errMarker   = errors.New("a marker does not supersede what it says")
	errTwoTries = errors.New("a step has another live try")
)

// Columns of StepTable that the fence looks at.
var (
	stepSeq      = StepTable.Column("seq")
	stepTurn     = StepTable.Column("turn_id")
	stepEpoch    = StepTable.Column("epoch")
	stepHiddenBy = StepTable.Column("hidden_by")
)

// LiveTries is the fence of every unit (I8). Each try that a unit writes to or
// supersedes must be live in the log, or begin in the unit; so must the try
// above one that begins. The number of rows that it reads does not grow with the
// tries of a step.
var LiveTries = ledger.FenceFunc(func(tx ledger.Tx, u *ledger.Unit) (refused, fault error) {
	f := triesFence{tx: tx, u: u}
	for _, r := range u.Rows {
		if s, ok := r.(*Step); ok {
			f.rows = append(f.rows, s)
		}
	}
	return f.Check()
})

// triesFence is LiveTries at work on one unit.
type triesFence struct {
	tx   ledger.Tx
	u    *ledger.Unit
	rows []*Step // of the unit
}

func (f *triesFence) Check() (refused, fault error) {
	checked := int64(0) // the try that was read last: most units have events of only one
	for i := range f.u.Drafts {
		d := &f.u.Drafts[i]
		if d.Method == notify.StreamRewind {
			m, ok := d.Body.(*RewindEvent)
			if !ok || d.Span != nil {
				return errMarker, nil
			}
			if refused, fault = f.marker(i, m); refused != nil || fault != nil {
				return refused, fault
			}
		}
		if d.Span == nil {
			continue
		}
		if refused = f.inUnit(i, d.Span); refused != nil {
			return refused, nil
		}
		if d.Span.Seq > 0 && d.Span.Seq != checked {
			checked = d.Span.Seq
			if refused, fault = f.inLog(d.Span); refused != nil || fault != nil {
				return refused, fault
			}
		}
	}
	for _, s := range f.rows {
		// See ledger.Tx.LastRewind: nothing else supersedes a try.
		if at := draftOf(s.HiddenBy); at >= 0 && (at >= len(f.u.Drafts) || f.u.Drafts[at].Method != notify.StreamRewind) {
			return errMarker, nil
		}
		if s.New() {
			if refused, fault = f.begin(s); refused != nil || fault != nil {
				return refused, fault
			}
		}
	}
	return nil, nil
}

// inUnit checks the try of the i-th draft against the unit's own rows: the draft
// must not come after a marker that supersedes the try, nor before the try
// begins.
func (f *triesFence) inUnit(i int, s *notify.Span) error {
	known := s.Seq > 0
	for _, st := range f.rows {
		if st.Seq != s.Seq {
			continue
		}
		known = known || draftOf(st.Seq) <= i
		if at := draftOf(st.HiddenBy); at >= 0 && i > at {
			return fmt.Errorf("append to a try of %s: %w", s.TurnID, ErrSuperseded)
		}
	}
	if !known {
		return errNoTry
	}
	return nil
}

// inLog checks a try that began in an earlier unit.
func (f *triesFence) inLog(s *notify.Span) (refused, fault error) {
	v, err := f.tx.Get(StepsBySeq, s.Seq)
	if err != nil {
		return nil, err
	}
	if v == nil || v.Text(stepTurn) != s.TurnID || v[stepHiddenBy] != nil {
		return fmt.Errorf("append to the try %d of %s: %w", s.Seq, s.TurnID, ErrSuperseded), nil
	}
	return nil, nil
}

// draftOf returns the index of the draft with this provisional seq; −1 for a
// real seq and for 0.
func draftOf(seq int64) int {
	if seq >= 0 {
		return -1
	}
	return int(-seq - 1)
}

// newest returns the highest epoch of a step, and the seq of its live try; 0 if
// none is live. Only the newest try of a step can be live.
func (f *triesFence) newest(turnID, step string) (epoch int, live int64, err error) {
	err = f.tx.Scan(ledger.Range{Index: StepsByEpoch, Prefix: []any{turnID, step}, Newest: true}, func(v ledger.Values) error {
		epoch = int(v.Int(stepEpoch))
		if v[stepHiddenBy] == nil {
			live = v.Int(stepSeq)
		}
		return ledger.ErrEnough
	})
	return epoch, live, err
}

// begin checks a try that begins: its epoch is new, no other try of its step is
// live, and the try above it is live.
func (f *triesFence) begin(s *Step) (refused, fault error) {
	if s.HiddenBy != 0 {
		return errOneUnit, nil
	}
	for _, other := range f.rows { // a unit begins one try of a step: it cannot supersede what it begins
		if other != s && other.New() && other.TurnID == s.TurnID && other.Step == s.Step {
			return errTwoTries, nil
		}
	}
	highest, live, err := f.newest(s.TurnID, s.Step)
	switch {
	case err != nil:
		return nil, err
	case s.Epoch <= highest:
		return fmt.Errorf("begin epoch %d of %q in %s: %w", s.Epoch, s.Step, s.TurnID, ErrSuperseded), nil
	case live != 0 && !f.hides(live):
		return fmt.Errorf("begin epoch %d of %q in %s: %w", s.Epoch, s.Step, s.TurnID, errTwoTries), nil
	case len(s.Lineage) < 2:
		return nil, nil
	}
	above := s.Lineage[len(s.Lineage)-2]
	for _, st := range f.rows {
		if st.New() && st.TurnID == s.TurnID && st.Step == above.Step && st.Epoch == above.Epoch && draftOf(st.Seq) <= draftOf(s.Seq) {
			return nil, nil
		}
	}
	v, err := f.tx.Get(StepsByEpoch, s.TurnID, above.Step, int64(above.Epoch))
	if err != nil {
		return nil, err
	}
	if v == nil || v[stepHiddenBy] != nil || f.hides(v.Int(stepSeq)) {
		return fmt.Errorf("begin %q in %s: %w", s.Step, s.TurnID, ErrSuperseded), nil
	}
	return nil, nil
}

// hides reports whether a marker of the unit supersedes the try.
func (f *triesFence) hides(seq int64) bool {
	for _, s := range f.rows {
		if s.Seq == seq && draftOf(s.HiddenBy) >= 0 {
			return true
		}
	}
	return false
}

// marker checks the marker that is the i-th draft: its epoch is new, and the unit
// has the rows of exactly the tries that it supersedes.
func (f *triesFence) marker(i int, m *RewindEvent) (refused, fault error) {
	turnID := f.u.Drafts[i].Header.TurnID
	highest, _, err := f.newest(turnID, m.Step)
	if err != nil {
		return nil, err
	}
	if m.NewEpoch <= highest {
		return fmt.Errorf("begin epoch %d of %q in %s: %w", m.NewEpoch, m.Step, turnID, ErrSuperseded), nil
	}
	rows, earlier := map[int64]*Step{}, map[int64]bool{} // superseded by this marker, by an earlier one of the unit
	for _, s := range f.rows {
		switch at := draftOf(s.HiddenBy); {
		case s.TurnID == turnID && at == i:
			rows[s.Seq] = s
		case at >= 0 && at < i:
			earlier[s.Seq] = true
		}
	}
	var marks fold.Markers
	marks.Add(fold.Marker{Step: m.Step, NewEpoch: m.NewEpoch, After: m.SupersededAfterSeq})
	if err := f.tx.Scan(ledger.Range{Index: LiveSteps, Prefix: []any{turnID}}, func(v ledger.Values) error {
		s, err := ReadStep(v)
		if err != nil {
			return err
		}
		after, hidden := marks.Hides(s.Lineage)
		if earlier[s.Seq] {
			return nil
		}
		row := rows[s.Seq]
		delete(rows, s.Seq)
		// A bound inside a try would leave the try neither live nor superseded.
		if hidden != (row != nil) || hidden && (row.HiddenAfter != after || after >= s.Seq) {
			refused = fmt.Errorf("marker of %q in %s: %w", m.Step, turnID, errMarker)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	for seq := range rows {
		if refused = errOneUnit; seq > 0 {
			refused = fmt.Errorf("supersede the try %d of %s: %w", seq, turnID, ErrSuperseded)
		}
	}
	return refused, nil
}

// Hides returns what the marker that is the i-th draft of a unit supersedes. It
// is for those who hold frames in memory.
func Hides(u *ledger.Unit, i int) (list []notify.Hidden) {
	for _, r := range u.Rows {
		if s, ok := r.(*Step); ok && draftOf(s.HiddenBy) == i {
			list = append(list, notify.Hidden{Span: s.Seq, After: s.HiddenAfter})
		}
	}
	return list
}
