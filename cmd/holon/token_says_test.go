package main

import (
	"strings"
	"testing"
)

// Whoever gives somebody a token that starts work is told that it runs code.
func TestATokenThatRunsCodeSaysSo(t *testing.T) {
	s := startServer(t)
	for role, runs := range map[string]bool{"read": false, "respond": false, "work": true, "operate": true} {
		r := s.holon("token", "create", "of-"+role, "--role", role)
		if r.code != exitOK || strings.Contains(r.err, "RUN CODE AS THE SERVER'S USER") != runs {
			t.Errorf("%s: exit %d: %s", role, r.code, r.err)
		}
		if !strings.Contains(r.err, "It is shown once") || strings.Contains(r.err, strings.TrimSpace(r.out)) || strings.Count(r.out, "\n") != 1 {
			t.Errorf("%s: it prints %q and says %q", role, r.out, r.err)
		}
	}
}
