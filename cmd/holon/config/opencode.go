package config

import (
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
)

// openCodeAsks reports whether OpenCode asks before it runs commands and before it changes
// files, as far as the configuration says it that OpenCode reads in every directory
// (https://opencode.ai/docs/config, https://opencode.ai/docs/permissions). A directory's own
// opencode.json may say otherwise. What cannot be read, such as a file with comments, does
// not ask. get reads a variable of its environment.
func openCodeAsks(get func(string) string) bool {
	dir := get("XDG_CONFIG_HOME")
	if dir == "" {
		dir = filepath.Join(get("HOME"), ".config")
	}
	rules := map[string]any{} // by tool; what is read later counts
	add := func(text []byte) {
		var file struct {
			Permission any `json:"permission"`
		}
		if json.Unmarshal(text, &file) != nil {
			return
		}
		switch is := file.Permission.(type) {
		case string:
			rules["*"], rules["bash"], rules["edit"] = is, is, is
		case map[string]any:
			for tool, rule := range is {
				rules[tool] = rule
			}
		}
	}
	for _, path := range []string{
		filepath.Join(dir, "opencode", "config.json"), filepath.Join(dir, "opencode", "opencode.json"), filepath.Join(dir, "opencode", "opencode.jsonc"), get("OPENCODE_CONFIG"),
	} {
		if text, err := os.ReadFile(path); err == nil {
			add(text)
		}
	}
	add([]byte(get("OPENCODE_CONFIG_CONTENT")))
	for _, tool := range []string{"bash", "edit"} {
		rule, is := rules[tool]
		if !is {
			rule = rules["*"]
		}
		if patterns, ok := rule.(map[string]any); ok {
			rule = patterns["*"]
		}
		if rule != "ask" && rule != "deny" {
			return false
		}
	}
	return true
}
