package acp

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/limits"
	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

func TestPermissionIsAQuestionOfTheTurn(t *testing.T) {
	for _, prompt := range []string{"ask Write?", "ask-first Write?"} {
		th := bad(t, "").thread("t")
		for kind, want := range map[string]string{items.AllowOnce: "selected", items.AllowAlways: "selected", items.RejectOnce: "selected"} {
			sink, out := th.prompt(t.Context(), prompt, answer(kind))
			var asked *agenttest.Item
			for _, it := range sink.Items() {
				if it.Kind == items.KindPermissionRequest {
					asked = &it
				}
			}
			if asked == nil || !asked.Status.Open() && asked.Status != items.StatusCompleted && asked.Status != items.StatusDeclined {
				t.Fatalf("%s %s: asked %+v", prompt, kind, asked)
			}
			q := asked.Content.(items.PermissionRequest)
			if q.Subject.ItemID == "" || len(q.Options) != 4 {
				t.Errorf("%s %s: %+v", prompt, kind, q)
			}
			if got := said2(sink); out.State != turns.Completed || !strings.Contains(got, want+" "+optionOf(q.Options, kind).OptionID) {
				t.Errorf("%s %s: %+v, said %q", prompt, kind, out, got)
			}
		}
		th.clean()
	}
}

func TestRefusedToolCallEndsDeclinedWhateverTheAgentSays(t *testing.T) {
	for _, words := range []string{"", "mute-reject"} {
		for _, prompt := range []string{"ask Write?", "ask-first Write?"} {
			sink, _ := bad(t, words).thread("t").prompt(t.Context(), prompt, answer(items.RejectOnce))
			calls := 0
			for _, it := range sink.Items() {
				if it.Kind == items.KindCommandExecution || it.Kind == items.KindToolCall {
					if calls++; it.Status != items.StatusDeclined {
						t.Errorf("%q, %s: it ended %s", words, prompt, it.Status)
					}
				}
			}
			if calls != 1 {
				t.Errorf("%q, %s: %d tool calls", words, prompt, calls)
			}
		}
	}
}

func TestTwoPermissionsAreAskedAtOnce(t *testing.T) {
	th := bad(t, "").thread("t")
	both := make(chan struct{}, 2)
	got := th.run("ask-two", func(s *agenttest.Sink) {
		s.OnAsk = func(ctx context.Context, q items.Content, o turns.AskOptions) (turns.Answer, error) {
			both <- struct{}{}
			for len(both) < 2 {
				if ctx.Err() != nil {
					return turns.Answer{}, ctx.Err()
				}
				time.Sleep(time.Millisecond)
			}
			option := optionOf(q.(items.PermissionRequest).Options, items.AllowOnce)
			return turns.Answer{Status: items.StatusCompleted, Outcome: items.Outcome{Type: items.OutcomeSelected, OptionID: option.OptionID, Kind: option.Kind}}, nil
		}
	})
	if strings.Count(got, "selected") != 2 {
		t.Errorf("%q", got)
	}
}

// TestConfiguredAnswersAreOnTheLog lets the configuration answer: the sink gets
// the question with its answer, and the engine stores both.
func TestConfiguredAnswersAreOnTheLog(t *testing.T) {
	for permissions, kind := range map[string]string{PermissionsAllow: items.AllowOnce, PermissionsReject: items.RejectOnce} {
		th := bad(t, "", func(c *Config) { c.Permissions = permissions }).thread("t")
		asked := 0
		got := th.run("ask Write?", func(s *agenttest.Sink) {
			s.OnAsk = func(_ context.Context, q items.Content, o turns.AskOptions) (turns.Answer, error) {
				asked++
				option := optionOf(q.(items.PermissionRequest).Options, kind)
				if o.OptionID != option.OptionID || o.ExpiresAfter != 0 {
					t.Errorf("%s: %+v", permissions, o)
				}
				status := items.StatusCompleted
				if kind == items.RejectOnce {
					status = items.StatusDeclined
				}
				return turns.Answer{Status: status, Outcome: items.Outcome{Type: items.OutcomeSelected, OptionID: o.OptionID, Kind: kind}}, nil
			}
		})
		if !strings.Contains(got, "selected") {
			t.Errorf("%s: %q", permissions, got)
		}
		if asked > 1 {
			t.Errorf("%s: asked %d times", permissions, asked)
		}
	}
}

func TestPermissionExpiresWithTheConfiguredOutcome(t *testing.T) {
	for configured, want := range map[string]string{"": items.RejectOnce, items.AllowAlways: items.AllowAlways} {
		th := bad(t, "", func(c *Config) { c.PermissionTimeout, c.PermissionDefault = time.Minute, configured }).thread("t")
		got := th.run("ask Write?", func(s *agenttest.Sink) {
			s.OnAsk = func(_ context.Context, q items.Content, o turns.AskOptions) (turns.Answer, error) {
				if o.ExpiresAfter != time.Minute || o.OnExpiry != want || o.OptionID != "" {
					t.Errorf("asked with %+v", o)
				}
				option := optionOf(q.(items.PermissionRequest).Options, o.OnExpiry) // as the engine does when the time is over
				return turns.Answer{Status: items.StatusDeclined, Outcome: items.Outcome{Type: items.OutcomeExpired, OptionID: option.OptionID, Kind: option.Kind}}, nil
			}
		})
		if !strings.Contains(got, "selected") {
			t.Errorf("%q: %q", configured, got)
		}
	}
}

func TestKindOfOptionIsChosenByWhatItSays(t *testing.T) {
	only := func(kinds ...string) (out []items.Option) {
		for _, k := range kinds {
			out = append(out, items.Option{OptionID: "id-" + k, Kind: k})
		}
		return out
	}
	for _, c := range []struct {
		options []items.Option
		want    string
		kind    string
	}{
		{only(items.AllowOnce, items.RejectOnce), items.RejectOnce, items.RejectOnce},
		{only(items.AllowOnce, items.RejectAlways), items.RejectOnce, items.RejectAlways},
		{only(items.AllowAlways), items.AllowOnce, items.AllowAlways},
		{only(items.AllowOnce), items.RejectOnce, ""},
		{only("other"), items.AllowOnce, ""},
		{nil, items.AllowOnce, ""},
		{only(items.AllowOnce), "", ""},
	} {
		if got := kindOffered(c.options, c.want); got != c.kind {
			t.Errorf("%v, %q: %q", c.options, c.want, got)
		}
	}
}

func TestQuestionIsAnsweredLikeAForm(t *testing.T) {
	th := bad(t, "").thread("t")
	if got := th.run("elicit Which colour?", answer("")); !strings.Contains(got, "blue") {
		t.Errorf("%q", got)
	}
	th.clean()
}

func TestQuestionOutsideOfATurnIsAnsweredAndToldOf(t *testing.T) {
	r := bad(t, "")
	th := r.thread("t")
	th.run("say one")
	s := r.threads["t"].session
	asked := make(chan struct{})
	q := &request{peer: s.pr.peer, s: s, id: []byte("4711"), method: methodPermission}
	go func() {
		defer close(asked)
		s.request(q, event{kind: evRequest, request: q, raw: []byte(`{"sessionId":"x","toolCall":{"toolCallId":"c"},"options":[]}`)})
	}()
	<-asked
	r.host.wait(t, func(said string) bool { return strings.Contains(said, "nobody answers") })
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) != 0 {
		t.Error("it waits")
	}
}

// A question that an agent asks while its session is being loaded reaches no
// person: it must not wait for an answer.
func TestQuestionThatIsNotTakenIsAnswered(t *testing.T) {
	for name, change := range map[string]func(*session){
		"Loading": func(s *session) { s.replaying = true },
		"TooMuch": func(s *session) { s.held, s.heldBytes = true, limits.AgentOutputBytes },
	} {
		t.Run(name, func(t *testing.T) {
			r := bad(t, "")
			r.thread("t").run("say x")
			s := r.live("t", "", "")
			defer r.pool.leave(s.pr)
			s.mu.Lock()
			change(s)
			s.cancelled = false // as a prompt has it
			s.mu.Unlock()
			s.pr.asked(jsontext.Value("77"), methodPermission, jsontext.Value(`{"sessionId":"`+s.id+`","toolCall":{"toolCallId":"c"},"options":[]}`))
			s.mu.Lock()
			defer s.mu.Unlock()
			if n := len(s.requests); n != 0 {
				t.Errorf("%d questions wait for ever", n)
			}
			s.replaying, s.held = false, false
		})
	}
}
