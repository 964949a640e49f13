package kinds_test

import (
	"errors"
	"testing"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/bridges/kinds"
	"github.com/seed82539d15/holon/turns"
)

func TestWhichTargetsFitDependsOnTheBridge(t *testing.T) {
	for _, c := range []struct {
		name   string
		bridge kinds.Config
		target bridges.Target
		field  string // "" = it fits
	}{
		{"ntfy with a topic", kinds.Config{Kind: bridges.KindNtfy, Topic: testTopic}, bridges.Target{}, ""},
		{"ntfy without a topic", kinds.Config{Kind: bridges.KindNtfy}, bridges.Target{}, "target.topic"},
		{"ntfy, another topic", kinds.Config{Kind: bridges.KindNtfy, Topic: testTopic}, bridges.Target{Topic: "other"}, ""},
		{"slack with a token", kinds.Config{Kind: bridges.KindSlack, Secret: testToken}, bridges.Target{}, "target.channel"},
		{"slack with a webhook", kinds.Config{Kind: bridges.KindSlack, WebhookURL: "https://127.0.0.1/x"}, bridges.Target{}, ""},
		{"slack with a webhook and a channel", kinds.Config{Kind: bridges.KindSlack, WebhookURL: "https://127.0.0.1/x"}, bridges.Target{Channel: "C1"}, "target.channel"},
		{"a webhook's target", kinds.Config{Kind: bridges.KindWebhook, URL: "https://127.0.0.1/x", Secret: testSecret}, bridges.Target{Topic: "x"}, "target.topic"},
		{"github", kinds.Config{Kind: bridges.KindGitHub, Secret: testToken}, bridges.Target{Repository: "o/r", Number: 1}, ""},
		{"github without a number", kinds.Config{Kind: bridges.KindGitHub, Secret: testToken}, bridges.Target{Repository: "o/r"}, "target.number"},
	} {
		err := open(t, c.bridge).CheckTarget(c.target)
		bad, _ := errors.AsType[*turns.InvalidError](err)
		if c.field == "" && err != nil || c.field != "" && (bad == nil || bad.Field != c.field) {
			t.Errorf("%s: %v, want an error about %q", c.name, err, c.field)
		}
	}
}
