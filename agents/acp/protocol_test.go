package acp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/limits"
	"github.com/seed82539d15/holon/internal/test/acptest"
	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

func TestMisbehaviourEndsNoPromptAndLosesNothing(t *testing.T) {
	r := bad(t, "")
	for prompt, want := range map[string]string{
		"junk":                         "before junk|after junk",
		"split":                        "",
		"twice\nsay ok":                "ok",
		"ghost-response":               "",
		"ghost-session":                "",
		"unknown-request":              "-32601",
		"read-file /etc":               "-32601",
		"stderr-flood 3000000\nsay ok": "ok",
		"bad-utf8":                     "\ufffd",
		"nul":                          "\x00",
		"halves":                       "a😀b",
		"same-id":                      "",
		"usage\nsay ok":                "ok",
		"drop-ask one":                 "",
		"open-tool one":                "",
		"stop refusal":                 "",
		"stop max_tokens":              "",
	} {
		th := r.thread(prompt)
		sink, out := th.prompt(t.Context(), prompt, answer(items.AllowOnce))
		if got := said2(sink); out.State != turns.Completed || !strings.Contains(got, want) {
			t.Errorf("%q: %+v, said %q", prompt, out, got)
		}
		if reason, ok := strings.CutPrefix(prompt, "stop "); ok && out.StopReason != reason {
			t.Errorf("%q: stop reason %q", prompt, out.StopReason)
		}
		if got := th.run("say still here"); got != "still here" {
			t.Errorf("after %q: %q", prompt, got)
		}
		th.clean()
	}
}

func TestUnknownUpdatesAreKeptAsExtensions(t *testing.T) {
	for _, prompt := range []string{"unknown", "wrong-types"} {
		sink, out := bad(t, "").thread("t").prompt(t.Context(), prompt)
		kept := 0
		for _, it := range sink.Items() {
			if it.Kind == items.KindExtension {
				kept++
			}
		}
		if out.State != turns.Completed || kept == 0 {
			t.Errorf("%q: %+v, %d extensions", prompt, out, kept)
		}
	}
}

func TestHugeMessageIsTakenAndOneTooLargeIsToldOf(t *testing.T) {
	th := bad(t, "").thread("t")
	if got := th.run("huge 20000000"); len(got) != 20000000 {
		t.Errorf("%d bytes", len(got))
	}
	sink, out := th.prompt(t.Context(), fmt.Sprintf("say before\nhuge %d\nsay after", limits.AgentMessageBytes+1))
	if got := said2(sink); out.State != turns.Completed || got != "before|after" {
		t.Errorf("%+v, %.60q", out, got)
	}
	if got := notices(sink); len(got) != 1 || !strings.Contains(got[0], "skipped") {
		t.Errorf("notices %q", got)
	}
}

func TestRawIsKeptOnlyIfConfigured(t *testing.T) {
	for keep, want := range map[bool]bool{true: true, false: false} {
		sink, _ := bad(t, "", func(c *Config) { c.KeepRaw = keep }).thread("t").prompt(t.Context(), "tool x")
		raw, err := items.Encode(sink.Items()[0].Content)
		if err != nil || strings.Contains(string(raw), `"raw"`) != want {
			t.Errorf("keep %v: %s, %v", keep, raw, err)
		}
	}
}

func TestUpdatesAfterTheResultAreKeptOutsideOfTheTurn(t *testing.T) {
	r := bad(t, "")
	th := r.thread("t")
	sink, out := th.prompt(t.Context(), "say now\nlate 3\ntitle Later")
	if got := said2(sink); out.State != turns.Completed || got != "now" {
		t.Errorf("%+v, %q", out, got)
	}
	r.host.wait(t, func(said string) bool { return strings.Contains(said, "late 3") })
	if got := r.host.said(); strings.Count(got, "late") != 3 || strings.Contains(got, "OPEN") {
		t.Errorf("outside: %q", got)
	}
	if got := th.run("say next"); got != "next" {
		t.Errorf("then %q", got)
	}
}

// TestMessageStaysOneWhenItPauses has the wait for late text of one prompt
// end within the next.
func TestMessageStaysOneWhenItPauses(t *testing.T) {
	th := bad(t, "").thread("t")
	th.run("say first")
	if got := th.run(fmt.Sprintf("say one\nsleep %d\nadd two", 2*quiet.Milliseconds())); got != "onetwo" {
		t.Errorf("%q", got)
	}
}

func TestFiftyThousandUpdatesAreKeptInBoundedMemory(t *testing.T) {
	const n = 50000
	r := bad(t, "")
	got := r.thread("t").run(fmt.Sprintf("flood %d", n))
	var want strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&want, "%010d ", i)
	}
	if got != want.String() && got != zeroBased(n) {
		t.Errorf("%d bytes of %d, from %.22q to %q", len(got), want.Len(), got, got[max(0, len(got)-22):])
	}
	r.pool.mu.Lock()
	budget := r.pool.procs[0].budget
	r.pool.mu.Unlock()
	budget.mu.Lock()
	defer budget.mu.Unlock()
	if budget.peak > limits.AgentOutputBytes || budget.used != 0 {
		t.Errorf("%d bytes waited at most, %d are still charged", budget.peak, budget.used)
	}
}

func zeroBased(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%010d ", i)
	}
	return b.String()
}

// gate is a sink that accepts no ops while it is shut.
type gate struct {
	*agenttest.Sink
	shut chan struct{} // closed = open
	full chan struct{} // told when an Emit waits; capacity 1
	from func(ops []items.Op) bool
}

func (g *gate) Emit(ctx context.Context, ops []items.Op) error {
	if g.from(ops) {
		select {
		case g.full <- struct{}{}:
		default:
		}
		select {
		case <-g.shut:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return g.Sink.Emit(ctx, ops)
}

func says(ops []items.Op) bool {
	return slices.ContainsFunc(ops, func(op items.Op) bool { _, ok := op.(items.Create); return ok })
}

// TestFullThreadStopsNoOther blocks the updates of one thread: the other
// threads of its process continue until 4 MiB wait, and nothing is lost.
func TestFullThreadStopsNoOther(t *testing.T) {
	r := bad(t, "")
	other := r.thread("other")
	other.run("say hello")

	g := &gate{Sink: agenttest.NewSink(t), shut: make(chan struct{}), full: make(chan struct{}, 1), from: says}
	done := make(chan turns.Outcome, 1)
	go func() {
		done <- r.Run(t.Context(), &turns.Prompt{ThreadID: "full", TurnID: "f", Attempt: 1, Sink: g, Input: []items.UserMessage{agenttest.Message("flood 5000\nsay end")}})
	}()
	select {
	case <-g.full:
	case <-time.After(acptest.Patience):
		t.Fatal("nothing was handed over")
	}
	for i := range 20 {
		if got := other.run(fmt.Sprintf("stream 50\nsay %d", i)); !strings.HasSuffix(got, fmt.Sprint("|", i)) {
			t.Fatalf("the other thread: %q", got)
		}
	}
	close(g.shut)
	if out := <-done; out.State != turns.Completed {
		t.Errorf("%+v", out)
	}
	if got := said2(g.Sink); len(got) != 5000*11+len("|end") {
		t.Errorf("%d bytes", len(got))
	}
}

// TestStdoutIsNotReadWhenTheBudgetIsUsedUp lets one thread exceed the budget:
// the process has to wait, and all output arrives in the end.
func TestStdoutIsNotReadWhenTheBudgetIsUsedUp(t *testing.T) {
	r := bad(t, "")
	g := &gate{Sink: agenttest.NewSink(t), shut: make(chan struct{}), full: make(chan struct{}, 1), from: says}
	done := make(chan turns.Outcome, 1)
	go func() {
		done <- r.Run(t.Context(), &turns.Prompt{ThreadID: "full", TurnID: "f", Attempt: 1, Sink: g, Input: []items.UserMessage{agenttest.Message(strings.Repeat("huge 900000\n", 10))}})
	}()
	<-g.full
	r.pool.mu.Lock()
	b := r.pool.procs[0].budget
	r.pool.mu.Unlock()
	limit := time.Now().Add(acptest.Patience)
	for full := false; !full; {
		b.mu.Lock()
		full = b.used > b.max-1000000
		b.mu.Unlock()
		if time.Now().After(limit) {
			t.Fatal("the budget is never used up")
		}
		time.Sleep(time.Millisecond)
	}
	close(g.shut)
	if out := <-done; out.State != turns.Completed || len(said2(g.Sink)) != 10*900000+len("|")*9 {
		t.Errorf("%+v, %d bytes", out, len(said2(g.Sink)))
	}
	if b.peak > limits.AgentOutputBytes {
		t.Errorf("%d bytes waited", b.peak)
	}
}

func TestOneProcessServesManyThreads(t *testing.T) {
	r := bad(t, "")
	type result struct{ pid string }
	results := make(chan result, 50)
	for i := range 50 {
		go func() {
			sink, _ := r.thread(fmt.Sprint("t", i)).prompt(context.Background(), fmt.Sprintf("pid\nsay I am %d\nstream 20\nask x\ntool y", i), answer(items.AllowOnce))
			got := sink.Texts(items.KindAgentMessage)
			if len(got) < 2 || got[1] != fmt.Sprint("I am ", i) {
				t.Errorf("thread %d heard %q", i, got)
				got = append(got, "", "")
			}
			results <- result{pid: got[0]}
		}()
	}
	pids := map[string]bool{}
	for range 50 {
		pids[(<-results).pid] = true
	}
	if len(pids) != 1 {
		t.Errorf("processes %v", pids)
	}
	if info := r.Info(); info.Sessions != 50 || info.Processes != 1 || info.State != turns.AgentReady {
		t.Errorf("%+v", info)
	}
	r.thread("t0").clean()
}
