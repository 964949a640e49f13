package kinds_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/bridges/kinds"
	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/internal/test/kindstest"
	"github.com/seed82539d15/holon/turns"
)

// hostile are texts with which an agent, or who writes what it reads, might try to
// do something at the target.
var hostile = []string{
	"<!channel> <!here> <!everyone> <@U012AB3CD> <#C012AB3CD>", "<https://evil.example|click here>", "&lt;!channel&gt;", "*bold* _it_ ~no~ `code` :smile:",
	"@octocat @org/team please merge", "fixes #1, closes GH-2, octo/parser#3", "[click](https://evil.example) ![x](https://evil.example/x.png)", "https://evil.example www.evil.example evil.example",
	"<img src=https://evil.example/x> <script>alert(1)</script>", "```\n@octocat\n```", "`` @octocat ` @octocat", "~~~\n@octocat", "    @octocat", "--> @octocat <!--", "# heading\n- [x] task\n> quote\n| a | b |",
	"one\r\nX-Injected: yes\r\n\r\nbody", "one\x00two\x1b[31mred\x07", "\u202eevil\u202c \u2066x\u2069", "a\u2028@octocat\u2029b", "\xff\xfe not text", "mailto:a@b.example tel:+49123", strings.Repeat("`", 50) + "@octocat",
	strings.Repeat("very long ", 4000), strings.Repeat("&", 4000), strings.Repeat("a<", 4000), "", " ", "\n\n\n",
}

// withText is an envelope that has a text everywhere.
func withText(s string) []*bridges.Envelope {
	all := kindstest.Envelopes()
	quoted := func(value string) []byte {
		return []byte(`{"source":"x","count":2,"type":"selected","option_id":"o","summary":` + quote(value) + `}`)
	}
	for _, e := range all {
		d := &e.Data
		d.Title, d.Text, d.Reason, d.ResolvedBy, d.Method, d.TurnID, d.ThreadID, d.URL = s, s, s, s, s, s, s, s
		d.Error = &turns.Failure{Kind: s, Message: s}
		d.Review = &bridges.Review{Verdict: s, Note: s}
		d.Question = &bridges.Question{ItemID: s, Title: s, Options: []bridges.Option{{ID: "o", Label: s}}}
		d.Progress = &bridges.Progress{State: s, Message: s, Step: s, Status: s}
		d.Entry, d.Outcome = quoted(s), quoted(s)
		e.Type, e.DeliveryID = s, s
	}
	return all
}

// ourLink is the only link that a message may have.
const ourLink = "https://holon.example:8443/#/thread/thread_01"

// linksOf are the links that the messages of an envelope have, as "text address".
func linksOf(e *bridges.Envelope) []string {
	if e.Data.URL == ourLink {
		return []string{"Open it in the console " + ourLink}
	}
	return nil
}

// inEvery runs a test for hostile texts and for random ones, which are in the place of the
// link too, and for some beside our link.
func inEvery(t *testing.T, check func(t testing.TB, e *bridges.Envelope, text string)) {
	for _, text := range hostile {
		for i, e := range withText(text) {
			check(t, e, text)
			if i%3 == 0 {
				e.Data.URL = ourLink
				check(t, e, text)
			}
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(hostile[:22]), rapid.StringMatching("[`~<>&@#\\[\\]()*_ \n.:/a-]{1,12}"), rapid.String()), 1, 4).Draw(rt, "text"), "")
		e := rapid.SampledFrom(withText(text)).Draw(rt, "type")
		if rapid.Bool().Draw(rt, "link") {
			e.Data.URL = ourLink
		}
		check(t, e, text)
	})
}

func noControls(t testing.TB, what, s string) {
	t.Helper()
	for _, r := range s {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			t.Fatalf("%s has the character %U: %q", what, r, s)
		}
	}
}

var (
	entity  = regexp.MustCompile(`&(amp|lt|gt);`)
	address = regexp.MustCompile(`://|(?i)www\.|[\pL\pN]\.[\pL\pN]`)
)

func TestSlackShowsOnlyText(t *testing.T) {
	hosttest.Long(t)
	s := kindstest.NewSlack(t, testToken)
	ch := open(t, kinds.Config{Kind: bridges.KindSlack, APIURL: s.APIURL(), Secret: testToken})
	incoming := open(t, kinds.Config{Kind: bridges.KindSlack, WebhookURL: s.URL + kindstest.SlackWebhook})
	inEvery(t, func(t testing.TB, e *bridges.Envelope, text string) {
		before := len(s.Messages())
		must(t, send(t, ch, outgoing(e, bridges.Target{Channel: slackChannel})), bridges.Delivered)
		must(t, send(t, incoming, outgoing(e, bridges.Target{})), bridges.Delivered)
		for _, m := range s.Messages()[before:] {
			if m.Parse != "none" || m.Markdown == nil || *m.Markdown || m.LinkNames || m.UnfurlLinks == nil || *m.UnfurlLinks || m.UnfurlMedia == nil || *m.UnfurlMedia {
				t.Fatalf("the message may have markup, names or previews: %+v", m)
			}
			if got := m.Links(); !slices.Equal(got, linksOf(e)) {
				t.Fatalf("with %q it has the links %q", text, got)
			}
			for _, shown := range []string{m.Text, m.Blocks[0].Text.Text} {
				noControls(t, "the message", shown)
				if rest := entity.ReplaceAllString(shown, " "); strings.ContainsAny(rest, "<>&") || address.MatchString(rest) {
					t.Fatalf("%q is shown as %q", text, shown)
				}
				if len(shown) > 3000 || shown == "" {
					t.Fatalf("a text of %d bytes", len(shown))
				}
			}
			for i, b := range m.Blocks {
				if (i > 0 || b.Type != "section" || b.Text.Type != "plain_text") && (i != 1 || b.Type != "rich_text" || len(m.Links()) != 1) {
					t.Fatalf("a block with markup: %+v", b)
				}
			}
		}
		s.Delete(s.Messages()[before].TS)
		s.Delete(s.Messages()[before].TS)
	})
}

func TestNtfyShowsOnlyText(t *testing.T) {
	hosttest.Long(t)
	n := kindstest.NewNtfy(t)
	ch := open(t, kinds.Config{Kind: bridges.KindNtfy, Server: n.URL, Topic: testTopic})
	inEvery(t, func(t testing.TB, e *bridges.Envelope, text string) {
		must(t, send(t, ch, outgoing(e, bridges.Target{}, bridges.Card{Key: "k"})), bridges.Delivered)
		got := n.Notifications()[0]
		for _, shown := range []string{got.Title, got.Message} {
			noControls(t, "the notification", shown)
			if address.MatchString(shown) || shown == "" {
				t.Fatalf("%q is shown as %q", text, shown)
			}
		}
		if strings.Contains(got.Title, "\n") || got.Markdown || len(got.Message) > 4096 {
			t.Fatalf("%+v", got)
		}
		if links := linksOf(e); got.Click != "" && links == nil || links != nil && got.Click != ourLink {
			t.Fatalf("%q: a tap opens %q", text, got.Click)
		}
	})
}

func TestGitHubShowsOnlyText(t *testing.T) {
	hosttest.Long(t)
	g := kindstest.NewGitHub(t, testToken)
	ch := open(t, kinds.Config{Kind: bridges.KindGitHub, APIURL: g.APIURL(), Secret: testToken})
	ours := regexp.MustCompile(`^[A-Za-z0-9 .,:*\n-]*$`)
	inEvery(t, func(t testing.TB, e *bridges.Envelope, text string) {
		must(t, send(t, ch, outgoing(e, bridges.Target{Repository: "octo/parser", Number: 1}, bridges.Card{Key: "k"})), bridges.Delivered)
		c := g.Comments(1)[0]
		g.Delete(c.ID)
		noControls(t, "the comment", c.Body)
		shown, ok := strings.CutSuffix(c.Body, mark.FindString(c.Body))
		rest := outsideCode(shown)
		if linksOf(e) != nil {
			before, after, found := strings.Cut(rest, "[Open it in the console](<"+ourLink+">)")
			ok = ok && found && strings.Trim(after, "\n") == "" && strings.HasSuffix(before, "\n\n")
			rest = before + after
		}
		if !ok || !ours.MatchString(rest) {
			t.Fatalf("%q is shown as\n%s\nand outside of code is %q", text, c.Body, rest)
		}
		if len(c.Body) > 65536 {
			t.Fatalf("a comment of %d bytes", len(c.Body))
		}
	})
}

var mark = regexp.MustCompile(`<!-- holon:[0-9a-f]{32} -->$`)

// outsideCode is what CommonMark does not show as code: it leaves out fenced blocks
// (section 4.5) and code spans (section 6.1).
func outsideCode(markdown string) string {
	var rest []string
	fence := ""
	for _, line := range strings.Split(markdown, "\n") {
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3 && !strings.Contains(strings.TrimLeft(line, "`"), "`"):
			fence = ticks
		case fence != "" && len(ticks) >= len(fence) && strings.Trim(line, "` ") == "":
			fence = ""
		case fence == "":
			rest = append(rest, line)
		}
	}
	text := strings.Join(rest, "\n")
	runs := regexp.MustCompile("`+")
	var out strings.Builder
	for text != "" {
		open := runs.FindStringIndex(text)
		if open == nil {
			break
		}
		out.WriteString(text[:open[0]])
		length, after := open[1]-open[0], text[open[1]:]
		text = after
		closed := false
		for _, run := range runs.FindAllStringIndex(after, -1) {
			if run[1]-run[0] == length && !strings.Contains(after[:run[0]], "\n\n") {
				text, closed = after[run[1]:], true
				break
			}
		}
		if !closed {
			out.WriteString(strings.Repeat("`", length))
		}
	}
	return out.String() + text
}

func TestHeadersHaveNoTextOfOthers(t *testing.T) {
	r := kindstest.NewReceiver(t, testSecret)
	ch := open(t, kinds.Config{Kind: bridges.KindWebhook, URL: r.URL, Secret: testSecret})
	for _, text := range hostile {
		o := outgoing(kindstest.Final(), bridges.Target{})
		o.ID = "0a1b2c3d:notif:" + text + ":1"
		before := len(r.Requests())
		if len(o.ID) > 8<<10 {
			continue // ids are short
		}
		must(t, send(t, ch, o), bridges.Delivered)
		req := r.Requests()[before]
		if id := req.Header.Values("Webhook-Id"); len(id) != 1 || strings.ContainsFunc(id[0], func(c rune) bool { return c <= ' ' || c > '~' }) {
			t.Errorf("%q becomes the id %q", text, id)
		}
		if req.Header.Get("X-Injected") != "" || string(req.Body) != string(o.Body) {
			t.Errorf("%q changes the request: %v", text, req.Header)
		}
	}
}

func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			b.WriteString("\\" + string(r))
		case r < ' ':
			b.WriteString(`\u00` + string("0123456789abcdef"[r>>4]) + string("0123456789abcdef"[r&15]))
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}
