package overview

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// opened opens the form of a dashboard in a terminal of this directory, "" = the server
// does not have it, with the agents of a server.
func opened(terminal string) *Model {
	m := loaded(five()...)
	m.Update(noon, Terminal(terminal))
	press(m, noon, "n", "x")
	m.Update(noon, screen.Done{Action: screen.Call{Name: callAgents}, Result: json.RawMessage(`{"agents":[
		{"name":"claude","directory":"/srv"},{"name":"set","directory":"/src/set","directory_given":true},{"name":"echo"}]}`)})
	return m
}

// chosen is the directory that is sent with the agent after so many keys.
func chosen(t *testing.T, m *Model, keys ...string) string {
	t.Helper()
	press(m, noon, keys...)
	actions := press(m, noon, "enter")
	if len(actions) != 1 {
		t.Fatalf("%v", actions)
	}
	m.Update(noon, screen.Done{Action: actions[0], Err: errors.New("no")})
	return actions[0].(screen.StartThread).Cwd
}

func TestTheFormProposesTheTerminalsDirectoryWhereTheServerHasIt(t *testing.T) {
	for terminal, want := range map[string][4]string{
		"/home/me": {"/home/me", "/home/me", "", "/home/me"}, // the default, claude, set, echo
		"":         {},
	} {
		m := opened(terminal)
		for i, keys := range [][]string{{}, {"tab", "right"}, {"right"}, {"right"}} {
			if got := chosen(t, m, keys...); got != want[i] {
				t.Errorf("in %q, agent %d: %q is sent, want %q", terminal, i, got, want[i])
			}
		}
	}
}

func TestTheFormShowsWhereAnAgentWorksWithoutADirectory(t *testing.T) {
	m := opened("")
	if got := text(m, noon, 100, 24); !strings.Contains(got, "Directory  /srv") {
		t.Errorf("of the default agent:\n%s", got)
	}
	press(m, noon, "tab", "right", "right")
	if got := text(m, noon, 100, 24); !strings.Contains(got, "Directory  /src/set") {
		t.Errorf("of an agent with its own:\n%s", got)
	}
}

// What a person has written stays, whichever agent is chosen then.
func TestADirectoryThatWasTypedStays(t *testing.T) {
	m := opened("")
	press(m, noon, "tab", "tab")
	m.Update(noon, tea.PasteMsg{Content: "/src/a"})
	if got := chosen(t, m, "shift+tab", "right", "right"); got != "/src/a" {
		t.Errorf("%q is sent", got)
	}
}
