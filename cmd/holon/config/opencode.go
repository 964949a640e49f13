package config

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// openCodeAsks reports whether OpenCode asks before it runs commands and before it changes
// files, as far as the configuration says it that OpenCode reads in every directory
// (https://opencode.ai/docs/config, https://opencode.ai/docs/permissions; compared with what
// "opencode debug agent build" of 1.18.33 prints). A directory's own opencode.json may say
// otherwise. In doubt it does not ask: a file cannot be read, such as one with comments, or
// a mode has rules of its own. get reads a variable of its environment.
func openCodeAsks(get func(string) string) bool {
	home := get("HOME")
	dir := get("XDG_CONFIG_HOME")
	if dir == "" {
		dir = filepath.Join(home, ".config")
	}
	dir = filepath.Join(dir, "opencode")
	files := []string{filepath.Join(dir, "config.json"), filepath.Join(dir, "opencode.json"), filepath.Join(dir, "opencode.jsonc"), get("OPENCODE_CONFIG")}
	dirs := []string{filepath.Join(home, ".opencode")}
	if own := get("OPENCODE_CONFIG_DIR"); own != "" {
		dirs = append(dirs, own)
	}
	var rules openCodeRules
	for _, dir := range dirs {
		files = append(files, filepath.Join(dir, "opencode.json"), filepath.Join(dir, "opencode.jsonc"))
	}
	for _, path := range files {
		if !rules.addPath(path) {
			return false
		}
	}
	if text := get("OPENCODE_CONFIG_CONTENT"); text != "" && !rules.addFile([]byte(text)) {
		return false
	}
	managed := []string{"/etc/opencode", "/Library/Application Support/opencode"}
	if other := get("OPENCODE_TEST_MANAGED_CONFIG_DIR"); other != "" {
		managed = []string{other}
	}
	for _, dir := range managed { // the administrator's
		if !rules.addPath(filepath.Join(dir, "opencode.json")) || !rules.addPath(filepath.Join(dir, "opencode.jsonc")) {
			return false
		}
	}
	if text := jsontext.Value(get("OPENCODE_PERMISSION")); len(text) > 0 && (text.Kind() != '{' || !rules.add(text)) { // it ignores one word for every tool there
		return false
	}
	return rules.ask("bash") && rules.ask("edit") && !slices.ContainsFunc(append(dirs, dir), modesHaveRules)
}

// modesHaveRules reports whether a file of a mode in a directory of OpenCode says something
// about tools in the lines with which it begins.
func modesHaveRules(dir string) bool {
	for _, kind := range []string{"agent", "agents", "mode", "modes"} {
		found := false
		// A link leads OpenCode on, and this too: the directory may be one. What is deeper and a
		// link is not followed, and in doubt.
		root, err := filepath.EvalSymlinks(filepath.Join(dir, kind))
		if err != nil {
			continue
		}
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				found = true
			case d.IsDir():
			case filepath.Ext(path) == ".md":
				text, err := os.ReadFile(path)
				head, _, _ := bytes.Cut(bytes.TrimPrefix(text, []byte("---")), []byte("\n---"))
				found = found || err != nil || bytes.HasPrefix(text, []byte("---")) && (bytes.Contains(head, []byte("permission")) || bytes.Contains(head, []byte("tools")))
			case d.Type()&fs.ModeSymlink != 0:
				found = true
			}
			return nil
		})
		if found {
			return true
		}
	}
	return false
}

// openCodeRules are what OpenCode's configuration says about tools, whose names may be
// patterns. The last one that fits a tool counts, and one that is given again stays in its
// place.
type openCodeRules struct {
	names []string
	rules map[string]any // "ask", "allow", "deny", or such by patterns
}

// addPath adds the rules of a file, if it exists, and reports whether they are all that it
// says about tools.
func (o *openCodeRules) addPath(path string) bool {
	text, err := os.ReadFile(path)
	return err != nil || o.addFile(text)
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
	if json.Unmarshal(permission, &rules) != nil || bytes.Contains(permission, []byte("{env:")) || bytes.Contains(permission, []byte("{file:")) {
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
		before, _ := o.rules[tool].(map[string]any)
		if now, ok := rules[tool].(map[string]any); ok && before != nil { // more patterns
			maps.Copy(before, now)
			continue
		}
		o.rules[tool] = rules[tool]
	}
	return true
}

// ask reports whether OpenCode asks before it uses a tool, or never uses it. Patterns may
// except something, but not all: one without a letter allows more than it names.
func (o *openCodeRules) ask(tool string) bool {
	for _, name := range slices.Backward(o.names) {
		if !openCodePattern(name).MatchString(tool) {
			continue
		}
		rule := o.rules[name]
		if patterns, ok := rule.(map[string]any); ok {
			rule = patterns["*"]
			for pattern, is := range patterns {
				if is != "ask" && is != "deny" && !letter.MatchString(pattern) {
					return false
				}
			}
		}
		return rule == "ask" || rule == "deny"
	}
	return false
}

var letter = regexp.MustCompile(`[\pL\pN]`)

// openCodePattern returns a pattern of OpenCode: * is any text, ? one character, and what follows
// a blank at the end may be missing.
func openCodePattern(pattern string) *regexp.Regexp {
	expr := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
	if before, ok := strings.CutSuffix(expr, " .*"); ok {
		expr = before + "( .*)?"
	}
	return regexp.MustCompile(`(?s)\A(?:` + expr + `)\z`)
}
