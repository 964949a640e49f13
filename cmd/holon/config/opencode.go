package config

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// openCodeAsks reports whether OpenCode asks before it runs commands and before it changes
// files, as far as the configuration says it that OpenCode reads in every directory
// (https://opencode.ai/docs/config, https://opencode.ai/docs/permissions). A directory's own
// opencode.json may say otherwise. In doubt it does not ask: a file cannot be read, such as
// one with comments, or a mode has rules of its own. get reads a variable of its environment.
func openCodeAsks(get func(string) string) bool {
	home := get("HOME")
	dir := get("XDG_CONFIG_HOME")
	if dir == "" {
		dir = filepath.Join(home, ".config")
	}
	dir = filepath.Join(dir, "opencode")
	files := []string{filepath.Join(dir, "config.json"), filepath.Join(dir, "opencode.json"), filepath.Join(dir, "opencode.jsonc"), get("OPENCODE_CONFIG")}
	for _, dir := range []string{filepath.Join(home, ".opencode"), get("OPENCODE_CONFIG_DIR")} {
		if dir != "" {
			files = append(files, filepath.Join(dir, "opencode.json"), filepath.Join(dir, "opencode.jsonc"))
		}
	}
	var rules openCodeRules
	for _, path := range files {
		if text, err := os.ReadFile(path); err == nil && !rules.addFile(text) {
			return false
		}
	}
	if text := get("OPENCODE_CONFIG_CONTENT"); text != "" && !rules.addFile([]byte(text)) {
		return false
	}
	if text := get("OPENCODE_PERMISSION"); text != "" && !rules.add(jsontext.Value(text)) {
		return false
	}
	return rules.ask("bash") && rules.ask("edit")
}

// openCodeRules are what OpenCode's configuration says about tools, whose names may be
// patterns. The last one that fits a tool counts, and one that is given again stays in its
// place.
type openCodeRules struct {
	names []string
	rules map[string]any // "ask", "allow", "deny", or such by patterns
}

// addFile adds the rules of a configuration, and reports whether they are all that it says
// about tools.
func (o *openCodeRules) addFile(text []byte) bool {
	type own struct {
		Permission jsontext.Value `json:"permission"`
		Tools      jsontext.Value `json:"tools"` // of older versions, as is mode
	}
	var file struct {
		own
		Agent map[string]own `json:"agent"`
		Mode  map[string]own `json:"mode"`
	}
	if json.Unmarshal(text, &file) != nil || file.Tools != nil {
		return false
	}
	for _, modes := range []map[string]own{file.Agent, file.Mode} {
		for _, mode := range modes {
			if mode.Permission != nil || mode.Tools != nil {
				return false
			}
		}
	}
	return file.Permission == nil || o.add(file.Permission)
}

// add adds rules, and reports whether it can read them.
func (o *openCodeRules) add(permission jsontext.Value) bool {
	if permission.Kind() == '"' { // for every tool
		permission = slices.Concat(jsontext.Value(`{"*":`), permission, jsontext.Value("}"))
	}
	var rules map[string]any
	if json.Unmarshal(permission, &rules) != nil {
		return false
	}
	if o.rules == nil {
		o.rules = map[string]any{}
	}
	d := jsontext.NewDecoder(bytes.NewReader(permission))
	_, _ = d.ReadToken() // what it reads has just been read
	for d.PeekKind() == '"' {
		name, _ := d.ReadToken()
		tool := name.String()
		_ = d.SkipValue()
		if _, known := o.rules[tool]; !known {
			o.names = append(o.names, tool)
		}
		o.rules[tool] = rules[tool]
	}
	return true
}

// ask reports whether OpenCode asks before it uses a tool, or never uses it.
func (o *openCodeRules) ask(tool string) bool {
	for _, name := range slices.Backward(o.names) {
		if fits, err := path.Match(name, tool); err == nil && !fits {
			continue
		}
		rule := o.rules[name]
		if patterns, ok := rule.(map[string]any); ok {
			rule = patterns["*"]
		}
		return rule == "ask" || rule == "deny"
	}
	return false
}
