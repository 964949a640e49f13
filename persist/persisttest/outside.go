package persisttest

import (
	"context"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/turns"
)

func userMessage(text string) items.UserMessage {
	return items.UserMessage{
		Type: items.KindUserMessage, Role: "user", Origin: items.OriginClient, Content: []items.Part{{Type: items.PartText, Text: text}},
	}
}

func withoutTurn(t *testing.T, h Harness) {
	ctx := context.Background()
	m := NewMaker(t, h.Store, "thread_a").Start()
	m.Create("", "item_before", items.StatusCompleted, items.NewAgentMessage("before"))
	m.Commit()
	m.StartTurn("turn_a")
	m.Create("turn_a", "item_in", items.StatusCompleted, items.NewAgentMessage("in"))
	m.EndTurn("turn_a")
	m.Create("", "item_after", items.StatusCompleted, items.NewNotice("info", "after"))
	m.Commit()
	it, _, err := h.Store.ReadItem(ctx, "item_after")
	if err != nil || it == nil || it.TurnID != "" || it.Attempt != 0 || it.Status != items.StatusCompleted {
		t.Errorf("item of no turn: %+v, %v", it, err)
	}
	if id, err := h.Store.ItemThread(ctx, "item_before"); err != nil || id != "thread_a" {
		t.Errorf("its thread is %q, %v", id, err)
	}
	for want, q := range map[string]items.Query{
		"item_before item_in item_after": {ThreadID: "thread_a"},
		"item_in":                        {TurnID: "turn_a"},
		"item_after":                     {Type: items.KindNotice},
	} {
		l, err := h.Store.ListItems(ctx, q)
		if got := ids(l.Rows); err != nil || got != want {
			t.Errorf("list of %+v: %s, %v", q, got, err)
		}
	}
	if l, err := h.Store.Load(ctx, "thread_a"); err != nil || len(l.Items) != 0 {
		t.Errorf("load: %+v, %v", l.Items, err)
	}
	if out, err := persist.Refold(ctx, h.Store); err != nil || len(out.Differences) > 0 {
		t.Errorf("refold: %+v, %v", out, err)
	}
}

func ids(rows []items.Item) string {
	var all []string
	for i := range rows {
		all = append(all, rows[i].ItemID)
	}
	return strings.Join(all, " ")
}

func transcript(t *testing.T, h Harness) {
	ctx := context.Background()
	m := NewMaker(t, h.Store, "thread_a").Start()
	m.StartTurn("turn_a")
	m.Create("turn_a", "item_ask", items.StatusCompleted, userMessage("ask"))
	m.Create("turn_a", "item_gone", items.StatusCompleted, items.NewAgentMessage("gone"))
	m.Add(notify.ItemDeleted, "turn_a", "item_gone", &items.Deleted{ItemID: "item_gone", Type: "deleted", Status: items.StatusDeleted})
	m.Create("turn_a", "item_tool", items.StatusCompleted, items.ToolCall{Type: items.KindToolCall, Output: "x"})
	m.Create("turn_a", "item_lost", items.StatusInProgress, userMessage("lost"))
	m.Update("turn_a", "item_lost", items.StatusInterrupted, userMessage("lost"))
	m.Create("turn_a", "item_answer", items.StatusInProgress, items.NewAgentMessage("ans"))
	m.Delta("turn_a", "item_answer", "wer", 3)
	m.QueueTurn("turn_b", 1)
	m.Create("turn_b", "item_next", items.StatusCompleted, userMessage("next"))
	m.Create("", "item_late", items.StatusCompleted, items.NewAgentMessage("late"))
	m.Commit()
	NewMaker(t, h.Store, "thread_b").Start().Commit()
	read := func(limit, maxBytes int) string {
		t.Helper()
		list, err := h.Store.Transcript(ctx, "thread_a", limit, maxBytes)
		if err != nil {
			t.Fatal(err)
		}
		rows := make([]items.Item, len(list))
		for i, it := range list {
			if it.ItemID == "item_answer" && textOf(t, it) != "answer" {
				t.Errorf("the open message is %s", it.Content)
			}
			rows[i] = *it
		}
		return ids(rows)
	}
	if got, want := read(10, 1<<20), "item_late item_answer item_ask"; got != want {
		t.Errorf("transcript %q, want %q", got, want)
	}
	if got, want := read(2, 1<<20), "item_late item_answer"; got != want {
		t.Errorf("two messages: %q", got)
	}
	if got := read(10, 100); got != "item_late" {
		t.Errorf("100 bytes: %q", got)
	}
	if list, err := h.Store.Transcript(ctx, "thread_none", 10, 1<<20); err != nil || len(list) != 0 {
		t.Errorf("of no thread: %v, %v", list, err)
	}
}

func lastMessage(t *testing.T, h Harness) {
	m := NewMaker(t, h.Store, "thread_a").Start()
	m.StartTurn("turn_old")
	m.Create("turn_old", "item_old", items.StatusCompleted, items.NewAgentMessage("of another turn"))
	m.EndTurn("turn_old")
	m.StartTurn("turn_a")
	is := func(id, text string) {
		t.Helper()
		m.Commit()
		switch it, err := h.Store.LastMessage(context.Background(), "turn_a"); {
		case err != nil || (it != nil) != (id != ""):
			t.Errorf("the last message is %+v, %v, want %q", it, err, id)
		case it != nil && (it.ItemID != id || textOf(t, it) != text):
			t.Errorf("the last message is %s %s, want %s %q", it.ItemID, it.Content, id, text)
		}
	}
	m.Create("turn_a", "item_ask", items.StatusCompleted, userMessage("ask"))
	is("", "")
	m.Create("turn_a", "item_a", items.StatusInProgress, items.NewAgentMessage("a"))
	m.Delta("turn_a", "item_a", "nswer", 1)
	is("item_a", "answer")
	m.Create("turn_a", "item_empty", items.StatusInProgress, items.NewAgentMessage(" "))
	m.Create("turn_a", "item_tool", items.StatusCompleted, items.ToolCall{Type: items.KindToolCall, Output: "x"})
	m.Create("", "item_outside", items.StatusCompleted, items.NewAgentMessage("outside of the turn"))
	is("item_a", "answer")
	m.Create("turn_a", "item_b", items.StatusCompleted, items.NewAgentMessage("b"))
	is("item_b", "b")
	m.Add(notify.ItemDeleted, "turn_a", "item_b", &items.Deleted{ItemID: "item_b", Type: "deleted", Status: items.StatusDeleted})
	is("item_a", "answer")
	if it, err := h.Store.LastMessage(context.Background(), "turn_none"); it != nil || err != nil {
		t.Errorf("of no turn: %+v, %v", it, err)
	}
}

func lastTurn(t *testing.T, h Harness) {
	ctx := context.Background()
	m := NewMaker(t, h.Store, "thread_a").Start()
	last := func(want string) {
		t.Helper()
		m.Commit()
		tn, err := h.Store.LastTurn(ctx, "thread_a")
		got := ""
		if tn != nil {
			got = tn.TurnID
		}
		if err != nil || got != want {
			t.Errorf("last turn %q, %v; want %q", got, err, want)
		}
	}
	last("")
	m.StartTurn("turn_a")
	last("")
	m.QueueTurn("turn_b", 1)
	m.QueueTurn("turn_c", 0) // overtakes
	m.EndTurn("turn_a")
	last("turn_a")
	m.StartTurn("turn_c")
	m.EndTurn("turn_c")
	m.StartTurn("turn_b")
	m.EndTurn("turn_b")
	last("turn_b")
	m.QueueTurn("turn_d", 1)
	m.Add(notify.TurnInterrupted, "turn_d", "", &turns.EndedEvent{Type: "interrupted", State: turns.Interrupted})
	last("turn_b") // turn_d never ran
}
