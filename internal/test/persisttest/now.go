package persisttest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// nowOf follows what a thread is said to do.
func nowOf(t *testing.T, h Harness) {
	m := NewMaker(t, h.Store, "thread_a").Start()
	want := func(text string) {
		t.Helper()
		m.Commit()
		if got := summaryOf(t, h.Store, "thread_a").Text; got != text {
			t.Fatalf("%q, want %q", got, text)
		}
	}
	progress := func(text string) {
		m.Add(notify.TurnProgress, "turn_a", "", &turns.ProgressEvent{Type: "progress", State: turns.Running, Message: text})
	}
	m.Attempt("turn_a")
	want("")
	progress("step 1 of 3")
	want("step 1 of 3")
	m.Create("turn_a", "item_read", items.StatusCompleted, items.ToolCall{Type: items.KindToolCall, Title: "Read", Locations: []items.Location{{Path: "a.go", Line: 3}}})
	want("Read: a.go:3") // it is newer than the progress
	progress("step 2 of 3")
	want("step 2 of 3")
	m.Create("turn_a", "item_note", items.StatusCompleted, items.NewNotice("info", "nothing that the agent says"))
	want("step 2 of 3")
	m.Create("turn_a", "item_say", items.StatusInProgress, items.NewAgentMessage("First.\nI look"))
	want("I look")
	for i := range 900 {
		m.Delta("turn_a", "item_say", fmt.Sprint(" ", i), 0)
	}
	m.Commit()
	if got := summaryOf(t, h.Store, "thread_a").Text; len([]rune(got)) != turns.MaxSummaryText || !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, " 898 899") {
		t.Fatalf("the end of a long line: %q", got)
	}
	m.Delta("turn_a", "item_say", "\n\nThen I r", 0)
	m.Delta("turn_a", "item_say", "un the tests", 0)
	want("Then I run the tests")
	for range 300 { // longer than what is read at first
		m.Delta("turn_a", "item_say", "\n---\n", 0)
	}
	want("Then I run the tests")
	m.Update("turn_a", "item_say", items.StatusInProgress, items.NewAgentMessage("All of it\n"))
	m.Delta("turn_a", "item_say", "\n```", 0)
	want("All of it")
	m.Create("turn_a", "item_run", items.StatusInProgress, items.CommandExecution{Type: items.KindCommandExecution, Title: "Run", Command: "go test ./..."})
	want("All of it") // the message is open
	k := &actor{Maker: m}
	k.finish("item_say")
	want("Run: go test ./...")
	k.finish("item_run")
	want("Run: go test ./...") // the newest that there was
	m.Create("turn_a", "item_last", items.StatusCompleted, items.NewAgentMessage("The first line.\nThe second."))
	want("The second.")
	m.EndTurn("turn_a")
	want("The first line. The second.")
	m.Attempt("turn_b") // nothing of the turn before is what this one does
	want("")
}

// titlesOf follows what threads are called that nobody has given a title.
func titlesOf(t *testing.T, h Harness) {
	const generated = "thread_0193a1b2-0000-7000-8000-000000000001"
	want := func(m *Maker, title, text string) {
		t.Helper()
		m.Commit()
		if got := summaryOf(t, h.Store, m.ID); got.Title != title || got.Text != text {
			t.Fatalf("%s: %q, %q; want %q, %q", m.ID, got.Title, got.Text, title, text)
		}
	}
	wake := func(m *Maker, turn, item string, entries int) {
		m.Attempt(turn)
		c := userMessage("Your inbox has news")
		c.Origin = items.OriginWake
		for range entries {
			c.Entries = append(c.Entries, items.ToldEntry{})
		}
		m.Create(turn, item, items.StatusCompleted, c)
	}
	for i, id := range []string{"me", generated} {
		m := NewMaker(t, h.Store, id)
		m.Add(notify.ThreadStarted, "", "", &threads.Changed{Type: "started", State: threads.Running, Agent: "echo", StartedAt: notify.TimeOf(m.clock)})
		title := []string{"me", ""}[i]
		want(m, title, "")
		turn, item := fmt.Sprint("turn_", i), fmt.Sprint("item_", i)
		wake(m, turn, item, 2)
		want(m, title, "woken by 2 entries")
		m.EndTurn(turn)
		m.Attempt(turn + "b")
		m.Create(turn+"b", item+"b", items.StatusCompleted, userMessage("Fix it"))
		want(m, "Fix it", "")
		m.Add(notify.ThreadUpdated, "", "", &threads.Updated{Type: "updated", Title: "Of the agent"})
		want(m, "Of the agent", "")
	}
}
