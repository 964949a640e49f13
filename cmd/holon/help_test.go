package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

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

func TestTheVersionIsPrintedInThreeWays(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		want := holon(t, freshDir(t), "", "version", "-o", format)
		for _, flag := range []string{"--version", "-v"} {
			if r := holon(t, freshDir(t), "", flag, "-o", format); r != want || r.out == "" {
				t.Errorf("holon %s: %+v, want %+v", flag, r, want)
			}
		}
	}
}

// A text of the help is read in 80 columns, more or less: an example may be longer.
func TestTextsOfTheHelpAreOfOneWidth(t *testing.T) {
	const most = 89
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		for line := range strings.SplitSeq(cmd.Long, "\n") {
			if width := len([]rune(line)); width > most && !strings.HasPrefix(line, " ") {
				t.Errorf("%s: %d columns: %q", cmd.CommandPath(), width, line)
			}
		}
		for _, sub := range cmd.Commands() {
			look(sub)
		}
	}
	look(newRootCommand(&globals{}))
}
