package kinds

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/internal/test/kindstest"
	"github.com/seed82539d15/holon/turns"
)

// What people are shown of each type, in the forms of ntfy, Slack and GitHub. Run
// with UPDATE=1 to write it anew.
func TestWhatPeopleAreShown(t *testing.T) {
	var b strings.Builder
	all := append([]*bridges.Envelope{kindstest.Final()}, kindstest.Envelopes()...)
	hostile := kindstest.Final()
	hostile.Data.Title, hostile.Data.Text, hostile.Data.State = "see https://evil.example @all <!here>", "```\n@octocat <b>bold</b>\n```", turns.Interrupted
	rejected := kindstest.Final()
	rejected.Data.Review = &bridges.Review{Verdict: "rejected", Note: "still not this way"}
	refused := kindstest.Final()
	refused.Data.StopReason = "refusal"
	linked := kindstest.Final()
	linked.Data.URL = "https://holon.example/#/thread/thread_01"
	for _, e := range append(all, hostile, rejected, refused, linked) {
		m := describe(e)
		title, body := m.plain(maxNtfy, unlinked)
		slack := slackText(e).Blocks
		text := slack[0].Text.Text
		for _, more := range slack[1:] {
			link := more.Elements[0].Elements[0]
			text += "\n(" + more.Type + ", " + link.Type + ") " + link.Text + " " + link.URL
		}
		if m.link != "" {
			body += "\n(click) " + m.link
		}
		b.WriteString("== " + string(e.EventType) + "\n-- ntfy\n" + title + "\n\n" + body + "\n-- slack\n" + text + "\n-- github\n" + comment(e) + "\n\n")
	}
	got := strings.ReplaceAll(b.String(), gap, "·")
	const path = "testdata/messages.txt"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("it is shown otherwise than in %s; run with UPDATE=1 to see how:\n%s", path, got)
	}
}

func TestTextsAreCutAtARuneAndSaySo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.StringMatching(`[aü€😀 \n]{1,9}`).Draw(t, "text"), rapid.IntRange(1, 2000).Draw(t, "times"))
		n := rapid.IntRange(200, 4000).Draw(t, "bytes")
		e := kindstest.Final()
		e.Data.Text = text
		m := describe(e)
		title, body := m.plain(n, slackEscape)
		if len(body) > n || !utf8.ValidString(title+body) {
			t.Fatalf("%d bytes of %d: %q", len(body), n, body)
		}
		if !strings.HasSuffix(body, m.next) {
			t.Fatalf("what to do next is cut off: %q", body)
		}
		if cut := strings.Contains(body, "(shortened)"); cut != (len(strings.TrimSpace(lines(text)))+len("\n\n")+len(m.next) > n) {
			t.Fatalf("cut: %v, of %d to %d", cut, len(strings.TrimSpace(lines(text))), n)
		}
	})
}

func TestCommandsAreShownForIDsOnly(t *testing.T) {
	for id, want := range map[string]string{
		"turn_0197": "To try again: holon retry turn_0197", "": "", "x; rm -rf ~": "", "a b": "", "$(x)": "", "-x": "", "x\n": "", strings.Repeat("x", 81): "",
		"turn_01a2066d-81d8-7b14-a5a4-8eb03e8b5e15": "To try again: holon retry turn_01a2066d-81d8-7b14-a5a4-8eb03e8b5e15", // as they are made
	} {
		if got := toType("To try again", "retry", id); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}

func TestWhatPeopleAreShownHasNoEscapeSequences(t *testing.T) {
	const text = "\x1b[31mred\x1b[0m\r\n\x1b]0;title\x1b\\two\u009b0m\x00 👩\u200d🔬"
	if got, want := lines(text), "red\ntwo 👩\u200d🔬"; got != want {
		t.Errorf("lines: %q, want %q", got, want)
	}
	if got, want := oneLine(text, 100), "red two 👩\u200d🔬"; got != want {
		t.Errorf("one line: %q, want %q", got, want)
	}
}

// TestOnlyAddressesOfTheConsoleAreLinks: what else a stored envelope may have is left out.
func TestOnlyAddressesOfTheConsoleAreLinks(t *testing.T) {
	for address, is := range map[string]bool{
		"https://holon.example/#/thread/thread_01a2066d-81d8": true, "http://[::1]:8080/#/inbox/me": true, "https://a.example/team/#/thread/a%3Eb": true,
		"": false, "https://holon.example/": false, "https://holon.example/#/server": false, "javascript:alert(1)//x/#/thread/a": false,
		"https://a.example/#/thread/a>)": false, "https://a.example/#/thread/a|b": false, "https://a.example/#/thread/a b": false, "https://a.example/#/thread/a\n": false,
		"https://u@a.example/#/thread/a": false, "https://a.example/?x#/thread/a": false, "https://ä.example/#/thread/a": false,
		"https://" + strings.Repeat("a", 257) + "/#/thread/a": false,
	} {
		e := kindstest.Final()
		e.Data.URL = address
		if m := describe(e); (m.link != "") != is || is && m.link != address {
			t.Errorf("%q becomes the link %q", address, m.link)
		}
	}
}
