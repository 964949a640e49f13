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
	// Within, if not nil, lets only events of its threads through. A Log does not
	// know it: a Cursor applies it to what it reads, and so must others who read
	// pages (Page.KeepWithin).
	Within Members
}

// All reports whether the filter lets everything through.
func (f *Filter) All() bool { return len(f.ThreadIDs) == 0 && len(f.Methods) == 0 && f.Within == nil }

// Match reports whether an event of this thread and method passes. Markers
// (stream/rewind) pass any choice of methods: a reader must learn what of its
// events has been superseded. It does not ask Within.
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

// matcher is a filter prepared for many events.
type matcher struct {
	methods Filter    // without threads
	threads threadSet // empty = all
}

func (f Filter) matcher() matcher {
	m := matcher{methods: f, threads: threadSetOf(f.ThreadIDs)}
	m.methods.ThreadIDs = nil
	return m
}

func (m *matcher) match(threadID, method string) bool {
	return (m.threads.empty() || m.threads.has(threadID)) && m.methods.Match(threadID, method)
}

// ValidMethod reports whether m may be in a filter: a name such as
// "turn/started" or a kind such as "turn/*". Names that no event has yet are
// allowed, so that a client may name events of newer servers.
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
