package acp

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// keyed is badagent, whose own mode is auto, with these settings of its configuration.
func keyed(t *testing.T, words, mode, model string, options map[string]jsontext.Value) *rig {
	t.Helper()
	return bad(t, "opens=auto "+words, func(c *Config) { c.Mode, c.Model, c.Options = mode, model, options })
}

// configured changes settings of the thread as a client does.
func (th *testThread) configured(set map[string]string) {
	th.r.t.Helper()
	raw := map[string]items.Raw{}
	for name, value := range set {
		raw[name] = items.Raw(value)
	}
	is, err := th.r.Configure(th.r.t.Context(), turns.AgentThread{ThreadID: th.id, Cwd: th.cwd, SessionID: th.sessionID, Config: th.config}, raw)
	if err != nil {
		th.r.t.Fatal(err)
	}
	th.sessionID, th.config = is.SessionID, is.Config
}

// is checks the mode, the model and the effort of the thread, as the agent and as the log
// has them.
func (th *testThread) is(mode, model, effort string) {
	th.r.t.Helper()
	got := th.run("settings")
	for _, want := range []string{`"mode":"` + mode + `"`, `"model":"` + model + `"`, `"effort":"` + effort + `"`} {
		if !strings.Contains(got, want) || !strings.Contains(string(th.config), want) {
			th.r.t.Errorf("no %s: the agent has %s, the log %s", want, got, th.config)
		}
	}
}

func TestSessionsOpenAsTheAgentIsConfigured(t *testing.T) {
	for _, words := range []string{"", "old-models", "mode-option"} {
		th := keyed(t, words, "ask", "large", map[string]jsontext.Value{"effort": jsontext.Value(`"high"`), "verbose": jsontext.Value("true")}).thread("t")
		th.is("ask", "large", "high")
		if !strings.Contains(string(th.config), `"verbose":true`) {
			t.Errorf("%s", th.config)
		}
		th.clean()
	}
	th := keyed(t, "", "", "", nil).thread("t")
	th.is("auto", "small", "medium")
}

func TestWhatAClientHasConfiguredOutlivesTheSession(t *testing.T) {
	// All of these open the session in the mode auto again.
	for _, words := range []string{"", "no-resume", "forget", "mode-option"} {
		words += " state=" + t.TempDir() + "/s"
		again := func(th *testThread) {
			th.r.stop()
			th.r = keyed(t, words, "ask", "large", nil)
		}
		th := keyed(t, words, "ask", "large", nil).thread("t")
		th.is("ask", "large", "medium")
		again(th)
		th.is("ask", "large", "medium")
		th.configured(map[string]string{"mode": `"code"`, "effort": `"low"`})
		th.is("code", "large", "low")
		again(th)
		th.is("code", "large", "low")

		// The agent's own choice lasts as long as its session.
		other := th.r.thread("other")
		other.run("mode auto\nmodel small")
		other.is("auto", "small", "medium")
		again(other)
		other.is("ask", "large", "medium")

		// A client's choice of what is already so is a choice, too.
		th = other.r.thread("third")
		th.configured(map[string]string{"model": `"large"`})
		th.r.stop()
		th.r = keyed(t, words, "ask", "small", nil)
		th.is("ask", "large", "medium")
	}
}

func TestAThreadFromBeforeTheKeyOpensWithIt(t *testing.T) {
	words := "state=" + t.TempDir() + "/s"
	th := keyed(t, words, "", "", nil).thread("t")
	th.is("auto", "small", "medium")
	th.r.stop()
	th.r = keyed(t, words, "ask", "", nil)
	th.is("ask", "small", "medium")
}

func TestAnOptionGoesWithTheModelThatAClientHasChosen(t *testing.T) {
	words, high := "effort-of=small state="+t.TempDir()+"/s", map[string]jsontext.Value{"effort": jsontext.Value(`"high"`)}
	th := keyed(t, words, "ask", "", high).thread("t")
	th.is("ask", "small", "high")
	th.configured(map[string]string{"model": `"large"`})
	th.r.stop()
	th.r = keyed(t, words, "ask", "", high)
	if got := th.run("settings"); !strings.Contains(got, `"model":"large"`) || strings.Contains(string(th.config), "effort") {
		t.Errorf("the agent has %s, the log %s", got, th.config)
	}
	// The keys must fit together.
	_, out := keyed(t, words, "ask", "large", high).thread("other").prompt(t.Context(), "say it ran")
	if out.State != turns.Failed || !strings.Contains(out.Failure.Message, `option "effort"`) {
		t.Errorf("%+v, %+v", out, out.Failure)
	}
}

func TestAModeThatNobodyHasConfiguredMayBeGone(t *testing.T) {
	words := " state=" + t.TempDir() + "/s"
	th := keyed(t, words, "", "", nil).thread("t")
	th.run("mode code")
	th.r.stop()
	th.r = keyed(t, "refuses=code"+words, "", "", nil)
	sink, out := th.prompt(t.Context(), "say it ran")
	if told := notices(sink); out.State != turns.Completed || len(told) != 1 || !strings.Contains(told[0], `mode "code"`) {
		t.Errorf("%+v, told %q", out, told)
	}
}

func TestAForkOpensAsItsThread(t *testing.T) {
	for _, apart := range []bool{false, true} {
		r := bad(t, "opens=auto state="+t.TempDir()+"/s", func(c *Config) { c.Mode, c.ProcessPerThread, c.MaxProcesses = "ask", apart, 4 })
		th := r.thread("t")
		th.is("ask", "small", "medium")
		for _, mode := range []string{"ask", "code"} {
			if mode != "ask" {
				th.configured(map[string]string{"mode": `"` + mode + `"`})
			}
			fork, err := r.Fork(t.Context(), turns.AgentThread{ThreadID: "t", SessionID: th.sessionID, Config: th.config}, "fork-"+mode)
			if err != nil {
				t.Fatal(err)
			}
			twin := r.thread("fork-" + mode)
			twin.sessionID, twin.config = fork.SessionID, fork.Config
			twin.is(mode, "small", "medium")
		}
	}
}

func TestNothingRunsInAnotherModeThanConfigured(t *testing.T) {
	raw := func(name, value string) map[string]jsontext.Value {
		return map[string]jsontext.Value{name: jsontext.Value(value)}
	}
	for name, c := range map[string]struct {
		words, mode, model string
		options            map[string]jsontext.Value
		want               []string
	}{
		"NotOffered":     {"", "nonsense", "", nil, []string{`mode "nonsense"`, "ask, code, auto"}},
		"Refused":        {"refuses=code", "code", "", nil, []string{`mode "code"`, "there is no such value", "ask, code, auto"}},
		"Stays":          {"mode-option=stays", "ask", "", nil, []string{`mode "ask"`, `it is in the mode "auto"`, "ask, code, auto"}},
		"ByOption":       {"mode-option", "", "", raw("agent_mode", `"nonsense"`), []string{`mode "nonsense"`, "ask, code, auto"}},
		"NoModes":        {"plain", "ask", "", nil, []string{`mode "ask"`}},
		"Model":          {"", "", "huge", nil, []string{`model "huge"`, "small, large"}},
		"OldModel":       {"old-models", "", "huge", nil, []string{`model "huge"`, "small, large"}},
		"Option":         {"", "", "", raw("effort", `"most"`), []string{`"most"`, `option "effort"`, "low, medium, high"}},
		"NoSuchOption":   {"", "", "", raw("haste", `"most"`), []string{`"most"`, `option "haste"`}},
		"OptionsOfModel": {"", "", "", raw("model", `"huge"`), []string{`model "huge"`, "small, large"}},
		"Boolean":        {"", "", "", raw("verbose", `"yes"`), []string{`"yes"`, `option "verbose"`, "true or false"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := keyed(t, c.words, c.mode, c.model, c.options)
			for range 2 { // the second time is no different
				sink, out := r.thread("t").prompt(t.Context(), "say it ran")
				if out.State != turns.Failed || out.Failure.Kind != turns.KindAgentUnavailable || hasItem(sink) {
					t.Fatalf("%+v, %+v, %+v", out, out.Failure, sink.Items())
				}
				for _, want := range append(c.want, "bad", "configuration") {
					if !strings.Contains(out.Failure.Message, want) {
						t.Errorf("no %s in %s", want, out.Failure.Message)
					}
				}
			}
			if n := r.Info().Sessions; n != 0 {
				t.Errorf("%d sessions are open", n)
			}
		})
	}
}

func TestAThreadWhoseModeIsGoneCanBeConfigured(t *testing.T) {
	words := " state=" + t.TempDir() + "/s"
	th := keyed(t, words, "ask", "", nil).thread("t")
	th.configured(map[string]string{"mode": `"code"`})
	th.is("code", "small", "medium")
	th.r.stop()
	th.r = keyed(t, "refuses=code"+words, "ask", "", nil)
	sink, out := th.prompt(t.Context(), "say it ran")
	if out.State != turns.Failed || out.Failure.Kind != turns.KindAgentUnavailable || hasItem(sink) ||
		!strings.Contains(out.Failure.Message, `mode "code"`) || !strings.Contains(out.Failure.Message, "the thread is configured") {
		t.Fatalf("%+v, %+v", out, out.Failure)
	}
	at := turns.AgentThread{ThreadID: "t", SessionID: th.sessionID, Config: th.config}
	_, err := th.r.Configure(t.Context(), at, map[string]items.Raw{"mode": items.Raw(`"nonsense"`)})
	if invalid, ok := errors.AsType[*turns.InvalidError](err); !ok || invalid.Field != "config.mode" {
		t.Errorf("%v", err)
	}
	if _, out := th.prompt(t.Context(), "say it ran"); out.State != turns.Failed {
		t.Errorf("after a change that failed: %+v", out)
	}
	th.configured(map[string]string{"mode": `"ask"`})
	th.is("ask", "small", "medium")
}

func TestTheModeInWhichSessionsOpenIsShown(t *testing.T) {
	for _, c := range []struct {
		own, mode, permissions, opens string
		warns                         bool
	}{
		{"auto", "", "ask", "auto", true},
		{"auto", "", "allow", "auto", false},
		{"auto", "ask", "ask", "ask", false},
		{"ask", "", "ask", "ask", false},
		{"ask", "auto", "ask", "auto", true},
	} {
		r := bad(t, "opens="+c.own, func(cfg *Config) { cfg.Mode, cfg.Permissions = c.mode, c.permissions })
		if info := r.Info(); info.Mode != c.mode || (info.Warning != "") != (c.warns && c.mode != "") {
			t.Errorf("%+v, before the start: %+v", c, info)
		}
		th := r.thread("t")
		// The person learns it before the agent does the first thing.
		sink, _ := th.prompt(t.Context(), "say x")
		if told := notices(sink); (len(told) == 1) != c.warns || c.warns && !strings.Contains(told[0], "Nobody is asked first: sessions open in the mode "+c.opens) {
			t.Errorf("%+v: notices %q", c, told)
		}
		if sink, _ := th.prompt(t.Context(), "say y"); len(notices(sink)) != 0 {
			t.Errorf("%+v: again: %q", c, notices(sink))
		}
		th.configured(map[string]string{"mode": `"code"`}) // of this thread alone
		info := r.Info()
		if info.Mode != c.opens || (info.Warning != "") != c.warns || c.warns && !strings.Contains(info.Warning, c.opens) {
			t.Errorf("%+v: %q, %q", c, info.Mode, info.Warning)
		}
	}
}

func TestWhatIsKnownOfAModeIsNotGuessed(t *testing.T) {
	c := &Config{Permissions: PermissionsAsk, Unasked: map[string]string{"build": "runs commands without asking", "auto": ""}}
	for _, mode := range []struct {
		choice
		warns string // "" = not
	}{
		{choice{"build", "build"}, "mode build, in which the agent runs commands without asking. To be asked, choose another one with the key mode"},
		{choice{"auto", "Auto"}, ""},
		{choice{"yolo", "YOLO"}, "mode yolo (YOLO), in which the agent may decide by itself what it does (a guess"},
		{choice{"careful", ""}, ""},
		{choice{}, ""},
	} {
		if id, warning := opensIn(c, mode.choice); id != mode.ID || (warning != "") != (mode.warns != "") || !strings.Contains(warning, mode.warns) {
			t.Errorf("%+v: %q, %q", mode.choice, id, warning)
		}
	}
}

func TestModesThatSoundUnasked(t *testing.T) {
	for _, c := range []struct {
		id, name string
		decides  bool
	}{
		// Claude Code
		{"default", "Manual", false},
		{"plan", "Plan", false},
		{"acceptEdits", "Accept edits", true},
		{"auto", "Auto", true},
		{"bypassPermissions", "Bypass permissions", true},
		{"dontAsk", "Don't ask", true},
		// Codex
		{"read-only", "Read-only", false},
		{"workspace-write", "Workspace access", false},
		{"agent", "Auto review", true},
		{"agent-full-access", "Full access", true},
		// Gemini CLI and Qwen Code
		{"default", "Default", false},
		{"autoEdit", "Auto Edit", true},
		{"auto-edit", "", true},
		{"yolo", "YOLO", true},
		// OpenCode
		{"build", "build", false},
		// others
		{"ask", "", false},
		{"dangerFullAccess", "", true},
		{"autonomous", "", true},
		{"", "", false},
	} {
		if got := soundsUnasked(choice{c.id, c.name}); got != c.decides {
			t.Errorf("%q, %q: %v", c.id, c.name, got)
		}
	}
}
