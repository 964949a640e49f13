// Package realagents runs coding agents as people install them, from the npm
// registry, against the mock model: no account, no model and no network is
// needed once they are installed. It knows their pinned versions, how each is
// started, and the settings that lead it to the mock model.
//
// Its tests drive the real holon command with each agent over the wire and
// print what they saw as a table. They run only where HOLON_TEST_AGENTS names
// agents:
//
//	make test-agents AGENTS="opencode codex claude gemini"
//
// The agents are installed into AGENTS_CACHE (default: holon-agents in the
// user's cache directory), between 100 and 460 MB each, and never into the
// repository. Settings and sessions are written to a new home directory per
// run: an agent that the user has set up is not touched.
package realagents
