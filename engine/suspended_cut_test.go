package engine_test

import (
	"strings"
	"testing"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

func TestLongQuestionsAndAnswersAreToldWhole(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxItemBytes: 4096}}, func(h *harness) {
		h.thread("a", "")
		h.start("a")
		c := h.next(h.agent)
		answer := strings.Repeat("x", 1500)
		var ids []string
		for range 4 {
			q := h.ask(c, items.Question{Type: items.KindQuestion, Message: strings.Repeat("why ", 300)}, turns.AskOptions{Resumes: true})
			ids = append(ids, q.id)
		}
		h.restart()
		for _, id := range ids {
			if _, err := h.engine.Respond(bg, turns.Respond{ItemID: id, Answer: []byte(`"` + answer + `"`)}); err != nil {
				t.Fatal(err)
			}
		}
		again := h.next(h.agent)
		if n := strings.Count(again.said(), answer); n != 4 {
			t.Errorf("told %d answers", n)
		}
		stored := 0
		for _, it := range h.inputs(c.TurnID) {
			if strings.Contains(string(it.Content), "resume") {
				stored = len(it.Content)
			}
		}
		if stored == 0 || stored > 4096 {
			t.Errorf("stored %d bytes", stored)
		}
		again.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func (h *harness) inputs(turnID string) []*items.Item {
	h.t.Helper()
	list, err := h.reader.Input(bg, turnID)
	if err != nil {
		h.t.Fatal(err)
	}
	return list
}

// The log writes JSON in its own way: without blanks, and with the shortest escapes.
func TestAnswerIsGivenHoweverTheRequestIsWritten(t *testing.T) {
	const input = `{"command" : "ma\u006be  \/w", "n": 1.0, "e": "\u00e9<"}`
	for _, about := range []items.Content{
		items.ToolCall{Type: items.KindToolCall, ToolCallID: "c", Name: "make", Input: items.Raw(input)},
		items.CommandExecution{Type: items.KindCommandExecution, ToolCallID: "c", Command: "make  /w", Cwd: "/w", Input: items.Raw(input)},
		items.FileChange{Type: items.KindFileChange, ToolCallID: "c", Input: items.Raw(input), Changes: []items.Change{}},
	} {
		bubble(t, setup{}, func(h *harness) {
			asks := func(c *call) *asked {
				id := items.NewID()
				h.emit(c, items.Create{ItemID: id, Content: about})
				p := permission()
				p.Subject = items.Subject{Type: "command", ItemID: id}
				return h.ask(c, p, turns.AskOptions{Resumes: true})
			}
			h.thread("a", "")
			h.start("a")
			q := asks(h.next(h.agent))
			h.restart()
			h.answer(q.id, "no")
			again := h.next(h.agent)
			second := asks(again)
			if it := h.item(second.id); it.Status != items.StatusDeclined {
				t.Errorf("%s: %s", about.Kind(), it.Content)
			}
			h.interrupt(again.TurnID)
			h.ended(again.TurnID)
		})
	}
}

// The middle of the command is not in the log: it may differ.
func TestAnswerToARequestThatWasCutIsNotGivenAgain(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxItemBytes: 4096}}, func(h *harness) {
		h.thread("a", "")
		h.start("a")
		c := h.next(h.agent)
		p := permission()
		p.Subject = items.Subject{Type: "command", Command: strings.Repeat("a", 3000) + strings.Repeat("b", 3000), Cwd: "/w"}
		q := h.ask(c, p, turns.AskOptions{Resumes: true})
		cut, err := items.Decode(h.item(q.id).Content)
		if err != nil {
			t.Fatal(err)
		}
		h.restart()
		h.answer(q.id, "yes")
		again := h.next(h.agent)
		if it := h.item(q.id); !it.Truncated || it.TotalBytes < 6000 {
			t.Errorf("the answer has made the question whole: %+v", it)
		}
		same := cut.(items.PermissionRequest)
		second := h.ask(again, same, turns.AskOptions{Resumes: true})
		if it := h.item(second.id); it.Status != items.StatusPending {
			t.Errorf("what was shown of a longer command is taken for it: %+v", it)
		}
		h.interrupt(c.TurnID)
		h.ended(c.TurnID)
	})
}
