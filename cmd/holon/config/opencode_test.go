package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenCodeAsksIfItsConfigurationSaysSo(t *testing.T) {
	for _, c := range []struct {
		name, home, own, content string // opencode.json of the user, OPENCODE_CONFIG, OPENCODE_CONFIG_CONTENT
		asks                     bool
	}{
		{"no configuration", "", "", "", false},
		{"one without permission", `{"model":"x"}`, "", "", false},
		{"both ask", `{"permission":{"bash":"ask","edit":"ask"}}`, "", "", true},
		{"one is denied", `{"permission":{"bash":"ask","edit":"deny"}}`, "", "", true},
		{"one of them only", `{"permission":{"bash":"ask"}}`, "", "", false},
		{"everything", `{"permission":"ask"}`, "", "", true},
		{"every tool", `{"permission":{"*":"ask"}}`, "", "", true},
		{"every tool but one", `{"permission":{"*":"ask","edit":"allow"}}`, "", "", false},
		{"some commands are allowed", `{"permission":{"bash":{"*":"ask","git *":"allow"},"edit":"ask"}}`, "", "", true},
		{"some commands ask", `{"permission":{"bash":{"rm *":"ask"},"edit":"ask"}}`, "", "", false},
		{"in its own file", "", `{"permission":{"bash":"ask","edit":"ask"}}`, "", true},
		{"its own file says otherwise", `{"permission":{"bash":"ask","edit":"ask"}}`, `{"permission":{"bash":"allow"}}`, "", false},
		{"in the environment", "", "", `{"permission":{"bash":"ask","edit":"ask"}}`, true},
		{"the environment says otherwise", `{"permission":"ask"}`, "", `{"permission":"allow"}`, false},
		{"what is said last about every tool counts", `{"permission":{"bash":"ask","edit":"ask","*":"allow"}}`, "", "", false},
		{"every other tool is allowed", `{"permission":{"*":"allow","bash":"ask","edit":"ask"}}`, "", "", true},
		{"its own file allows the tools that are left", `{"permission":"ask"}`, `{"permission":{"*":"allow"}}`, "", false},
		{"an exception stays where all is asked again", `{"permission":{"*":"ask","bash":"allow"}}`, `{"permission":"ask"}`, "", false},
		{"the mode has its own permission", `{"permission":"ask","agent":{"build":{"permission":{"bash":"allow"}}}}`, "", "", false},
		{"the mode has only a model", `{"permission":"ask","agent":{"build":{"model":"x"}}}`, "", "", true},
		{"tools are switched on as in older versions", `{"permission":"ask","tools":{"bash":true}}`, "", "", false},
		{"one of two cannot be read", `{"permission":"ask"}`, `{"permission":"allow"} // all`, "", false},
		{"a pattern takes all of it back", `{"permission":{"bash":{"*":"ask","**":"allow"},"edit":"ask"}}`, "", "", false},
		{"a pattern takes nearly all of it back", `{"permission":{"bash":"ask","edit":{"*":"ask","**/*":"allow"}}}`, "", "", false},
		{"another file has more patterns", `{"permission":{"bash":{"*":"ask"},"edit":"ask"}}`, `{"permission":{"bash":{"ls *":"allow"}}}`, "", true},
		{"another file leaves a pattern", `{"permission":{"bash":{"*":"ask","* *":"allow"},"edit":"ask"}}`, `{"permission":{"bash":{"*":"ask"}}}`, "", false},
		{"another file asks for some instead of all", `{"permission":"ask"}`, `{"permission":{"bash":{"rm *":"ask"}}}`, "", false},
		{"a name that is a pattern for other programs only", `{"permission":{"bash":"allow","edit":"allow","[a-z]*":"ask","[":"ask"}}`, "", "", false},
		{"a blank and a star may be missing", `{"permission":{"bash":"ask","edit":"ask","bash *":"allow"}}`, "", "", false},
		{"tools of a server are allowed", `{"permission":{"bash":"ask","edit":"ask","jira_*":"allow"}}`, "", "", true},
		{"a name is in a variable", `{"permission":{"bash":"ask","edit":"ask","{env:TOOL}":"allow"}}`, "", "", false},
		{"one that cannot be read", `{"permission":{"bash":"ask","edit":"ask"} // both`, "", "", false},
	} {
		home := t.TempDir()
		write := func(path, text string) string {
			if text == "" {
				return ""
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
		write(filepath.Join(home, ".config", "opencode", "opencode.json"), c.home)
		environ := map[string]string{"HOME": home, "OPENCODE_TEST_MANAGED_CONFIG_DIR": filepath.Join(home, "none"), "OPENCODE_CONFIG": write(filepath.Join(home, "own.json"), c.own), "OPENCODE_CONFIG_CONTENT": c.content}
		if got := openCodeAsks(func(name string) string { return environ[name] }); got != c.asks {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// What OpenCode reads beside its configuration files, as "opencode debug agent build" shows it.
func TestOpenCodeAsksIfNothingElseSaysOtherwise(t *testing.T) {
	const both, main = `{"permission":{"bash":"ask","edit":"ask"}}`, ".config/opencode/opencode.json"
	mode := "---\ndescription: builds\npermission:\n  bash: allow\n---\nBuild it.\n"
	for name, c := range map[string]struct {
		files, environ map[string]string // @ at the beginning of a value is HOME
		asks           bool
	}{
		"a mode has a file":                      {map[string]string{main: both, ".config/opencode/agent/build.md": mode}, nil, false},
		"one with other names":                   {map[string]string{main: both, ".opencode/modes/deep/build.md": strings.ReplaceAll(mode, "permission:", "tools:")}, nil, false},
		"one in the directory of a variable":     {map[string]string{main: both, "own/agents/build.md": mode}, map[string]string{"OPENCODE_CONFIG_DIR": "@/own"}, false},
		"its words speak of tools":               {map[string]string{main: both, ".config/opencode/agent/build.md": "---\nmodel: x\n---\nUse tools, with permission."}, nil, true},
		"the administrator allows":               {map[string]string{main: both, "managed/opencode.json": `{"permission":{"bash":"allow"}}`}, map[string]string{"OPENCODE_TEST_MANAGED_CONFIG_DIR": "@/managed"}, false},
		"the administrator lets it ask":          {map[string]string{main: `{"permission":"allow"}`, "managed/opencode.jsonc": both}, map[string]string{"OPENCODE_TEST_MANAGED_CONFIG_DIR": "@/managed"}, true},
		"a variable lets it ask":                 {nil, map[string]string{"OPENCODE_PERMISSION": `{"bash":"ask","edit":"ask"}`}, true},
		"a variable with a word that it ignores": {nil, map[string]string{"OPENCODE_PERMISSION": `"ask"`}, false},
		"a directory of a variable is the last":  {map[string]string{".opencode/opencode.json": `{"permission":{"bash":"allow","edit":"allow"}}`, "own/opencode.json": both}, map[string]string{"OPENCODE_CONFIG_DIR": "@/own"}, true},
	} {
		home := t.TempDir()
		environ := map[string]string{"HOME": home, "OPENCODE_TEST_MANAGED_CONFIG_DIR": filepath.Join(home, "none")}
		for file, text := range c.files {
			file = filepath.Join(home, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for name, value := range c.environ {
			environ[name] = strings.Replace(value, "@", home, 1)
		}
		if got := openCodeAsks(func(name string) string { return environ[name] }); got != c.asks {
			t.Errorf("%s: %v", name, got)
		}
	}
}
