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

// local are the variables that are true only where a server was started: in a git hook, by
// an agent, in a terminal, as a unit of systemd. For the work of its agents they are wrong. A
// name that ends with an asterisk means every name that begins so. docs/agents-reference.md has the
// same list.
var local = []string{
	// The repository that a hook or an alias of git works in (git rev-parse --local-env-vars),
	// except GIT_CONFIG_COUNT: by it people configure git for everything that they run.
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_DIR",
	"GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_NO_REPLACE_OBJECTS",
	"GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
	// By these, agents tell the commands that they run who runs them, and where. They were
	// recorded with real agents (internal/test/realagents).
	"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT",
	"CODEX_CI", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_SESSION_ID", "CODEX_THREAD_ID", "CODEX_TOOL_CALL_ID", "CODEX_VERSION",
	"GEMINI_CLI", "AGENT", "OPENCODE", "OPENCODE_PID",
	"QWEN_CODE", "QWEN_CODE_AGENT_ID", "QWEN_CODE_LAUNCHER_PID", "QWEN_CODE_MESSAGING_SOCKET", "QWEN_CODE_MESSAGING_TOKEN",
	"QWEN_CODE_MODEL_IDENTITY", "QWEN_CODE_PRIVATE_RELAUNCH_ENV_PROVENANCE", "QWEN_CODE_PROJECT_DIR",
	"QWEN_CODE_PROMPT_ID", "QWEN_CODE_SESSION_ID", "QWEN_CODE_STARTUP_VERSION",
	// The terminal.
	"SSH_TTY", "GPG_TTY", "WINDOWID", "TMUX", "TMUX_PANE", "STY", "ZELLIJ*", "TERM_PROGRAM*", "LINES", "COLUMNS",
	// The unit of systemd. The server itself uses none of them.
	"NOTIFY_SOCKET", "WATCHDOG_*", "LISTEN_*", "JOURNAL_STREAM", "INVOCATION_ID", "MAINPID",
}

// passedOn reports whether a process of an agent inherits this variable of the server.
func passedOn(variable string) bool {
	return !Own(variable) && !slices.ContainsFunc(local, func(name string) bool {
		prefix, many := strings.CutSuffix(name, "*")
		return name == variable || many && strings.HasPrefix(variable, prefix)
	})
}

// name returns that of a variable in the form of os.Environ.
func name(kv string) string {
	variable, _, _ := strings.Cut(kv, "=")
	return variable
}

// WithoutOwn leaves the variables that are Own out of an environment, for a program of
// this user. EnvGroup stays: by it a process of an agent is found that has started the
// program.
func WithoutOwn(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		return Own(name(kv)) && name(kv) != EnvGroup
	})
}

// LeftOut returns the names of the variables in an environment that a server started with
// it does not pass on, in order. EnvGroup, which each process has, is not among them.
func LeftOut(environ []string) []string {
	names := []string{}
	for _, kv := range environ {
		if variable := name(kv); !passedOn(variable) && variable != EnvGroup {
			names = append(names, variable)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Disown removes from this process what LeftOut names, so that nothing that it starts can
// inherit it, in whatever way it is started. It returns the names.
func Disown() ([]string, error) {
	names := LeftOut(os.Environ())
	for _, variable := range names {
		if err := os.Unsetenv(variable); err != nil {
			return nil, fmt.Errorf("remove %s from the environment: %w", variable, err)
		}
	}
	return names, nil
}

// noPrompt lets git fail where it would ask: an agent has no terminal, so nobody would
// see the question.
const noPrompt = "GIT_TERMINAL_PROMPT"

// Environment returns the environment of an agent's process in dir: the server's
// variables except those that LeftOut names, PWD, and the variables in set.
func Environment(dir string, set map[string]string) []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return !passedOn(name(kv)) })
	env = append(env, "PWD="+dir)
	if _, given := os.LookupEnv(noPrompt); !given {
		env = append(env, noPrompt+"=0")
	}
	for variable, value := range set {
		env = append(env, variable+"="+value) // the last value counts
	}
	return env
}
