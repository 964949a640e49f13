package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestQuotedTextStaysReadable(t *testing.T) {
	for in, want := range map[string]string{
		"": `""`, "the tests": `"the tests"`, "👩\u200d🔬 日本語 é": "\"👩\u200d🔬 日本語 é\"", `a "b" \ c`: `"a \"b\" \\ c"`,
		"\x1b[31mred\x1b[0m\nb": `"red b"`, "a\u202eb\a": "\"a\ufffdb␇\"", "❤\ufe0f e\u0301 \u00a0": "\"❤\ufe0f e\u0301\"",
	} {
		if got := inQuotes(in); got != want {
			t.Errorf("%q is quoted as %s, want %s", in, got, want)
		}
	}
}

func TestTitlesWithJoinedEmojiAreReadable(t *testing.T) {
	s := startServer(t)
	const title = "👩\u200d🔬 \x1b[31mlab\x1b[0m"
	r := s.holon("run", "--detach", "--title="+title, "/sleep 600000")
	if want := " \"👩\u200d🔬 lab\"\n"; r.code != exitOK || !strings.HasSuffix(r.out, want) {
		t.Errorf("run --detach: %+v, want %q", r, want)
	}
}

func TestTitlesAndExcerptsHaveNoRestsOfEscapeSequences(t *testing.T) {
	s := startServer(t)
	const colours = "\x1b[31mred\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \u009b1mbold 👩\u200d🔬"
	s.want("run", "--thread=prompted", "/say "+colours)
	got := oneObject(t, s.want("call", "thread/read", `{"thread_id":"prompted"}`))
	summary := fmt.Sprint(got["thread"].(map[string]any)["summary"])
	for _, want := range []string{"title:/say red link bold 👩\u200d🔬", "text:red link bold 👩\u200d🔬"} {
		if !strings.Contains(summary, want) {
			t.Errorf("the summary has no %q: %s", want, summary)
		}
	}
}
