package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	processes "github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/cmd/holon/config"
)

// The access that the server's own user has, to this server or another one, is not for
// what the server starts: an agent gets a token of its own.
func TestNothingThatAServerStartsHasTheTokenOfItsUser(t *testing.T) {
	const token, url = "of-the-user-0123456789-0123456789", "https://elsewhere.example.com"
	for name, value := range map[string]string{
		"HOLON_TOKEN": token, "HOLON_URL": url, "HOLON_MCP_URL": url + "/mcp", "HOLON_THREAD_ID": "elsewhere", "HOLON_TURN_ID": "elsewhere", "HOLON_ATTEMPT": "7", "HOLON_ORIGIN": "elsewhere",
		"GIT_DIR": "elsewhere", "CLAUDECODE": "elsewhere", "TERM_PROGRAM": "elsewhere",
		"PASSED_ON": "yes", processes.EnvGroup: "of-an-agent",
	} {
		t.Setenv(name, value)
	}
	told := filepath.Join(t.TempDir(), "environment")
	s := &server{t: t, data: t.TempDir(), agents: agentsOf(t, "tells=exec:env", "bare=exec:env", badAgent(t, "good"), "builds=worker"), bridges: map[string]config.Bridge{
		"program": {Kind: "command", OnPause: "wait", Command: []string{"sh", "-c", "env >" + told}},
	}}
	bare := s.agents["bare"]
	bare.Tools = false
	s.agents["bare"] = bare
	s.start()

	// The process of the server has nothing left to pass on.
	for _, kv := range os.Environ() {
		if name, value, _ := strings.Cut(kv, "="); processes.Own(name) != (name == processes.EnvGroup) && strings.HasPrefix(name, "HOLON_") && value != "" {
			t.Errorf("the server still has %s", name)
		}
	}
	if left := processes.LeftOut(os.Environ()); len(left) > 0 {
		t.Errorf("the server still has %q", left)
	}
	// It says what it has left out, by the names alone. The doctor has none of these itself.
	out := s.holon("doctor", "--all", "--skip-agents", "--skip-bridges").out
	const says = "ok       environment    variables that the server does not pass on to its agents: "
	_, line, _ := strings.Cut(out, says)
	line, _, _ = strings.Cut(line, "\n")
	for _, name := range []string{"CLAUDECODE", "GIT_DIR", "TERM_PROGRAM", "HOLON_TOKEN"} {
		if !slices.Contains(strings.Split(line, ", "), name) {
			t.Errorf("the doctor does not name %s:\n%s", name, out)
		}
	}
	if strings.Contains(line, "elsewhere") || strings.Contains(out, token) || slices.Contains(strings.Split(line, ", "), processes.EnvGroup) {
		t.Errorf("the doctor says %s", out)
	}
	asked := func(variable string) string {
		return "good " + variable + "=" + strings.TrimSpace(s.want("run", "-q", "--agent=good", "env "+variable))
	}
	bridge := func() string {
		s.want("bridge", "test", "program")
		b, err := os.ReadFile(told)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for what, environment := range map[string]string{
		"an exec agent":               s.want("run", "-q", "--agent=tells", "x"),
		"an exec agent without tools": s.want("run", "-q", "--agent=bare", "x"),
		"an ACP agent":                asked("HOLON_TOKEN") + "\n" + asked("HOLON_URL") + "\n" + asked("HOLON_MCP_URL") + "\n" + asked("HOLON_THREAD_ID") + "\nPASSED_ON=" + asked("PASSED_ON"),
		"the program of a bridge":     bridge(),
		"a worker":                    fmt.Sprintf("PASSED_ON=yes %+v", s.claim("work").Access),
	} {
		if strings.Contains(environment, token) || strings.Contains(environment, "elsewhere") || strings.Contains(environment, "of-an-agent") {
			t.Errorf("%s has what is the user's:\n%s", what, environment)
		}
		if !strings.Contains(environment, "PASSED_ON=") || !strings.Contains(environment, "yes") {
			t.Errorf("%s: that is no environment:\n%s", what, environment)
		}
		if own := what == "an exec agent" || what == "a worker"; own != strings.Contains(environment, "holon_agent_") {
			t.Errorf("%s has a token of its own: %v, want %v", what, !own, own)
		}
	}
}

// holon connect starts servers: they must not keep the token in their environment,
// where other processes of the user could read it.
func TestAServerIsStartedWithoutTheTokenOfItsUser(t *testing.T) {
	given := []string{"PATH=/bin", "HOLON_TOKEN=a", "HOLON_URL=b", "HOLON_MCP_URL=c", "HOLON_THREAD_ID=d", "HOLON_LISTEN=e", processes.EnvGroup + "=f", "HOLON_TOKENS=g"}
	want := []string{"PATH=/bin", "HOLON_LISTEN=e", processes.EnvGroup + "=f", "HOLON_TOKENS=g"}
	if got := processes.WithoutOwn(given); !slices.Equal(got, want) || given[1] != "HOLON_TOKEN=a" {
		t.Errorf("%q, want %q; given is %q", got, want, given)
	}
}

func TestDoctorNamesWhatAServerStartedHereWouldNotPassOn(t *testing.T) {
	const says = "ok       environment    variables that a server that is started here does not pass on to its agents: "
	dir := t.TempDir()
	examine := func(environ ...string) string {
		var out strings.Builder
		g := &globals{console: console{in: strings.NewReader(""), out: &out, err: &out, environ: append(environ, "HOME="+dir, "XDG_CONFIG_HOME="+dir)}}
		execute(t.Context(), g, []string{"doctor", "--skip-agents", "--skip-bridges", "--agent=a=echo", "--data", filepath.Join(dir, "data")})
		return out.String()
	}
	contains(t, examine("GIT_INDEX_FILE=secret", "PATH=/bin", "CODEX_CI=1", "CODEX_HOME=/c"), says+"CODEX_CI, GIT_INDEX_FILE\n")
	contains(t, examine("PATH=/bin"), says+"none\n")
}
