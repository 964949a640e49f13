package process

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// The variables by which a server tells a process of an agent which turn it runs,
// and how to call the server.
const (
	EnvThreadID = "HOLON_THREAD_ID"
	EnvTurnID   = "HOLON_TURN_ID"
	EnvAttempt  = "HOLON_ATTEMPT"
	EnvOrigin   = "HOLON_ORIGIN"
	EnvURL      = "HOLON_URL"
	EnvMCPURL   = "HOLON_MCP_URL"
	EnvToken    = "HOLON_TOKEN"
)

// own are the variables that the server sets for each process. A process never
// inherits them: a server that was itself started by an agent, or with a token of
// its user, must not pass its own turn or its own rights on.
var own = map[string]bool{
	EnvThreadID: true, EnvTurnID: true, EnvAttempt: true, EnvOrigin: true, EnvURL: true, EnvMCPURL: true, EnvToken: true, EnvGroup: true,
}

// Own reports whether the server sets this variable for each process itself.
func Own(variable string) bool { return own[variable] }

// WithoutOwn leaves the variables that are Own out of an environment, for a server that
// is started. EnvGroup stays: by it a process of an agent is found that has started the
// server.
func WithoutOwn(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		variable, _, _ := strings.Cut(kv, "=")
		return Own(variable) && variable != EnvGroup
	})
}

// Disown removes from this process what WithoutOwn leaves out, so that nothing that it
// starts can inherit it, in whatever way it is started.
func Disown() error {
	for variable := range own {
		if variable == EnvGroup {
			continue
		}
		if err := os.Unsetenv(variable); err != nil {
			return fmt.Errorf("remove %s from the environment: %w", variable, err)
		}
	}
	return nil
}

// Environment is the environment of an agent's process in dir: the server's
// variables except those that are Own, PWD, and the variables in set.
func Environment(dir string, set map[string]string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if variable, _, _ := strings.Cut(kv, "="); !Own(variable) {
			env = append(env, kv)
		}
	}
	env = append(env, "PWD="+dir)
	for variable, value := range set {
		env = append(env, variable+"="+value)
	}
	return env
}
