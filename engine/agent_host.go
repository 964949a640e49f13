package engine

import (
	"context"
	"slices"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// host is the Host of the engine's agents.
type host struct{ e *Engine }

// Emit implements Host.
func (h host) Emit(ctx context.Context, threadID string, ops []items.Op) error {
	e := h.e
	in, release, err := e.actors.hold(threadID)
	if err != nil {
		return err
	}
	defer release()
	if err := in.putOps(ctx, e.actors.ended, nil, ops); err != nil {
		if err == turns.ErrPromptOver { // there is no prompt: the engine has stopped
			err = turns.ErrDraining
		}
		return err
	}
	return nil
}

// maxTranscript is how many messages of a thread Transcript reads at most.
const maxTranscript = 1000

// Transcript implements Host.
func (h host) Transcript(ctx context.Context, threadID string, maxBytes int) ([]*items.Item, error) {
	list, err := h.e.rows.Transcript(ctx, threadID, maxTranscript, maxBytes)
	slices.Reverse(list)
	return list, err
}
