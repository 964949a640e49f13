package engine_test

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// The commands, without the context and the input that do not matter.

func text(s string) []turns.InputMessage {
	return []turns.InputMessage{{Type: "message", Role: "user", Content: []items.Part{{Type: items.PartText, Text: s}}}}
}

func key(k, method string, params ...any) *ledger.Key {
	return &ledger.Key{Key: k, Method: method, Hash: sha256.Sum256(fmt.Append(nil, params...))}
}

var bg = context.Background()

func (h *harness) thread(id, agent string) {
	h.t.Helper()
	if _, err := h.engine.StartThread(bg, turns.StartThread{ThreadID: id, Agent: agent}); err != nil {
		h.t.Fatalf("start thread %s: %v", id, err)
	}
}

func (h *harness) startWith(c turns.Start) turns.StartResult {
	h.t.Helper()
	if c.Input == nil {
		c.Input = text("do it")
	}
	r, err := h.engine.Start(bg, c)
	if err != nil {
		h.t.Fatalf("start turn in %s: %v", c.ThreadID, err)
	}
	return r
}

func (h *harness) start(thread string) turns.StartResult {
	h.t.Helper()
	return h.startWith(turns.Start{ThreadID: thread})
}

func (h *harness) steer(turnID, s string, cut bool) turns.SteerResult {
	h.t.Helper()
	r, err := h.engine.Steer(bg, turns.Steer{TurnID: turnID, Input: text(s), Interrupt: cut})
	if err != nil {
		h.t.Fatalf("steer: %v", err)
	}
	return r
}

// interrupt interrupts. If the turn needs time, the channel delivers its end.
func (h *harness) interrupt(turnID string) (turns.InterruptResult, <-chan turns.InterruptResult) {
	h.t.Helper()
	r, ended, err := h.engine.Interrupt(bg, turns.Interrupt{TurnID: turnID})
	if err != nil {
		h.t.Fatalf("interrupt: %v", err)
	}
	return r, ended
}

func (h *harness) change(thread string, v threads.Verb) turns.ChangeThreadResult {
	h.t.Helper()
	r, err := h.engine.ChangeThread(bg, turns.ChangeThread{ThreadID: thread, Verb: v})
	if err != nil {
		h.t.Fatalf("%s %s: %v", v, thread, err)
	}
	return r
}

func (h *harness) pause() turns.PauseResult {
	h.t.Helper()
	r, err := h.engine.Pause(bg, turns.Pause{})
	if err != nil {
		h.t.Fatalf("pause: %v", err)
	}
	return r
}

func (h *harness) resume() turns.PauseResult {
	h.t.Helper()
	r, err := h.engine.Resume(bg, turns.Resume{})
	if err != nil {
		h.t.Fatalf("resume: %v", err)
	}
	return r
}

func (h *harness) turn(id string) *turns.Turn {
	h.t.Helper()
	t, err := h.reader.Turn(bg, id)
	if err != nil {
		h.t.Fatalf("read turn: %v", err)
	}
	return t
}

func (h *harness) item(id string) *items.Item {
	h.t.Helper()
	it, err := h.reader.Item(bg, id)
	if err != nil {
		h.t.Fatalf("read item: %v", err)
	}
	return it
}
