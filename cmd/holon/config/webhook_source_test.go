package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/hooks"
)

const sourcesFile = `
[sources.gh]
kind = "github"
secret = "hunter2"

[sources.ci]
kind = "webhook"
secret_env = "CI_SECRET"
verify = "hmac"
hmac_header = "X-Sig"
native_id = "payload.id"
summary = '"build " + payload.job'
filter = "payload.state != 'queued'"
link = "payload.url"
link_hosts = ["ci.example.com", "ci.example.com:8443"]
`

func TestSourcesAreReadAndShownWithoutSecrets(t *testing.T) {
	l, err := load(t, sourcesFile, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	rows := ""
	for _, row := range l.Rows() {
		if strings.HasPrefix(row.Key, "sources.") && Show(row.Value) != "" {
			rows += fmt.Sprintln(row.Key, Show(row.Value), row.Source.Line)
		}
	}
	want := `sources.ci.kind webhook 6
sources.ci.secret_env CI_SECRET 6
sources.ci.verify hmac 6
sources.ci.hmac_header X-Sig 6
sources.ci.hmac_encoding hex 6
sources.ci.native_id payload.id 6
sources.ci.summary "build " + payload.job 6
sources.ci.filter payload.state != 'queued' 6
sources.ci.link payload.url 6
sources.ci.link_hosts ci.example.com, ci.example.com:8443 6
sources.gh.kind github 2
sources.gh.secret (hidden) 2
`
	if rows != want {
		t.Errorf("%s", rows)
	}
	raw, err := json.Marshal(l.Rows())
	if err != nil || strings.Contains(string(raw), "hunter2") {
		t.Errorf("%s %v", raw, err)
	}

	gh, err := l.Config.Sources["gh"].Hook("gh", os.Getenv)
	if want := (hooks.Source{Name: "gh", Kind: "github", Secret: "hunter2"}); err != nil || !reflect.DeepEqual(gh, want) {
		t.Errorf("%+v %v", gh, err)
	}
	ci, err := l.Config.Sources["ci"].Hook("ci", func(name string) string { return map[string]string{"CI_SECRET": "s"}[name] })
	want2 := hooks.Source{
		Name: "ci", Kind: "webhook", Secret: "s", Verify: "hmac", HMACHeader: "X-Sig", HMACEncoding: "hex", NativeID: "payload.id",
		Summary: `"build " + payload.job`, Filter: "payload.state != 'queued'", Link: "payload.url", LinkHosts: []string{"ci.example.com", "ci.example.com:8443"},
	}
	if err != nil || !reflect.DeepEqual(ci, want2) {
		t.Errorf("%+v %v", ci, err)
	}
	if _, err := hooks.New(hooks.Config{Sources: []hooks.Source{gh, ci}}); err != nil {
		t.Error(err)
	}
}

func TestInvalidSourcesSayWhereAndWhy(t *testing.T) {
	for file, want := range map[string]string{
		"[sources.a]\nkind = \"gitlab\"\nsecret = \"s\"":                                                                                          `sources.a :1 kind: "gitlab" is not one of github, webhook; did you mean github?`,
		"[sources.a]\nsecret = \"s\"":                                                                                                             `sources.a :1 kind is missing; give kind = "github" or kind = "webhook"`,
		"[sources.a]\nkind = \"github\"":                                                                                                          `sources.a :1 the secret is missing; give one of secret, secret_file and secret_env: without it nobody can tell who sent a webhook`,
		"[sources.a]\nkind = \"github\"\nsecret = \"s\"\nsecret_env = \"S\"":                                                                      `sources.a :1 give only one of secret, secret_file and secret_env`,
		"[sources.a]\nkind = \"github\"\nsecret_file = \"s\"":                                                                                     `sources.a :1 secret_file "s" is relative; write the whole path`,
		"[sources.a]\nkind = \"github\"\nsecret_env = \"A=B\"":                                                                                    `sources.a :1 secret_env "A=B" is no name of a variable`,
		"[sources.a]\nkind = \"github\"\nsecret = 5":                                                                                              `sources.a.secret :3 give one text`,
		"[sources.a]\nkind = \"github\"\nsecret = \"s\"\nsumary = \"s\"":                                                                          `sources.a.sumary :4 unknown key; did you mean summary?`,
		"[sources.a]\nkind = \"github\"\nsecret = \"s\"\nsummary = \"payload.a\"":                                                                 `sources.a.summary :4 a source of kind "github" has no such key; it is one of kind "webhook"`,
		"[sources.a]\nkind = \"webhook\"\nsecret = \"s\"":                                                                                         `sources.a :1 verify: give standard, bearer or hmac`,
		"[sources.a]\nkind = \"webhook\"\nsecret = \"s\"\nverify = \"hmac\"":                                                                      `sources.a :1 hmac_header: give the name of the header with the signature, such as X-Signature`,
		"[sources.a]\nkind = \"webhook\"\n\nsecret = \"s\"\nverify = \"bearer\"\nfilter = \"payload.\"\n":                                         `sources.a.filter :6 the expression does not compile: unexpected end of expression (1:8)`,
		"[sources.a]\nkind = \"webhook\"\nsecret = \"s\"\nverify = \"bearer\"\nimmediate = \"now()\"\n":                                           `sources.a.immediate :5 the expression does not compile: the function now is not available (1:1)`,
		"[sources.a]\nkind = \"webhook\"\nsecret = \"hunter2\"\nverify = \"standard\"\n":                                                          `sources.a :1 secret: a secret of Standard Webhooks is whsec_ and base64`,
		"[sources.a]\nkind = \"webhook\"\nsecret = \"s\"\nverify = \"bearer\"\nlink = \"payload.u\"\nlink_hosts = [\"https://ci.example.com\"]\n": `sources.a.link_hosts :6 "https://ci.example.com" is no host: give its whole name in lower case, such as ci.example.com or ci.example.com:8443; other scripts in their ASCII form (xn--…)`,
		"[sources.a]\nkind = \"webhook\"\nsecret = \"s\"\nverify = \"bearer\"\nlink = \"payload.u\"\nlink_hosts = [\"CI.example.com\"]\n":         `sources.a.link_hosts :6 "CI.example.com" is no host: give its whole name in lower case, such as ci.example.com or ci.example.com:8443; other scripts in their ASCII form (xn--…)`,
		"[sources.a]\nkind = \"webhook\"\nsecret = \"s\"\nverify = \"bearer\"\nlink = \"payload.u\"\nlink_hosts = [\"ci.example.com.\"]\n":        `sources.a.link_hosts :6 "ci.example.com." is no host: give its whole name in lower case, such as ci.example.com or ci.example.com:8443; other scripts in their ASCII form (xn--…)`,
		"[sources.a]\nkind = \"webhook\"\nsecret = \"s\"\nverify = \"bearer\"\nlink = \"payload.u\"\nlink_hosts = [\"*.example.com\"]\n":          `sources.a.link_hosts :6 "*.example.com" is no host: give its whole name in lower case, such as ci.example.com or ci.example.com:8443; other scripts in their ASCII form (xn--…)`,
		"[sources.a]\nkind = \"webhook\"\nsecret = \"s\"\nverify = \"bearer\"\nlink = \"payload.u\"\nlink_hosts = [\"ci.example.com/x\"]\n":       `sources.a.link_hosts :6 "ci.example.com/x" is no host: give its whole name in lower case, such as ci.example.com or ci.example.com:8443; other scripts in their ASCII form (xn--…)`,
		"[sources.a]\nkind = \"webhook\"\nsecret = \"s\"\nverify = \"bearer\"\nlink = \"payload.u\"\nlink_hosts = [\"ann@ci.example.com\"]\n":     `sources.a.link_hosts :6 "ann@ci.example.com" is no host: give its whole name in lower case, such as ci.example.com or ci.example.com:8443; other scripts in their ASCII form (xn--…)`,
		"[sources.a]\nkind = \"webhook\"\nsecret = \"s\"\nverify = \"bearer\"\nlink = \"payload.u\"\nlink_hosts = [\"\"]\n":                       `sources.a.link_hosts :6 "" is no host: give its whole name in lower case, such as ci.example.com or ci.example.com:8443; other scripts in their ASCII form (xn--…)`,
		"[sources.a]\nkind = \"webhook\"\nsecret = \"s\"\nverify = \"bearer\"\nlink = \"payload.u\"\nlink_hosts = [\"bücher.example\"]\n":         `sources.a.link_hosts :6 "bücher.example" is no host: give its whole name in lower case, such as ci.example.com or ci.example.com:8443; other scripts in their ASCII form (xn--…)`,
		"[sources.a]\nkind = \"webhook\"\nsecret = \"s\"\nverify = \"bearer\"\nlink = \"payload.u\"\nlink_hosts = [\"ci.example.com:443\"]\n":     `sources.a.link_hosts :6 "ci.example.com:443" is no host: give its whole name in lower case, such as ci.example.com or ci.example.com:8443; other scripts in their ASCII form (xn--…)`,
		"[sources.a]\nkind = \"webhook\"\nsecret = \"s\"\nverify = \"bearer\"\nlink = \"payload.u\"\nlink_hosts = [\"ci.example.com:\"]\n":        `sources.a.link_hosts :6 "ci.example.com:" is no host: give its whole name in lower case, such as ci.example.com or ci.example.com:8443; other scripts in their ASCII form (xn--…)`,
		"[sources.a]\nkind = \"webhook\"\nsecret = \"s\"\nverify = \"bearer\"\nlink = \"payload.u\"\n":                                            `sources.a :1 link_hosts: link and link_hosts go together: name the hosts to which links may lead`,
		"[sources.a]\nkind = \"webhook\"\nsecret = \"s\"\nverify = \"bearer\"\nlink_hosts = [\"a.example\"]\n":                                    `sources.a :1 link_hosts: link and link_hosts go together: name the hosts to which links may lead`,
		"[sources.a]\nkind = \"webhook\"\nsecret = \"s\"\nverify = \"bearer\"\nlink = \"payload.u\"\nlink_hosts = []\n":                           `sources.a :1 link_hosts: link and link_hosts go together: name the hosts to which links may lead`,
		"[sources.a]\nkind = \"webhook\"\nsecret = \"s\"\nverify = \"bearer\"\nlink = \"payload.\"\nlink_hosts = [\"a.example\"]\n":               `sources.a.link :5 the expression does not compile: unexpected end of expression (1:8)`,
		"[sources.a]\nkind = \"webhook\"\nsecret = \"s\"\nverify = \"bearer\"\nlink = \"1 + 1\"\nlink_hosts = [\"a.example\"]\n":                  `sources.a.link :5 the expression does not compile: expected string, but got int`,
		"[sources.a]\nkind = \"github\"\nsecret = \"s\"\nlink_hosts = [\"github.com\"]\n":                                                         `sources.a.link_hosts :4 a source of kind "github" has no such key; it is one of kind "webhook"`,
		"[sources.turns]\nkind = \"github\"\nsecret = \"s\"":                                                                                      `sources.turns :1 the name belongs to the server, as do message, events, turns, timer`,
		"[sources.timers]\nkind = \"github\"\nsecret = \"s\"":                                                                                     `sources.timers :1 the name could be taken for timer, which belongs to the server: call it otherwise, such as timers-github`,
		"[sources.\"a b\"]\nkind = \"github\"\nsecret = \"s\"":                                                                                    `sources.a b :1 a name has 1 to 64 of A-Z, a-z, 0-9, _ and -`,
	} {
		l, err := load(t, file, nil)
		if err == nil {
			err = l.Validate()
		}
		bad, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%q: %v, want %s", file, err, want)
			continue
		}
		if got := fmt.Sprintf("%s :%d %s", bad.Key, bad.Source.Line, bad.Text); got != want {
			t.Errorf("%q: %s, want %s", file, got, want)
		}
	}
}

func TestSecretOfASourceIsReadFromItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	s := WebhookSource{Kind: "github", SecretFile: path}
	for content, want := range map[string]string{
		"hunter2":                       "hunter2",
		"hunter2\r\n":                   "hunter2",
		"\n":                            "error: secret_file: " + path + " is empty",
		"hunter2\nb\n":                  "error: secret_file: " + path + " has more than one line",
		strings.Repeat("hunter2", 1000): "error: secret_file: " + path + " has more than 4096 bytes",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		hook, err := s.Hook("gh", os.Getenv)
		got := hook.Secret
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want {
			t.Errorf("%.20q: %s, want %s", content, got, want)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Hook("gh", os.Getenv); err == nil || !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	s = WebhookSource{Kind: "github", SecretEnv: "ABSENT"}
	if _, err := s.Hook("gh", func(string) string { return "" }); err == nil || err.Error() != "secret_env: the variable ABSENT is empty or not set" {
		t.Error(err)
	}
}
