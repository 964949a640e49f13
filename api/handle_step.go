package api

import (
	"context"

	"github.com/seed82539d15/holon/turns"
)

// StepStartParams are the params of step/start.
type StepStartParams struct {
	turns.StartStep
	Keyed
	Extra
}

// StepStartResult answers step/start.
type StepStartResult = turns.StartStepResult

// StepStart answers step/start.
func (h *Handlers) StepStart(ctx context.Context, p StepStartParams) (StepStartResult, error) {
	w, err := h.leased(p.Lease)
	if err != nil {
		return StepStartResult{}, err
	}
	return w.StepStart(ctx, p.StartStep)
}

// StepEndParams are the params of step/end. Epoch absent is the live try;
// Status absent is completed.
type StepEndParams struct {
	Lease  turns.Lease      `json:"lease"`
	Step   string           `json:"step"`
	Epoch  *int             `json:"epoch,omitzero"`
	Status turns.StepStatus `json:"status,omitzero"`
	Keyed
	Extra
}

// StepEndResult answers step/end.
type StepEndResult = turns.EndStepResult

// endStatuses are what step/end may say.
var endStatuses = []turns.StepStatus{turns.StepCompleted, turns.StepFailed, turns.StepInterrupted}

// StepEnd answers step/end.
func (h *Handlers) StepEnd(ctx context.Context, p StepEndParams) (StepEndResult, error) {
	w, err := h.leased(p.Lease)
	if err != nil {
		return StepEndResult{}, err
	}
	if err := oneOf("status", p.Status, endStatuses); err != nil {
		return StepEndResult{}, err
	}
	epoch, err := epochOf("epoch", p.Epoch)
	if err != nil {
		return StepEndResult{}, err
	}
	return w.StepEnd(ctx, turns.EndStep{Lease: p.Lease, Step: p.Step, Epoch: epoch, Status: p.Status, Key: p.key})
}

// epochOf returns an epoch for the engine, where 0 means the live one.
func epochOf(field string, epoch *int) (int, error) {
	switch {
	case epoch == nil:
		return 0, nil
	case *epoch < 1:
		return 0, Invalid(field, "out_of_range", "epochs count from 1")
	}
	return *epoch, nil
}
