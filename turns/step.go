package turns

import (
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/notify/fold"
)

// StepStatus is where one try of a step is in its life.
type StepStatus string

// The statuses of a try. The end of a turn's own try is that of the turn.
const (
	StepInProgress  StepStatus = "in_progress"
	StepCompleted   StepStatus = "completed"
	StepInterrupted StepStatus = "interrupted"
	StepFailed      StepStatus = "failed"
)

// Ended reports whether the status is final.
func (s StepStatus) Ended() bool {
	return s == StepCompleted || s == StepInterrupted || s == StepFailed
}

// Bounds of steps and attempts.
const (
	// MaxSteps is how many tries of steps of a turn may be live at once: one
	// marker may have to supersede all of them.
	MaxSteps = 1000
	// MaxTries is how many tries of steps a turn may have in all: the actor
	// must know all used epochs.
	MaxTries = 10_000
	// MaxLate is how many turn/late events are kept per attempt; later ones are
	// refused and not kept.
	MaxLate = 1000
)

// Step is the row of one try of a step and what reads return: the fold of the
// try's events. A try of the turn itself (Step "") is an attempt. Each member of
// the Lineage has its own row.
//
// Seq is the seq of the try's first event, which identifies the try: the Span of
// its events and items. HiddenBy is the seq of the marker that superseded the
// try, 0 while the try is live. Events above HiddenAfter are superseded then:
// all events of the try (see RewindEvent). Late counts the turn/late of an
// attempt.
type Step struct {
	Seq         int64        `json:"seq"`
	ThreadID    string       `json:"thread_id"`
	TurnID      string       `json:"turn_id"`
	Step        string       `json:"step"`
	Epoch       int          `json:"epoch"`
	Lineage     []notify.Ref `json:"lineage"`
	Status      StepStatus   `json:"status"`
	Superseded  bool         `json:"superseded,omitzero"` // HiddenBy is not 0
	HiddenBy    int64        `json:"superseded_by_seq,omitzero"`
	HiddenAfter int64        `json:"-"`
	Late        int64        `json:"late,omitzero"`
	StartedAt   notify.Time  `json:"started_at"`
	EndedAt     notify.Time  `json:"ended_at,omitzero"`
	UpdatedSeq  int64        `json:"updated_seq"`
}

// StepEvent is the body of step/started and step/ended. The header's lineage
// names the step. Reason, of a start, is why the step is retried.
type StepEvent struct {
	Type   string     `json:"type"`
	Status StepStatus `json:"status"`
	Reason string     `json:"reason,omitzero"`
}

// ApplyStep returns the row that the event leaves, or nil if it changes none.
// prev is not changed. The caller passes as prev:
//
//   - for an event with a lineage: the row of that try (TurnID, Step, Epoch), or
//     nil for the try's first event of any method, which makes the row;
//   - for a *RewindEvent: each row of the turn, one after the other;
//   - for a *LateEvent: the row of the attempt (TurnID, "", h.Attempt).
func ApplyStep(prev *Step, h notify.Header, body any) *Step {
	if prev == nil {
		if len(h.Lineage) == 0 {
			return nil
		}
		prev = &Step{
			Seq: h.Seq, ThreadID: h.ThreadID, TurnID: h.TurnID, Step: h.Step, Epoch: h.Epoch, Lineage: h.Lineage,
			Status: StepInProgress, StartedAt: h.Timestamp, UpdatedSeq: h.Seq,
		}
		if next := ApplyStep(prev, h, body); next != nil {
			return next // its first event is also its end
		}
		return prev
	}
	next := *prev
	switch b := body.(type) {
	case *StepEvent:
		if !b.Status.Ended() {
			return nil
		}
		next.Status, next.EndedAt = b.Status, h.Timestamp
	case *EndedEvent:
		if len(h.Lineage) == 0 { // the end of a turn that has not started
			return nil
		}
		next.Status, next.EndedAt = StepStatus(b.State), h.Timestamp
	case *RewindEvent:
		var m fold.Markers
		m.Add(fold.Marker{Step: b.Step, NewEpoch: b.NewEpoch, After: b.SupersededAfterSeq})
		after, hidden := m.Hides(prev.Lineage)
		if !hidden || prev.HiddenBy != 0 {
			return nil // the first marker that supersedes a try supersedes all of it
		}
		next.Superseded, next.HiddenBy, next.HiddenAfter = true, h.Seq, after
		if !prev.Status.Ended() {
			next.Status, next.EndedAt = StepInterrupted, h.Timestamp
		}
	case *LateEvent:
		next.Late++
	default:
		return nil
	}
	next.UpdatedSeq = h.Seq
	return &next
}
