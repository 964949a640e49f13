package realagents

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// The settings of each agent point it to the mock model and keep it from using
// the network otherwise. Paths of files are relative to the home directory.

// Config returns the configuration of a server whose default agent this is. The agent
// may let agents of its own kind work, and echo.
func (l Launch) Config(name string) string {
	words := make([]string, len(l.Command))
	for i, word := range l.Command {
		words[i] = strconv.Quote(word)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "default_agent = %q\n\n[agents.%s]\nkind = \"acp\"\ncancel_seconds = 5\nhandover = true\nchild_agents = [%q, \"echo\"]\ncommand = [%s]\n\n[agents.%s.env]\n",
		name, name, name, strings.Join(words, ", "), name)
	for key, value := range l.Env {
		fmt.Fprintf(&b, "%s = %q\n", key, value)
	}
	return b.String()
}

// anyKey is the API key for agents that want one; the mock model checks none.
const anyKey = "mock"

func openCode(home, model string) (files, env map[string]string) {
	return map[string]string{"opencode.json": object(map[string]any{
			"provider": map[string]any{"mock": map[string]any{
				"npm": "@ai-sdk/openai-compatible", "name": "Mock",
				"options": map[string]any{"baseURL": model + "/v1", "apiKey": anyKey},
				"models": map[string]any{"mock-1": map[string]any{
					"name": "Mock 1", "tool_call": true, "reasoning": true, "attachment": true,
					"modalities": map[string]any{"input": []string{"text", "image"}, "output": []string{"text"}},
				}},
			}},
			"model": "mock/mock-1", "small_model": "mock/mock-1", "enabled_providers": []string{"mock"},
			"permission": map[string]any{"bash": "ask", "edit": "ask", "holon_*": "ask"},
		})}, map[string]string{
			"OPENCODE_CONFIG":               filepath.Join(home, "opencode.json"),
			"OPENCODE_DISABLE_MODELS_FETCH": "1",
			"OPENCODE_DISABLE_AUTOUPDATE":   "1",
			"OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
		}
}

func codex(home, model string) (files, env map[string]string) {
	config := `model = "mock-1"
model_provider = "mock"
approval_policy = "on-request"

[model_providers.mock]
name = "Mock"
base_url = %q
wire_api = "responses"
env_key = "MOCK_API_KEY"
`
	return map[string]string{"codex/config.toml": fmt.Sprintf(config, model+"/v1")}, map[string]string{
		"CODEX_HOME":         filepath.Join(home, "codex"),
		"MODEL_PROVIDER":     "mock",
		"INITIAL_AGENT_MODE": "workspace-write",
		"MOCK_API_KEY":       anyKey,
	}
}

func claude(home, model string) (files, env map[string]string) {
	// As root it refuses to start in a mode that asks for no permission, so
	// such modes are disabled.
	settings := object(map[string]any{"permissions": map[string]any{"disableBypassPermissionsMode": "disable"}})
	return map[string]string{"claude/settings.json": settings}, map[string]string{
		"CLAUDE_CONFIG_DIR":                        filepath.Join(home, "claude"),
		"ANTHROPIC_BASE_URL":                       model,
		"ANTHROPIC_API_KEY":                        anyKey,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		"CLAUDE_CODE_MAX_RETRIES":                  "1", // not for minutes while the model is overloaded
	}
}

func gemini(home, model string) (files, env map[string]string) {
	settings := object(map[string]any{
		"security": map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}},
		"general":  map[string]any{"enableAutoUpdate": false},
		"privacy":  map[string]any{"usageStatisticsEnabled": false},
	})
	return map[string]string{".gemini/settings.json": settings}, map[string]string{
		"GOOGLE_GEMINI_BASE_URL": model,
		"GEMINI_API_KEY":         anyKey,
	}
}

func qwen(_, model string) (files, env map[string]string) {
	settings := object(map[string]any{
		"security": map[string]any{"auth": map[string]any{"selectedType": "openai"}},
		"general":  map[string]any{"enableAutoUpdate": false},
		"privacy":  map[string]any{"usageStatisticsEnabled": false},
	})
	return map[string]string{".qwen/settings.json": settings}, map[string]string{
		"OPENAI_BASE_URL": model + "/v1",
		"OPENAI_API_KEY":  anyKey,
		"OPENAI_MODEL":    "mock-1",
	}
}

func object(v map[string]any) string {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // never: v holds only strings, booleans, slices and maps
	}
	return string(b) + "\n"
}
