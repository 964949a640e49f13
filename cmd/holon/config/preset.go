package config

import (
	"maps"
	"slices"
	"strings"
)

// Preset is an agent that is known by name: its command, and advice if it is
// not installed.
type Preset struct {
	Command []string
	// Env are variables that it should be started with; configured ones
	// override them.
	Env map[string]string
	// Install is the command line that installs the tested version.
	Install string
	// Needs is what else it needs, "" for nothing.
	Needs string
	// Login says how to log in.
	Login string
	// MixesSessions says that the program shows the MCP servers of one session,
	// with their tokens, to all sessions of its process: with the server's tools
	// each thread needs a process of its own.
	MixesSessions bool
	// KeepsDirectory says that a session of the program works only in the directory in
	// which it began. In another one commands of opencode 1.18.33 never end, or its prompts
	// fail.
	KeepsDirectory bool
	// AskMode is the mode in which the agent asks before it acts: its sessions open in it
	// as long as permissions are asked. "" = in the agent's own.
	AskMode string
	// Unasked says of each mode what the agent does in it without asking; "" = it asks
	// before it acts, or does nothing. The real program was tried in each mode with
	// commands and files to write, by the scenario "what is done unasked in each mode" of
	// internal/test/realagents; bypassPermissions is what the adapter says.
	Unasked map[string]string
	// Asks reports whether the agent's own configuration makes it ask all the same, in the
	// modes of Unasked, and AskedBy says how to make it so. nil and "" = only the mode counts.
	Asks    func(get func(variable string) string) bool
	AskedBy string
	// Troubles are known texts of its errors, each with what to do.
	Troubles map[string]string
}

// presets are tested versions; docs/agents-reference.md says what each of them can do.
var presets = map[string]Preset{
	"claude": {
		Command: []string{"claude-agent-acp"},
		Install: "npm install -g @agentclientprotocol/claude-agent-acp@0.100.0",
		Needs:   "Node.js 22 or later",
		Login:   "run `claude` once and log in, or set ANTHROPIC_API_KEY",
		AskMode: "default", // since 0.101.0 it opens sessions in auto
		Unasked: map[string]string{
			"default":           "",
			"acceptEdits":       "changes files and runs simple commands in its directory without asking",
			"plan":              "judges by itself which commands it runs",
			"auto":              "decides by itself what it does",
			"bypassPermissions": "does everything without asking",
		},
		Troubles: map[string]string{
			"bypass_root": `Run the server as another user than root, or put {"permissions":{"disableBypassPermissionsMode":"disable"}} into ~/.claude/settings.json`,
		},
	},
	"codex": {
		Command: []string{"codex-acp"},
		Install: "npm install -g @agentclientprotocol/codex-acp@2.6.0",
		// A key alone is not enough: the agent must be configured to use it.
		Login: "run `codex login` once, or set OPENAI_API_KEY and DEFAULT_AUTH_REQUEST='{\"methodId\":\"api-key\"}'",
		Unasked: map[string]string{
			"read-only":         "",
			"workspace-write":   "changes files and runs commands in its sandbox without asking",
			"agent":             "changes files and runs commands in its sandbox without asking, and has a model judge what goes beyond",
			"agent-full-access": "does everything without asking",
		},
	},
	"gemini": {
		Command: []string{"gemini", "--acp"},
		Install: "npm install -g @google/gemini-cli@0.61.0",
		Login:   "run `gemini` once and log in, or set GEMINI_API_KEY",
		Unasked: map[string]string{
			"default":  "",
			"plan":     "",
			"autoEdit": "changes files without asking",
			"yolo":     "does everything without asking",
		},
	},
	"opencode": {
		Command: []string{"opencode", "acp"},
		Install: "npm install -g opencode-ai@1.18.33",
		Login:   "run `opencode auth login` once",

		MixesSessions: true, KeepsDirectory: true,
		Unasked: map[string]string{
			"build": "does everything in its directory without asking",
			"plan":  "runs commands without asking",
		},
		Asks:    openCodeAsks,
		AskedBy: `put "permission": {"bash": "ask", "edit": "ask"} into ~/.config/opencode/opencode.json, and restart the server`,
	},
	"qwen": {
		Command: []string{"qwen", "--acp"},
		Install: "npm install -g @qwen-code/qwen-code@0.24.4",
		Login:   "run `qwen` once and log in, or set OPENAI_API_KEY and, unless it is OpenAI's, OPENAI_BASE_URL and OPENAI_MODEL",
		AskMode: "default", // it opens sessions in auto
		Unasked: map[string]string{
			"default":   "",
			"plan":      "",
			"auto-edit": "changes files without asking",
			"auto":      "changes files without asking and judges by itself which commands it runs",
			"yolo":      "does everything without asking",
		},
	},
}

// PresetOf finds a preset by its name.
func PresetOf(name string) (Preset, bool) {
	p, ok := presets[name]
	return p, ok
}

// PresetFor finds the preset of a program, for any name of the agent.
func PresetFor(program string) (Preset, bool) {
	program = program[strings.LastIndexByte(program, '/')+1:]
	for _, p := range presets {
		if p.Command[0] == program {
			return p, true
		}
	}
	return Preset{}, false
}

// InstallText describes how to install the preset's program: a sentence without
// its full stop.
func (p Preset) InstallText() string {
	text := "Install it with: " + p.Install
	if p.Needs != "" {
		text += " (it needs " + p.Needs + ")"
	}
	return text
}

// PresetNames returns the names of all presets, sorted.
func PresetNames() []string { return slices.Sorted(maps.Keys(presets)) }

func presetNames() string { return strings.Join(PresetNames(), ", ") }
