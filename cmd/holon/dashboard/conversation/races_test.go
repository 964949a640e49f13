package conversation

import (
	"fmt"
	"slices"
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// longThread is the page of a thread of 300 messages.
func longThread(t *testing.T) *page {
	p := newPage(t, 80, 24)
	for i := range 300 {
		p.stored(fmt.Sprintf("i%d", i), "completed", said(fmt.Sprintf("message %d.", i)))
	}
	return p.open()
}

// The page before the end that was asked for first belongs to what is no longer held once
// the beginning is there.
func TestAnOlderPageThatComesBehindTheBeginningIsDropped(t *testing.T) {
	p := longThread(t)
	p.slow = true
	p.keys("<esc>")
	for range 10 {
		p.keys("<pgup>")
	}
	older := p.kept
	p.kept = nil
	p.keys("g")
	p.answerAll()
	p.shows("message 0.")
	for _, call := range older {
		p.send(p.answer(call))
	}
	if len(older) == 0 || p.m.history.older != "" || len(p.m.history.entries) != itemsPage {
		t.Errorf("%d answers came late: %d blocks are held, and before them %q", len(older), len(p.m.history.entries), p.m.history.older)
	}
}

// A thread that is read again asks for the threads below, also if answers of before are
// missing.
func TestThreadsBelowAreAskedForInEachRound(t *testing.T) {
	p := longThread(t)
	p.slow = true
	p.send(screen.Below{})
	p.later(childrenEvery)
	p.kept = nil // they never come
	p.below = []object{child("tests", thread, 1, "idle", 400)}
	p.slow = false
	p.send(Reopened{})
	p.shows("├ child the tests")
}

// A thread below that gets a child turn is one line: that of the turn.
func TestAThreadBelowWithATurnIsOneLine(t *testing.T) {
	p := newPage(t, 80, 24)
	p.below = []object{child("docs", thread, 1, "idle", 1)}
	p.seq = 1
	p.open()
	p.shows("├ child the docs")
	p.kids = []object{{"turn_id": "t9", "thread_id": "docs", "title": "read the docs", "state": "active", "started_at": start, "created_seq": 2}}
	p.send(screen.Below{})
	p.later(childrenEvery)
	p.shows("├ child read the docs")
	p.hides("├ child the docs")
}

// What began behind the part that is held is not put at its end.
func TestAChildBehindWhatIsHeldIsNotShown(t *testing.T) {
	p := longThread(t)
	p.keys("<esc>", "g")
	p.below = []object{child("tests", thread, 1, "idle", 299)}
	p.send(screen.Below{})
	p.later(childrenEvery)
	if slices.ContainsFunc(p.m.history.entries, func(e *entry) bool { return e.child != nil }) {
		t.Error("a child is held that began behind what is held")
	}
}

// Turns of the beginning are held within a bound.
func TestTurnsOfTheBeginningAreBounded(t *testing.T) {
	p := longThread(t)
	for i := range 4 * keptTurns {
		p.turns = append(p.turns, object{"turn_id": fmt.Sprintf("t%d", i), "thread_id": thread, "state": "completed", "created_seq": i, "updated_seq": i})
	}
	p.keys("<esc>", "g")
	if n := len(p.m.turns.early); n != keptTurns {
		t.Errorf("%d turns are held", n)
	}
}

// A page of turns that could not be read is asked for again: without it the ends of turns
// would be missing.
func TestTurnsThatCouldNotBeReadAreAskedForAgain(t *testing.T) {
	p := longThread(t)
	p.keys("<esc>")
	p.m.turns.older = "7"
	p.slow = true
	asks := func(cursor string) {
		t.Helper()
		p.kept = nil
		for range 10 {
			p.keys("<pgup>")
		}
		i := slices.IndexFunc(p.kept, func(c screen.Call) bool { return c.Method == "turn/list" })
		if i < 0 || p.kept[i].Params.(map[string]any)["cursor"] != cursor {
			t.Fatalf("no turns are asked for: %v", p.kept)
		}
	}
	asks("7")
	kept := p.kept
	for _, call := range kept {
		done := p.answer(call)
		if call.Method == "turn/list" {
			done.Err = fmt.Errorf("it is locked")
		}
		p.send(done)
	}
	asks("7")
}
