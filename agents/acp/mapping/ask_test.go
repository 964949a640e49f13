package mapping

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

func TestPermissionReplySaysWhatWasChosen(t *testing.T) {
	for _, c := range []struct {
		answer items.Answer
		want   string
	}{
		{items.Answer{Status: items.StatusCompleted, Outcome: items.Outcome{Type: items.OutcomeSelected, OptionID: "once", Kind: items.AllowOnce}}, `{"outcome":{"outcome":"selected","optionId":"once"}}`},
		{items.Answer{Status: items.StatusDeclined, Outcome: items.Outcome{Type: items.OutcomeSelected, OptionID: `a"b`}}, `{"outcome":{"outcome":"selected","optionId":"a\"b"}}`},
		{items.Answer{Status: items.StatusDeclined, Outcome: items.Outcome{Type: items.OutcomeExpired, OptionID: "no"}}, `{"outcome":{"outcome":"selected","optionId":"no"}}`},
		{items.Answer{Status: items.StatusCancelled, Outcome: items.Outcome{Type: items.OutcomeExpired}}, `{"outcome":{"outcome":"cancelled"}}`},
		{items.Answer{Status: items.StatusCancelled, Outcome: items.Outcome{Type: items.OutcomeCancelled, OptionID: "x"}}, `{"outcome":{"outcome":"cancelled"}}`},
		{items.Answer{}, `{"outcome":{"outcome":"cancelled"}}`},
	} {
		if got := string(PermissionReply(c.answer)); got != c.want {
			t.Errorf("%+v: %s, want %s", c.answer, got, c.want)
		}
	}
}

func TestElicitationReplySaysWhatWasAnswered(t *testing.T) {
	one := items.Question{Schema: items.Raw(`{"type":"object","properties":{"colour":{"type":"string"}}}`)}
	two := items.Question{Schema: items.Raw(`{"properties":{"a":{},"b":{}}}`)}
	for _, c := range []struct {
		question items.Question
		status   items.Status
		answer   string
		want     string
	}{
		{one, items.StatusCompleted, `{"colour":"red"}`, `{"action":"accept","content":{"colour":"red"}}`},
		{one, items.StatusCompleted, `"red"`, `{"action":"accept","content":{"colour":"red"}}`},
		{two, items.StatusCompleted, `[1]`, `{"action":"accept","content":{"answer":[1]}}`},
		{items.Question{URL: "https://example.org"}, items.StatusCompleted, ``, `{"action":"accept"}`},
		{one, items.StatusCompleted, `null`, `{"action":"accept"}`},
		{one, items.StatusDeclined, ``, `{"action":"decline"}`},
		{one, items.StatusCancelled, ``, `{"action":"cancel"}`},
	} {
		got := ElicitationReply(c.question, items.Answer{Status: c.status, Answer: items.Raw(c.answer)})
		if string(got) != c.want || !got.IsValid() {
			t.Errorf("%s %s: %s, want %s", c.status, c.answer, got, c.want)
		}
	}
}

func TestARequestThatNobodyCanAnswerIsKeptAndRefused(t *testing.T) {
	for _, params := range []string{`{}`, `[]`, `not JSON`, `{"options":"x"}`, `{"options":[{"name":"no id"}]}`, ``} {
		ops, _, err := New(Options{}).Permission(jsontext.Value(params))
		if !errors.Is(err, ErrNoQuestion) || len(ops) != 1 {
			t.Errorf("permission %s: %d ops, %v", params, len(ops), err)
		}
		ops, _, err = New(Options{}).Elicitation(jsontext.Value(params))
		if !errors.Is(err, ErrNoQuestion) || len(ops) != 1 {
			t.Errorf("elicitation %s: %d ops, %v", params, len(ops), err)
		}
	}
}

func TestStateTellsWhatEndsAPromptOfVersion2(t *testing.T) {
	for raw, want := range map[string][3]any{
		`{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}`: {"idle", "end_turn", true},
		`{"sessionUpdate":"state_update","state":"running"}`:                      {"running", "", true},
		`{"sessionUpdate":"plan","state":"idle"}`:                                 {"", "", false},
		`5`: {"", "", false},
	} {
		if state, reason, ok := State(jsontext.Value(raw)); state != want[0] || reason != want[1] || ok != want[2] {
			t.Errorf("%s: %q %q %v", raw, state, reason, ok)
		}
	}
}

func TestAConfigOfTheLogMayLackAnything(t *testing.T) {
	for _, config := range []string{`{"option_choices":[{"id":"m","category":"mode","choices":[{"value":"x"}]}]}`, `{}`, `[]`, `5`, `null`, ``} {
		s := New(Options{Config: jsontext.Value(config)})
		if ops := s.ModeSet("x"); len(ops) != 1 {
			t.Errorf("config %s: %d ops", config, len(ops))
		}
	}
}

func TestSettingSaysHowASettingIsChanged(t *testing.T) {
	s := New(Options{})
	if _, ok := s.Setting("mode"); ok {
		t.Error("a mode before anything is known")
	}
	s.Opened(jsontext.Value(`{"modes":{"currentModeId":"a","availableModes":[{"id":"a","name":"A"},{"id":"b","name":"B"}]},"models":{"currentModelId":"m","availableModels":[{"modelId":"m","name":"M"}]}}`))
	mode, ok := s.Setting("mode")
	if !ok || mode.Via != "session/set_mode" || len(mode.Choices) != 2 || string(mode.Value) != `"a"` {
		t.Errorf("mode: %+v %v", mode, ok)
	}
	model, ok := s.Setting("model")
	if !ok || model.Via != "session/set_model" || string(model.Value) != `"m"` {
		t.Errorf("model: %+v %v", model, ok)
	}
	s.Opened(jsontext.Value(`{"configOptions":[{"id":"agent_mode","category":"mode","name":"M","type":"select","currentValue":"x","options":[{"value":"x","name":"X"}]},{"id":"fast","name":"F","type":"boolean","currentValue":true}]}`))
	mode, ok = s.Setting("mode")
	if !ok || mode.Via != "session/set_config_option" || mode.ConfigID != "agent_mode" || string(mode.Value) != `"x"` {
		t.Errorf("mode as an option: %+v %v", mode, ok)
	}
	fast, ok := s.Setting("fast")
	if !ok || !fast.Boolean || fast.ConfigID != "fast" || string(fast.Value) != "true" {
		t.Errorf("fast: %+v %v", fast, ok)
	}
	if _, ok := s.Setting("slow"); ok {
		t.Error("a setting that does not exist")
	}
}

func TestASettingHasOneNameAndAClientsChoiceIsKept(t *testing.T) {
	options := jsontext.Value(`{"configOptions":[
		{"id":"agent_mode","category":"mode","type":"select","currentValue":"x","options":[{"value":"x"},{"value":"y"}]},
		{"id":"second","category":"mode","type":"select","currentValue":"x","options":[{"value":"x"}]},
		{"id":"fast","type":"boolean","currentValue":true}]}`)
	s := New(Options{})
	s.Opened(options)
	for given, want := range map[string]string{"mode": "mode", "agent_mode": "mode", "second": "second", "fast": "fast"} {
		if set, ok := s.Setting(given); !ok || set.Name != want {
			t.Errorf("%s: %+v", given, set)
		}
	}
	for _, name := range []string{"second", "agent_mode", "mode", "fast", "second"} {
		s.Configured(name)
	}
	const want = `"configured":["fast","mode","second"]`
	if got := string(s.Config()); !strings.Contains(got, want) {
		t.Errorf("%s", got)
	}
	// It outlives the session, the choices and other changes.
	s = New(Options{Config: s.Config()})
	s.Opened(options)
	s.ModeSet("y")
	if got := string(s.Config()); !strings.Contains(got, want) {
		t.Errorf("%s", got)
	}
	if ops := s.Configured("mode"); len(ops) != 0 {
		t.Errorf("what was known is said again: %+v", ops)
	}
}
