package realagents

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The environment variables of the runs.
const (
	EnvAgents = "HOLON_TEST_AGENTS" // names of agents, separated by spaces
	EnvCache  = "AGENTS_CACHE"      // where they are installed
	EnvTable  = "AGENTS_TABLE"      // a file for the table of results
	// EnvRestarts is how often the server is stopped, and how often killed, while the
	// permission of a turn is open that is then allowed, and one that is refused: "" = once.
	EnvRestarts = "AGENTS_RESTARTS"
)

// Agent is an agent that can be installed and run. The zero value is not
// usable.
type Agent struct {
	Name    string
	Title   string
	Version string
	// Package is the npm package; Program is the name of its program.
	Package string
	Program string
	Args    []string
	// Node is the major version of Node.js that is installed for the agent; ""
	// = it uses the one that npm runs with.
	Node string
	// ByMinute is true if the agent names its session files by the minute. Such
	// an agent loses a session that is loaded in the minute of its creation.
	ByMinute bool
	// TellsFailures is true if the agent ends a prompt as usual when its model fails, and
	// says so beside that.
	TellsFailures bool
	// Markers are the variables by which its commands can tell that it runs them, in
	// order. Servers leave them out for agents (process.LeftOut).
	Markers []string
	// Settings are the other variables with its name in them that it gives its commands.
	// A person may have set them as well, so servers pass them on.
	Settings []string
	// OwnPermissions are settings in a thread's directory, in an opencode.json, with which
	// the agent asks for as little as it does by itself; "" = it does so anyway.
	OwnPermissions string
	// Partly is true if only the environment of its commands and its modes are tried.
	Partly bool

	settings func(home, model string) (files map[string]string, env map[string]string)
}

// nodeVersion is the Node.js version for agents that need their own.
const nodeVersion = "22"

// All returns the agents, in the order of the documentation.
func All() []Agent {
	return []Agent{
		{
			Name: "opencode", Title: "OpenCode", Version: "1.18.33",
			Package: "opencode-ai", Program: "opencode", Args: []string{"acp"}, settings: openCode,
			Markers: []string{"AGENT", "OPENCODE", "OPENCODE_PID"}, Settings: []string{"OPENCODE_CLIENT"},
			OwnPermissions: `{"permission": {"bash": "allow", "edit": "allow"}}`,
		}, {
			Name: "codex", Title: "Codex", Version: "2.6.0",
			Package: "@agentclientprotocol/codex-acp", Program: "codex-acp", TellsFailures: true, settings: codex,
			Markers:  []string{"CODEX_CI", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_SESSION_ID", "CODEX_THREAD_ID", "CODEX_TOOL_CALL_ID", "CODEX_VERSION"},
			Settings: []string{"CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS", "CODEX_MANAGED_BY_NPM", "CODEX_MANAGED_PACKAGE_ROOT"},
		}, {
			Name: "claude", Title: "Claude Code", Version: "0.100.0",
			Package: "@agentclientprotocol/claude-agent-acp", Program: "claude-agent-acp", Node: nodeVersion, TellsFailures: true, settings: claude,
			Markers: []string{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"},
			Settings: []string{
				"CLAUDE_AGENT_SDK_VERSION", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "CLAUDE_CODE_EXECPATH",
				"CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_SESSION_ID",
				"CLAUDE_CODE_STARTUP_FAILURE_RESULTS", "CLAUDE_EFFORT", "CLAUDE_PID",
			},
		}, {
			Name: "gemini", Title: "Gemini CLI", Version: "0.61.0",
			Package: "@google/gemini-cli", Program: "gemini",
			Args: []string{"--acp", "--skip-trust", "-m", "gemini-2.5-flash"}, ByMinute: true, settings: gemini,
			Markers: []string{"GEMINI_CLI"}, Settings: []string{"GEMINI_CLI_NO_RELAUNCH", "GEMINI_CLI_TRUST_WORKSPACE"},
		}, {
			Name: "qwen", Title: "Qwen Code", Version: "0.24.4",
			Package: "@qwen-code/qwen-code", Program: "qwen", Args: []string{"--acp"}, settings: qwen, Partly: true,
			Markers: []string{
				"QWEN_CODE", "QWEN_CODE_AGENT_ID", "QWEN_CODE_LAUNCHER_PID", "QWEN_CODE_MESSAGING_SOCKET", "QWEN_CODE_MESSAGING_TOKEN",
				"QWEN_CODE_MODEL_IDENTITY", "QWEN_CODE_PRIVATE_RELAUNCH_ENV_PROVENANCE", "QWEN_CODE_PROJECT_DIR",
				"QWEN_CODE_PROMPT_ID", "QWEN_CODE_SESSION_ID", "QWEN_CODE_STARTUP_VERSION",
			},
			Settings: []string{"QWEN_CODE_CLI", "QWEN_CODE_MANAGED_NPM_PIN", "QWEN_CODE_MANAGED_NPM_ROOT", "QWEN_CODE_MODEL", "QWEN_CODE_NO_RELAUNCH"},
		},
	}
}

// marks reports whether a variable has the name of the agent in it, in capitals.
func (a Agent) marks(variable string) bool {
	return strings.Contains(variable, strings.ToUpper(a.Name))
}

// Named returns the agents with these names, in their order. The error names
// the first unknown one.
func Named(names ...string) ([]Agent, error) {
	var list []Agent
	for _, name := range names {
		found := false
		for _, a := range All() {
			if a.Name == name {
				list, found = append(list, a), true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no agent %q: choose among opencode, codex, claude, gemini, qwen", name)
		}
	}
	return list, nil
}

// Cache returns the directory where agents are installed.
func Cache() (string, error) {
	if dir := os.Getenv(EnvCache); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("cache of agents: %w (set %s)", err, EnvCache)
	}
	return filepath.Join(dir, "holon-agents"), nil
}

// dir returns the directory where the agent's package is installed.
func (a Agent) dir(cache string) string { return filepath.Join(cache, a.Name+"-"+a.Version) }

func nodeDir(cache, version string) string { return filepath.Join(cache, "node-"+version) }

// bin returns where npm puts the programs of a package installed in dir.
func bin(dir string) string { return filepath.Join(dir, "node_modules", ".bin") }

// Launch is how an agent is started: what a user writes into [agents.NAME].
type Launch struct {
	Command []string
	Env     map[string]string
}

// Environ returns the environment of the launched process in the form of
// os/exec. It inherits base.
func (l Launch) Environ(base []string) []string {
	environ := append([]string(nil), base...)
	for key, value := range l.Env {
		environ = append(environ, key+"="+value)
	}
	return environ
}

// Configure writes settings into home that point the agent to the model at this
// URL. It returns how to start the agent. home must belong to this run alone.
func (a Agent) Configure(cache, home, model string) (Launch, error) {
	files, env := a.settings(home, model)
	for name, text := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return Launch{}, fmt.Errorf("settings of %s: %w", a.Name, err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return Launch{}, fmt.Errorf("settings of %s: %w", a.Name, err)
		}
	}
	env["HOME"] = home
	for _, xdg := range []string{"config", "data", "state", "cache"} {
		env["XDG_"+strings.ToUpper(xdg)+"_HOME"] = filepath.Join(home, "xdg", xdg)
	}
	if a.Node != "" {
		env["PATH"] = bin(nodeDir(cache, a.Node)) + string(os.PathListSeparator) + os.Getenv("PATH")
	}
	return Launch{Command: append([]string{filepath.Join(bin(a.dir(cache)), a.Program)}, a.Args...), Env: env}, nil
}
