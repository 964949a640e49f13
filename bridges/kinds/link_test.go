package kinds_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/bridges/kinds"
	"github.com/seed82539d15/holon/internal/test/kindstest"
)

// linkedTarget is a target of people, and a channel to it.
type linkedTarget struct {
	ch     bridges.Channel
	target bridges.Target
	// links are those of its only message.
	links func() []string
}

func linkedTargets(t *testing.T) map[string]linkedTarget {
	n, toNtfy := ntfy(t)
	s, toSlack := newSlackRig(t)
	incoming := kindstest.NewSlack(t, testToken)
	g, toGitHub := newGitHubRig(t)
	only := func(m []kindstest.SlackMessage) []string {
		if len(m) != 1 {
			t.Fatalf("%+v", m)
		}
		return m[0].Links()
	}
	return map[string]linkedTarget{
		"ntfy": {toNtfy, bridges.Target{}, func() []string {
			all := n.Notifications()
			if len(all) != 1 {
				t.Fatalf("%+v", all)
			}
			var links []string
			if all[0].Click != "" {
				links = append(links, "Open it in the console "+all[0].Click)
			}
			for _, a := range all[0].Actions {
				if a.Action != "view" {
					t.Errorf("an action is %+v", a)
				}
				links = append(links, a.Label+" "+a.URL)
			}
			return links
		}},
		"slack": {toSlack.ch, toSlack.target, func() []string { return only(s.Messages()) }},
		"an incoming webhook of slack": {
			open(t, kinds.Config{Kind: bridges.KindSlack, WebhookURL: incoming.URL + kindstest.SlackWebhook}), bridges.Target{},
			func() []string { defer incoming.Delete(incoming.Messages()[0].TS); return only(incoming.Messages()) },
		},
		"github": {toGitHub.ch, toGitHub.target, func() (links []string) {
			all := g.Shown()
			if len(all) != 1 {
				t.Fatalf("%q", all)
			}
			for line := range strings.Lines(all[0]) {
				if text, address, found := strings.Cut(strings.TrimSpace(line), "](<"); found {
					links = append(links, strings.TrimPrefix(text, "[")+" "+strings.TrimSuffix(address, ">)"))
				}
			}
			return links
		}},
	}
}

// TestMessagesLinkToTheConsole: messages of all types, and what they are changed to. An
// envelope without an address makes a message without a link.
func TestMessagesLinkToTheConsole(t *testing.T) {
	for name, l := range linkedTargets(t) {
		card := bridges.Card{Key: "end"}
		for _, address := range []string{ourLink, "", "https://holon.example/#/inbox/me"} {
			for _, e := range kindstest.Envelopes() {
				e.Data.URL = address
				o := outgoing(e, l.target, card)
				if !l.ch.Edits() {
					o.Cards = nil
				}
				r := must(t, send(t, l.ch, o), bridges.Delivered)
				if len(r.RemoteIDs) == 1 {
					card.RemoteID = r.RemoteIDs[0] // the next one changes it
				}
				var want []string
				if address != "" {
					want = []string{"Open it in the console " + address}
				}
				if got := l.links(); !slices.Equal(got, want) {
					t.Errorf("%s, %s: the links are %q, want %q", name, e.EventType, got, want)
				}
			}
		}
	}
}

// What an entry is about is on another host, so people see which one. A comment on GitHub has no
// link to it: GitHub would leave a mention at what that leads to.
func TestMessagesShowTheLinkOfAnEntryWithItsHost(t *testing.T) {
	const long = "https://ci.example.com:8443/job/1?x=%22&y=[a](b)*_c_~~#&copy;"
	for name, l := range linkedTargets(t) {
		card := bridges.Card{Key: "entry"}
		for _, c := range []struct{ address, link, host string }{
			{"https://github.com/o/r/pull/1#c5", "https://github.com/o/r/pull/1#c5", "github.com"},
			{long, long, "ci.example.com:8443"},
			{"https://xn--gthub-n4a.com/", "https://xn--gthub-n4a.com/", "xn--gthub-n4a.com"},
			{"https://" + strings.Repeat("a.", 10) + "com/" + strings.Repeat("b", 2000), "https://" + strings.Repeat("a.", 10) + "com/" + strings.Repeat("b", 2000), strings.Repeat("a.", 10) + "com"},
			{"", "", ""},
			{"http://github.com/", "", ""}, {"javascript:alert(1)", "", ""}, {"//github.com/x", "", ""}, {"https://u@github.com/", "", ""}, {"https://github.com@evil.example/", "", ""},
			{"https://github.com/\t<https://evil.example|x>", "", ""}, {"https://github.com/)[x](https://evil.example", "https://github.com/)[x](https://evil.example", "github.com"},
			{"https://github.com/>) @everyone", "", ""}, {"https://github.com/`@ann`", "", ""}, {"https://github.com./", "", ""}, {"https://gïthub.com/", "", ""},
			{"https://github.com/?token=abcdefgh12345678", "", ""}, // what looks like a secret was removed, so it leads nowhere
		} {
			for _, console := range []string{"", ourLink} {
				entry, err := json.Marshal(map[string]any{"source": "gh", "summary": "a", "count": 1, "link": c.address})
				if err != nil {
					t.Fatal(err)
				}
				e := &bridges.Envelope{EventType: bridges.TypeInbox, Data: bridges.Data{ThreadID: "me", URL: console, Entry: bridges.RedactJSON(entry)}}
				o := outgoing(e, l.target, card)
				if !l.ch.Edits() {
					o.Cards = nil
				}
				r := must(t, send(t, l.ch, o), bridges.Delivered)
				if len(r.RemoteIDs) == 1 {
					card.RemoteID = r.RemoteIDs[0]
				}
				var want []string
				if console != "" {
					want = append(want, "Open it in the console "+console)
				}
				if c.link != "" && name != "github" {
					want = append(want, c.host+" ↗ "+c.link)
				}
				if got := l.links(); !slices.Equal(got, want) {
					t.Errorf("%s, %.80q: the links are %.90q, want %.90q", name, c.address, got, want)
				}
			}
		}
	}
}

func TestACommentOnGitHubHasTheLinkOfAnEntryAsText(t *testing.T) {
	g, rig := newGitHubRig(t)
	e := &bridges.Envelope{EventType: bridges.TypeInbox, Data: bridges.Data{ThreadID: "me", Entry: []byte(`{"source":"gh","summary":"a","link":"https://github.com/o/r/pull/1"}`)}}
	must(t, send(t, rig.ch, outgoing(e, rig.target, bridges.Card{Key: "entry"})), bridges.Delivered)
	if all := g.Shown(); len(all) != 1 || !strings.Contains(all[0], "See `https://github.com/o/r/pull/1`\n") && !strings.HasSuffix(strings.TrimSpace(all[0]), "See `https://github.com/o/r/pull/1`") {
		t.Errorf("%q", all)
	}
}
