package main

import (
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

func TestWhatStopsSomethingAsksOnATerminal(t *testing.T) {
	s := startServer(t)
	thread, turn := s.startSleeper("one", "work")
	for _, answer := range []string{"", "n", "maybe"} {
		p := s.openTerminal("interrupt", "work")
		p.await("Interrupt " + short(turn))
		p.await("running, ")
		p.await("[y/N] ")
		p.enter(answer)
		if code := p.exit(); code != exitFailed {
			t.Errorf("%q: exit %d", answer, code)
		}
		p.await("nothing was changed")
	}
	p := s.openTerminal("close", "work")
	p.await("Close one \"work\"?")
	p.await("running, ")
	p.enter("n")
	p.exit()
	p = s.openTerminal("stop")
	p.await("Stop the server on " + s.data + "? 1 turn runs, with 100ms to end")
	p.await(turn[len(turn)-8:] + " of one: running, ")
	p.await("[y/N] ")
	p.enter("n")
	p.exit()
	p.await("nothing was changed")
	if s.stateOf(turn) != "active" || s.stateOf(thread) != "running" {
		t.Fatal("it was stopped without a yes")
	}
	p = s.openTerminal("interrupt", "work")
	p.await("[y/N] ")
	p.enter("y")
	p.await("interrupted")
	if code := p.exit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	p = s.openTerminal("close", "work", "--yes")
	p.await(`one "work": closed`)
	if code := p.exit(); code != exitOK || strings.Contains(p.seen.String(), "[y/N]") {
		t.Errorf("--yes: exit %d, %q", code, p.end())
	}
}

func TestOneOfSeveralIsChosenOnATerminal(t *testing.T) {
	s := startServer(t)
	_, first := s.startSleeper("one", "work")
	_, second := s.startSleeper("two", "other")
	p := s.openTerminal("interrupt")
	p.await("which? 1-2, Enter for none: ")
	p.enter("3")
	p.await("That is not a number from 1 to 2.")
	p.enter("2")
	p.await("Interrupt " + short(second))
	p.enter("y")
	if code := p.exit(); code != exitOK {
		t.Errorf("exit %d, %q", code, p.end())
	}
	if s.stateOf(first) != "active" || s.stateOf(second) != "interrupted" {
		t.Errorf("first %s, second %s", s.stateOf(first), s.stateOf(second))
	}
}

func TestCtrlCAtAQuestionChangesNothing(t *testing.T) {
	held := make(chan os.Signal, 8)
	signal.Notify(held, syscall.SIGINT)
	defer signal.Stop(held)
	s := startServer(t)
	_, turn := s.startSleeper("one", "work")
	p := s.openTerminal("interrupt", "work")
	p.await("[y/N] ")
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := p.exit(); code != exitFailed {
		t.Errorf("exit %d", code)
	}
	if s.stateOf(turn) != "active" {
		t.Error("it was stopped")
	}
}

// What a thread without a title began with tells it apart from others. It is no name of it.
func TestAThreadWithoutATitleIsKnownByItsFirstPrompt(t *testing.T) {
	s := startServer(t)
	s.want("run", "-d", "--thread=one", "/ask Delete 日本語?")
	s.want("run", "-q", "--thread=two", "say hello")
	eventually(t, "it asks", func() bool { return itemIDs.MatchString(s.want("respond", "--long")) })
	p := s.openTerminal("close")
	p.await("two     say hello            idle ")
	p.await("one     /ask Delete 日本語?  waiting ")
	p.enter("no")
	p.await("nothing was changed")
	if code := p.exit(); code != exitFailed {
		t.Errorf("no: exit %d", code)
	}
	for _, verb := range []string{"close", "interrupt"} {
		p := s.openTerminal(verb, "one")
		p.await("  it began with: /ask Delete 日本語?\r\n")
		p.await("  asks, ")
		p.await(": Delete 日本語?\r\n")
		p.enter("n")
		p.exit()
	}
	if r := s.holon("close", "say hello", "-y"); r.code != exitUsage || !strings.Contains(r.err, `"say hello" is a prompt or what an agent chose`) {
		t.Errorf("as a name: %+v", r)
	}
	contains(t, s.holon("close").err, "two     say hello            idle ", "one     /ask Delete 日本語?  waiting ")
}

// What ended with a restart is listed before it is retried. A turn whose thread is closed
// meanwhile is refused, and the other is retried.
func TestRetryInterruptedAsksOnATerminal(t *testing.T) {
	s := startServer(t)
	_, first := s.startSleeper("one", "work")
	_, second := s.startSleeper("two", "other")
	s.stop()
	s.start()
	p := s.openTerminal("retry", "--interrupted")
	p.await("2 turns ended with the restart at ")
	p.await("[y/N] ")
	p.enter("n")
	p.await("nothing was changed")
	if code := p.exit(); code != exitFailed || s.stateOf(first) != "interrupted" {
		t.Errorf("no: exit %d, the turn is %s", code, s.stateOf(first))
	}
	p = s.openTerminal("retry", "--interrupted")
	p.await(`of two "other"`)
	p.await("Retry them? [y/N] ")
	s.want("call", "thread/close", `{"thread_id":"one"}`)
	p.enter("y")
	p.await("not retried: ")
	p.await(short(second) + ` of two "other": attempt 2, active`)
	if code := p.exit(); code != exitFailed || s.stateOf(first) != "interrupted" || s.stateOf(second) != "active" {
		t.Errorf("exit %d, %q", code, p.end())
	}
}
