package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// serveOnTerminal serves on a terminal, with these programs on the PATH, and returns what
// a person sees.
func serveOnTerminal(t *testing.T, programs []string, args ...string) (seen, data string) {
	t.Helper()
	bin := t.TempDir()
	for _, name := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	s := &server{t: t, data: t.TempDir()}
	terminal := s.openTerminal(append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	terminal.await("Ctrl-C stops the server")
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil { // the server waits for it
		t.Fatal(err)
	}
	if code := terminal.exit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	return strings.ReplaceAll(terminal.seen.String(), "\r", ""), s.data
}

func TestServeOnATerminalSaysWhatToDoNext(t *testing.T) {
	seen, data := serveOnTerminal(t, []string{"codex", "gemini", "opencode"}, "--agent", "opencode", "--agent", "mine=acp:/opt/x --acp", "--max-active-turns", "7")
	program := seen[strings.Index(seen, "In another terminal:\n  ")+len("In another terminal:\n  "):]
	program, _, _ = strings.Cut(program, " ")
	again := program + " serve --listen 127.0.0.1:0 --agent opencode --agent 'mine=acp:/opt/x --acp' --max-active-turns 7 --agent "
	for _, line := range []string{
		"  " + program + " --data " + data,
		"  " + program + " run --data " + data + ` --agent echo "hello"     # costs nothing`,
		"Coding agents on this machine:",
		"  codex     npm install -g @agentclientprotocol/codex-acp@2.6.0; then " + again + "codex",
		"  gemini    restart the server with it: " + again + "gemini",
		"  opencode  " + program + " run --data " + data + ` "what does this project do?"`,
	} {
		if !strings.Contains(seen, "\n"+line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
	for _, not := range []string{"claude", "try:", "No coding agent"} {
		if strings.Contains(seen, not) {
			t.Errorf("it says %q", not)
		}
	}
	if t.Failed() {
		t.Log(seen)
	}
}

func TestServeOnATerminalSaysThatNoAgentIsThere(t *testing.T) {
	seen, _ := serveOnTerminal(t, nil)
	contains(t, seen, " is serving on http://127.0.0.1:", "No coding agent is on the PATH.", "doctor --data ", " --agent opencode, or docs/agents.md")
	if strings.Contains(seen, "on this machine") {
		t.Error(seen)
	}
}

// Whoever is no terminal gets the lines that it got before.
func TestServeElsewhereSaysLess(t *testing.T) {
	s := startServer(t)
	contains(t, s.log.String(), " is serving on http://127.0.0.1:", "try: ")
	if strings.Contains(s.log.String(), "In another terminal") {
		t.Error(s.log.String())
	}
}
