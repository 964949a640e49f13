package process

import (
	"slices"
	"strings"
	"testing"
)

// A server may have a token of its user, or run in a turn of another server: what
// it starts must get neither.
func TestEnvironmentLacksWhatIsTheServersOwn(t *testing.T) {
	for _, name := range []string{EnvThreadID, EnvTurnID, EnvAttempt, EnvURL, EnvMCPURL, EnvToken, EnvGroup} {
		t.Setenv(name, "of the server")
	}
	t.Setenv("PASSED_ON", "yes")
	env := Environment("/somewhere", map[string]string{EnvToken: "of the process"})
	for _, kv := range env {
		if _, value, _ := strings.Cut(kv, "="); value == "of the server" {
			t.Errorf("the process gets %s", kv)
		}
	}
	for _, want := range []string{"PASSED_ON=yes", "PWD=/somewhere", EnvToken + "=of the process"} {
		if !slices.Contains(env, want) {
			t.Errorf("the process does not get %s", want)
		}
	}
}
