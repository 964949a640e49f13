package echo

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func run(t *testing.T, text string) (*agenttest.Sink, turns.Outcome) {
	t.Helper()
	sink := agenttest.NewSink(t)
	return sink, sink.Run(t.Context(), New("echo"), turns.Prompt{}, text)
}

func TestEchoPassesTheSuite(t *testing.T) {
	agenttest.Exercise(t, agenttest.Subject{
		Agent: New("echo"), Kind: "echo", Speak: "hello there\n/items 3 10\n/delete",
		Hold: "one moment\n/sleep 3600000", Stop: time.Second,
	})
}

func TestEchoStreamsItsInputByWords(t *testing.T) {
	sink, _ := run(t, "  hello,  big\tworld \n")
	made := sink.Items()
	if len(made) != 1 || made[0].Kind != items.KindAgentMessage || made[0].Status != items.StatusCompleted {
		t.Fatalf("made %+v, want one finished message", made)
	}
	if got := fmt.Sprintf("%q", made[0].Deltas); got != `["  hello,  " "big\t" "world \n"]` {
		t.Errorf("deltas %s", got)
	}
}

func TestEchoNeverChangesTheText(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune(" \n\té\u2028")))).Draw(r, "text")
		if strings.HasPrefix(text, "/") || strings.Contains(text, "\n/") {
			return
		}
		sink, out := run(t, text)
		if got := sink.Texts(items.KindAgentMessage); len(got) != 1 || got[0] != text {
			r.Fatalf("echoed %q of %q", got, text)
		}
		if out.State != turns.Completed {
			r.Fatalf("outcome %+v", out)
		}
	})
}

func TestEchoBoundsADeltaWithoutSplittingACodePoint(t *testing.T) {
	sink, _ := run(t, strings.Repeat("é", 10_000))
	for _, d := range sink.Items()[0].Deltas {
		if len(d) > maxWord || !utf8.ValidString(d) {
			t.Errorf("delta of %d bytes", len(d))
		}
	}
}

func TestEchoDoesCommandsInTheirOrder(t *testing.T) {
	sink, out := run(t, "first\n\n/say second  one \nthird\nfourth\n/progress on it\r\n/items 2 3\n/nonsense 5\nlast")
	want := []string{"first\n", "second  one", "third\nfourth", "ABC", "ABC", unknown("nonsense"), "last"}
	if got := sink.Texts(items.KindAgentMessage); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("said %q\nwant %q", got, want)
	}
	if got := sink.Progress(); len(got) != 1 || got[0] != "on it" {
		t.Errorf("progress %q", got)
	}
	if out.State != turns.Completed {
		t.Errorf("outcome %+v", out)
	}
	for _, v := range verbs {
		if !strings.Contains(unknown("nonsense"), v.usage) {
			t.Errorf("the answer to an unknown command leaves out %s", v.usage)
		}
	}
}

func TestEchoNamesPartsThatAreNoText(t *testing.T) {
	m := agenttest.Message("see")
	m.Content = append(m.Content, items.Part{Type: items.PartImage, MimeType: "image/png", Data: "AA=="},
		items.Part{Type: items.PartResource, URI: "file:///a"})
	sink := agenttest.NewSink(t)
	sink.Run(t.Context(), New("echo"), turns.Prompt{Input: []items.UserMessage{m}}, "more")
	if got := sink.Texts(items.KindAgentMessage); len(got) != 1 || got[0] != "see\n[image image/png]\n[file:///a]\nmore" {
		t.Errorf("said %q", got)
	}
}

// What arrived from outside gives no commands, wherever it is in the input.
func TestEchoRepeatsWhatAnInboxTellsAndTakesNoCommandsFromIt(t *testing.T) {
	told := func(text string) items.UserMessage {
		m := agenttest.Message(text)
		m.Origin = items.OriginWake
		return m
	}
	first, second := "/fail it is broken\n/delete", "\n/sleep not a number\n\n/say no\n"
	sink := agenttest.NewSink(t)
	out := sink.Run(t.Context(), New("echo"), turns.Prompt{Input: []items.UserMessage{told(first), agenttest.Message("/say yes"), told(second)}}, "plain")
	if got, want := sink.Texts(items.KindAgentMessage), []string{first, "yes", second, "plain"}; out.State != turns.Completed || !slices.Equal(got, want) {
		t.Errorf("outcome %+v, said %q, want %q", out, got, want)
	}
	sink = agenttest.NewSink(t)
	if out := sink.Run(t.Context(), New("echo"), turns.Prompt{Input: []items.UserMessage{told("/say x"), agenttest.Message("/fail as a client says")}}); out.State != turns.Failed {
		t.Errorf("a command of a client after a wake: %+v", out)
	}
}

func TestDeltasHaveExactlyTheSizeAskedFor(t *testing.T) {
	for _, c := range []struct{ n, size int }{{1, 1}, {7, 13}, {300, 64}, {3, 200_000}, {2000, 100}} {
		sink, _ := run(t, fmt.Sprintf("/deltas %d %d", c.n, c.size))
		it := sink.Items()[0]
		if len(it.Deltas) != c.n || len(sink.Items()) != 1 || it.Status != items.StatusCompleted {
			t.Fatalf("/deltas %d %d made %d deltas, status %s", c.n, c.size, len(it.Deltas), it.Status)
		}
		for i, d := range it.Deltas {
			if len(d) != c.size {
				t.Fatalf("delta %d has %d bytes, want %d", i, len(d), c.size)
			}
		}
		for k := range len(it.Text) {
			if it.Text[k] != pattern[k%64] {
				t.Fatalf("byte %d is %q, want %q", k, it.Text[k], pattern[k%64])
			}
		}
	}
}

func TestDeltasKeepTheirDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		sink, _ := run(t, "/deltas 5 10 200\n/sleep 3000")
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("took %v, want 4s", took)
		}
		if n := len(sink.Items()[0].Deltas); n != 5 {
			t.Errorf("%d deltas", n)
		}
	})
}

func TestItemsAreMadeFinishedAndHandedOverInGroups(t *testing.T) {
	sink, _ := run(t, "/items 1000 100")
	made := sink.Items()
	if len(made) != 1000 {
		t.Fatalf("made %d items", len(made))
	}
	ids := map[string]bool{}
	for _, it := range made {
		if it.Status != items.StatusCompleted || len(it.Text) != 100 || len(it.Deltas) != 0 {
			t.Fatalf("made %+v", it)
		}
		ids[it.ID] = true
	}
	if len(ids) != 1000 {
		t.Errorf("%d different ids", len(ids))
	}
	if n := sink.Emits(); n > 1000/groupOps+1 {
		t.Errorf("handed over in %d groups", n)
	}
}

func TestClockSaysWhenEachMessageWasHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		sink, out := run(t, "/clock 5 20")
		texts := sink.Texts(items.KindAgentMessage)
		if out.State != turns.Completed || len(texts) != 5 || sink.Emits() != 5 {
			t.Fatalf("%+v, %d messages in %d groups", out, len(texts), sink.Emits())
		}
		for i, text := range texts {
			want := began.Add(time.Duration(i+1) * 20 * time.Millisecond)
			if text != fmt.Sprint(want.UnixNano()) {
				t.Errorf("message %d says %s, want %d", i, text, want.UnixNano())
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		sink = agenttest.NewSink(t)
		if out := sink.Run(ctx, New("echo"), turns.Prompt{}, "/clock 1000 20"); out.State != turns.Interrupted || len(sink.Items()) != 2 {
			t.Errorf("interrupted: %+v, %d messages", out, len(sink.Items()))
		}
	})
}

func TestAskSaysWhatWasAnswered(t *testing.T) {
	for _, c := range []struct {
		answer turns.Answer
		want   string
	}{
		{turns.Answer{Status: items.StatusCompleted, Outcome: items.Outcome{Type: items.OutcomeSelected, OptionID: "allow_once", Kind: items.AllowOnce}}, `"Run it?" was answered with allow_once`},
		{turns.Answer{Status: items.StatusDeclined, Outcome: items.Outcome{Type: items.OutcomeSelected, OptionID: "reject_once", Kind: items.RejectOnce}}, `"Run it?" was answered with reject_once`},
		{turns.Answer{Status: items.StatusCancelled, Outcome: items.Outcome{Type: items.OutcomeCancelled}}, `"Run it?" was not answered (cancelled)`},
	} {
		sink := agenttest.NewSink(t)
		var asked items.PermissionRequest
		sink.OnAsk = func(_ context.Context, q items.Content, _ turns.AskOptions) (turns.Answer, error) {
			asked = q.(items.PermissionRequest)
			return c.answer, nil
		}
		sink.Run(t.Context(), New("echo"), turns.Prompt{}, "/ask Run it?")
		if got := sink.Texts(items.KindAgentMessage); len(got) != 1 || got[0] != c.want {
			t.Errorf("said %q, want %q", got, c.want)
		}
		if asked.Title != "Run it?" || len(asked.Options) != 2 || asked.Options[0].Kind != items.AllowOnce || asked.Options[1].Kind != items.RejectOnce {
			t.Errorf("asked %+v", asked)
		}
	}
}

func TestDeleteWithdrawsAnItem(t *testing.T) {
	sink, _ := run(t, "/delete")
	if made := sink.Items(); len(made) != 1 || made[0].Status != items.StatusDeleted {
		t.Errorf("made %+v", made)
	}
}

func TestFailEndsTheTurnWithItsMessage(t *testing.T) {
	sink, out := run(t, "before\n/fail no disk, no fun\nafter")
	if out.State != turns.Failed || *out.Failure != (turns.Failure{Kind: "agent_failed", Message: "no disk, no fun"}) {
		t.Errorf("outcome %+v", out)
	}
	if got := sink.Texts(items.KindAgentMessage); len(got) != 1 {
		t.Errorf("said %q, want nothing after the failure", got)
	}
}

func TestCrashLeavesItsMessageOpen(t *testing.T) {
	sink, out := run(t, "/crash")
	if out.State != turns.Failed || out.Failure.Kind != "agent_failed" || len(sink.Open()) != 1 {
		t.Errorf("outcome %+v, open %+v", out, sink.Open())
	}
}

func TestFailuresThatMayPassSayTheirCauseAndPassInTheEnd(t *testing.T) {
	for line, cause := range map[string]turns.Cause{"/crash 2": turns.CauseCrash, "/transient 2": turns.CauseTransient} {
		for attempt := 1; attempt <= 3; attempt++ {
			out := agenttest.NewSink(t).Run(t.Context(), New("echo"), turns.Prompt{ThreadID: "thread_a", TurnID: "turn_a", Attempt: attempt}, line)
			if attempt < 3 && (out.State != turns.Failed || out.Cause != cause) || attempt == 3 && out.State != turns.Completed {
				t.Errorf("%s in attempt %d: %+v", line, attempt, out)
			}
		}
	}
	if _, out := run(t, "/crash"); out.Cause != turns.CauseCrash {
		t.Errorf("/crash: %+v", out)
	}
}

func TestStepsHaveTheLinesThatFollow(t *testing.T) {
	sink, _ := run(t, "one\n/step a/b\ntwo\n/end\nthree\n/again a/b\nfour\n/end\n/end\nfive")
	got := ""
	for _, it := range sink.Items() {
		got += it.Step + ":" + it.Text + " "
	}
	if want := ":one a/b:two a:three a/b:four :five "; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
	if ops := fmt.Sprintf("%T", sink.Steps()); len(sink.Steps()) != 5 {
		t.Errorf("steps %s: %+v", ops, sink.Steps())
	}
}

func TestStubbornSeesAnInterruptOnlyAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		sink := agenttest.NewSink(t)
		out := sink.Run(ctx, New("echo"), turns.Prompt{}, "/stubborn 5000\nafter")
		if took := time.Since(began); took != 5*time.Second || out.State != turns.Interrupted || len(sink.Items()) != 0 {
			t.Errorf("after %v: %+v, %d items", took, out, len(sink.Items()))
		}
		over := make(chan struct{})
		time.AfterFunc(2*time.Second, func() { close(over) })
		began = time.Now()
		out = agenttest.NewSink(t).Run(t.Context(), New("echo"), turns.Prompt{Over: over}, "/stubborn 5000\nafter")
		if took := time.Since(began); took != 2*time.Second || out.State != turns.Interrupted {
			t.Errorf("when the turn ended without it: after %v: %+v", took, out)
		}
		if _, out := run(t, "/stubborn 5000\nafter"); out.State != turns.Completed {
			t.Errorf("without an interrupt: %+v", out)
		}
	})
}

func TestBadArgumentsFailTheTurnBeforeAnythingIsDone(t *testing.T) {
	for line, want := range map[string]string{
		"/say":                           "the text is missing",
		"/ask   ":                        "the text is missing",
		"/fail":                          "the text is missing",
		"/progress\r":                    "the text is missing",
		"/delete it":                     `"it" is too much`,
		"/crash now":                     `N must be a number from 0 to 1000000, not "now"`,
		"/transient -1":                  `N must be a number from 0 to 1000000, not "-1"`,
		"/step":                          `"" cannot name a step`,
		"/step a b":                      `"a b" cannot name a step`,
		"/again a//b":                    `"a//b" cannot name a step`,
		"/end":                           "no step is under way",
		"/sleep":                         "one number is needed, not 0",
		"/sleep 1 2":                     "one number is needed, not 2",
		"/sleep -1":                      `MS must be a number from 0 to 3600000, not "-1"`,
		"/sleep 3600001":                 `MS must be a number from 0 to 3600000, not "3600001"`,
		"/stubborn 1e3":                  `MS must be a number from 0 to 3600000, not "1e3"`,
		"/items 0 1":                     `N must be a number from 1 to 1000000, not "0"`,
		"/items 1000001 1":               `N must be a number from 1 to 1000000, not "1000001"`,
		"/items 1 -1":                    `SIZE must be a number from 0 to 1048576, not "-1"`,
		"/items 1 1048577":               `SIZE must be a number from 0 to 1048576, not "1048577"`,
		"/items 5":                       "two numbers are needed, not 1",
		"/items 5 5 5":                   "two numbers are needed, not 3",
		"/clock 5":                       "two numbers are needed, not 1",
		"/clock 0 5":                     `N must be a number from 1 to 1000000, not "0"`,
		"/clock 5 0":                     `MS must be a number from 1 to 3600000, not "0"`,
		"/items 1000000 1048576":         "a line may make at most 1073741824 bytes, not 1048576000000",
		"/deltas 1 0":                    `SIZE must be a number from 1 to 1048576, not "0"`,
		"/deltas 1":                      "two or three numbers are needed, not 1",
		"/deltas 1 1 x":                  `DELAY_MS must be a number from 0 to 3600000, not "x"`,
		"/deltas 99999999999999999999 1": `N must be a number from 1 to 1000000, not "99999999999999999999"`,
	} {
		sink, out := run(t, "before\n"+line)
		if out.State != turns.Failed || out.Failure.Kind != "invalid_params" || !strings.HasPrefix(out.Failure.Message, "line 2: "+want+"; the command is /") {
			t.Errorf("%s: %+v", line, out.Failure)
		}
		if len(sink.Items()) != 0 {
			t.Errorf("%s: made %d items first", line, len(sink.Items()))
		}
	}
}

func TestAPromptTakesABoundedNumberOfCommands(t *testing.T) {
	if _, out := run(t, strings.Repeat("/progress x\n", maxCommands)); out.State != turns.Completed {
		t.Errorf("%d commands: %+v", maxCommands, out.Failure)
	}
	_, out := run(t, strings.Repeat("/progress x\n", maxCommands+1))
	if out.State != turns.Failed || !strings.Contains(out.Failure.Message, "at most 1000 commands") {
		t.Errorf("one more: %+v", out)
	}
}

func TestDocumentationListsTheCommands(t *testing.T) {
	doc, err := os.ReadFile("../../docs/agents-reference.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verbs {
		if !strings.Contains(string(doc), "| `"+v.usage+"` |") {
			t.Errorf("docs/agents-reference.md leaves out %s", v.usage)
		}
	}
}

// What was done before the question is not done again.
func TestEchoGoesOnBehindItsQuestionAfterARestart(t *testing.T) {
	resume := agenttest.Message("The server was restarted.")
	resume.Origin, resume.Answers = items.OriginResume, []items.ToldAnswer{{ItemID: "item_1", Title: "second?", Answer: "Allow"}}
	sink := agenttest.NewSink(t)
	sink.OnAsk = func(_ context.Context, q items.Content, o turns.AskOptions) (turns.Answer, error) {
		if p := q.(items.PermissionRequest); p.Title != "third?" || !o.Resumes {
			t.Errorf("asked %+v, %+v", p, o)
		}
		return turns.Answer{Status: items.StatusDeclined, Outcome: items.Outcome{Type: items.OutcomeCancelled}}, nil
	}
	out := sink.Run(t.Context(), New("echo"), turns.Prompt{Input: []items.UserMessage{resume, agenttest.Message("/say one\n/ask first?\n/ask second?\n/say two\n/ask third?")}})
	want := []string{`"second?" was answered after a restart: Allow`, "two", `"third?" was not answered (cancelled)`}
	if got := sink.Texts(items.KindAgentMessage); out.State != turns.Completed || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("%+v, said %q, want %q", out, got, want)
	}
}
