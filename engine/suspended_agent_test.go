package engine_test

import (
	"testing"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

func TestQuestionOutlivesAStartWithoutItsAgent(t *testing.T) {
	bubble(t, setup{agents: []turns.Agent{newPuppet("other", false)}}, func(h *harness) {
		other := h.o.agents[0].(*puppet)
		h.thread("a", "other")
		h.start("a")
		c := h.next(other)
		q := h.ask(c, permission(), turns.AskOptions{Resumes: true})
		for range 2 { // it waits with a process, then without
			h.o.agents = nil
			h.restart()
			h.waitsWithoutProcess(c.TurnID, q.id)
			h.o.agents = []turns.Agent{other}
			h.restart()
			h.waitsWithoutProcess(c.TurnID, q.id)
		}
		h.answer(q.id, "yes")
		again := h.next(other)
		again.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func TestAnswerToATurnWhoseAgentIsGoneEndsIt(t *testing.T) {
	bubble(t, setup{agents: []turns.Agent{newPuppet("other", false)}}, func(h *harness) {
		other := h.o.agents[0].(*puppet)
		h.thread("a", "other")
		h.start("a")
		c := h.next(other)
		q := h.ask(c, permission(), turns.AskOptions{Resumes: true})
		h.o.agents = nil
		h.restart()
		h.answer(q.id, "yes")
		if e := h.ended(c.TurnID); e.Method != notify.TurnFailed || e.Error.Kind != "agent_unavailable" {
			t.Errorf("ended: %s", e)
		}
		h.idleGate()
	})
}

// A name in the configuration may have become that of a worker, which gets attempts whole.
func TestWorkerDoesNotGoOnWithAnotherAgentsTurn(t *testing.T) {
	for _, twice := range []bool{false, true} {
		bubble(t, setup{agents: []turns.Agent{newPuppet("remote", false)}}, func(h *harness) {
			h.thread("a", "remote")
			h.startWith(turns.Start{ThreadID: "a", Retry: retrying()})
			c := h.next(h.o.agents[0].(*puppet))
			q := h.ask(c, permission(), turns.AskOptions{Resumes: true})
			if twice {
				h.restart()
				h.waitsWithoutProcess(c.TurnID, q.id)
			}
			h.o.agents = remotely(true).agents
			h.restart()
			if it := h.item(q.id); it.Status != items.StatusCancelled {
				t.Errorf("question %+v", it)
			}
			r, err := h.workers.Claim(bg, turns.Claim{Agent: "remote", Worker: "w", Wait: time.Minute})
			if err != nil || r.Turn == nil || r.Turn.Attempt != 2 || len(r.Input) != 1 {
				t.Errorf("claimed %+v, %v", r, err)
			}
		})
	}
}
