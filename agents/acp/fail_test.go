package acp

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// Items that a dying process leaves open end as the turn does. Those of a
// cancelled prompt end interrupted, however the process ends.
func TestItemsOfAPromptThatFailsEndFailed(t *testing.T) {
	for words, want := range map[string]items.Status{
		"plan\nsay partial\ndie 3 bye":     items.StatusFailed,
		"plan\nsay partial\nkill 9 bye":    items.StatusFailed,
		"plan\nsay partial\nerror refused": items.StatusFailed,
		"plan\nsay partial\nstop refusal":  items.StatusCompleted,
	} {
		sink, out := bad(t, "").thread("t").prompt(t.Context(), words)
		if failed := out.State == turns.Failed; failed != (want == items.StatusFailed) {
			t.Errorf("%q: %+v", words, out)
		}
		for _, it := range sink.Items() {
			if it.Status != want {
				t.Errorf("%q: %s has ended %s, want %s", words, it.Kind, it.Status, want)
			}
		}
		if n := len(sink.Items()); n != 2 {
			t.Errorf("%q: %d items", words, n)
		}
	}
	r := bad(t, "stubborn", func(c *Config) { c.CancelAfter = 200 * time.Millisecond })
	sink, _ := r.thread("t").interruptAfter("deaf\nsay partial\nwait", hasItem)
	if got := sink.Items()[0].Status; got != items.StatusInterrupted {
		t.Errorf("interrupted, and the message has ended %s", got)
	}
}

// Codex and Claude Code end a prompt with end_turn also when their model did not
// answer, and say so beside it.
func TestAFailureInAPromptsResultIsTheTurnsError(t *testing.T) {
	for words, want := range map[string]struct {
		out    turns.Outcome
		status items.Status
	}{
		"say partial\nfail retry The model is overloaded.": {
			turns.Outcome{State: turns.Failed, Cause: turns.CauseTransient, Failure: &turns.Failure{
				Kind: turns.KindAgentFailed, Message: "the agent failed: The model is overloaded. (service)"}}, items.StatusFailed,
		},
		"say partial\nfail none The quota is used up.": {
			turns.Outcome{State: turns.Failed, Failure: &turns.Failure{
				Kind: turns.KindAgentFailed, Message: "the agent failed: The quota is used up. (limit)"}}, items.StatusFailed,
		},
		"say partial\nfail login Sign in again.": {
			turns.Outcome{State: turns.Failed, Failure: &turns.Failure{
				Kind: turns.KindAgentUnavailable, Message: "the agent is not logged in: Sign in again. (access). Log in with the agent's own command, then try again"}}, items.StatusFailed,
		},
		"say partial\nfail-warning retry It was slow.": {turns.Outcome{State: turns.Completed, StopReason: "end_turn"}, items.StatusCompleted},
	} {
		r := bad(t, "")
		sink, out := r.thread("t").prompt(t.Context(), "usage\n"+words)
		if want.out.State == turns.Failed {
			want.out.StopReason = "error"
		}
		if out.State != want.out.State || out.StopReason != want.out.StopReason || out.Cause != want.out.Cause {
			t.Errorf("%q: %+v", words, out)
		}
		if got := out.Failure; (got == nil) != (want.out.Failure == nil) || got != nil && (got.Kind != want.out.Failure.Kind || got.Message != want.out.Failure.Message) {
			t.Errorf("%q: %+v", words, got)
		}
		if it := sink.Items()[0]; it.Text != "partial" || it.Status != want.status {
			t.Errorf("%q: the message %q has ended %s", words, it.Text, it.Status)
		}
		if u := sink.Usage(); u == nil || u.TotalTokens != 1290 {
			t.Errorf("%q: its tokens are not counted: %+v", words, u)
		}
		warned := strings.Join(notices(sink), "|")
		if (warned == "It was slow. (service)") != (want.out.State == turns.Completed) || want.out.State == turns.Failed && warned != "" {
			t.Errorf("%q: notices %q", words, warned)
		}
	}
}

// A client that announces the one extension has to announce the other: Codex takes
// it for an editor then, and sends output of commands only to one that asks for it.
func TestTheExtensionsThatAreReadAreAnnounced(t *testing.T) {
	got := bad(t, "").thread("t").run("client")
	for _, want := range []string{`"jetbrains":{"air":{"version":1,"capabilities":["sessionFailure"]}}`, `"terminal_output_delta":true`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s does not have %s", got, want)
		}
	}
}

func TestAPromptWhoseAnswerIsMalformedEnds(t *testing.T) {
	sink, out := bad(t, "").thread("t").prompt(t.Context(), "say partial\n"+`answer {"jsonrpc":"2.0","id":$ID,"error":{"code":"ECONNRESET","message":"socket hang up"}}`)
	if out.State != turns.Failed || out.Failure.Kind != turns.KindAgentFailed || !strings.Contains(out.Failure.Message, `"ECONNRESET","message":"socket hang up"`) {
		t.Errorf("%+v, %+v", out, out.Failure)
	}
	if it := sink.Items()[0]; it.Text != "partial" || it.Status != items.StatusFailed {
		t.Errorf("%+v", it)
	}
}

// A turn is told of lines that are dropped, and reads those only that name it.
func TestDroppedLinesAreToldToTheTurnThatTheyName(t *testing.T) {
	r := bad(t, "")
	waiting := make(chan *agenttest.Sink, 1)
	other := make(chan *agenttest.Sink)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		sink, _ := r.thread("other").prompt(ctx, "say waiting\nwait", func(s *agenttest.Sink) { waiting <- s })
		other <- sink
	}()
	begun := <-waiting
	begun.Wait(t.Context(), func() bool { return hasItem(begun) })
	lines := []string{`line {"level":"info","id":$ID,"msg":"mine"}`, `line {"sessionId":"$SESSION","a":NaN}`, `line {"level":"info","msg":"whose?"}`, `line no object`}
	for range 40 {
		lines = append(lines, `line {"id":$ID}`)
	}
	long := `line {"id":$ID,"x":"` + strings.Repeat("x", 1000) + `"}`
	sink, out := r.thread("t").prompt(t.Context(), long+"\n"+strings.Join(lines, "\n")+"\nsay done")
	cancel()
	mine, others := notices(sink), notices(<-other)
	if out.State != turns.Completed || said2(sink) != "done" || len(mine) != maxDrops+1 {
		t.Fatalf("%+v, %q, %d notices: %q", out, said2(sink), len(mine), mine)
	}
	for i, want := range []string{`The line: {"id":`, `"msg":"mine"}`, `"a":NaN}`, "does not say which turn"} {
		if !strings.Contains(mine[i], want) {
			t.Errorf("notice %d is %q, without %s", i, mine[i], want)
		}
	}
	if _, quoted, _ := strings.Cut(mine[0], "The line: "); len(quoted) != maxLineQuote+len("…") {
		t.Errorf("%d bytes are quoted", len(quoted))
	}
	if last := mine[maxDrops]; !strings.Contains(last, "24 more lines") {
		t.Errorf("the last notice is %q", last)
	}
	if len(others) != 1 || !strings.Contains(others[0], "does not say which turn") || strings.Contains(others[0], "whose") {
		t.Errorf("the other turn is told %q", others)
	}
}
