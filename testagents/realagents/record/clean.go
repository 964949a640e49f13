package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// place is a path or address of this machine and what stands for it.
type place struct{ from, to string }

// What is kept of a list of commands or models, and of the texts that describe
// them: enough to show what they are made of.
const (
	keptEntries = 2
	keptText    = 40
)

var (
	// Ids of agents: UUIDs, and letters with a time in them.
	someID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b(?:ses|msg|prt|per|que|evt|call|toolu|fc|ctc|rs|resp)_[0-9A-Za-z]{6,}`)
	// Times in milliseconds or microseconds, and as text.
	someInstant = regexp.MustCompile(`(\D)1[789]\d{11}(?:\d{3})?(\D)`)
	someDay     = regexp.MustCompile(`[A-Z][a-z]+day, [A-Z][a-z]+ \d{1,2}, 20\d\d`)
	someTime    = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`)
)

// The stand-ins for what differs from run to run.
const (
	instant = "1767225600000"
	timeOf  = "2026-01-01T00:00:00.000Z"
	day     = "Thursday, January 1, 2026"
)

// cutLists are the members whose lists are cut.
var cutLists = []string{"availableCommands", "availableModels", "commands"}

// clean makes a recording independent of the machine and the run.
func clean(recording []entry, places []place) []entry {
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
		for _, p := range places {
			text = strings.ReplaceAll(text, p.from, p.to)
		}
		text = someID.ReplaceAllStringFunc(text, name)
		text = someInstant.ReplaceAllString(text, "${1}"+instant+"${2}")
		text = someDay.ReplaceAllString(text, day)
		text = someTime.ReplaceAllString(text, timeOf)
		cleaned = append(cleaned, entry{e.Dir, json.RawMessage(text)})
	}
	return cleaned
}

// cut shortens the long lists of a message. Messages without one stay byte for
// byte as they were.
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
