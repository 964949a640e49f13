package config

import (
	"os"
	"path/filepath"
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
		environ := map[string]string{"HOME": home, "OPENCODE_CONFIG": write(filepath.Join(home, "own.json"), c.own), "OPENCODE_CONFIG_CONTENT": c.content}
		if got := openCodeAsks(func(name string) string { return environ[name] }); got != c.asks {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
