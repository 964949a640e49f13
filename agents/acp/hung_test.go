package acp

import (
	"context"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/acptest"
	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/turns"
)

// A process that no longer answers is killed when it does not open a session:
// the next turn gets another.
func TestProcessThatOpensNoSessionInTimeIsReplaced(t *testing.T) {
	r := bad(t, "")
	pid, _ := strconv.Atoi(r.thread("before").run("pid"))
	r.cfg.StartTimeout = 300 * time.Millisecond
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	sink, out := r.thread("t").prompt(t.Context(), "say x")
	if out.State != turns.Failed || out.Failure.Kind != turns.KindAgentUnavailable || !strings.Contains(out.Failure.Message, "did not answer in time") {
		t.Errorf("%+v, %q", out, said2(sink))
	}
	r.cfg.StartTimeout = acptest.Patience
	if got := r.thread("t2").run("say again"); got != "again" {
		t.Errorf("then %q", got)
	}
	gone(t, pid)
}

// Other turns in it are not disturbed, and new ones run in another process.
func TestSharedProcessThatOpensNoSessionInTimeTakesNothingNew(t *testing.T) {
	r := bad(t, "")
	sink := agenttest.NewSink(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan turns.Outcome, 1)
	go func() { done <- r.thread("other").with(ctx, sink, turns.Prompt{}, "pid\nsay up\nwait") }()
	sink.Wait(t.Context(), func() bool { return strings.HasSuffix(said2(sink), "up") })
	text, _, _ := strings.Cut(said2(sink), "|")
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(said2(sink))
	}
	r.cfg.StartTimeout = 300 * time.Millisecond
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, out := r.thread("t").prompt(t.Context(), "say x"); out.State != turns.Failed {
		t.Errorf("%+v", out)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal("the process that another turn runs in was killed")
	}
	r.cfg.StartTimeout = acptest.Patience
	if got := r.thread("t").run("pid"); got == text {
		t.Error("the next turn went to the process that had not answered")
	}
	cancel()
	if out := <-done; out.State != turns.Interrupted || out.StopReason != "cancelled" {
		t.Errorf("the other turn: %+v", out)
	}
	gone(t, pid)
}
