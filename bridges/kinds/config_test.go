package kinds_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/bridges/kinds"
	"github.com/seed82539d15/holon/turns"
)

// good are bridges that may be made by anybody.
func good() map[bridges.Kind]kinds.Config {
	return map[bridges.Kind]kinds.Config{
		bridges.KindWebhook: {Kind: bridges.KindWebhook, URL: "https://example.com/hook", Secret: testSecret},
		bridges.KindNtfy:    {Kind: bridges.KindNtfy, Topic: testTopic},
		bridges.KindSlack:   {Kind: bridges.KindSlack, Secret: testToken},
		bridges.KindGitHub:  {Kind: bridges.KindGitHub, Secret: testToken},
	}
}

func field(err error) string {
	var invalid *turns.InvalidError
	if !errors.As(err, &invalid) {
		return ""
	}
	return invalid.Field + " " + invalid.Reason
}

func TestEachMemberIsChecked(t *testing.T) {
	for kind, c := range good() {
		if err := c.Check(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	const webhook, ntfy, slack, github, command = bridges.KindWebhook, bridges.KindNtfy, bridges.KindSlack, bridges.KindGitHub, bridges.KindCommand
	for i, c := range []struct {
		kind   bridges.Kind
		change func(*kinds.Config)
		want   string
	}{
		{"", func(c *kinds.Config) {}, "kind unknown"},
		{"smtp", func(c *kinds.Config) {}, "kind unknown"},
		{command, func(c *kinds.Config) { c.Command = []string{"x"} }, "kind invalid"},
		{webhook, func(c *kinds.Config) { c.AllowPrivate = true }, "allow_private invalid"},
		{webhook, func(c *kinds.Config) { c.URL = "" }, "url required"},
		{webhook, func(c *kinds.Config) { c.URL = "https://example.com/" + strings.Repeat("x", 2048) }, "url too_large"},
		{webhook, func(c *kinds.Config) { c.Secret = "" }, "secret required"},
		{webhook, func(c *kinds.Config) { c.Secret = "short" }, "secret invalid"},
		{webhook, func(c *kinds.Config) { c.Secret = "whsec_AAAA" }, "secret invalid"},
		{webhook, func(c *kinds.Config) { c.Secret = "whsec_" + strings.Repeat("A", 400) }, "secret invalid"},
		{webhook, func(c *kinds.Config) { c.Previous = "whsec_!" }, "secret invalid"},
		{webhook, func(c *kinds.Config) { c.Topic = "x" }, "topic unknown"},
		{webhook, func(c *kinds.Config) { c.Command = []string{"x"} }, "command unknown"},
		{webhook, func(c *kinds.Config) { c.Timeout = time.Second }, "timeout_seconds unknown"},
		{ntfy, func(c *kinds.Config) { c.Server = "ntfy.sh" }, "server invalid"},
		{ntfy, func(c *kinds.Config) { c.Server = "https://ntfy.sh/topic" }, "server invalid"},
		{ntfy, func(c *kinds.Config) { c.Server = "https://ntfy.sh/?x" }, "server invalid"},
		{ntfy, func(c *kinds.Config) { c.Topic = "a b" }, "topic invalid"},
		{ntfy, func(c *kinds.Config) { c.Topic = strings.Repeat("x", 65) }, "topic invalid"},
		{ntfy, func(c *kinds.Config) { c.Secret = "with space" }, "token invalid"},
		{ntfy, func(c *kinds.Config) { c.Secret = "tk_x\r\nX-Injected: yes" }, "token invalid"},
		{ntfy, func(c *kinds.Config) { c.URL = "https://x.example" }, "url unknown"},
		{slack, func(c *kinds.Config) { c.Secret = "" }, "token required"},
		{slack, func(c *kinds.Config) { c.WebhookURL = "https://hooks.slack.com/services/x" }, "token required"},
		{slack, func(c *kinds.Config) { c.Secret, c.WebhookURL = "", "https://127.0.0.1/" }, "webhook_url invalid"},
		{slack, func(c *kinds.Config) {
			c.Secret, c.WebhookURL, c.APIURL = "", "https://hooks.slack.com/x", "https://x.example"
		}, "api_url invalid"},
		{slack, func(c *kinds.Config) { c.APIURL = "https://x.example/?x=1" }, "api_url invalid"},
		{slack, func(c *kinds.Config) { c.Secret = "short" }, "token invalid"},
		{github, func(c *kinds.Config) { c.Secret = "" }, "token required"},
		{github, func(c *kinds.Config) { c.APIURL = "ftp://x.example" }, "api_url invalid"},
		{github, func(c *kinds.Config) { c.Server = "https://x.example" }, "server unknown"},
		{github, func(c *kinds.Config) { c.WebhookURL = "https://x.example" }, "webhook_url unknown"},
		{ntfy, func(c *kinds.Config) { c.Targets = []bridges.Target{{Topic: "x"}} }, ""},
		{webhook, func(c *kinds.Config) { c.Targets = []bridges.Target{{}} }, "targets unknown"},
		{ntfy, func(c *kinds.Config) { c.Targets = []bridges.Target{{Topic: "x"}, {}} }, "targets[1] required"},
		{ntfy, func(c *kinds.Config) { c.Targets = make([]bridges.Target, bridges.MaxTargets+1) }, "targets too_large"},
		{slack, func(c *kinds.Config) { c.Targets = []bridges.Target{{Topic: "x"}} }, "targets[0].topic unknown"},
		{slack, func(c *kinds.Config) { c.Targets = []bridges.Target{{Channel: "C1"}, {Channel: "<!here>"}} }, "targets[1].channel invalid"},
		{github, func(c *kinds.Config) { c.Targets = []bridges.Target{{Repository: "octo/parser"}} }, "targets[0].number required"},
	} {
		bridge := good()[c.kind]
		bridge.Kind = c.kind
		c.change(&bridge)
		_, err := kinds.New(bridge, kinds.Shared{})
		if got := field(err); got != c.want {
			t.Errorf("%d, %s: %q (%v), want %q", i, c.kind, got, err, c.want)
		}
	}
	for _, c := range []struct {
		change func(*kinds.Config)
		want   string
	}{
		{func(c *kinds.Config) {}, ""},
		{func(c *kinds.Config) { c.Timeout = 10 * time.Minute }, ""},
		{func(c *kinds.Config) { c.Command = nil }, "command required"},
		{func(c *kinds.Config) { c.Command = []string{""} }, "command required"},
		{func(c *kinds.Config) { c.Command = []string{"a", "b\x00c"} }, "command invalid"},
		{func(c *kinds.Config) { c.Timeout = time.Millisecond }, "timeout_seconds out_of_range"},
		{func(c *kinds.Config) { c.Timeout = -time.Second }, "timeout_seconds out_of_range"},
		{func(c *kinds.Config) { c.Timeout = time.Hour }, "timeout_seconds out_of_range"},
		{func(c *kinds.Config) { c.Secret = "x" }, "token unknown"},
		{func(c *kinds.Config) { c.AllowPrivate = true }, "allow_private unknown"},
	} {
		bridge := kinds.Config{Kind: command, Configured: true, Command: []string{"notify"}}
		c.change(&bridge)
		if got := field(bridge.Check()); got != c.want {
			t.Errorf("%+v: %q, want %q", bridge.Command, got, c.want)
		}
	}
}

func TestTargetsAreCheckedByKind(t *testing.T) {
	configs := good()
	configs[bridges.KindCommand] = kinds.Config{Kind: bridges.KindCommand, Configured: true, Command: []string{"notify"}}
	configs["incoming"] = kinds.Config{Kind: bridges.KindSlack, WebhookURL: "https://hooks.slack.com/services/x"}
	configs["no topic"] = kinds.Config{Kind: bridges.KindNtfy}
	for _, c := range []struct {
		kind bridges.Kind
		t    bridges.Target
		want string
	}{
		{bridges.KindWebhook, bridges.Target{}, ""}, {bridges.KindWebhook, bridges.Target{Topic: "x"}, "target.topic unknown"},
		{bridges.KindCommand, bridges.Target{}, ""}, {bridges.KindCommand, bridges.Target{Number: 1}, "target.number unknown"},
		{bridges.KindNtfy, bridges.Target{}, ""}, {bridges.KindNtfy, bridges.Target{Topic: "other"}, ""},
		{bridges.KindNtfy, bridges.Target{Topic: "a/b"}, "target.topic invalid"}, {bridges.KindNtfy, bridges.Target{Channel: "x"}, "target.channel unknown"},
		{"no topic", bridges.Target{}, "target.topic required"}, {"no topic", bridges.Target{Topic: "x"}, ""},
		{bridges.KindSlack, bridges.Target{Channel: "C012AB3CD"}, ""}, {bridges.KindSlack, bridges.Target{Channel: "#general", ThreadTS: "1405894322.002768"}, ""},
		{bridges.KindSlack, bridges.Target{Channel: "büro"}, ""}, {bridges.KindSlack, bridges.Target{}, "target.channel required"},
		{bridges.KindSlack, bridges.Target{Channel: "<!channel>"}, "target.channel invalid"}, {bridges.KindSlack, bridges.Target{Channel: "a\nb"}, "target.channel invalid"},
		{bridges.KindSlack, bridges.Target{Channel: "C1", ThreadTS: "now"}, "target.thread_ts invalid"}, {bridges.KindSlack, bridges.Target{Channel: "C1", Topic: "x"}, "target.topic unknown"},
		{"incoming", bridges.Target{}, ""}, {"incoming", bridges.Target{Channel: "C1"}, "target.channel unknown"}, {"incoming", bridges.Target{ThreadTS: "1.2"}, ""},
		{bridges.KindGitHub, bridges.Target{Repository: "octo/parser", Number: 1}, ""}, {bridges.KindGitHub, bridges.Target{Repository: "octo/.github", Number: 1}, ""},
		{bridges.KindGitHub, bridges.Target{Number: 1}, "target.repository required"}, {bridges.KindGitHub, bridges.Target{Repository: "octo/parser"}, "target.number required"},
		{bridges.KindGitHub, bridges.Target{Repository: "octo/parser", Number: -1}, "target.number out_of_range"}, {bridges.KindGitHub, bridges.Target{Repository: "octo", Number: 1}, "target.repository invalid"},
		{bridges.KindGitHub, bridges.Target{Repository: "octo/..", Number: 1}, "target.repository invalid"}, {bridges.KindGitHub, bridges.Target{Repository: "../user", Number: 1}, "target.repository invalid"},
		{bridges.KindGitHub, bridges.Target{Repository: "octo/parser/issues", Number: 1}, "target.repository invalid"}, {bridges.KindGitHub, bridges.Target{Repository: "octo/pa%2frser", Number: 1}, "target.repository invalid"},
		{bridges.KindGitHub, bridges.Target{Repository: "octo/parser", Number: 1, ThreadTS: "1.2"}, "target.thread_ts unknown"},
	} {
		config := configs[c.kind]
		if got := field(config.CheckTarget(c.t)); got != c.want {
			t.Errorf("%s, %+v: %q, want %q", c.kind, c.t, got, c.want)
		}
	}
	for _, c := range []struct {
		kind bridges.Kind
		t    bridges.Target
		own  bool
	}{
		{bridges.KindWebhook, bridges.Target{}, true}, {bridges.KindCommand, bridges.Target{}, true}, {"incoming", bridges.Target{}, true},
		{"incoming", bridges.Target{ThreadTS: "1.2"}, false},
		{bridges.KindNtfy, bridges.Target{}, true}, {bridges.KindNtfy, bridges.Target{Topic: testTopic}, true}, {bridges.KindNtfy, bridges.Target{Topic: "other"}, false},
		{"no topic", bridges.Target{Topic: "x"}, false},
		{bridges.KindSlack, bridges.Target{Channel: "C1"}, false}, {bridges.KindGitHub, bridges.Target{Repository: "octo/parser", Number: 1}, false},
	} {
		channel, err := kinds.New(configs[c.kind], kinds.Shared{})
		if err != nil || channel.Own(c.t) != c.own {
			t.Errorf("%s, %+v: own %v, %v", c.kind, c.t, !c.own, err)
		}
	}
}
