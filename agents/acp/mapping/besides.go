package mapping

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// besides returns what the inputs of a call and of its request contain besides its changes, which
// alone are shown: the members of an object, or an input that is none; nil = nothing.
func besides(changes []items.Change, inputs ...jsontext.Value) jsontext.Value {
	s := &inChanges{changes: changes, left: 100}
	var value jsontext.Value
	members := fields{}
	for _, in := range inputs {
		list, err := fieldsOf(in)
		if err != nil && present(in) && !s.has("", in) {
			value = in
		}
		for name, v := range list {
			members[name] = v // the request comes last
		}
	}
	if value != nil {
		return value
	}
	rest := maps.Clone(members)
	maps.DeleteFunc(rest, s.has)
	if s.left < 0 {
		rest = members // too many to compare
	}
	if len(rest) == 0 {
		return nil
	}
	raw, err := json.Marshal(rest, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return inputs[len(inputs)-1] // rather too much than too little
	}
	return raw
}

// inChanges is what a person sees of changes.
type inChanges struct {
	changes       []items.Change
	before, after map[string]bool // the lines of all changes, without blanks around them; nil = not needed so far
	grows         int             // by how many lines
	left          int             // values that may still be compared: each costs as much as the changes are long
}

// parts are the names that agents give to a text of which the changes have the whole.
var parts = []string{
	"content", "file_text", "text", "old_string", "new_string", "oldString", "newString", "old_str", "new_str", "old_text", "new_text", "oldText", "newText",
}

// has reports whether the changes show a value: a path, a text before or after, a diff of
// these, or nothing but such values. What is empty or false says nothing.
func (s *inChanges) has(name string, v jsontext.Value) bool {
	if s.left--; s.left < 0 {
		return false
	}
	switch v.Kind() {
	case 'n', 'f':
		return true
	case '{':
		list, err := fieldsOf(v)
		for name, v := range list {
			if !s.has(name, v) {
				return false
			}
		}
		return err == nil
	case '[':
		var list []jsontext.Value
		if unmarshal(v, &list) != nil {
			return false
		}
		return !slices.ContainsFunc(list, func(v jsontext.Value) bool { return !s.has(name, v) })
	}
	text, ok := textOf(v)
	if !ok {
		return false
	}
	if text == "" {
		return true
	}
	part := slices.Contains(parts, name)
	for _, o := range s.changes {
		if text == o.Path || text == o.OldPath || text == o.OldText || text == o.NewText {
			return true
		}
		if part && (strings.Contains(o.OldText, text) || strings.Contains(o.NewText, text)) {
			return true
		}
	}
	return strings.Contains(text, "@@ ") && s.hasDiff(text)
}

// hasDiff reports whether a text is a unified diff of the changes: of their files, with their
// lines and nothing else. OpenCode leaves the indentation out.
func (s *inChanges) hasDiff(text string) bool {
	if s.before == nil {
		s.before, s.after = map[string]bool{}, map[string]bool{}
		for _, o := range s.changes {
			s.grows += lines(s.after, o.NewText) - lines(s.before, o.OldText)
		}
	}
	grows, hunk := 0, false
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		sign, rest := line[:min(len(line), 1)], strings.TrimSpace(line[min(len(line), 1):])
		switch {
		case strings.HasPrefix(line, "@@ "):
			hunk = true
		case !hunk:
			if !s.header(line) {
				return false
			}
		case sign == "+" && s.after[rest]:
			grows++
		case sign == "-" && s.before[rest]:
			grows--
		case sign == " " && s.after[rest] && s.before[rest]:
		case line == `\ No newline at end of file`:
		default:
			return false
		}
	}
	return hunk && grows == s.grows
}

// header reports whether a line in front of the hunks names no other file than the changes.
func (s *inChanges) header(line string) bool {
	name := ""
	for _, prefix := range []string{"Index: ", "--- ", "+++ "} {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			name, _, _ = strings.Cut(rest, "\t")
		}
	}
	if name == "" {
		return strings.Trim(line, "=") == ""
	}
	inGit := strings.TrimPrefix(strings.TrimPrefix(name, "a/"), "b/")
	return name == "/dev/null" || slices.ContainsFunc(s.changes, func(o items.Change) bool {
		return slices.ContainsFunc([]string{o.Path, o.OldPath}, func(path string) bool {
			return path != "" && (name == path || strings.HasSuffix(path, "/"+inGit) || inGit == path)
		})
	})
}

// lines adds the lines of a text, and counts them.
func lines(to map[string]bool, text string) (n int) {
	if text == "" {
		return 0
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		to[strings.TrimSpace(line)] = true
		n++
	}
	return n
}
