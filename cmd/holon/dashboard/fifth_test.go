package dashboard_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/acptest"
	"github.com/seed82539d15/holon/internal/test/mockmodel"
	"github.com/seed82539d15/holon/internal/test/realagents"
)

// fifth is the one agent of five that is not echo: a real one, with the scripted model, or
// else the scripted agent.
type fifth struct {
	name   string
	config func(t *testing.T, dir string) string // of the server
	spawns string                                // a prompt that has it let a child work
	byHand bool                                  // it cannot: the test starts the child in its name
	says   string                                // a prompt to which it says "I say apple"
}

// What the child is, and does.
const (
	childTitle  = "look around"
	childPrompt = "/say I look around\n/sleep 3600000"
)

// fifths are the agents to test with: those in HOLON_TEST_AGENTS.
func fifths(t *testing.T) []*fifth {
	t.Helper()
	names := strings.Fields(os.Getenv(realagents.EnvAgents))
	if len(names) == 0 {
		t.Run("real", func(t *testing.T) {
			t.Skip(`NOT TESTED: a real agent; make test-agents AGENTS="opencode claude" tests with some`)
		})
		return []*fifth{scripted()}
	}
	agents, err := realagents.Named(names...)
	if err != nil {
		t.Fatal(err)
	}
	var list []*fifth
	for _, agent := range agents {
		if !agent.Partly {
			list = append(list, realAgent(agent))
		}
	}
	return list
}

// scripted is the scripted agent.
func scripted() *fifth {
	return &fifth{
		name: "scripted", byHand: true, spawns: "say Another one looks around\nwait", says: "say I say apple.",
		config: func(t *testing.T, dir string) string {
			launch := realagents.Launch{Command: []string{acptest.Build(t, acptest.BadAgent), "state=" + filepath.Join(dir, "sessions")}}
			return launch.Config("scripted")
		},
	}
}

// realAgent is an installed agent. Its model lives as long as the test.
func realAgent(agent realagents.Agent) *fifth {
	work, err := json.Marshal([]any{[]any{"work_start", map[string]string{"agent": "echo", "title": childTitle, "prompt": childPrompt}}})
	if err != nil {
		panic(err) // never: it holds only strings
	}
	return &fifth{
		name: agent.Name, spawns: "DO " + string(work), says: "SAY apple",
		config: func(t *testing.T, dir string) string {
			cache, err := realagents.Cache()
			if err != nil {
				t.Fatal(err)
			}
			if !agent.Installed(cache) {
				t.Fatalf("%s %s is not in %s: run go run ./internal/test/realagents/install %s", agent.Name, agent.Version, cache, agent.Name)
			}
			model, err := mockmodel.Start(mockmodel.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = model.Close() })
			launch, err := agent.Configure(cache, filepath.Join(dir, "home"), model.URL())
			if err != nil {
				t.Fatal(err)
			}
			return launch.Config(agent.Name)
		},
	}
}
