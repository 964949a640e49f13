package main

import (
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

func TestAttachAnswersQuestionsAndLeavesTheTurnAlone(t *testing.T) {
	held := make(chan os.Signal, 8)
	signal.Notify(held, syscall.SIGINT)
	defer signal.Stop(held)
	interrupt := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	s := startServer(t)
	turn := turnIDs.FindString(s.want("run", "-d", "--long", "--thread=one", "--title=work", "/ask Delete it?\n/sleep 600000"))
	p := s.openTerminal("attach", "work")
	p.await(`Attached to one "work"; Ctrl-C leaves it.`)
	p.await("answer 1-2, y or n: ")
	p.enter("y")
	p.await("Allow")
	p.awaitAfter("Allow", "running")
	interrupt()
	if code := p.exit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	p.await(`left one "work"; its turn goes on at the server: running, `)
	p.await(`holon interrupt "work"`)
	p.await(`holon attach "work" --after `)
	if s.stateOf(turn) != "active" {
		t.Error("the turn was stopped")
	}
	s.want("interrupt", "one")
	p = s.openTerminal("attach", "one")
	p.await("no turn is active")
	if strings.Contains(p.seen.String(), "answer 1-2") {
		t.Errorf("an answered question is asked: %q", p.end())
	}
	interrupt()
	if code := p.exit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	p.await(`left one "work"; no turn of it is active`)
}

// What is being stopped already is not said to go on.
func TestAttachSaysThatATurnIsBeingInterrupted(t *testing.T) {
	held := make(chan os.Signal, 8)
	signal.Notify(held, syscall.SIGINT)
	defer signal.Stop(held)
	s := startServer(t)
	s.want("run", "-d", "--long", "--thread=one", "/stubborn 600000")
	s.want("interrupt", "one")
	p := s.openTerminal("attach", "one")
	p.await("interrupting")
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := p.exit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	p.await("left one; its turn is being interrupted at the server: interrupting, ")
	if strings.Contains(p.seen.String(), "stop it with") {
		t.Errorf("it is being stopped: %q", p.end())
	}
}

func TestWhoMayNotAnswerIsNotAsked(t *testing.T) {
	s := startServer(t)
	s.want("run", "-d", "--long", "--thread=one", "/ask Delete it?\n/ask Really?")
	token := secretFile(t, s.newToken("reader", "--role=read"))
	p := s.openTerminal("attach", "one", "--token-file", token)
	p.await("waits for an answer: the token reader has")
	question := itemIDs.FindString(s.want("respond", "--long"))
	s.want("respond", question, "--allow")
	p.awaitAfter("allow_once", "waits for an answer: the token reader has")
	s.want("close", "one")
	if code := p.exit(); code != exitOK || strings.Contains(p.seen.String(), "answer 1-2") {
		t.Errorf("exit %d, %q", code, p.end())
	}
}
