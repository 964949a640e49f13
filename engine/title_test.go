package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// titled checks the title of a thread as it is stored.
func (h *harness) titled(thread, want string) {
	h.t.Helper()
	h.updates() // everything is at rest
	got, err := h.reader.ReadThread(bg, thread, 0)
	if err != nil || got.Thread == nil || got.Thread.Title != want {
		h.t.Errorf("%s: %+v, %v, want the title %q", thread, got.Thread, err, want)
	}
}

// says has the agent of a thread set these titles: in a turn, and the last after it.
func (h *harness) says(thread string, titles ...string) {
	h.t.Helper()
	h.start(thread)
	c := h.next(h.agent)
	for _, title := range titles {
		h.emit(c, items.SetThread{Title: title})
	}
	c.end(turns.Completed)
	h.ended(c.TurnID)
	if err := h.engine.Host().Emit(bg, thread, []items.Op{items.SetThread{Title: titles[len(titles)-1] + " after it"}}); err != nil {
		h.t.Errorf("a title after the turn: %v", err)
	}
}

// rename renames a thread.
func (h *harness) rename(thread, title string) turns.RenameThreadResult {
	h.t.Helper()
	r, err := h.engine.ThreadRename(bg, turns.RenameThread{ThreadID: thread, Title: title})
	if err != nil || r.ThreadID != thread {
		h.t.Fatalf("%q: %+v, %v", title, r, err)
	}
	return r
}

// fork forks a thread into another.
func (h *harness) fork(thread, into string) {
	h.t.Helper()
	if _, err := h.engine.ThreadFork(bg, turns.Fork{ThreadID: thread, NewThreadID: into}); err != nil {
		h.t.Fatal(err)
	}
}

func TestATitleThatAClientGaveStays(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		if _, err := h.engine.StartThread(bg, turns.StartThread{ThreadID: "a", Title: "fix b"}); err != nil {
			t.Fatal(err)
		}
		h.says("a", "one", "two")
		h.titled("a", "fix b")
		if u := h.updates(); len(u) != 0 || len(h.notices()) != 0 {
			t.Errorf("titles that are not taken: updates %+v, notices %q", u, h.notices())
		}
		h.restart()
		if _, err := h.store.Prune(bg, 1<<40); err != nil {
			t.Fatal(err)
		}
		h.says("a", "three")
		h.titled("a", "fix b")
		h.fork("a", "b")
		h.says("b", "four")
		h.titled("b", "fix b")
		h.restart()
		h.says("b", "five")
		h.titled("b", "fix b")
		h.fork("b", "c")
		h.says("c", "six")
		h.titled("c", "fix b")
	})
}

// TestWhatElseAnAgentSaysWithATitleIsTaken refuses the title alone.
func TestWhatElseAnAgentSaysWithATitleIsTaken(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		if _, err := h.engine.StartThread(bg, turns.StartThread{ThreadID: "a", Title: "fix b"}); err != nil {
			t.Fatal(err)
		}
		h.start("a")
		c := h.next(h.agent)
		h.emit(c, items.SetThread{Title: "one", AgentSessionID: "s", Config: items.Raw(`{"mode":"x"}`)})
		u := h.updates()
		if len(u) != 1 || u[0].Title != "" || u[0].AgentSessionID != "s" || string(u[0].Config) != `{"mode":"x"}` {
			t.Errorf("updates: %+v", u)
		}
		c.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func TestAThreadWithoutAGivenTitleFollowsItsAgent(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		h.says("a", "one", "two", "one")
		h.titled("a", "one after it")
		h.restart()
		h.says("a", "three")
		h.titled("a", "three after it")
		h.fork("a", "b")
		h.titled("b", "three after it")
		e := h.event(notify.ThreadStarted, func(e event) bool { return e.ThreadID == "b" })
		if started := e.body(t).(*threads.Changed); started.Title != "" {
			t.Errorf("thread/started of the fork says that %q was given", started.Title)
		}
		h.restart()
		h.says("b", "four")
		h.titled("b", "four after it")
		h.titled("a", "three after it")
	})
}

// TestAGivenTitleStaysOverAgents renames a thread that its agent has named. Each harness
// ends with a look whether the log makes the same rows again.
func TestAGivenTitleStaysOverAgents(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		h.says("a", "one")
		r := h.rename("a", "mine")
		e := h.event(notify.ThreadUpdated, func(e event) bool { return e.body(t).(*threads.Updated).TitleBy != "" })
		if u := e.body(t).(*threads.Updated); u.Title != "mine" || u.TitleBy != threads.ByClient || r.Title != "mine" || r.TitleBy != threads.ByClient || r.Seq != e.Seq {
			t.Errorf("%+v; %+v", u, r)
		}
		if again := h.rename("a", "mine"); again != r {
			t.Errorf("the same again: %+v, before %+v", again, r)
		}
		h.says("a", "two", "mine", "three")
		h.titled("a", "mine")
		h.restart()
		if _, err := h.store.Prune(bg, 1<<40); err != nil {
			t.Fatal(err)
		}
		h.says("a", "four")
		h.titled("a", "mine")
		h.fork("a", "b")
		h.says("b", "five")
		h.titled("b", "mine")
		h.rename("b", "another")
		h.titled("b", "another")
	})
}

func TestAnEmptyTitleGivesItBack(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		if _, err := h.engine.StartThread(bg, turns.StartThread{ThreadID: "a", Title: "mine"}); err != nil {
			t.Fatal(err)
		}
		h.says("a", "one")
		h.titled("a", "mine")
		first := h.rename("a", "")
		if first.Title != "" || first.TitleBy != "" {
			t.Errorf("%+v", first)
		}
		h.titled("a", "")
		if again := h.rename("a", ""); again != first {
			t.Errorf("the same again: %+v, before %+v", again, first)
		}
		h.restart()
		h.titled("a", "")
		h.says("a", "two")
		h.titled("a", "two after it")
		if r := h.rename("a", ""); r.Title != "two after it" || r.TitleBy != "" { // it is the agent's
			t.Errorf("%+v", r)
		}
		h.titled("a", "two after it")
	})
}

func TestABadTitleIsRefusedAndChangesNothing(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		h.rename("a", "mine")
		before := len(h.updates())
		for name, title := range map[string]string{"blank": " \t\n", "too long": strings.Repeat("x", turns.MaxTextBytes+1), "not UTF-8": "\xff"} {
			var bad *turns.InvalidError
			if _, err := h.engine.ThreadRename(bg, turns.RenameThread{ThreadID: "a", Title: title}); !errors.As(err, &bad) || bad.Field != "title" {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := h.engine.ThreadRename(bg, turns.RenameThread{ThreadID: "none", Title: "x"}); !errors.Is(err, threads.ErrNotFound) {
			t.Error(err)
		}
		if n := len(h.updates()); n != before {
			t.Errorf("%d updates, %d before", n, before)
		}
		if _, err := h.engine.ChangeThread(bg, turns.ChangeThread{ThreadID: "a", Verb: threads.VerbClose}); err != nil {
			t.Fatal(err)
		}
		if _, err := h.engine.ThreadRename(bg, turns.RenameThread{ThreadID: "a", Title: "x"}); !errors.Is(err, threads.ErrClosed) {
			t.Error(err)
		}
		h.titled("a", "mine")
	})
}
