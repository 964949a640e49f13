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
	// AskMode is the mode in which the agent asks before it acts: its sessions open in it
	// as long as permissions are asked. "" = in the agent's own.
	AskMode string
	// Troubles are known texts of its errors, each with what to do.
	Troubles map[string]string
}

// presets are tested versions; docs/agents.md says what each of them can do.
var presets = map[string]Preset{
	"claude": {
		Command: []string{"claude-agent-acp"},
		Install: "npm install -g @agentclientprotocol/claude-agent-acp@0.100.0",
		Needs:   "Node.js 22 or later",
		Login:   "run `claude` once and log in, or set ANTHROPIC_API_KEY",
		AskMode: "default", // since 0.101.0 it opens sessions in auto
		Troubles: map[string]string{
			"bypass_root": `Run the server as another user than root, or put {"permissions":{"disableBypassPermissionsMode":"disable"}} into ~/.claude/settings.json`,
		},
	},
	"codex": {
		Command: []string{"codex-acp"},
		Install: "npm install -g @agentclientprotocol/codex-acp@2.6.0",
		// A key alone is not enough: the agent must be configured to use it.
		Login: "run `codex login` once, or set OPENAI_API_KEY and DEFAULT_AUTH_REQUEST='{\"methodId\":\"api-key\"}'",
	},
	"gemini": {
		Command: []string{"gemini", "--acp"},
		Install: "npm install -g @google/gemini-cli@0.61.0",
		Login:   "run `gemini` once and log in, or set GEMINI_API_KEY",
	},
	"opencode": {
		Command: []string{"opencode", "acp"},
		Install: "npm install -g opencode-ai@1.18.33",
		Login:   "run `opencode auth login` once",

		MixesSessions: true,
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

// InstallText says how to install the preset's program: a sentence without
// its full stop.
func (p Preset) InstallText() string {
	text := "Install it with: " + p.Install
	if p.Needs != "" {
		text += " (it needs " + p.Needs + ")"
	}
	return text
}

func presetNames() string { return strings.Join(slices.Sorted(maps.Keys(presets)), ", ") }
