//go:build linux

package realagents

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/internal/test/hosttest"
)

var (
	binary string // the holon command, built once
	table  = newResults()
)

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	if len(wanted()) == 0 {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "holon-real-bin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if binary, err = hosttest.Build(dir, "./cmd/holon"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	fmt.Print("\n" + table.text())
	if path := os.Getenv(EnvTable); path != "" {
		if err := os.WriteFile(path, []byte(table.markdown()), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// wanted returns the names in HOLON_TEST_AGENTS.
func wanted() []string { return strings.Fields(os.Getenv(EnvAgents)) }

// TestRealAgents runs every scenario with every agent in HOLON_TEST_AGENTS.
func TestRealAgents(t *testing.T) {
	names := wanted()
	if len(names) == 0 {
		t.Skipf("SKIPPED: no real agent was tried. Set %s, or run: make test-agents AGENTS=\"opencode codex claude gemini\"", EnvAgents)
	}
	agents, err := Named(names...)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := Cache()
	if err != nil {
		t.Fatal(err)
	}
	restarts, err := strconv.Atoi(cmp.Or(os.Getenv(EnvRestarts), "1"))
	if err != nil {
		t.Fatalf("%s: %v", EnvRestarts, err)
	}
	for _, a := range agents {
		t.Run(a.Name, func(t *testing.T) {
			if !a.Installed(cache) {
				t.Fatalf("%s %s is not in %s: run go run ./internal/test/realagents/install %s", a.Name, a.Version, cache, a.Name)
			}
			p := newPlace(t, a, cache)
			p.start(t)
			for _, s := range scenarios {
				if a.Partly && s.name != commandsEnvironment && s.name != whatIsUnasked {
					continue
				}
				times := 1
				if s.name == questionOverStop || s.name == questionOverKill {
					times = restarts
				}
				for range times {
					if !t.Run(s.name, func(t *testing.T) { p.play(t, s) }) {
						p.recover(t)
					}
				}
			}
			t.Run(lastScenario, func(t *testing.T) { p.play(t, scenario{name: lastScenario, run: stopInOrder}) })
		})
	}
}

// An unknown name must fail, not count as a run without agents.
func TestUnknownAgentsAreNamed(t *testing.T) {
	if _, err := Named("opencode", "copilot"); err == nil || !strings.Contains(err.Error(), `"copilot"`) {
		t.Errorf("got %v", err)
	}
	list, err := Named("gemini", "codex")
	if err != nil || len(list) != 2 || list[0].Name != "gemini" || list[1].Name != "codex" {
		t.Errorf("got %v, %v", list, err)
	}
}

// What real agents were seen to put into the environment of their commands.
func TestServersLeaveOutTheMarkersOfAgents(t *testing.T) {
	environ := func(names []string) (environ []string) {
		for _, name := range names {
			environ = append(environ, name+"=x")
		}
		return environ
	}
	for _, a := range All() {
		if got := process.LeftOut(environ(a.Markers)); !slices.Equal(got, a.Markers) {
			t.Errorf("%s: left out are %q, its markers are %q", a.Name, got, a.Markers)
		}
		if got := process.LeftOut(environ(a.Settings)); len(got) > 0 {
			t.Errorf("%s: the settings %q are left out", a.Name, got)
		}
	}
}

func TestSettingsLeadToTheModelOnly(t *testing.T) {
	for _, a := range All() {
		t.Run(a.Name, func(t *testing.T) {
			home := t.TempDir()
			launch, err := a.Configure("/cache", home, "http://127.0.0.1:1")
			if err != nil {
				t.Fatal(err)
			}
			if !filepath.IsAbs(launch.Command[0]) || !strings.HasPrefix(launch.Command[0], "/cache/"+a.Name+"-"+a.Version) {
				t.Errorf("starts %q", launch.Command)
			}
			if launch.Env["HOME"] != home {
				t.Errorf("its home is %q", launch.Env["HOME"])
			}
			told := fmt.Sprint(launch.Env)
			err = filepath.WalkDir(home, func(path string, entry os.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				text, err := os.ReadFile(path)
				told += string(text)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(told, "http://127.0.0.1:1") {
				t.Errorf("the model's address is nowhere in %s", told)
			}
		})
	}
}
