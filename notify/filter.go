package notify

import (
	"slices"
	"strings"
)

// Filter chooses events by thread and by method. The zero value lets
// everything through. It is immutable once in use.
type Filter struct {
	ThreadIDs []string // any of these; empty = all, events without a thread included
	Methods   []string // exact names or kinds such as "item/*"; empty = all
}

// All reports whether the filter lets everything through.
func (f *Filter) All() bool { return len(f.ThreadIDs) == 0 && len(f.Methods) == 0 }

// Match reports whether an event of this thread and method passes. Markers
// (stream/rewind) pass whatever the methods are: a reader has to be told what
// stands no longer of what it was sent.
func (f *Filter) Match(threadID, method string) bool {
	if len(f.ThreadIDs) > 0 && !slices.Contains(f.ThreadIDs, threadID) {
		return false
	}
	if len(f.Methods) == 0 || method == StreamRewind {
		return true
	}
	for _, m := range f.Methods {
		if m == method {
			return true
		}
		if kind, ok := strings.CutSuffix(m, "*"); ok && strings.HasPrefix(method, kind) {
			return true
		}
	}
	return false
}

// ValidMethod reports whether m may stand in a filter: a slash-style name
// ("turn/started") or a kind ("turn/*"). Names that no event has yet are
// allowed, so that a client may name what a newer server sends.
func ValidMethod(m string) bool {
	kind, word, ok := strings.Cut(m, "/")
	if !ok || kind == "" || word == "" || len(m) > 64 {
		return false
	}
	if word == "*" {
		word = "x"
	}
	for _, r := range kind + word {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '/' {
			return false
		}
	}
	return true
}
