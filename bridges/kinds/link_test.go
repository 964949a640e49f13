package kinds_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/bridges/kinds"
	"github.com/seed82539d15/holon/bridges/kinds/kindstest"
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
			if all[0].Click == "" {
				return nil
			}
			return []string{"Open it in the console " + all[0].Click}
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
		slot := bridges.Slot{Key: "end"}
		for _, address := range []string{ourLink, "", "https://holon.example/#/inbox/me"} {
			for _, e := range kindstest.Envelopes() {
				e.Data.URL = address
				o := outgoing(e, l.target, slot)
				if !l.ch.Edits() {
					o.Slots = nil
				}
				r := must(t, send(t, l.ch, o), bridges.Delivered)
				if len(r.RemoteIDs) == 1 {
					slot.RemoteID = r.RemoteIDs[0] // the next one changes it
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
