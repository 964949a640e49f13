package engine_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// local is an agent that works in a directory, "" = its directory is gone.
type local struct {
	agentFunc
	dir string
}

func (l local) Directory(cwd string) (string, error) {
	if l.dir == "" {
		return "", errors.New("it is gone")
	}
	return cmp.Or(cwd, l.dir), nil
}

func TestDirectoryIsWhereTheAgentWorks(t *testing.T) {
	agents := []turns.Agent{local{agentFunc{"in", nil}, "/src"}, local{agentFunc{"gone", nil}, ""}, agentFunc{"nowhere", nil}}
	bubble(t, setup{agents: agents}, func(h *harness) {
		for _, c := range [][3]string{
			{"in", "", "/src"}, {"in", "/own", "/own"}, {"gone", "", ""}, {"gone", "/own", "/own"},
			{"nowhere", "", ""}, {"nowhere", "/own", "/own"}, {"removed", "", ""}, {"removed", "/own", "/own"},
		} {
			if got := h.engine.Directory(c[0], c[1]); got != c[2] {
				t.Errorf("%s with the cwd %q works in %q, want %q", c[0], c[1], got, c[2])
			}
		}
	})
}

// isMissing reports whether an error says that the server has no such directory.
func isMissing(err error) bool {
	var bad *turns.InvalidError
	return errors.As(err, &bad) && bad.Field == "cwd" && bad.Reason == turns.ReasonNoDirectory
}

func TestAMissingDirectoryLeavesNoThread(t *testing.T) {
	here := t.TempDir()
	file, gone := filepath.Join(here, "file"), filepath.Join(here, "gone")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Mkdir(gone, 0o700)); err != nil {
		t.Fatal(err)
	}
	agents := []turns.Agent{local{agentFunc{"in", nil}, "/src"}, agentFunc{"nowhere", nil}}
	bubble(t, setup{agents: agents}, func(h *harness) {
		start := func(c turns.StartThread) (turns.StartThreadResult, error) { return h.engine.StartThread(bg, c) }
		for _, dir := range []string{filepath.Join(here, "none"), file, filepath.Join(file, "below")} {
			if r, err := start(turns.StartThread{ThreadID: "refused", Agent: "in", Cwd: dir}); !isMissing(err) {
				t.Errorf("%s: %+v, %v", dir, r, err)
			}
			if got, err := h.reader.ReadThread(bg, "refused", 0); err != nil || got.Thread != nil {
				t.Fatalf("%s has left %+v, %v", dir, got.Thread, err)
			}
		}
		if _, err := start(turns.StartThread{ThreadID: "far", Agent: "nowhere", Cwd: filepath.Join(here, "none")}); err != nil {
			t.Errorf("an agent that does not work here: %v", err)
		}
		keyed := turns.StartThread{ThreadID: "own", Agent: "in", Cwd: gone, Key: key("k", "thread/start")}
		first, err := start(keyed)
		if err != nil || !first.Created {
			t.Fatalf("%+v, %v", first, err)
		}
		if err := os.Remove(gone); err != nil {
			t.Fatal(err)
		}
		// What was started once is found: the directory counts for new threads alone.
		if again, err := start(keyed); err != nil || again != first {
			t.Errorf("with its key: %+v, %v", again, err)
		}
		if again, err := start(turns.StartThread{ThreadID: "own", Cwd: gone}); err != nil || again.Created {
			t.Errorf("with its id: %+v, %v", again, err)
		}
		if _, err := start(turns.StartThread{ThreadID: "below", Parent: &threads.Parent{ThreadID: "own"}}); err != nil {
			t.Errorf("a child that inherits it: %v", err)
		}
		if _, err := start(turns.StartThread{ThreadID: "below2", Parent: &threads.Parent{ThreadID: "own"}, Cwd: gone}); !isMissing(err) {
			t.Errorf("a child that names it: %v", err)
		}
	})
}

func TestAThreadFollowsARenamedDirectory(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	if err := os.Mkdir(from, 0o700); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		in := &mover{puppet: newPuppet("in", false)}
		h := newHarness(t, setup{agents: []turns.Agent{in}})
		defer h.check()
		t.Cleanup(in.free)
		if _, err := h.engine.StartThread(bg, turns.StartThread{ThreadID: "a", Agent: "in", Cwd: from}); err != nil {
			t.Fatal(err)
		}
		if _, err := h.engine.StartThread(bg, turns.StartThread{ThreadID: "b", Parent: &threads.Parent{ThreadID: "a"}}); err != nil {
			t.Fatal(err)
		}
		move := func(cwd string, config map[string]jsontext.Value) (turns.ConfigureResult, error) {
			return h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: "a", Cwd: cwd, Config: config})
		}
		var bad *turns.InvalidError
		for _, cwd := range []string{to, "relative"} {
			if r, err := move(cwd, nil); !errors.As(err, &bad) || bad.Field != "cwd" {
				t.Errorf("%s: %+v, %v", cwd, r, err)
			}
		}
		if n := len(h.updates()); n != 0 {
			t.Fatalf("%d updates", n)
		}
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
		h.start("a")
		c := h.next(in.puppet)
		if _, err := move(to, nil); !errors.Is(err, turns.ErrBusy) || c.Cwd != from {
			t.Errorf("while a turn runs in %s: %v", c.Cwd, err)
		}
		c.end(turns.Completed)
		h.ended(c.TurnID)
		r, err := move(to, nil)
		if u := h.updates(); err != nil || r.Cwd != to || r.Config != nil || len(u) != 1 || u[0].Cwd != to || len(in.asked) != 0 {
			t.Fatalf("%+v, %v; updates %+v, asked %q", r, err, u, in.asked)
		}
		if again, err := move(to, nil); err != nil || again.Seq != r.Seq || len(h.updates()) != 1 {
			t.Errorf("the same again: %+v, %v", again, err)
		}
		h.start("a")
		if c = h.next(in.puppet); c.Cwd != to {
			t.Errorf("the next turn works in %s", c.Cwd)
		}
		c.end(turns.Completed)
		h.ended(c.TurnID)
		h.restart()
		// Settings are asked for in the directory that comes with them.
		if r, err := move(dir, settings(`"x"`)); err != nil || r.Cwd != dir || string(r.Config) != `{"mode":"x"}` || !slices.Equal(in.asked, []string{dir}) {
			t.Errorf("%+v, %v; asked %q", r, err, in.asked)
		}
		if got, err := h.reader.ReadThread(bg, "b", 0); err != nil || got.Thread.Cwd != from {
			t.Errorf("the thread below works in %+v, %v", got.Thread, err)
		}
	})
}

// A conversation that is bound to its directory is not taken away from it; a thread in
// which nothing was said yet is.
func TestASettledConversationKeepsItsDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := t.TempDir(), t.TempDir()
		in := &settler{mover{puppet: newPuppet("in", false)}}
		h := newHarness(t, setup{agents: []turns.Agent{in}})
		defer h.check()
		t.Cleanup(in.free)
		if _, err := h.engine.StartThread(bg, turns.StartThread{ThreadID: "a", Agent: "in", Cwd: to}); err != nil {
			t.Fatal(err)
		}
		if r, err := h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: "a", Cwd: from}); err != nil || r.Cwd != from {
			t.Fatalf("%+v, %v", r, err)
		}
		if _, err := h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: "a", Config: settings(`"x"`)}); err != nil { // opens a session
			t.Fatal(err)
		}
		n := len(h.updates())
		if r, err := h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: "a", Cwd: filepath.Join(to, "none")}); !isMissing(err) {
			t.Errorf("a missing one is refused for another reason: %+v, %v", r, err)
		}
		var cannot *turns.UnsupportedError
		if r, err := h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: "a", Cwd: to}); !errors.As(err, &cannot) || cannot.Agent != "in" {
			t.Errorf("%+v, %v", r, err)
		}
		if r, err := h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: "a", Cwd: from}); err != nil || r.Cwd != from || len(h.updates()) != n {
			t.Errorf("where it is: %+v, %v", r, err)
		}
	})
}

func TestADirectoryHasOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := &mover{puppet: newPuppet("in", false)}
		h := newHarness(t, setup{agents: []turns.Agent{in}})
		defer h.check()
		t.Cleanup(in.free)
		dir := t.TempDir()
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink("/", link); err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{dir + "/", dir + "/.//", dir + "/none/..", link + "/.." + dir} {
			r, err := h.engine.StartThread(bg, turns.StartThread{ThreadID: "a", Agent: "in", Cwd: name})
			if i < 3 && (err != nil || r.Created != (i == 0)) || i == 3 && !errors.Is(err, threads.ErrConflict) {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
			if r, err := h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: "a", Cwd: dir + "/."}); err != nil || r.Cwd != dir {
				t.Errorf("%+v, %v", r, err)
			}
		}
		if n := len(h.updates()); n != 0 {
			t.Errorf("the same directory was changed %d times", n)
		}
	})
}

// What the agent has accepted is stored: a turn that begins while the agent is asked does
// not leave it with settings that the thread does not have.
func TestSettingsAndADirectoryAreChangedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := t.TempDir(), t.TempDir()
		in := &mover{puppet: newPuppet("in", false)}
		h := newHarness(t, setup{agents: []turns.Agent{in}})
		defer h.check()
		t.Cleanup(in.free)
		if _, err := h.engine.StartThread(bg, turns.StartThread{ThreadID: "a", Agent: "in", Cwd: from}); err != nil {
			t.Fatal(err)
		}
		in.meanwhile = func() { h.start("a") }
		r, err := h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: "a", Cwd: to, Config: settings(`"x"`)})
		if err != nil || r.Cwd != to || string(r.Config) != `{"mode":"x"}` {
			t.Errorf("%+v, %v", r, err)
		}
		c := h.next(in.puppet)
		c.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

// settler is a mover whose sessions stay where they began.
type settler struct{ mover }

func (*settler) KeepsDirectory() bool { return true }

// mover is a puppet that works in a directory, and notes those in which it is configured.
type mover struct {
	*puppet
	asked     []string
	meanwhile func() // called while it is asked for settings; nil = nothing happens
}

func (*mover) Directory(cwd string) (string, error) { return cmp.Or(cwd, "/"), nil }

func (m *mover) Configure(ctx context.Context, t turns.AgentThread, set map[string]jsontext.Value) (turns.AgentThread, error) {
	m.asked = append(m.asked, t.Cwd)
	if m.meanwhile != nil {
		m.meanwhile()
	}
	return m.puppet.Configure(ctx, t, set)
}
