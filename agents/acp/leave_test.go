package acp

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/acptest"
	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// recorded is badagent, and a file that gets every line that it is sent.
func recorded(t *testing.T, words string) (r *rig, sent func() string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "sent")
	r = serve(t, append([]string{"sh", "-c", `log=$1; shift; tee "$log" | "$@"`, "sh", log, acptest.Build(t, acptest.BadAgent)}, strings.Fields(words)...))
	return r, func() string {
		raw, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
}

// leaves asks in a thread until the server stops, and returns how the prompt ended and
// whether the agent can go on after a restart.
func leaves(t *testing.T, th *testThread) (out turns.Outcome, resumes bool) {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	over := make(chan struct{})
	sink := agenttest.NewSink(t)
	sink.OnAsk = func(ctx context.Context, _ items.Content, o turns.AskOptions) (turns.Answer, error) {
		resumes = o.Resumes
		stop(turns.ErrServerStops)
		close(over)
		<-ctx.Done()
		return turns.Answer{}, turns.ErrPromptOver
	}
	return th.with(ctx, sink, turns.Prompt{Over: over}, "ask Write?"), resumes
}

func TestAgentThatWaitsIsToldNothingWhenTheServerStops(t *testing.T) {
	for _, shared := range []bool{false, true} {
		r, sent := recorded(t, "")
		other := r.thread("other")
		ended := make(chan string, 1)
		if shared {
			sink := agenttest.NewSink(t)
			go func() {
				other.with(t.Context(), sink, turns.Prompt{}, "say at work\nsleep 3000\nsay done")
				ended <- said2(sink)
			}()
			sink.Wait(t.Context(), func() bool { return hasItem(sink) })
		}
		out, resumes := leaves(t, r.thread("t"))
		if out.State != turns.Interrupted || !resumes {
			t.Errorf("shared %v: %+v, resumes %v", shared, out, resumes)
		}
		if shared {
			if got := <-ended; got != "at work|done" { // its process is not killed
				t.Errorf("the other turn said %q", got)
			}
		}
		r.stop()
		if got := sent(); !strings.Contains(got, `"session/prompt"`) || strings.Contains(got, "session/cancel") || strings.Contains(got, "cancelled") {
			t.Errorf("shared %v: the agent was sent %s", shared, got)
		}
	}
}

func TestAgentGoesOnAfterARestartInItsSession(t *testing.T) {
	answers := items.UserMessage{Type: items.KindUserMessage, Role: "user", Origin: items.OriginResume, Content: []items.Part{{Type: items.PartText, Text: "say the answer is Yes"}}}
	for words, goesOn := range map[string]bool{"": true, "no-resume": true, "no-resume no-load": false} {
		state := t.TempDir() + "/s"
		th := bad(t, words+" state="+state).thread("t")
		th.run("say first words")
		if _, resumes := leaves(t, th); resumes != goesOn {
			t.Errorf("%q: resumes %v", words, resumes)
		}
		th.r.stop()

		if goesOn {
			th.r = bad(t, words+" state="+state)
			sink := agenttest.NewSink(t)
			p := &turns.Prompt{ThreadID: "t", TurnID: "turn_t_2", Attempt: 1, SessionID: th.sessionID, Sink: sink, Input: []items.UserMessage{answers, agenttest.Message("session\nhistory")}}
			out := th.r.Run(t.Context(), p)
			if got := said2(sink); out.State != turns.Completed || !strings.Contains(got, "the answer is Yes") || !strings.Contains(got, "say first words") {
				t.Errorf("%q: %+v, %q", words, out, got)
			}
			th.r.stop()
		}
		// A session that is gone cannot be continued: the rest would be done twice, or never.
		th.r = bad(t, words+" forget")
		sink := agenttest.NewSink(t)
		p := &turns.Prompt{ThreadID: "t", TurnID: "turn_t_2", Attempt: 1, SessionID: th.sessionID, Sink: sink, Input: []items.UserMessage{answers}}
		out := th.r.Run(t.Context(), p)
		if out.Cause != turns.CauseServer || !strings.Contains(out.Why(), "has lost the session of this turn") || hasItem(sink) {
			t.Errorf("%q: lost: %+v", words, out)
		}
		// Nor one that was replaced before its turn could go on.
		is, err := th.r.Configure(t.Context(), turns.AgentThread{ThreadID: "t", SessionID: th.sessionID}, nil)
		if err != nil || is.SessionID == th.sessionID {
			t.Fatalf("%+v, %v", is, err)
		}
		p.SessionID = is.SessionID
		if out := th.r.Run(t.Context(), p); out.Cause != turns.CauseServer || hasItem(sink) {
			t.Errorf("%q: replaced: %+v", words, out)
		}
		th.r.stop()
	}
}
