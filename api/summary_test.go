package api

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/worktree"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// glances answers summaries, and keeps what was asked for.
type glances struct {
	*family
	asked  []turns.SummaryQuery
	latest int64
	fresh  int // how many it has made
	agent  string
	state  threads.State
}

func (g *glances) Summaries(_ context.Context, q turns.SummaryQuery) (l turns.SummaryList, err error) {
	g.asked = append(g.asked, q)
	s := turns.Summarized{Thread: threads.Thread{ThreadID: "own", Agent: g.agent, State: g.state, LatestSeq: g.latest}}
	if known, at := q.Known("own"); known != nil && at == g.latest {
		s.Summary = *known
	} else {
		g.fresh++
		s.Summary = turns.Summary{Status: turns.SummaryIdle, Text: fmt.Sprint("text ", g.fresh)}
	}
	s.Summary.Children.Total = len(g.asked)
	if q.Consumer != "" {
		s.Summary.SeenSeq = 4
	}
	l.Rows, l.Next, l.Latest = append(l.Rows, s), "7", 9
	if q.Counts {
		l.Counts = &turns.StatusCounts{NeedsYou: 3}
	}
	return l, nil
}

func (g *glances) ReadThread(ctx context.Context, id string, limit int) (turns.ThreadSnapshot, error) {
	if g.state == "" {
		return g.family.ReadThread(ctx, id, limit)
	}
	return turns.ThreadSnapshot{Thread: &threads.Thread{ThreadID: "own", Agent: g.agent, State: g.state, LatestSeq: g.latest}}, nil
}

func (g *glances) Children(context.Context, string) (turns.Children, error) {
	return turns.Children{}, nil
}

func newGlances(t *testing.T) (*API, *glances) {
	t.Helper()
	a, f, _ := newFamily(t)
	g := &glances{family: f, latest: 1}
	a.Reader, a.InboxReader = g, nil
	return a, g
}

func TestThreadsAreListedWithTheirSummaries(t *testing.T) {
	a, g := newGlances(t)
	list := func(params string) *ThreadListResult {
		t.Helper()
		rep, _ := a.Call(context.Background(), "thread/list", jsontext.Value(params), Call{})
		var r ThreadListResult
		if rep.Err == nil {
			_ = json.Unmarshal(rep.Result, &r) // an empty result fails below
		}
		if rep.Err != nil || len(r.Threads) != 1 || r.NextCursor != "7" || r.LatestSeq != 9 {
			t.Fatalf("%s, %v", rep.Result, rep.Err)
		}
		return &r
	}
	first := list(`{"view":"summary","thread_ids":["own","x"],"state":"running","agent":"echo","cursor":"3","limit":5,"order":"desc"}`)
	want := threads.Query{IDs: []string{"own", "x"}, State: threads.Running, Agent: "echo", Cursor: "3", Limit: 5, Newest: true}
	if q := g.asked[0]; !reflect.DeepEqual(q.Query, want) || q.Consumer != "seen:owner" {
		t.Errorf("asked for %+v", q)
	}
	if s := first.Threads[0].Summary; s.Text != "text 1" || s.SeenSeq != 4 || s.Children.Total != 1 {
		t.Errorf("%+v", s)
	}
	if s := list(`{"view":"summary"}`).Threads[0].Summary; s.Text != "text 1" || s.Children.Total != 2 {
		t.Errorf("the thread is as it was: %+v", s)
	}
	g.latest = 2
	if s := list(`{"view":"summary"}`).Threads[0].Summary; s.Text != "text 2" || g.fresh != 2 {
		t.Errorf("the thread has changed: %+v", s)
	}
}

func TestBadListsOfThreadsAreRefused(t *testing.T) {
	a, g := newGlances(t)
	for params, field := range map[string]string{
		`{"view":"full"}`:    "view",
		`{"view":"Summary"}`: "view",
		`{"view":1}`:         "view",
		`{"thread_ids":["` + strings.Repeat(`a","`, maxListedThreads) + `b"]}`: "thread_ids",
		`{"thread_ids":"a"}`:                            "thread_ids",
		`{"status":["done"]}`:                           "status",
		`{"text":"x"}`:                                  "text",
		`{"view":"summary","status":"done"}`:            "status",
		`{"view":"summary","status":["idle"]}`:          "status[0]",
		`{"view":"summary","status":["done","Failed"]}`: "status[1]",
		`{"view":"summary","status":[` + strings.Repeat(`"done",`, 5) + `"done"]}`: "status",
		`{"view":"summary","text":7}`:                                            "text",
		`{"view":"summary","text":"` + strings.Repeat("x", maxListText+1) + `"}`: "text",
		`{"counts":"yes"}`: "counts",
	} {
		rep, _ := a.Call(context.Background(), "thread/list", jsontext.Value(params), Call{})
		if rep.Err == nil || rep.Err.Data.Kind != KindInvalidParams || rep.Err.Data.Field != field {
			t.Errorf("%.60s: %v", params, rep.Err)
		}
	}
	if len(g.asked) != 0 {
		t.Errorf("%d lists were read", len(g.asked))
	}
}

func TestAgentsSeeNoCursorOfAPerson(t *testing.T) {
	a, g := newGlances(t)
	ctx := WithConn(WithAgent(context.Background(), tokens.Agent{ThreadID: "own"}), &noConn{})
	rep, _ := a.Call(ctx, "thread/read", jsontext.Value(`{"thread_id":"own"}`), Call{OnConnection: true})
	if rep.Err != nil || !strings.Contains(string(rep.Result), `"seen_seq":0`) || g.asked[0].Consumer != "" {
		t.Errorf("%s, %v", rep.Result, rep.Err)
	}
}

func TestSummariesAreKeptWithinABound(t *testing.T) {
	c := &summaryCache{}
	put := func(id string, at int64) {
		s := turns.Summarized{Thread: threads.Thread{ThreadID: id, LatestSeq: at}}
		s.Summary = turns.Summary{Text: fmt.Sprint(at), SeenSeq: 3, Children: turns.ChildCounts{Total: 2}}
		c.put(&s)
	}
	put("a", 5)
	put("a", 4) // of a slower read
	if s, at := c.get("a"); at != 5 || !reflect.DeepEqual(*s, turns.Summary{Text: "5"}) {
		t.Errorf("%+v at %d", s, at)
	}
	for i := range 3 * maxSummaries {
		put(fmt.Sprint("thread_", i), 1)
		if n := len(c.of); n > maxSummaries {
			t.Fatalf("%d are kept", n)
		}
	}
	if _, at := c.get(fmt.Sprint("thread_", 3*maxSummaries-1)); at != 1 {
		t.Error("the newest is not kept")
	}
}

// trees knows every directory, and keeps what was asked.
type trees struct{ asked []string }

func (w *trees) Peek(dir string) *worktree.State { return &worktree.State{Branch: dir} }

func (w *trees) Get(dir string) *worktree.State {
	w.asked = append(w.asked, dir)
	return &worktree.State{Branch: dir}
}

func TestGitIsAskedAboutTheDirectoriesOfOpenThreads(t *testing.T) {
	w := &trees{}
	h := &Handlers{api: &API{Services: Services{Worktrees: w, Directory: func(_, cwd string) string { return cwd }}}}
	rows := []turns.Summarized{
		{Thread: threads.Thread{Cwd: "/old", LatestSeq: 3, State: threads.Running}},
		{Thread: threads.Thread{Cwd: "/new", LatestSeq: 1, State: threads.Paused}},
		{Thread: threads.Thread{Cwd: "/new", LatestSeq: 9, State: threads.Running}},
		{Thread: threads.Thread{Cwd: "/closed", LatestSeq: 8, State: threads.Closed}},
		{Thread: threads.Thread{LatestSeq: 7, State: threads.Running}},
	}
	git := func() map[string]*worktree.State { return h.gitOf(rows, h.directoriesOf(rows)) }
	if got := git(); len(got) != 2 || got["/new"].Branch != "/new" || !slices.Equal(w.asked, []string{"/new", "/old"}) {
		t.Errorf("asked about %q: %v", w.asked, got)
	}
	for i := range 200 {
		rows = append(rows, turns.Summarized{Thread: threads.Thread{Cwd: fmt.Sprint("/", i), LatestSeq: int64(10 + i)}})
	}
	w.asked = nil
	if got := git(); len(got) != maxGitDirectories || len(w.asked) != maxGitDirectories || w.asked[0] != "/199" {
		t.Errorf("asked about %d: %q", len(w.asked), w.asked)
	}
	h.api.Worktrees = nil
	if got := git(); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// Where threads without a cwd work is looked up once for an agent, and their directories
// count in the bound as all others.
func TestThreadsWithoutACwdShowWhereTheirAgentWorks(t *testing.T) {
	a, g := newGlances(t)
	w, looked := &trees{}, 0
	a.Worktrees = w
	a.Directory = func(agent, cwd string) string {
		looked++
		if agent == "nowhere" {
			return cwd
		}
		return cmp.Or(cwd, "/of/"+agent)
	}
	h := &Handlers{api: a}
	var rows []turns.Summarized
	for i := range 1000 {
		rows = append(rows, turns.Summarized{Thread: threads.Thread{Agent: []string{"a", "b", "nowhere"}[i%3], LatestSeq: int64(i)}})
	}
	rows = append(rows, turns.Summarized{Thread: threads.Thread{Agent: "nowhere", Cwd: "/own"}})
	dirs := h.directoriesOf(rows)
	if got := []string{dirs[0], dirs[1], dirs[2], dirs[999], dirs[1000]}; !slices.Equal(got, []string{"/of/a", "/of/b", "", "/of/a", "/own"}) || looked != 4 {
		t.Errorf("directories %q after %d look-ups", got, looked)
	}
	if h.gitOf(rows, dirs); !slices.Equal(w.asked, []string{"/of/a", "/of/b", "/own"}) {
		t.Errorf("git is asked about %q", w.asked)
	}
	g.agent = "a"
	for method, params := range map[string]string{"thread/list": `{"view":"summary"}`, "thread/read": `{"thread_id":"own"}`} {
		rep, _ := a.Call(context.Background(), method, jsontext.Value(params), Call{})
		if rep.Err != nil || !strings.Contains(string(rep.Result), `"cwd":"/of/a","git":{"branch":"/of/a"`) {
			t.Errorf("%s: %s, %v", method, rep.Result, rep.Err)
		}
	}
}

// boxes has the inbox of one thread, and the policy of an agent.
type boxes struct {
	*familyEngine
	box  inbox.Inbox
	wake inbox.Wake // the default
}

func (b *boxes) InboxRows(context.Context, []string) (map[string]*inbox.Inbox, error) {
	return map[string]*inbox.Inbox{"own": &b.box}, nil
}

func (b *boxes) InboxOf(context.Context, string) (inbox.Overview, error) {
	return inbox.Overview{Inbox: &b.box}, nil
}

func (b *boxes) PolicySet(_ string, set inbox.Policy) inbox.PolicySet {
	return inbox.PolicySet{Thread: set}
}

func (b *boxes) Policy(_ string, set inbox.Policy) inbox.Policy { return set.Settings(b.wake).Policy() }

// What keeps a thread from being woken is in its summary, and in no cache: it changes with
// the configuration, and with time.
func TestSummariesSayWhatKeepsAThreadFromBeingWoken(t *testing.T) {
	a, g := newGlances(t)
	b := &boxes{box: inbox.Inbox{NewEntries: 3, Stalled: inbox.StallSilent, StalledAt: 1_700_000_000_000}, wake: inbox.WakeIdle}
	a.InboxReader, a.Inboxes, g.state = b, b, threads.Running
	check := func(what, want string) {
		t.Helper()
		for method, params := range map[string]string{
			"thread/list": `{"view":"summary"}`, "thread/read": `{"thread_id":"own"}`, "thread/read with its inbox": `{"thread_id":"own","include_inbox":true}`,
		} {
			rep, _ := a.Call(context.Background(), strings.Fields(method)[0], jsontext.Value(params), Call{})
			var r struct {
				Thread  *ThreadView
				Threads []ThreadView
			}
			if err := json.Unmarshal(rep.Result, &r, json.MatchCaseInsensitiveNames(true)); err != nil || rep.Err != nil || len(r.Threads) != 1 && r.Thread == nil {
				t.Fatalf("%s: %s, %v, %v", method, rep.Result, rep.Err, err)
			}
			if r.Thread == nil {
				r.Thread = &r.Threads[0]
			}
			got, _ := json.Marshal(r.Thread.Summary.Wakes)
			if string(got) != want {
				t.Errorf("%s, %s: %s, want %s", what, method, got, want)
			}
		}
	}
	check("silent", `{"state":"stalled","reason":"silent","since":"2023-11-14T22:13:20.000Z","waiting":3}`)
	b.wake = inbox.WakeNone
	check("another configuration", "null")
	b.box.Policy.Wake = inbox.WakeIdle
	b.box.Stalled, b.box.WakeAt = inbox.StallRate, time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	check("rate", `{"state":"stalled","reason":"rate","since":"2023-11-14T22:13:20.000Z","until":"2200-01-01T00:00:00.000Z","waiting":3}`)
	b.box.WakeAt = time.Now().UnixMilli()
	check("its time is over", "null")
	g.state = threads.Closed
	b.box.Stalled = inbox.StallChain
	check("closed", "null")
	if g.fresh != 1 {
		t.Errorf("%d summaries were made, want 1: the others are kept", g.fresh)
	}
}
