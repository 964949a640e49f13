package holon_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the list of docs/decisions.md anew")

const (
	decisionsFile  = "docs/decisions.md"
	decisionsTitle = "## In one line each\n"
)

var decisionName = regexp.MustCompile(`^\*\*(.+?)[.,:;]?\*\*`)

// Docs/decisions.md begins with a line for each of its decisions, in their order. To
// write these lines anew: go test -run TestEveryDecisionHasItsLine -update .
func TestEveryDecisionHasItsLine(t *testing.T) {
	page, err := os.ReadFile(decisionsFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), decisionsTitle)
	listed, entries, more := strings.Cut(rest, "\n## ")
	if !found || !more {
		t.Fatalf("%s does not begin with a section %q", decisionsFile, strings.TrimSpace(decisionsTitle))
	}
	entries = "\n## " + entries
	want := "\n" + linesOfDecisions(t, entries)
	if *update {
		if err := os.WriteFile(decisionsFile, []byte(before+decisionsTitle+want+entries), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	for line := range strings.Lines(want) {
		if !strings.Contains(listed, line) {
			t.Errorf("%s does not begin with the line %q", decisionsFile, line)
		}
	}
	for line := range strings.Lines(listed) {
		if !strings.Contains(want, line) {
			t.Errorf("%s begins with %q, but has no such decision", decisionsFile, line)
		}
	}
	if !t.Failed() && listed != want {
		t.Errorf("the lines at the beginning of %s are in another order than the decisions", decisionsFile)
	}
}

// linesOfDecisions is the list of the decisions of a page: a line for each section and
// for each paragraph, which begins with the decision in bold.
func linesOfDecisions(t *testing.T, entries string) string {
	var list strings.Builder
	known := map[string]bool{}
	for paragraph := range strings.SplitSeq(entries, "\n\n") {
		paragraph = strings.TrimSpace(paragraph)
		if title, ok := strings.CutPrefix(paragraph, "## "); ok {
			anchor := strings.ReplaceAll(strings.ToLower(title), " ", "-")
			list.WriteString("- [" + title + "](#" + anchor + ")\n")
		} else if name := decisionName.FindStringSubmatch(paragraph); name != nil {
			list.WriteString("  - " + name[1] + "\n")
			if known[name[1]] {
				t.Errorf("%s has the decision %q twice", decisionsFile, name[1])
			}
			known[name[1]] = true
			if _, second, found := strings.Cut(paragraph, "\n**"); found {
				t.Errorf("%s: an empty line is missing before %.80q", decisionsFile, second)
			}
		} else if paragraph != "" && !strings.HasPrefix(paragraph, "|") && !strings.HasPrefix(paragraph, "- ") {
			t.Errorf("%s: a paragraph does not begin with the decision in bold: %.80q", decisionsFile, paragraph)
		}
	}
	return list.String()
}
