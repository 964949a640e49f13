package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/limits"
	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// syncing is a sink whose Sync can fail and is recorded.
type syncing struct {
	*agenttest.Sink
	sync func(s *agenttest.Sink) error
}

func (s *syncing) Sync(context.Context) error { return s.sync(s.Sink) }

func TestSessionIsDurableBeforeTheAgentHasThePrompt(t *testing.T) {
	r := bad(t, "")
	synced := 0
	s := &syncing{Sink: agenttest.NewSink(t)}
	s.sync = func(sink *agenttest.Sink) error {
		synced++
		if !slices.ContainsFunc(sink.Thread(), func(set items.SetThread) bool { return set.AgentSessionID != "" }) {
			t.Error("the id was not handed over before")
		}
		if hasItem(sink) {
			t.Error("the agent has the prompt")
		}
		return turns.ErrPromptOver
	}
	input := []items.UserMessage{agenttest.Message("say x")}
	if out := r.Run(t.Context(), &turns.Prompt{ThreadID: "t", TurnID: "1", Attempt: 1, Sink: s, Input: input}); out.State != turns.Interrupted || hasItem(s.Sink) {
		t.Errorf("not durable, and yet %+v, %+v", out, s.Items())
	}
	s.sync = func(*agenttest.Sink) error { synced++; return nil }
	if out := r.Run(t.Context(), &turns.Prompt{ThreadID: "t", TurnID: "2", Attempt: 1, Sink: s, Input: input}); out.State != turns.Completed {
		t.Errorf("%+v", out)
	}
	if synced != 2 {
		t.Errorf("synced %d times", synced)
	}
}

func TestThreadGoesOnInItsSessionAfterARestart(t *testing.T) {
	for words, want := range map[string]string{"": "resumed", "no-resume": "loaded", "no-resume late-replay replay-ms=20": "loaded"} {
		state := t.TempDir() + "/s"
		th := bad(t, words+" state="+state).thread("t")
		th.run("say first words")
		th.run("say more words")
		th.r.stop()

		th.r = bad(t, words+" state="+state)
		sink, out := th.prompt(t.Context(), "session\nhistory\nsleep 200")
		got := said2(sink)
		if out.State != turns.Completed || !strings.Contains(got, want) || !strings.Contains(got, "say first words") {
			t.Errorf("%q: %+v, %q", words, out, got)
		}
		// A loaded session repeats its history: none of it is emitted again.
		if made := sink.Items(); len(made) != 2 || len(notices(sink)) != 0 {
			t.Errorf("%q: made %+v", words, made)
		}
		th.clean()
		th.r.stop()
		if said := th.r.host.said(); said != "" {
			t.Errorf("%q: outside %q", words, said)
		}
	}
}

func TestLostSessionIsSaidAndHandedOver(t *testing.T) {
	for words, why := range map[string]string{"forget": "session not found", "no-resume no-load": "neither resume nor load"} {
		for _, handover := range []bool{false, true} {
			r := bad(t, words, func(c *Config) { c.Handover = handover })
			user, _ := items.Encode(agenttest.Message("my name is Ada"))
			agent, _ := items.Encode(items.NewAgentMessage("hello Ada"))
			now, _ := items.Encode(agenttest.Message("this turn's"))
			r.host.transcript = []*items.Item{{TurnID: "turn_0", Content: user}, {TurnID: "turn_0", Content: agent}, {TurnID: "turn_t_1", Content: now}}
			th := r.thread("t")
			th.sessionID = "sess_of_before"
			sink, out := th.prompt(t.Context(), "blocks\nhistory")
			told := notices(sink)
			if out.State != turns.Completed || len(told) != 1 || !strings.Contains(told[0], "has lost the session") || !strings.Contains(told[0], why) {
				t.Errorf("%q: %+v, %q", words, out, told)
			}
			if handover != strings.Contains(told[0], "what was said so far") {
				t.Errorf("%q", told)
			}
			heard := th.run("history")
			if strings.Contains(heard, "my name is Ada") != handover || strings.Contains(heard, "this turn's") {
				t.Errorf("%q, handover %v: the agent heard %q", words, handover, heard)
			}
			if th.sessionID == "sess_of_before" || th.sessionID == "" {
				t.Errorf("session %q", th.sessionID)
			}
			if th.run("say more") != "more" {
				t.Error("it does not go on")
			}
		}
	}
}

func TestSessionThatARunningAgentHasForgottenIsOpenedAgain(t *testing.T) {
	for _, c := range []struct {
		words, want string
		notices     int
	}{
		{"state=" + t.TempDir() + "/s", "resumed", 0}, // it knows what it has stored
		{"", "new", 1},
	} {
		th := bad(t, c.words).thread("t")
		th.run("say first words")
		th.run("lose")
		sink, out := th.prompt(t.Context(), "session\nhistory")
		got := said2(sink)
		if out.State != turns.Completed || !strings.Contains(got, c.want) || strings.Contains(got, "say first words") != (c.notices == 0) {
			t.Errorf("%q: %+v, %q", c.words, out, got)
		}
		if told := notices(sink); len(told) != c.notices {
			t.Errorf("%q: told %q", c.words, told)
		}
		th.clean()
	}
}

func TestPromptThatWasBegunIsNotGivenAgain(t *testing.T) {
	th := bad(t, "").thread("t")
	sink, out := th.prompt(t.Context(), "say once\nerror upstream said: Session not found")
	if got := said2(sink); out.State != turns.Failed || strings.Count(got, "once") != 1 {
		t.Errorf("%+v, %q", out, got)
	}
	if _, out := th.prompt(t.Context(), "say on"); out.State != turns.Completed {
		t.Errorf("%+v", out)
	}
}

func TestPromptThatIsGivenAgainSaysOnceWhatIsLeftOut(t *testing.T) {
	th := bad(t, "no-image state="+t.TempDir()+"/s").thread("t")
	th.run("lose")
	sink := agenttest.NewSink(t)
	out := th.r.Run(t.Context(), &turns.Prompt{
		ThreadID: "t", TurnID: "again", Attempt: 1, SessionID: th.sessionID, Config: th.config, Sink: sink,
		Input: []items.UserMessage{{Content: []items.Part{
			{Type: items.PartText, Text: "session"}, {Type: items.PartImage, MimeType: "image/png", Data: "aGk="},
		}}},
	})
	if told := notices(sink); out.State != turns.Completed || !strings.Contains(said2(sink), "resumed") || len(told) != 1 {
		t.Errorf("%+v, %q, told %q", out, said2(sink), told)
	}
}

func TestPromptThatAskedIsNotGivenAgain(t *testing.T) {
	asked := 0
	_, out := bad(t, "").thread("t").prompt(t.Context(), "elicit\nerror session not found", answer(""), func(s *agenttest.Sink) {
		first := s.OnAsk
		s.OnAsk = func(ctx context.Context, q items.Content, o turns.AskOptions) (turns.Answer, error) {
			asked++
			return first(ctx, q, o)
		}
	})
	if out.State != turns.Failed || asked != 1 {
		t.Errorf("%+v, asked %d times", out, asked)
	}
}

func TestWhatIsSaidBeforeTheSessionIsKnownIsKept(t *testing.T) {
	sink, out := bad(t, "early").thread("t").prompt(t.Context(), "say x")
	config := ""
	for _, set := range sink.Thread() {
		config += string(set.Config)
	}
	if out.State != turns.Completed || !strings.Contains(config, "commands") {
		t.Errorf("%+v, %s", out, config)
	}
}

func TestSettingsAreAppliedAgainInANewProcess(t *testing.T) {
	for _, words := range []string{"", "old-models", "no-resume", "forget"} {
		state := t.TempDir() + "/s"
		th := bad(t, words+" state="+state).thread("t")
		before := th.run("settings")
		is, err := th.r.Configure(t.Context(), turns.AgentThread{ThreadID: "t", SessionID: th.sessionID, Config: th.config},
			map[string]items.Raw{"mode": items.Raw(`"` + other(t, th.config, "modes") + `"`), "model": items.Raw(`"` + other(t, th.config, "models") + `"`)})
		if err != nil {
			t.Fatalf("%q: %v", words, err)
		}
		th.config = is.Config
		set := th.run("settings")
		if set == before {
			t.Errorf("%q: nothing was set: %s", words, set)
		}
		th.r.stop()
		th.r = bad(t, words+" state="+state)
		if got := th.run("settings"); got != set {
			t.Errorf("%q: after the restart %s, was set to %s", words, got, set)
		}
	}
}

// other is a possible value of the config that is not the present one.
func other(t *testing.T, config []byte, of string) string {
	t.Helper()
	type choice struct {
		ID string `json:"id"`
	}
	c := decode[struct {
		Mode, Model   string
		Modes, Models []choice
	}](config)
	list := c.Modes
	if of == "models" {
		list = c.Models
	}
	all := decode[map[string]items.Raw](config)
	now := decode[string](all[strings.TrimSuffix(of, "s")])
	for _, ch := range decode[[]choice](all[of]) {
		if ch.ID != now {
			return ch.ID
		}
	}
	t.Fatalf("no other %s in %s (%v)", of, config, list)
	return ""
}

func TestConfigureRefusesWhatThereIsNot(t *testing.T) {
	r := bad(t, "")
	th := turns.AgentThread{ThreadID: "t"}
	for name, value := range map[string]string{"nonsense": `"x"`, "mode": `"no-such-mode"`, "model": `5`} {
		_, err := r.Configure(t.Context(), th, map[string]items.Raw{name: items.Raw(value)})
		invalid, ok := err.(*turns.InvalidError)
		if !ok || invalid.Field != "config."+name {
			t.Errorf("%s: %v", name, err)
		}
	}
	is, err := r.Configure(t.Context(), th, nil)
	if err != nil || is.SessionID == "" || is.Config == nil {
		t.Errorf("%+v, %v", is, err)
	}
	// The session it has opened becomes the thread's.
	next := r.thread("t")
	next.sessionID, next.config = is.SessionID, is.Config
	if got := next.run("session"); !strings.Contains(got, is.SessionID) {
		t.Errorf("%q, not %q", got, is.SessionID)
	}
}

func TestWhatWasSetBeforeARefusalIsOnTheLog(t *testing.T) {
	r := bad(t, "")
	th := r.thread("t")
	th.run("say x")
	model := other(t, th.config, "models")
	_, err := r.Configure(t.Context(), turns.AgentThread{ThreadID: "t", SessionID: th.sessionID, Config: th.config},
		map[string]items.Raw{"model": items.Raw(`"` + model + `"`), "mode": items.Raw(`"no-such-mode"`)})
	if _, ok := errors.AsType[*turns.InvalidError](err); !ok {
		t.Fatal(err)
	}
	said := th.run("settings")
	r.host.mu.Lock()
	defer r.host.mu.Unlock()
	if n := len(r.host.ops); n != 1 {
		t.Fatalf("%d ops: %+v", n, r.host.ops)
	}
	set, _ := r.host.ops[0].(items.SetThread)
	if want := `"model":"` + model + `"`; !strings.Contains(said, want) || !strings.Contains(string(set.Config), want) {
		t.Errorf("the agent has %s, the log %s", said, set.Config)
	}
}

func TestConfigureWhileATurnRuns(t *testing.T) {
	r := bad(t, "")
	th := r.thread("t")
	th.run("say x")
	ctx, cancel := context.WithCancel(t.Context())
	sink := agenttest.NewSink(t)
	done := make(chan turns.Outcome, 1)
	go func() { done <- th.with(ctx, sink, turns.Prompt{}, "say busy\nwait") }()
	sink.Wait(t.Context(), func() bool { return hasItem(sink) })
	mode := other(t, th.config, "modes")
	is, err := r.Configure(t.Context(), turns.AgentThread{ThreadID: "t", SessionID: th.sessionID}, map[string]items.Raw{"mode": items.Raw(`"` + mode + `"`)})
	if err != nil || !strings.Contains(string(is.Config), `"mode":"`+mode+`"`) {
		t.Errorf("%s, %v", is.Config, err)
	}
	cancel()
	if out := <-done; out.State != turns.Interrupted {
		t.Errorf("%+v", out)
	}
}

func TestForkGoesOnTwice(t *testing.T) {
	r := bad(t, "fork-replay state="+t.TempDir()+"/s")
	th := r.thread("t")
	th.run("say common")
	forked, err := r.Fork(t.Context(), turns.AgentThread{ThreadID: "t", SessionID: th.sessionID}, "new")
	if err != nil || forked.SessionID == th.sessionID || forked.SessionID == "" || forked.ThreadID != "new" {
		t.Fatalf("%+v, %v", forked, err)
	}
	th.run("say only here")
	next := r.thread("new")
	next.sessionID, next.config = forked.SessionID, forked.Config
	sink, _ := next.prompt(t.Context(), "session\nhistory")
	if got := said2(sink); !strings.Contains(got, "forked") || !strings.Contains(got, "say common") || strings.Contains(got, "only here") {
		t.Errorf("%q", got)
	}
	r.stop()
	if made, said := sink.Items(), r.host.said(); len(made) != 2 || said != "" {
		t.Errorf("the history that the agent repeated came as new: %+v, outside %q", made, said)
	}
	for name, c := range map[string]struct{ words, session string }{"NoSession": {"", ""}, "CannotFork": {"no-fork state=" + t.TempDir() + "/s", "x"}} {
		_, err := bad(t, c.words).Fork(t.Context(), turns.AgentThread{ThreadID: "t", SessionID: c.session}, "new")
		e, failed := err.(*turns.AgentError)
		_, cannot := err.(*turns.UnsupportedError)
		if cannot != (name == "CannotFork") || failed && e.Kind != turns.KindAgentUnavailable || !failed && !cannot {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSessionsThatStayOpenAreBounded(t *testing.T) {
	r := bad(t, "state="+t.TempDir()+"/s")
	first := r.thread("first")
	first.run("say remember me")
	for i := range limits.AgentSessions + 3 {
		r.thread(fmt.Sprint("t", i)).run("say x")
	}
	if n := r.Info().Sessions; n > limits.AgentSessions {
		t.Errorf("%d are open", n)
	}
	if got := first.run("session\nhistory"); !strings.Contains(got, "resumed") || !strings.Contains(got, "remember me") {
		t.Errorf("the first: %q", got)
	}
}
