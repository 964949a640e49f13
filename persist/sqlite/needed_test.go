package sqlite

import (
	"context"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/turns"
)

// waitingTurn writes a log in which a turn has waited for long. It has a tool
// call with a question, a superseded try, text that waits for the next prompt,
// and a queued turn.
func waitingTurn(t *testing.T, s *Store) (m *persisttest.Maker, asked int64) {
	m = persisttest.NewMaker(t, s, "thread_a").Start()
	m.Attempt("turn_a")
	m.Begin("turn_a", "s")
	m.Commit()
	m.Create("turn_a", "item_gone", items.StatusInProgress, items.NewAgentMessage("x"))
	m.Delta("turn_a", "item_gone", "y", 1)
	m.Commit()
	m.Update("turn_a", "item_gone", items.StatusInterrupted, items.NewAgentMessage("xy"))
	m.Rewind("turn_a", "s", turns.CauseStep)
	m.Begin("turn_a", "s")
	m.Create("turn_a", "item_call", items.StatusInProgress, items.ToolCall{Type: items.KindToolCall, Name: "rm"})
	m.Create("turn_a", "item_asks", items.StatusPending, items.PermissionRequest{Type: items.KindPermissionRequest, Title: "may I?"})
	said := items.UserMessage{Type: items.KindUserMessage, Role: "user", Origin: items.OriginClient}
	m.Create("turn_a", "item_said", items.StatusInProgress, said)
	m.QueueTurn("turn_b", 1)
	m.Create("turn_b", "item_input", items.StatusCompleted, said)
	return m, m.Commit().Last
}

// A turn that waits for a person keeps nothing in the log: all that is read of
// it, also after a restart, is in rows.
func TestPruneKeepsNothingForATurnThatWaits(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil { // doctor looks at it
		t.Fatal(err)
	}
	s := running(t, Options{Dir: dir})
	m, asked := waitingTurn(t, s)
	m.Messages("", 100, 10)
	m.Commit()
	read := func() []any {
		l, err := s.reader.Load(ctx, "thread_a")
		if err != nil {
			t.Fatal(err)
		}
		input, err := s.reader.Input(ctx, "turn_a")
		if err != nil {
			t.Fatal(err)
		}
		last, err := s.reader.LastMessage(ctx, "turn_a")
		if err != nil {
			t.Fatal(err)
		}
		turn, err := s.reader.ReadTurn(ctx, turns.TurnQuery{TurnID: "turn_a", IncludeSuperseded: true})
		if err != nil {
			t.Fatal(err)
		}
		script, err := s.reader.Transcript(ctx, "thread_a", 100, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		return []any{l, input, last, turn, script}
	}
	before := read()
	if p, err := s.Prune(ctx, asked+50); err != nil || p.First != asked+50 {
		t.Fatalf("pruned %+v, %v", p, err)
	}
	if after := read(); !reflect.DeepEqual(before, after) {
		t.Errorf("before the prune\n%+v\nafter it\n%+v", before, after)
	}
	// The turn continues, and doctor and refold find nothing wrong.
	m.Delta("turn_a", "item_call", "out", 0)
	delta := m.Commit().Last
	if p, err := s.Prune(ctx, 1<<40); err != nil || p.First != delta {
		t.Fatalf("pruned %+v up to %d, %v", p, delta, err)
	}
	if it, err := s.reader.Item(ctx, "item_call"); err != nil {
		t.Error(err)
	} else if !strings.Contains(string(it.Content), `"out"`) {
		t.Errorf("the item is %s", it.Content)
	}
	list, err := s.reader.Check(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if f.Level == Error {
			t.Errorf("doctor: %+v", f)
		}
	}
	if out, err := persist.Refold(ctx, s.reader); err != nil || len(out.Differences) > 0 {
		t.Errorf("refold %+v, %v", out, err)
	}
}
