package main

import "testing"

// The help changes on purpose only (-update writes it), and holon alone prints it where
// it cannot open the dashboard: nothing here is a terminal.
func TestHelpIsWhatPeopleKnow(t *testing.T) {
	t.Setenv("HOME", "/home/ada") // it names default paths
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	for _, args := range [][]string{{"--help"}, {"-h"}, {"help"}, {}} {
		r := holon(t, freshDir(t), "", args...)
		if r.code != exitOK || r.err != "" {
			t.Errorf("holon %q: exit %d, on stderr %q", args, r.code, r.err)
		}
		golden(t, "testdata/help.golden", r.out)
	}
}
