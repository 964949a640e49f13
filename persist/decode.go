package persist

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// bodies makes the body type of each method that can be in the log.
var bodies = map[string]func() any{
	notify.ThreadStarted: func() any { return new(threads.Changed) },
	notify.ThreadResumed: func() any { return new(threads.Changed) },
	notify.ThreadPaused:  func() any { return new(threads.Changed) },
	notify.ThreadClosed:  func() any { return new(threads.Changed) },
	notify.ThreadUpdated: func() any { return new(threads.Updated) },

	notify.TurnQueued:      func() any { return new(turns.QueuedEvent) },
	notify.TurnStarted:     func() any { return new(turns.StartedEvent) },
	notify.TurnProgress:    func() any { return new(turns.ProgressEvent) },
	notify.TurnCompleted:   func() any { return new(turns.EndedEvent) },
	notify.TurnInterrupted: func() any { return new(turns.EndedEvent) },
	notify.TurnFailed:      func() any { return new(turns.EndedEvent) },

	notify.ItemCreated: func() any { return new(items.Created) },
	notify.ItemUpdated: func() any { return new(items.Updated) },
	notify.ItemDeleted: func() any { return new(items.Deleted) },
	notify.ItemDelta:   func() any { return new(items.Delta) },

	notify.StepStarted:  func() any { return new(turns.StepEvent) },
	notify.StepEnded:    func() any { return new(turns.StepEvent) },
	notify.StreamRewind: func() any { return new(turns.RewindEvent) },
	notify.TurnLate:     func() any { return new(turns.LateEvent) },

	notify.HolonPaused:  func() any { return new(turns.RuntimeEvent) },
	notify.HolonResumed: func() any { return new(turns.RuntimeEvent) },
}

// Decode takes the params of a stored event apart: the header, and a pointer
// to the typed body that Apply of threads, turns and items, and ApplyRuntime
// of turns, understand. It is for rebuilding rows; nothing that is sent to a
// client passes through it.
func Decode(method string, params []byte) (notify.Header, any, error) {
	var h notify.Header
	body := bodies[method]
	if body == nil {
		return h, nil, fmt.Errorf("decode %q: no such method is in a log", method)
	}
	if err := json.Unmarshal(params, &h); err != nil {
		return h, nil, fmt.Errorf("decode the header of %s: %w", method, err)
	}
	b := body()
	if err := json.Unmarshal(params, b); err != nil {
		return h, nil, fmt.Errorf("decode %s %d: %w", method, h.Seq, err)
	}
	return h, b, nil
}
