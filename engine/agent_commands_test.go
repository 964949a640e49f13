package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

func settings(mode string) map[string]jsontext.Value {
	return map[string]jsontext.Value{"mode": jsontext.Value(mode)}
}

// slow is an agent whose settings and forks the test controls.
type slow struct {
	agentFunc
	configure func(ctx context.Context, t turns.AgentThread) (turns.AgentThread, error)
	fork      func(ctx context.Context, t turns.AgentThread) (turns.AgentThread, error)
}

func (s *slow) Configure(ctx context.Context, t turns.AgentThread, _ map[string]jsontext.Value) (turns.AgentThread, error) {
	return s.configure(ctx, t)
}

func (s *slow) Fork(ctx context.Context, t turns.AgentThread, _ string) (turns.AgentThread, error) {
	return s.fork(ctx, t)
}

func TestConfigureStoresWhatTheAgentMakesOfIt(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		r, err := h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: "a", Config: settings(`"x"`)})
		e := h.event(notify.ThreadUpdated, nil)
		if err != nil || string(r.Config) != `{"mode":"x"}` || r.Seq != e.Seq || r.ThreadID != "a" {
			t.Errorf("%+v, %v; %s", r, err, e)
		}
		if u := h.updates(); len(u) != 1 || u[0].AgentSessionID != "session of a" {
			t.Errorf("updates: %+v", u)
		}
		again, err := h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: "a", Config: settings(`"x"`)})
		if err != nil || again.Seq != r.Seq || string(again.Config) != string(r.Config) {
			t.Errorf("the same again: %+v, %v", again, err)
		}
		// Also while a turn runs.
		h.start("a")
		c := h.next(h.agent)
		if string(c.Config) != `{"mode":"x"}` || c.SessionID != "session of a" {
			t.Errorf("prompt: %s, %s", c.Config, c.SessionID)
		}
		if _, err := h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: "a", Config: settings(`"y"`)}); err != nil {
			t.Error(err)
		}
		c.end(turns.Completed)
		h.ended(c.TurnID)
		if n := len(h.updates()); n != 2 {
			t.Errorf("%d updates", n)
		}
	})
}

func TestWhatAgentsCannotDoIsSaidAndChangesNothing(t *testing.T) {
	s := &slow{agentFunc: agentFunc{name: "slow"}}
	bubble(t, setup{agents: []turns.Agent{s}}, func(h *harness) {
		h.thread("a", "")
		h.thread("q", "quick")
		h.thread("s", "slow")
		before := len(h.of(func(event) bool { return true }))
		configure := func(id string, c map[string]jsontext.Value) error {
			_, err := h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: id, Config: c})
			return err
		}
		var invalid *turns.InvalidError
		for name, c := range map[string]map[string]jsontext.Value{
			"empty": nil, "unknown": {"none": jsontext.Value("1")}, "no JSON": settings("{"),
			"large": settings(`"` + strings.Repeat("x", turns.MaxMetadataBytes) + `"`),
		} {
			if err := configure("a", c); !errors.As(err, &invalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		var unsupported *turns.UnsupportedError
		if err := configure("q", settings("1")); !errors.As(err, &unsupported) || unsupported.Agent != "quick" {
			t.Errorf("without settings: %v", err)
		}
		if _, err := h.engine.ThreadFork(bg, turns.Fork{ThreadID: "q"}); !errors.As(err, &unsupported) {
			t.Errorf("without forks: %v", err)
		}
		var failed *turns.AgentError
		for name, c := range map[string]struct {
			f    func(context.Context, turns.AgentThread) (turns.AgentThread, error)
			kind string
		}{
			"own error": {func(_ context.Context, t turns.AgentThread) (turns.AgentThread, error) {
				return t, &turns.AgentError{Kind: "agent_unavailable", Message: "not installed"}
			}, "agent_unavailable"},
			"any error": {func(_ context.Context, t turns.AgentThread) (turns.AgentThread, error) { return t, errors.New("x") }, "agent_failed"},
			"panic":     {func(context.Context, turns.AgentThread) (turns.AgentThread, error) { panic("x") }, "agent_failed"},
			"too slow": {func(ctx context.Context, t turns.AgentThread) (turns.AgentThread, error) {
				<-ctx.Done()
				return t, ctx.Err()
			}, "timeout"},
			"bad settings": {func(_ context.Context, t turns.AgentThread) (turns.AgentThread, error) {
				t.Config = jsontext.Value("[]")
				return t, nil
			}, "agent_failed"},
		} {
			s.configure, s.fork = c.f, c.f
			if err := configure("s", settings("1")); !errors.As(err, &failed) || failed.Kind != c.kind {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := h.engine.ThreadFork(bg, turns.Fork{ThreadID: "s"}); !errors.As(err, &failed) || failed.Kind != c.kind {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := len(h.of(func(event) bool { return true })); n != before {
			t.Errorf("%d events for nothing", n-before)
		}
	})
}

func TestChangesOfOneThreadsSettingsComeOneAfterTheOther(t *testing.T) {
	var mu sync.Mutex
	n, at := 0, 0
	s := &slow{agentFunc: agentFunc{name: "slow"}}
	s.configure = func(ctx context.Context, th turns.AgentThread) (turns.AgentThread, error) {
		mu.Lock()
		if at++; at > 1 {
			t.Error("two at once")
		}
		n++
		th.Config = jsontext.Value(fmt.Sprintf(`{"n":%d}`, n))
		mu.Unlock()
		time.Sleep(time.Second)
		mu.Lock()
		defer mu.Unlock()
		at--
		return th, nil
	}
	bubble(t, setup{agents: []turns.Agent{s}}, func(h *harness) {
		h.thread("a", "slow")
		// One client hangs up while the agent is asked, another while it waits.
		ctx, cancel := context.WithTimeout(bg, 500*time.Millisecond)
		defer cancel()
		first := make(chan error, 1)
		go func() {
			_, err := h.engine.ThreadConfigure(ctx, turns.Configure{ThreadID: "a", Config: settings("1")})
			first <- err
		}()
		time.Sleep(time.Millisecond)
		if _, err := h.engine.ThreadConfigure(ctx, turns.Configure{ThreadID: "a", Config: settings("1")}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("hung up while it waited: %v", err)
		}
		if err := <-first; err != nil {
			t.Errorf("hung up while the agent was asked: %v", err)
		}
		h.atOnce(times(5, func(int) {
			if _, err := h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: "a", Config: settings("1"), Key: key("k", "m")}); err != nil {
				t.Error(err)
			}
		})...)
		h.atOnce(times(5, func(int) {
			if _, err := h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: "a", Config: settings("1")}); err != nil {
				t.Error(err)
			}
		})...)
		u := h.updates()
		if n != 7 || len(u) != 7 || string(u[6].Config) != `{"n":7}` {
			t.Errorf("the agent was asked %d times: %+v", n, u)
		}
	})
}

func TestForkIsAThreadThatGoesOnFromAnother(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		if _, err := h.engine.StartThread(bg, turns.StartThread{ThreadID: "a", Title: "one", Cwd: "/tmp"}); err != nil {
			t.Fatal(err)
		}
		if _, err := h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: "a", Config: settings(`"x"`)}); err != nil {
			t.Fatal(err)
		}
		first, second := h.start("a"), h.start("a")
		h.next(h.agent).end(turns.Completed)
		h.ended(first.TurnID)
		if _, err := h.engine.ThreadFork(bg, turns.Fork{ThreadID: "a", AfterTurnID: first.TurnID}); !errors.Is(err, turns.ErrBusy) {
			t.Errorf("fork of a busy thread: %v", err)
		}
		h.next(h.agent).end(turns.Completed)
		h.ended(second.TurnID)
		var invalid *turns.InvalidError
		if _, err := h.engine.ThreadFork(bg, turns.Fork{ThreadID: "a", AfterTurnID: first.TurnID}); !errors.As(err, &invalid) || invalid.Field != "after_turn_id" {
			t.Errorf("fork in the middle: %v", err)
		}
		if _, err := h.engine.ThreadFork(bg, turns.Fork{ThreadID: "a", AfterTurnID: "turn_none"}); !errors.Is(err, turns.ErrNotFound) {
			t.Errorf("fork after a turn that is not there: %v", err)
		}
		if _, err := h.engine.ThreadFork(bg, turns.Fork{ThreadID: "a", NewThreadID: "a"}); !errors.Is(err, threads.ErrConflict) {
			t.Errorf("fork into itself: %v", err)
		}
		if _, err := h.engine.ThreadFork(bg, turns.Fork{ThreadID: "a", NewThreadID: "b c"}); !errors.As(err, &invalid) {
			t.Errorf("fork into a bad id: %v", err)
		}
		r, err := h.engine.ThreadFork(bg, turns.Fork{ThreadID: "a", AfterTurnID: second.TurnID, NewThreadID: "b"})
		from := threads.ForkedFrom{ThreadID: "a", TurnID: second.TurnID}
		if err != nil || r.ThreadID != "b" || r.State != threads.Running || r.Agent != "puppet" || r.ForkedFrom != from {
			t.Fatalf("%+v, %v", r, err)
		}
		started := h.event(notify.ThreadStarted, func(e event) bool { return e.ThreadID == "b" })
		var b threads.Changed
		if err := json.Unmarshal(started.raw, &b); err != nil || b.ForkedFrom == nil || *b.ForkedFrom != from || b.Title != "one" || b.Cwd != "/tmp" {
			t.Errorf("started: %s, %v", started.raw, err)
		}
		if e := h.event(notify.ThreadUpdated, func(e event) bool { return e.ThreadID == "b" }); e.Seq != started.Seq+1 || e.Seq != r.Seq {
			t.Errorf("updated: %s", e)
		}
		h.start("b")
		c := h.next(h.agent)
		if c.SessionID != "fork of session of a" || string(c.Config) != `{"mode":"x"}` || c.Cwd != "/tmp" {
			t.Errorf("prompt of the fork: %+v", c.Prompt)
		}
		c.end(turns.Completed)
		h.ended(c.TurnID)
		if _, err := h.engine.ThreadFork(bg, turns.Fork{ThreadID: "a", NewThreadID: "b"}); !errors.Is(err, threads.ErrConflict) {
			t.Errorf("fork into a thread that exists: %v", err)
		}
	})
}

// What waits for a thread, and what brings more, stays with it.
func TestForkStartsWithAnEmptyInbox(t *testing.T) {
	bubble(t, setup{follow: true}, func(h *harness) {
		h.thread("a", "puppet")
		h.thread("c", "quick")
		h.configure("a", inbox.Policy{WindowMs: ms(time.Hour), MaxDelayMs: ms(time.Hour)})
		h.subscribe("a", inbox.Subscribe{SubscriptionID: "c", Source: inbox.SourceEvents, ThreadIDs: []string{"c"}})
		h.subscribe("a", inbox.Subscribe{SubscriptionID: "hook", Source: "ci"})
		h.timer("a", inbox.CreateTimer{TimerID: "t", EverySeconds: 60})
		first := h.start("a")
		h.next(h.agent).end(turns.Completed)
		h.ended(first.TurnID)
		h.send("a", "hello")
		h.ingest("a", grouped("1", "pr:1"))
		if _, err := h.engine.ThreadFork(bg, turns.Fork{ThreadID: "a", NewThreadID: "b"}); err != nil {
			t.Fatal(err)
		}
		h.ended(h.start("c").TurnID)
		time.Sleep(5*time.Minute + 30*time.Second) // the timer fires
		over, err := h.reader.InboxOf(bg, "b")
		if err != nil {
			t.Fatal(err)
		}
		timers, err := h.reader.ListTimers(bg, "b")
		if err != nil {
			t.Fatal(err)
		}
		if l := h.allEntries("b"); over.Inbox != nil || len(over.Subscriptions) != 0 || len(timers) != 0 || len(l) != 0 {
			t.Errorf("the fork has %+v, timers %+v, entries %s", over, timers, ids(l))
		}
		if n := len(h.followers.Followers()); n != 1 {
			t.Errorf("%d followers", n)
		}
		// The first item of the fork: it has the policy of a new thread, and ids of its own.
		h.ingest("b", grouped("1", "pr:1"))
		time.Sleep(time.Minute)
		if l := h.entries("b"); len(l) != 1 || l[0].Count != 1 {
			t.Errorf("entries %+v", l)
		}
		if box := h.box("a"); box.PendingItems != 1 || box.UnackedEntries != 8 || box.Timers != 1 {
			t.Errorf("the inbox of the source is %+v", box)
		}
	})
}

func TestForkOfAConversationThatGoesOnMeanwhileIsRefused(t *testing.T) {
	for name, wait := range map[string]time.Duration{"runs": 0, "has run": time.Second} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan struct{})
			s := &slow{agentFunc: agentFunc{"slow", func(context.Context, *turns.Prompt) turns.Outcome {
				time.Sleep(time.Second)
				return turns.Outcome{}
			}}}
			s.fork = func(ctx context.Context, th turns.AgentThread) (turns.AgentThread, error) {
				close(asked)
				time.Sleep(500*time.Millisecond + wait)
				return th, nil
			}
			bubble(t, setup{agents: []turns.Agent{s}}, func(h *harness) {
				h.thread("a", "slow")
				done := make(chan error, 1)
				go func() {
					_, err := h.engine.ThreadFork(bg, turns.Fork{ThreadID: "a", NewThreadID: "b"})
					done <- err
				}()
				<-asked
				r := h.start("a")
				if err := <-done; !errors.Is(err, turns.ErrBusy) {
					t.Errorf("fork: %v", err)
				}
				h.ended(r.TurnID)
				if th, err := h.reader.ReadThread(bg, "b", 0); err != nil || th.Thread != nil {
					t.Errorf("the fork is %+v, %v", th.Thread, err)
				}
			})
		})
	}
}
