package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/worktree"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// branches knows directories, and fails if one is asked to be read.
type branches struct {
	t  *testing.T
	of map[string]string
}

func (w *branches) Peek(dir string) *worktree.State {
	if w.of[dir] == "" {
		return nil
	}
	return &worktree.State{Branch: w.of[dir]}
}

func (w *branches) Get(dir string) *worktree.State {
	w.t.Errorf("a filter asks for %s to be read", dir)
	return nil
}

func TestTextMatchesWhatASummaryShows(t *testing.T) {
	looked := 0
	h := &Handlers{api: &API{Services: Services{
		Worktrees: &branches{t, map[string]string{"/src/holon": "Fix-Login"}},
		Directory: func(agent, cwd string) string {
			looked++
			if cwd == "" && agent == "claude" {
				return "/src/holon"
			}
			return cwd
		},
	}}}
	if h.matching("") != nil || h.matching(" \t\n") != nil {
		t.Error("no words leave out threads")
	}
	row := threads.Thread{ThreadID: "thread_7f3", Agent: "claude", State: threads.Running}
	closed := row
	closed.State = threads.Closed
	other := threads.Thread{ThreadID: "thread_8", Agent: "echo", Cwd: "/tmp/Other"}
	made := threads.Thread{ThreadID: "thread_01a21cd5-2ff2-7e16-bf93-8f4618952026", Agent: "echo"}
	for _, c := range []struct {
		text string
		t    threads.Thread
		want bool
	}{
		{"tests", row, true}, {"TESTS fix", row, true}, {"fix paint", row, false}, {"7F3", row, true}, {"clau", row, true},
		{"src/holon", row, true}, {"fix-login", row, true}, {"FIX-LOGIN", closed, false}, {"other", other, true}, {"login", other, false},
		{"18952026", made, true}, {"tests 2026", made, true}, {"tests 20", made, false}, {"thread", made, false},
		{"tests\nclaude", row, true}, {"é", row, false}, {"running", row, false},
	} {
		if got := h.matching(c.text)(&c.t, "Fix the Tests"); got != c.want {
			t.Errorf("%q of %s: %v", c.text, c.t.ThreadID, got)
		}
	}
	looked = 0
	m := h.matching("x")
	for range 1000 {
		m(&row, "")
	}
	if looked != 1 {
		t.Errorf("the directory of an agent was looked up %d times", looked)
	}
}

func TestListsAskForStatusesAndCounts(t *testing.T) {
	a, g := newGlances(t)
	list := func(ctx context.Context, params string) *ThreadListResult {
		t.Helper()
		rep, _ := a.Call(ctx, "thread/list", jsontext.Value(params), Call{OnConnection: true})
		r := new(ThreadListResult)
		if rep.Err != nil || json.Unmarshal(rep.Result, r) != nil {
			t.Fatalf("%s: %s, %v", params, rep.Result, rep.Err)
		}
		return r
	}
	ctx := context.Background()
	r := list(ctx, `{"view":"summary","status":["needs_you","failed"],"text":"own","counts":true}`)
	q := g.asked[0]
	if !slices.Equal(q.Statuses, []turns.ListStatus{turns.ListNeedsYou, turns.ListFailed}) || !q.Counts || q.Memory == nil ||
		!slices.Equal(q.Uncounted, []string{"mine"}) || !q.Matches(&threads.Thread{ThreadID: "own"}, "") || q.Matches(&threads.Thread{}, "") {
		t.Errorf("asked for %+v", q)
	}
	if r.Counts == nil || r.Counts.NeedsYou != 3 || len(r.Threads) != 1 {
		t.Errorf("%+v", r)
	}
	if r = list(ctx, `{"view":"summary"}`); r.Counts != nil || g.asked[1].Matches != nil || g.asked[1].Counts {
		t.Errorf("%+v for %+v", r, g.asked[1])
	}
	// Without the view the rows are as ever, and the counts of all threads that pass.
	r = list(ctx, `{"counts":true,"agent":"echo","state":"running","thread_ids":["own"]}`)
	if q = g.asked[2]; r.Counts == nil || q.IDs == nil || len(q.IDs) != 0 || q.Agent != "echo" || q.State != threads.Running {
		t.Errorf("%+v for %+v", r, q)
	}
}

func TestALimitedTokenCountsItsThreads(t *testing.T) {
	a, g := newGlances(t)
	ctx := WithConn(WithToken(context.Background(), Token{Name: "phone", Role: tokens.RoleRead, ThreadIDs: []string{"own"}}), &noConn{})
	for i, params := range []string{`{"view":"summary","counts":true}`, `{"counts":true}`} {
		if rep, _ := a.Call(ctx, "thread/list", jsontext.Value(params), Call{OnConnection: true}); rep.Err != nil {
			t.Fatal(rep.Err)
		}
		wantMembers(t, params, g.asked[i].Within, "own", "child", "grandchild")
	}
}

func TestTitlesAreRememberedWithinABound(t *testing.T) {
	m := &titles{}
	m.Put("a", turns.Remembered{Prompt: "Fix it"})
	m.Put("a", turns.Remembered{Failed: true, At: 7})  // of a read that did not look for the prompt
	m.Put("a", turns.Remembered{Failed: false, At: 5}) // of a slower read
	if got := m.Get("a"); got != (turns.Remembered{Prompt: "Fix it", Failed: true, At: 7}) {
		t.Errorf("%+v", got)
	}
	for i := range 2 * maxTitles {
		m.Put(fmt.Sprint("thread_", i), turns.Remembered{Prompt: strings.Repeat("x", i%80)})
		if n := len(m.of); n > maxTitles {
			t.Fatalf("%d are kept", n)
		}
	}
	if got := m.Get(fmt.Sprint("thread_", 2*maxTitles-1)); got.Prompt == "" {
		t.Error("the newest is not kept")
	}
	if c := m.count(); c.Hits != 2 || c.Misses != 0 || c.Entries != len(m.of) {
		t.Errorf("%+v", c)
	}
}
