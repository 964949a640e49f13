package process

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/hosttest"
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

// A hook of git, an agent, a terminal or systemd may have started the server. What it said
// of that moment is wrong for its agents; what a person has chosen is for them, too.
func TestEnvironmentLacksWhatIsTrueOnlyWhereTheServerWasStarted(t *testing.T) {
	leftOut := strings.Fields(`
		GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_CONFIG GIT_CONFIG_PARAMETERS GIT_OBJECT_DIRECTORY GIT_DIR GIT_WORK_TREE
		GIT_IMPLICIT_WORK_TREE GIT_GRAFT_FILE GIT_INDEX_FILE GIT_NO_REPLACE_OBJECTS GIT_REPLACE_REF_BASE GIT_PREFIX
		GIT_INTERNAL_SUPER_PREFIX GIT_SHALLOW_FILE GIT_COMMON_DIR
		CLAUDECODE CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_SSE_PORT
		CODEX_CI CODEX_SANDBOX CODEX_SANDBOX_NETWORK_DISABLED CODEX_SESSION_ID CODEX_THREAD_ID CODEX_TOOL_CALL_ID CODEX_VERSION GEMINI_CLI AGENT OPENCODE OPENCODE_PID
		QWEN_CODE QWEN_CODE_AGENT_ID QWEN_CODE_LAUNCHER_PID QWEN_CODE_MESSAGING_SOCKET QWEN_CODE_MESSAGING_TOKEN QWEN_CODE_MODEL_IDENTITY
		QWEN_CODE_PRIVATE_RELAUNCH_ENV_PROVENANCE QWEN_CODE_PROJECT_DIR QWEN_CODE_PROMPT_ID QWEN_CODE_SESSION_ID QWEN_CODE_STARTUP_VERSION
		SSH_TTY GPG_TTY WINDOWID TMUX TMUX_PANE STY ZELLIJ ZELLIJ_PANE_ID ZELLIJ_SESSION_NAME TERM_PROGRAM TERM_PROGRAM_VERSION LINES COLUMNS
		NOTIFY_SOCKET WATCHDOG_PID WATCHDOG_USEC LISTEN_FDS LISTEN_FDNAMES LISTEN_PID JOURNAL_STREAM INVOCATION_ID MAINPID`)
	kept := strings.Fields(`
		CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_USE_VERTEX CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CODE_MAX_OUTPUT_TOKENS CLAUDE_CODE_ENTRYPOINT_2 CLAUDE_CONFIG_DIR
		ANTHROPIC_API_KEY ANTHROPIC_BASE_URL ANTHROPIC_MODEL OPENAI_API_KEY GEMINI_API_KEY CODEX_API_KEY CODEX_HOME OPENCODE_CONFIG OPENCODE_CLIENT GEMINI_CLI_TRUST_WORKSPACE QWEN_CODE_MAX_OUTPUT_TOKENS QWEN_CODE_MODEL
		GIT_SSH GIT_SSH_COMMAND GIT_SSH_VARIANT GIT_ASKPASS VSCODE_GIT_ASKPASS_NODE VSCODE_GIT_ASKPASS_MAIN VSCODE_GIT_IPC_HANDLE
		GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 GIT_CONFIG_KEY_17 GIT_CONFIG_VALUE_17 GIT_CONFIG_GLOBAL GIT_TERMINAL_PROMPT
		GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE
		SSH_AUTH_SOCK SSH_ASKPASS SSH_ASKPASS_REQUIRE SSH_CONNECTION DBUS_SESSION_BUS_ADDRESS DBUS_STARTER_ADDRESS
		XDG_RUNTIME_DIR XDG_CONFIG_HOME XDG_SESSION_ID DISPLAY WAYLAND_DISPLAY TMUX_TMPDIR TERM COLORTERM NO_COLOR CI TZ
		LANG LANGUAGE LC_ALL LC_CTYPE LC_MESSAGES http_proxy https_proxy no_proxy all_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY
		PGHOST PGPORT PGUSER PGPASSWORD PGDATABASE PGPASSFILE PATH HOME USER SHELL EDITOR PAGER
		AGENTS AGENT_NAME MY_TMUX STYLE LISTEN LISTENER WATCHDOG git_dir`)
	for _, name := range LeftOut(os.Environ()) { // of whoever runs the test
		t.Setenv(name, "") // restored at the end
		os.Unsetenv(name)
	}
	for _, name := range append(slices.Clone(leftOut), kept...) {
		t.Setenv(name, "of the server")
	}
	env := Environment("/somewhere", map[string]string{"GIT_DIR": "of the agent"})
	for _, name := range leftOut {
		if slices.Contains(env, name+"=of the server") {
			t.Errorf("the process gets %s", name)
		}
	}
	for _, name := range kept {
		if !slices.Contains(env, name+"=of the server") {
			t.Errorf("the process does not get %s", name)
		}
	}
	if !slices.Contains(env, "GIT_DIR=of the agent") {
		t.Error("the process does not get what the agent's own env has")
	}

	// The server keeps nothing of it either, for what it starts in other ways, and names it.
	want := slices.Sorted(slices.Values(leftOut))
	t.Setenv(EnvGroup, "of the server")
	t.Setenv(EnvToken, "") // set, and without a value
	want = append(want, EnvToken)
	slices.Sort(want)
	if names := LeftOut(append(os.Environ(), "GIT_DIR=twice")); !slices.Equal(names, want) {
		t.Errorf("left out %q, want %q", names, want)
	}
	if names, err := Disown(); err != nil || !slices.Equal(names, want) {
		t.Errorf("left out %q, %v, want %q", names, err, want)
	}
	for _, name := range want {
		if _, has := os.LookupEnv(name); has {
			t.Errorf("the server still has %s", name)
		}
	}
	for _, name := range append(kept, EnvGroup) {
		if os.Getenv(name) != "of the server" {
			t.Errorf("the server has lost %s", name)
		}
	}
	if names, err := Disown(); err != nil || names == nil || len(names) != 0 {
		t.Errorf("then %#v, %v", names, err)
	}
}

// git itself says which variables belong to one repository.
func TestAllVariablesOfOneRepositoryAreLeftOut(t *testing.T) {
	out, err := exec.Command("git", "rev-parse", "--local-env-vars").Output()
	if errors.Is(err, exec.ErrNotFound) {
		hosttest.Need(t, "git is not installed")
	}
	names := strings.Fields(string(out))
	if err != nil || len(names) < 10 {
		t.Fatalf("git says %q: %v", out, err)
	}
	for _, name := range names {
		if passedOn(name) != (name == "GIT_CONFIG_COUNT") {
			t.Errorf("%s is passed on: %v", name, passedOn(name))
		}
	}
}

// An agent has no terminal: git must fail where it would ask.
func TestGitDoesNotAskUnlessItIsTold(t *testing.T) {
	of := func(set map[string]string) string { // the last value counts
		value := ""
		for _, kv := range Environment("/", set) {
			if v, is := strings.CutPrefix(kv, noPrompt+"="); is {
				value = v
			}
		}
		return value
	}
	t.Setenv(noPrompt, "") // restored at the end
	os.Unsetenv(noPrompt)
	if got := of(nil); got != "0" {
		t.Errorf("%q, want 0", got)
	}
	if got := of(map[string]string{noPrompt: "1"}); got != "1" {
		t.Errorf("%q, want that of the agent", got)
	}
	t.Setenv(noPrompt, "true")
	if got := of(nil); got != "true" {
		t.Errorf("%q, want that of the server", got)
	}
}

func TestTheVariablesThatAreLeftOutAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/agents-reference.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "\n## The environment of agents\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	for _, name := range local {
		if !strings.Contains(section, "`"+name+"`") {
			t.Errorf("%s is not documented", name)
		}
	}
}
