package turns

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// StepTable is where the tries of steps are stored. hidden_after and hidden_by
// are nil while a try is live.
var StepTable = ledger.NewTable(ledger.Table{
	Name: "steps",
	Columns: []string{"seq", "thread_id", "turn_id", "step", "epoch", "lineage", "status", "late", "started_at",
		"ended_at", "updated_seq", "hidden_after", "hidden_by"},
	Key:     []string{"seq", "turn_id"},
	Mutable: []string{"status", "late", "ended_at", "updated_seq", "hidden_after", "hidden_by"},
	Unique:  ErrSuperseded,
})

// The orders in which tries are found.
var (
	// StepsBySeq finds a try by its first event.
	StepsBySeq = &ledger.Index{Table: StepTable, Columns: []string{"seq"}}
	// StepsByEpoch finds the tries of a step of a turn.
	StepsByEpoch = &ledger.Index{Table: StepTable, Name: "steps_try", Columns: []string{"turn_id", "step", "epoch"}}
	// StepsOfTurn finds all tries of a turn in the order in which they began.
	StepsOfTurn = &ledger.Index{Table: StepTable, Name: "steps_turn", Columns: []string{"turn_id", "seq"}}
	// LiveSteps finds the live tries.
	LiveSteps = &ledger.Index{Table: StepTable, Name: "steps_live", Columns: []string{"turn_id", "step"},
		Where: []ledger.Only{{Column: "hidden_by", Values: []any{nil}}}}
)

// Table implements ledger.Row.
func (s *Step) Table() *ledger.Table { return StepTable }

// ID implements ledger.Row.
func (s *Step) ID() any { return s.Seq }

// New implements ledger.Row.
func (s *Step) New() bool { return s.Seq < 0 }

// Bytes implements ledger.Row.
func (s *Step) Bytes() int { return 48 * len(s.Lineage) }

// AssignSeqs implements ledger.Row.
func (s *Step) AssignSeqs(first int64) {
	s.Seq = notify.AssignSeq(s.Seq, first)
	s.HiddenBy = notify.AssignSeq(s.HiddenBy, first)
	s.UpdatedSeq = notify.AssignSeq(s.UpdatedSeq, first)
}

// Values implements ledger.Row.
func (s *Step) Values(first int64) (ledger.Values, error) {
	var after, by any
	if s.HiddenBy != 0 {
		after, by = s.HiddenAfter, notify.AssignSeq(s.HiddenBy, first)
	}
	var lineage []byte
	if s.New() { // the lineage never changes
		var err error
		if lineage, err = json.Marshal(s.Lineage); err != nil {
			return nil, err
		}
	}
	return ledger.Values{
		notify.AssignSeq(s.Seq, first), s.ThreadID, s.TurnID, s.Step, int64(s.Epoch), lineage, string(s.Status), s.Late,
		s.StartedAt.Milli(), s.EndedAt.Milli(), notify.AssignSeq(s.UpdatedSeq, first), after, by,
	}, nil
}

// ReadStep makes a try of its columns.
func ReadStep(v ledger.Values) (*Step, error) {
	s := &Step{
		Seq: v.Int(0), ThreadID: v.Text(1), TurnID: v.Text(2), Step: v.Text(3), Epoch: int(v.Int(4)),
		Status: StepStatus(v.Text(6)), Late: v.Int(7), StartedAt: notify.TimeFromMilli(v.Int(8)),
		EndedAt: notify.TimeFromMilli(v.Int(9)), UpdatedSeq: v.Int(10), HiddenAfter: v.Int(11), HiddenBy: v.Int(12),
	}
	s.Superseded = s.HiddenBy != 0
	if lineage := v.Blob(5); lineage != nil {
		if err := json.Unmarshal(lineage, &s.Lineage); err != nil {
			return nil, fmt.Errorf("lineage of the try %d: %w", s.Seq, err)
		}
	}
	return s, nil
}
