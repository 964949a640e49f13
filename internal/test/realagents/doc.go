// Package realagents runs coding agents from the npm registry, as users install
// them, against the mock model. Once they are installed they need no account,
// no model and no network. It has their pinned versions, their start commands
// and the settings that point them to the mock model.
//
// Its tests drive the real holon command with each agent over the wire and
// print their results as a table. They run only if HOLON_TEST_AGENTS names
// agents:
//
//	make test-agents AGENTS="opencode codex claude gemini"
//
// The agents are installed into AGENTS_CACHE (default: holon-agents in the
// user's cache directory), never into the repository. Each takes between 100
// and 460 MB. Each run writes settings and sessions to a new home directory, so
// the user's own agents do not change.
package realagents
