package acp

import (
	"context"
	"fmt"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// steerWithin bounds the wait for the agent's answer to a steered text: the
// agent only has to insert it.
const steerWithin = 15 * time.Second

// steerParams are the params of _session/steering, an extension of the
// protocol. idleBehavior keeps the agent from starting its own turn when the
// prompt has just ended.
type steerParams struct {
	SessionID string    `json:"sessionId"`
	Prompt    []block   `json:"prompt"`
	Meta      steerMeta `json:"_meta"`
}

type steerMeta struct {
	Steering struct {
		IdleBehavior string `json:"idleBehavior"`
	} `json:"steering"`
}

func (p steerParams) session() string { return p.SessionID }

// injector inserts steered text into the prompt, once that has been sent. Only an
// explicit answer counts: some agents answer unknown methods with an empty result.
func (s *session) injector(run *promptRun) turns.Injector {
	return func(ctx context.Context, m items.UserMessage) error {
		select {
		case <-run.sent.c:
		case <-ctx.Done():
			return turns.ErrNotInjected
		}
		if run.answered.fired() || run.wasCancelled() {
			return turns.ErrNotInjected
		}
		input, _ := blocks([]items.UserMessage{m}, s.pr.says.images)
		params := steerParams{SessionID: s.id, Prompt: input}
		params.Meta.Steering.IdleBehavior = "promptRequired"
		result, err := s.pr.peer.call(ctx, methodSteering, params, steerWithin, nil)
		if err != nil {
			return fmt.Errorf("%w: %w", turns.ErrNotInjected, err)
		}
		switch outcome := decode[struct {
			Outcome string `json:"outcome"`
		}](result).Outcome; outcome {
		case "injected", "startedNewTurn":
			return nil
		default:
			return fmt.Errorf("%w: the agent says %.80q", turns.ErrNotInjected, outcome)
		}
	}
}
