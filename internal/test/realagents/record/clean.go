package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// replacement is a path or address of this machine and the text that replaces
// it.
type replacement struct{ from, to string }

// How many entries of a list of commands or models are kept, and how many bytes
// of each description: enough to show their form.
const (
	keptEntries = 2
	keptText    = 40
)

var (
	// Ids of agents: UUIDs, and prefixes followed by letters that encode a
	// time.
	someID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b(?:ses|msg|prt|per|que|evt|call|toolu|fc|ctc|rs|resp)_[0-9A-Za-z]{6,}`)
	// Times in milliseconds or microseconds, and as text.
	someInstant = regexp.MustCompile(`(\D)1[789]\d{11}(?:\d{3})?(\D)`)
	someDay     = regexp.MustCompile(`[A-Z][a-z]+day, [A-Z][a-z]+ \d{1,2}, 20\d\d`)
	someTime    = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`)
)

// The replacements for values that differ from run to run.
const (
	instant = "1767225600000"
	timeOf  = "2026-01-01T00:00:00.000Z"
	day     = "Thursday, January 1, 2026"
)

// cutLists names the members whose lists are cut.
var cutLists = []string{"availableCommands", "availableModels", "commands"}

// clean makes a recording independent of the machine and the run.
func clean(recording []entry, replacements []replacement) []entry {
	names := map[string]string{}
	counts := map[string]int{}
	name := func(id string) string {
		if names[id] == "" {
			prefix, _, found := strings.Cut(id, "_")
			if !found {
				prefix = "id"
			}
			counts[prefix]++
			names[id] = fmt.Sprintf("%s_%d", prefix, counts[prefix])
		}
		return names[id]
	}
	cleaned := make([]entry, 0, len(recording))
	for _, e := range recording {
		text := string(cut(e.Msg))
		for _, r := range replacements {
			text = strings.ReplaceAll(text, r.from, r.to)
		}
		text = someID.ReplaceAllStringFunc(text, name)
		text = someInstant.ReplaceAllString(text, "${1}"+instant+"${2}")
		text = someDay.ReplaceAllString(text, day)
		text = someTime.ReplaceAllString(text, timeOf)
		cleaned = append(cleaned, entry{e.Dir, json.RawMessage(text)})
	}
	return cleaned
}

// cut shortens the long lists of a message. A message without one stays byte
// for byte the same.
func cut(msg json.RawMessage) json.RawMessage {
	long := func(name string) bool { return strings.Contains(string(msg), `"`+name+`"`) }
	if !slices.ContainsFunc(cutLists, long) && !long("configOptions") {
		return msg
	}
	var v any
	if json.Unmarshal(msg, &v) != nil {
		return msg
	}
	var b bytes.Buffer
	shorter := json.NewEncoder(&b)
	shorter.SetEscapeHTML(false)
	if shorter.Encode(shorten(v)) != nil {
		return msg
	}
	return bytes.TrimSpace(b.Bytes())
}

func shorten(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			if list, ok := member.([]any); ok && slices.Contains(cutLists, key) && len(list) > keptEntries {
				member = list[:keptEntries]
			}
			if text, ok := member.(string); ok && key == "description" && len(text) > keptText {
				member = strings.ToValidUTF8(text[:keptText], "") + "…"
			}
			v[key] = shorten(member)
		}
	case []any:
		for i := range v {
			v[i] = shorten(v[i])
		}
	}
	return v
}
