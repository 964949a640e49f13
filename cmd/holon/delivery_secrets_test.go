package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/internal/test/kindstest"
)

// The secrets of this test. No piece of one may be found anywhere, but for the last
// four characters.
var hiddenSecrets = map[string]string{
	"webhook of the configuration":    "whsec_Q29uZmlndXJhdGlvblNlY3JldE9mQVdlYmhvb2sx",
	"ntfy token of the configuration": "tk_configured_ntfy_0123456789",
	"ntfy topic of the configuration": "configured_topic_0123456789",
	"slack token":                     "xoxb-configured-slack-0123456789",
	"slack webhook path":              "T0CONFIGURED/B0HOOK/0123456789abcdef",
	"github token":                    "ghp_configuredGitHub0123456789",
	"command token":                   "command-argument-0123456789",

	"webhook of a client":         "whsec_Q2xpZW50U2VjcmV0T2ZBV2ViaG9va051bWJlcjE=",
	"rotated webhook of a client": "whsec_Q2xpZW50U2VjcmV0T2ZBV2ViaG9va051bWJlcjI=",
	"ntfy token of a client":      "tk_client_ntfy_0123456789",
	"ntfy topic of a client":      "client_topic_0123456789",
	"rotated ntfy token":          "tk_client_rotated_0123456789",
	"slack token of a client":     "xoxb-client-slack-0123456789",
	"slack webhook of a client":   "T0CLIENT/B0HOOK/0123456789abcdef",
	"github token of a client":    "ghp_clientGitHub0123456789",
	"misplaced secret":            "whsec_TWlzcGxhY2VkU2VjcmV0T2ZBTnRmeUJyaWRnZQ==",
	"secret that is none":         "hunter2-is-no-secret-of-webhooks",
}

// seen are the texts and bytes in which the secrets are looked for.
type seen map[string]string

func (s seen) add(what, text string) { s[what] += text + "\n" }

// found returns where a secret is, in any piece of 12 characters.
func (s seen) found(secret string) (where []string) {
	body := strings.TrimPrefix(secret, "whsec_")
	body = body[:len(body)-4]
	for what, text := range s {
		for i := 0; i+12 <= len(body); i++ {
			if at := strings.Index(text, body[i:i+12]); at >= 0 {
				where = append(where, fmt.Sprintf("%s: …%.200s…", what, text[max(0, at-80):]))
				break
			}
		}
	}
	return where
}

// files adds the bytes of all files below a directory.
func (s seen) files(t *testing.T, name, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		s.add(name+" "+e.Name(), string(raw))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSecretsOfBridgesAreNowhere(t *testing.T) {
	h := hiddenSecrets
	hookTarget := kindstest.NewReceiver(t, h["webhook of the configuration"])
	ntfy := kindstest.NewNtfy(t)
	slack := kindstest.NewSlack(t, h["slack token"])
	github := kindstest.NewGitHub(t, h["github token"])
	t.Setenv("TEST_SLACK_TOKEN", h["slack token"])
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(h["github token"]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	private := config.Bridge{OnPause: "wait", AllowPrivate: true}
	of := func(kind string, change func(*config.Bridge)) config.Bridge {
		b := private
		b.Kind = kind
		change(&b)
		return b
	}
	s := &server{t: t, data: t.TempDir(), logLevel: "debug", bridges: map[string]config.Bridge{
		"hook": of("webhook", func(b *config.Bridge) { b.URL, b.Secret.Value = hookTarget.URL+"/x", h["webhook of the configuration"] }),
		"ntfy": of("ntfy", func(b *config.Bridge) {
			b.Server, b.Topic, b.Token.Value = ntfy.URL, h["ntfy topic of the configuration"], h["ntfy token of the configuration"]
		}),
		"slack":     of("slack", func(b *config.Bridge) { b.APIURL, b.Token.Env = slack.URL+"/api", "TEST_SLACK_TOKEN" }),
		"slackhook": of("slack", func(b *config.Bridge) { b.WebhookURL.Value = slack.URL + "/services/" + h["slack webhook path"] }),
		"github":    of("github", func(b *config.Bridge) { b.APIURL, b.Token.File = github.URL, tokenFile }),
		"command": {Kind: "command", OnPause: "wait", Command: []string{
			"sh", "-c", "cat; echo $0; exit 1", h["command token"],
		}},
	}}
	s.start()
	out := seen{}
	ask := func(method, params string) string {
		answer := s.post(method, params)
		out.add(method, answer)
		return answer
	}

	// What clients create. localhost is a name, and no bridge of a client may connect
	// to what it means.
	create := func(id, kind, members string) {
		t.Helper()
		if answer := ask("bridge/create", fmt.Sprintf(`{"bridge_id":%q,"kind":%q,"idempotency_key":"create-%s",%s}`, id, kind, id, members)); !strings.Contains(answer, `"result"`) {
			t.Errorf("create %s: %s", id, answer)
		}
	}
	quoted := func(name string) string { return fmt.Sprintf("%q", h[name]) }
	create("c_hook", "webhook", `"url":"https://localhost/x","secret":`+quoted("webhook of a client"))
	create("c_ntfy", "ntfy", `"server":"https://localhost","topic":`+quoted("ntfy topic of a client")+`,"token":`+quoted("ntfy token of a client"))
	create("c_slack", "slack", `"api_url":"https://localhost/api","token":`+quoted("slack token of a client"))
	create("c_slackhook", "slack", fmt.Sprintf(`"webhook_url":"https://localhost/services/%s"`, h["slack webhook of a client"]))
	create("c_github", "github", `"api_url":"https://localhost","token":`+quoted("github token of a client"))
	ask("bridge/rotate_secret", `{"bridge_id":"c_hook","idempotency_key":"r1","secret":`+quoted("rotated webhook of a client")+`}`)
	ask("bridge/rotate_secret", `{"bridge_id":"c_ntfy","idempotency_key":"r2","token":`+quoted("rotated ntfy token")+`}`)

	// What is refused.
	for _, params := range []string{
		`{"kind":"ntfy","secret":` + quoted("misplaced secret") + `}`, `{"kind":"webhook","url":"https://localhost/","secret":` + quoted("secret that is none") + `}`,
		`{"kind":"webhook","url":"https://localhost/","secret":[` + quoted("misplaced secret") + `]}`, `{"bridge_id":"c_hook","kind":"webhook","url":"https://localhost/","secret":` + quoted("misplaced secret") + `}`,
		`{"kind":"slack","webhook_url":"http://localhost/` + h["slack webhook of a client"] + `"}`, `{"kind":"slack","token":"` + h["slack token of a client"] + ` x"}`,
		`{"kind":"ntfy","topic":"` + h["ntfy topic of a client"] + `/x"}`, `{"kind":"github","token":` + quoted("github token of a client") + `,"no_such":1}`,
	} {
		if answer := ask("bridge/create", params); !strings.Contains(answer, `"error"`) {
			t.Errorf("%s: %s", params, answer)
		}
	}
	if answer := ask("bridge/rotate_secret", `{"bridge_id":"c_hook","secret":`+quoted("secret that is none")+`}`); !strings.Contains(answer, `"error"`) {
		t.Error(answer)
	}

	// What the server makes is in its first answer only.
	var made []string
	for _, request := range [][2]string{
		{"bridge/create", `{"bridge_id":"c_made","kind":"webhook","url":"https://localhost/x","idempotency_key":"made"}`},
		{"bridge/rotate_secret", `{"bridge_id":"c_made","idempotency_key":"made again"}`},
	} {
		first := regexp.MustCompile(`"secret":"(whsec_[A-Za-z0-9+/=]+)"`).FindStringSubmatch(s.did(request[0], request[1])) // this answer has it
		if first == nil {
			t.Fatalf("%s makes no secret", request[0])
		}
		made = append(made, first[1])
		if again := ask(request[0], request[1]); !strings.Contains(again, `"bridge_id":"c_made"`) || strings.Contains(again, `"secret":`) {
			t.Errorf("the key again: %s", again)
		}
	}

	// Attempts that fail, with a target that gives back all it got, and such that
	// succeed.
	targets := map[string]string{"slack": `{"channel":"C0GENERAL"}`, "c_slack": `{"channel":"C0GENERAL"}`, "github": `{"repository":"octo/parser","number":1}`, "c_github": `{"repository":"octo/parser","number":1}`}
	all := []string{"hook", "ntfy", "slack", "slackhook", "github", "command", "c_hook", "c_ntfy", "c_slack", "c_slackhook", "c_github", "c_made"}
	for _, id := range all {
		target := targets[id]
		if target == "" {
			target = "{}"
		}
		if answer := ask("subscription/create", fmt.Sprintf(`{"subscription_id":"s_%[1]s","bridge_id":%[1]q,"target":%s,"include_text":true,"on":["final","progress"],"methods":["bridge/created","bridge/rotated"],"from":"beginning"}`, id, target)); !strings.Contains(answer, `"created":true`) {
			t.Errorf("subscribe %s: %s", id, answer)
		}
	}
	for _, l := range []*kindstest.Listener{hookTarget.Listener, ntfy.Listener, slack.Listener, github.Listener} {
		l.Fail(kindstest.EchoesBack)
	}
	for _, id := range all {
		target := targets[id]
		if target == "" {
			target = "{}"
		}
		ask("bridge/test", fmt.Sprintf(`{"bridge_id":%q,"target":%s}`, id, target))
	}
	s.echo("/say done")
	eventually(t, "every bridge has tried", func() bool {
		for _, id := range all {
			if !strings.Contains(s.did("delivery/list", fmt.Sprintf(`{"subscription_id":"s_%s","limit":1}`, id)), `"deliveries":[{`) || !tried(s, id) {
				return false
			}
		}
		return true
	})

	// Everything that can be read.
	for _, id := range all {
		ask("bridge/read", fmt.Sprintf(`{"bridge_id":%q}`, id))
		ask("subscription/read", fmt.Sprintf(`{"subscription_id":"s_%s"}`, id))
		list := ask("delivery/list", fmt.Sprintf(`{"subscription_id":"s_%s"}`, id))
		for _, d := range regexp.MustCompile(`"delivery_id":"([^"]+)"`).FindAllStringSubmatch(list, -1) {
			ask("delivery/read", fmt.Sprintf(`{"delivery_id":%q}`, d[1]))
		}
	}
	for method, params := range map[string]string{
		"bridge/list": "{}", "subscription/list": "{}", "event/list": `{"after_seq":0,"limit":1000}`, "cursor/list": "{}", "holon/status": "{}", "initialize": "{}", "rpc.discover": "{}",
		"holon/logStream": `{"max_lines":10000}`,
	} {
		ask(method, params)
	}
	_, page := s.fetch("/metrics")
	out.add("metrics", page)

	// The files: the database, its log and a backup. The secrets have their own.
	kept := seen{}
	kept.files(t, "secrets", filepath.Join(s.data, "secrets"))
	for _, name := range []string{"rotated webhook of a client", "rotated ntfy token", "ntfy topic of a client", "slack token of a client", "slack webhook of a client", "github token of a client"} {
		if len(kept.found(h[name])) == 0 {
			t.Errorf("the %s is in no file of secrets: this test would find nothing", name)
		}
	}
	// The secret before a rotation still counts for a day.
	if len(kept.found(h["webhook of a client"])) == 0 {
		t.Error("the webhook's secret before its rotation is not kept")
	}
	for name := range kept {
		if strings.HasSuffix(name, ".tmp") {
			t.Errorf("%s is left", name)
		}
	}
	backup := filepath.Join(t.TempDir(), "backup.db")
	out.add("the command backup", s.want("backup", backup))
	out.files(t, "backup", filepath.Dir(backup))
	for _, id := range []string{"c_hook", "c_ntfy", "c_slack", "c_slackhook", "c_github", "c_made"} {
		ask("bridge/delete", fmt.Sprintf(`{"bridge_id":%q,"cascade":true}`, id))
	}
	afterwards := seen{}
	afterwards.files(t, "secrets", filepath.Join(s.data, "secrets"))
	if len(afterwards) != 0 {
		t.Errorf("after the deletions there are %v", slices.Collect(maps.Keys(afterwards)))
	}
	s.stop()
	for _, name := range []string{"holon.db", "holon.db-wal", "holon.db-shm"} {
		if raw, err := os.ReadFile(filepath.Join(s.data, name)); err == nil {
			out.add(name, string(raw))
		}
	}
	out.files(t, "data", s.data)
	out.add("the server's log", s.log.String())
	if !strings.Contains(out["data holon.db"]+out["holon.db"], "c_slackhook") || !strings.Contains(out["backup backup.db"], "c_slackhook") || out["the server's log"] == "" {
		t.Error("this test has not found the database, the backup or the log")
	}

	secrets := maps.Clone(h)
	secrets["secret made by bridge/create"], secrets["secret made by bridge/rotate_secret"] = made[0], made[1]
	delete(secrets, "command token") // see below
	for name, secret := range secrets {
		for _, where := range out.found(secret) {
			t.Errorf("the %s is in %s", name, where)
		}
	}
	// What a program prints is shown as it is: only its arguments are kept out.
	delete(out, "delivery/read")
	for what, text := range out {
		if strings.Contains(text, h["command token"]) && !strings.Contains(what, ".db") {
			t.Errorf("the command's argument is in %s", what)
		}
	}
	// The control of the search: it finds what is there.
	out.add("control", h["github token"])
	if len(out.found(h["github token"])) != 1 {
		t.Error("the search finds nothing")
	}
}

// tried reports whether a bridge's subscription has made an attempt.
func tried(s *server, id string) bool {
	list := s.did("delivery/list", fmt.Sprintf(`{"subscription_id":"s_%s","limit":1}`, id))
	return regexp.MustCompile(`"attempts":[1-9]|"state":"delivered"`).MatchString(list)
}
