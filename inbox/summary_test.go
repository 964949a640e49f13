package inbox

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/sanitize"
)

func TestSummaryOfDigest(t *testing.T) {
	many := make([]string, maxSenders)
	for i := range many {
		many[i] = fmt.Sprint("p", i)
	}
	for _, c := range []struct {
		family, resource string
		senders          []string
		n                int
		want             string
	}{
		{"review_comments", "pr:135", []string{"ann", "bob"}, 3, "3 review comments on pr:135 by 2 people"},
		{"review_comments", "pr:135", []string{"ann"}, 1, "1 review comment on pr:135 by ann"},
		{"reviews", "pr:1", nil, 1, "1 review on pr:1"},
		{"ci_updates", "workflow_run:7", nil, 2, "2 ci updates on workflow_run:7"},
		{"lifecycle", "pr:1", []string{"ann"}, 2, "2 lifecycle on pr:1 by ann"},
		{"comments", "pr:1", many[:maxSenders-1], 90, "90 comments on pr:1 by 49 people"},
		{"comments", "pr:1", many, 90, "90 comments on pr:1 by 50 or more people"},
	} {
		if got := summaryOfDigest(&Digest{EventFamily: c.family, ResourceRef: c.resource, Senders: c.senders}, c.n, 0); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	long := summaryOfDigest(&Digest{EventFamily: "comments", ResourceRef: strings.Repeat("é", 500)}, 2, 0)
	if n := utf8.RuneCountInString(long); n != MaxSummary || !strings.HasSuffix(long, "…") {
		t.Errorf("a summary has %d characters and ends %q", n, long[len(long)-3:])
	}
}

func TestSingularOfWords(t *testing.T) {
	for words, want := range map[string]string{
		"review comments": "review comment", "deliveries": "delivery", "pushes": "push", "branches": "branch", "processes": "process",
		"fixes": "fix", "releases": "release", "ci status": "ci status", "statuses": "status", "analysis": "analysis", "access": "access",
		"lifecycle": "lifecycle", "": "",
	} {
		if got := plural(words, 1); got != want {
			t.Errorf("one of %q is %q, want %q", words, got, want)
		}
		for _, n := range []int{0, 2, 100} {
			if got := plural(words, n); got != words {
				t.Errorf("%d of %q are %q", n, words, got)
			}
		}
	}
}

func TestSummaryOfItem(t *testing.T) {
	for _, c := range []struct {
		r    Received
		want string
	}{
		{Received{Source: "gh", NativeID: "7", Summary: "a build failed"}, "a build failed"},
		{Received{Source: "gh", NativeID: "7"}, "gh 7"},
		{Received{Source: "gh", NativeID: " 7  8 "}, "gh 7 8"},
	} {
		if got := summaryOfItem(&c.r); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestLinesThatAreMadeAreLines(t *testing.T) {
	for _, c := range []struct {
		in   string
		max  int
		want string
	}{
		{"", 5, ""},
		{"  a  b ", 5, "a b"},
		{"a\nb\r\n\tc\x00d", 20, "a b c d"},
		{"a\u2028b\u202eab\u2066c\u0085d", 20, "a b ab c d"},
		{"a\u00a0b", 5, "a b"},
		{"a\xffb", 5, "a\uFFFDb"},
		{"abcde", 5, "abcde"},
		{"abcdef", 5, "abcd…"},
		{"ééééé", 5, "ééééé"},
		{"éééééé", 5, "éééé…"},
		{"abc", 1, "…"},
	} {
		got := sanitize.Line(c.in, c.max)
		if got != c.want {
			t.Errorf("sanitize.Line(%q, %d) = %q, want %q", c.in, c.max, got, c.want)
		}
		if !isLine(got) {
			t.Errorf("sanitize.Line(%q) is no line: %q", c.in, got)
		}
	}
}

func TestSenderOf(t *testing.T) {
	for payload, want := range map[string]string{
		``:                              "",
		`null`:                          "",
		`"sender"`:                      "",
		`[{"sender":"ann"}]`:            "",
		`{}`:                            "",
		`{"sender":null}`:               "",
		`{"sender":7}`:                  "",
		`{"sender":["ann"]}`:            "",
		`{"sender":"ann"}`:              "ann",
		`{"sender":" ann\n\u202elee "}`: "ann lee",
		`{"sender":{"login":"ann","name":"Ann"}}`:       "ann",
		`{"sender":{"login":"","name":"Ann"}}`:          "Ann",
		`{"sender":{"login":7,"name":"Ann"}}`:           "Ann",
		`{"sender":{"id":7}}`:                           "",
		`{"sender":"ann"`:                               "",
		`{"a":1,"a":2,"sender":"ann"}`:                  "ann",
		`{"sender":{"login":"ann","login":"bob"}}`:      "bob",
		`{"Sender":"ann"}`:                              "",
		`{"sender":"` + strings.Repeat("x", 200) + `"}`: strings.Repeat("x", maxSender-1) + "…",
	} {
		if got := senderOf(jsontext.Value(payload)); got != want {
			t.Errorf("sender of %s is %q, want %q", payload, got, want)
		}
	}
}

// A snapshot of one item says what the item says, unless it is another one that is
// left.
func TestOneItemSpeaksForItself(t *testing.T) {
	d := &Digest{EventFamily: "lifecycle", ResourceRef: "pr:2", Senders: []string{"ada"}, LastRaw: 7, LastSummary: "ada merged pr:2"}
	for _, c := range []struct {
		count int
		last  int64
		want  string
	}{{1, 7, "ada merged pr:2"}, {1, 5, "1 lifecycle on pr:2 by ada"}, {2, 7, "2 lifecycle on pr:2 by ada; latest: ada merged pr:2"}, {2, 5, "2 lifecycle on pr:2 by ada"}} {
		if got := summaryOfDigest(d, c.count, c.last); got != c.want {
			t.Errorf("%d items up to %d: %q, want %q", c.count, c.last, got, c.want)
		}
	}
}
