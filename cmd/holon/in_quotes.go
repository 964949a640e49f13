package main

import (
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

var escapeQuotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// inQuotes returns a name or a title in quotes, on one line and harmless. Other than %q, it
// leaves joined emoji and every other character that a terminal shows as they are.
func inQuotes(s string) string { return `"` + escapeQuotes.Replace(timeline.OneLine(s)) + `"` }
