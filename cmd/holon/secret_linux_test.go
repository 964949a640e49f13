package main

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestATokenIsAskedForAndNotShown(t *testing.T) {
	s := startServer(t)
	p := s.openTerminal("bridge", "add", "github")
	p.await("Token of GitHub, github_pat_… (not shown): ")
	p.silent()
	p.enter("github_pat_0123456789")
	p.await("github: a bridge of kind github")
	if code := p.exit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	if seen := p.seen.String(); strings.Contains(seen, "0123456789") {
		t.Errorf("the terminal shows the token:\n%s", seen)
	}
	contains(t, s.want("bridge", "show", "github"), "ends in 6789\n")
	p = s.openTerminal("bridge", "add", "slack")
	p.await("not shown")
	p.silent()
	p.enter("")
	if code := p.exit(); code != exitUsage {
		t.Errorf("nothing was entered: exit %d", code)
	}
}

func TestALoginAsksForTheTokenAndDoesNotShowIt(t *testing.T) {
	s := startRemote(t)
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config) // the terminal's command has no variable of its own
	p := s.openTerminal("login", s.url, "--ca", s.ca)
	p.await("Token of " + s.url + " (not shown): ")
	p.silent()
	p.enter(s.token)
	p.await("logged in to")
	if code := p.exit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	if seen := p.seen.String(); strings.Contains(seen, s.token) {
		t.Errorf("the terminal shows the token:\n%s", seen)
	}
	(&user{t: t, environ: []string{"XDG_CONFIG_HOME=" + config}}).must("", "status", "--url", s.url)
	p = s.openTerminal("login", s.url)
	p.await("not shown")
	p.silent()
	p.enter("")
	if code := p.exit(); code != exitUsage {
		t.Errorf("nothing was entered: exit %d", code)
	}
	p.await("the terminal: nothing is in there")
}

// silent waits until the terminal does not show what is typed.
func (p *terminal) silent() {
	p.t.Helper()
	eventually(p.t, "the terminal is silent", func() bool {
		state, err := unix.IoctlGetTermios(int(p.master.Fd()), unix.TCGETS)
		return err == nil && state.Lflag&unix.ECHO == 0
	})
}
