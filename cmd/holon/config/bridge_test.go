package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/bridges/kinds"
)

const (
	bridgeSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw9QZ0aGVyZQ=="
	bridgesFile  = `
[bridges.hook]
kind = "webhook"
allow_private = true
url = "http://127.0.0.1:8080/hook?token=hunter2"
secret_env = "HOOK_SECRET"
on_pause = "drop"

[bridges.phone]
kind = "ntfy"
topic = "hunter2_topic"
token = "hunter2_token"

[bridges.chat]
kind = "slack"
webhook_url = "https://hooks.slack.com/services/hunter2"

[bridges.repo]
kind = "github"
token_file = "%s"
api_url = "https://github.example.com/api/v3"
targets = ["octo/hello#12", "https://github.example.com/octo/parser/pull/3"]

[bridges.own]
kind = "command"
command = "notify --now"
timeout_seconds = 5
`
)

func bridgesOf(t *testing.T) *Loaded {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("hunter2_of_file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := load(t, fmt.Sprintf(bridgesFile, file), nil)
	if err == nil {
		err = l.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestBridgesAreShownWithoutSecrets(t *testing.T) {
	l := bridgesOf(t)
	rows := ""
	for _, row := range l.Rows() {
		if strings.HasPrefix(row.Key, "bridges.") && Show(row.Value) != "" && !strings.HasSuffix(row.Key, "_file") {
			rows += fmt.Sprintln(row.Key, Show(row.Value), row.Source.Line)
		}
	}
	want := `bridges.chat.kind slack 14
bridges.chat.on_pause wait 14
bridges.chat.allow_private false 14
bridges.chat.webhook_url (hidden) 14
bridges.hook.kind webhook 2
bridges.hook.on_pause drop 2
bridges.hook.allow_private true 2
bridges.hook.url http://127.0.0.1:8080/hook?… 2
bridges.hook.secret_env HOOK_SECRET 2
bridges.own.kind command 24
bridges.own.on_pause wait 24
bridges.own.command notify, --now 24
bridges.own.timeout_seconds 5 24
bridges.phone.kind ntfy 9
bridges.phone.on_pause wait 9
bridges.phone.allow_private false 9
bridges.phone.topic (hidden) 9
bridges.phone.token (hidden) 9
bridges.repo.kind github 18
bridges.repo.on_pause wait 18
bridges.repo.allow_private false 18
bridges.repo.api_url https://github.example.com/api/v3 18
bridges.repo.targets octo/hello#12, https://github.example.com/octo/parser/pull/3 18
`
	if rows != want {
		t.Error(rows)
	}
	raw, err := json.Marshal(l.Rows())
	if err != nil || strings.Contains(string(raw), "hunter2") {
		t.Errorf("%s %v", raw, err)
	}
}

func TestBridgesAreOpenedWithTheirSecrets(t *testing.T) {
	repoTargets := []bridges.Target{{Repository: "octo/hello", Number: 12}, {Repository: "octo/parser", Number: 3}}
	l := bridgesOf(t)
	getenv := func(name string) string { return map[string]string{"HOOK_SECRET": bridgeSecret}[name] }
	for name, want := range map[string]struct {
		row    bridges.Bridge
		config kinds.Config
	}{
		"hook": {
			bridges.Bridge{Kind: bridges.KindWebhook, OnPause: bridges.PauseDrops, Settings: bridges.Settings{URL: "http://127.0.0.1:8080/hook?token=hunter2"}, SecretHint: "ZQ=="},
			kinds.Config{Kind: bridges.KindWebhook, AllowPrivate: true, URL: "http://127.0.0.1:8080/hook?token=hunter2", Secret: bridgeSecret},
		},
		"phone": {
			bridges.Bridge{Kind: bridges.KindNtfy, OnPause: bridges.PauseWaits, SecretHint: "oken"},
			kinds.Config{Kind: bridges.KindNtfy, Topic: "hunter2_topic", Secret: "hunter2_token"},
		},
		"chat": {
			bridges.Bridge{Kind: bridges.KindSlack, OnPause: bridges.PauseWaits, SecretHint: "ter2"},
			kinds.Config{Kind: bridges.KindSlack, WebhookURL: "https://hooks.slack.com/services/hunter2"},
		},
		"repo": {
			bridges.Bridge{Kind: bridges.KindGitHub, OnPause: bridges.PauseWaits, SecretHint: "file", Settings: bridges.Settings{APIURL: "https://github.example.com/api/v3", Targets: repoTargets}},
			kinds.Config{Kind: bridges.KindGitHub, APIURL: "https://github.example.com/api/v3", Secret: "hunter2_of_file", Targets: repoTargets},
		},
		"own": {
			bridges.Bridge{Kind: bridges.KindCommand, OnPause: bridges.PauseWaits},
			kinds.Config{Kind: bridges.KindCommand, Command: []string{"notify", "--now"}, Timeout: 5 * time.Second},
		},
	} {
		want.row.BridgeID, want.config.Configured = name, true
		row, config, err := l.Bridges[name].Open(name, getenv)
		if err != nil || fmt.Sprintf("%+v", row) != fmt.Sprintf("%+v", want.row) || fmt.Sprintf("%+v", plain(config)) != fmt.Sprintf("%+v", plain(want.config)) {
			t.Errorf("%s:\n got %+v %+v %v\nwant %+v %+v", name, row, plain(config), err, want.row, plain(want.config))
		}
	}
	if got := l.Bridges["hook"].Variables(); !slices.Equal(got, []string{"HOOK_SECRET"}) {
		t.Errorf("variables %v", got)
	}
}

// plain is a kinds.Config that prints its members.
type plain kinds.Config

func TestInvalidBridgesSayWhereAndWhy(t *testing.T) {
	for file, want := range map[string]string{
		"[bridges.a]\nkind = \"mail\"":                                                       `bridges.a :1 kind: "mail" is not one of webhook, ntfy, slack, github, command`,
		"[bridges.a]\nurl = \"https://example.com\"":                                         `bridges.a :1 kind is missing; give kind = "webhook" or "ntfy" or "slack" or "github" or "command"`,
		"[bridges.a]\nkind = \"ntfy\"\nurl = \"https://x.example\"":                          `bridges.a.url :3 a bridge of kind "ntfy" has no such key; it is one of kind "webhook"`,
		"[bridges.a]\nkind = \"command\"\nallow_private = true":                              `bridges.a.allow_private :3 a bridge of kind "command" has no such key; it is one of kind "webhook" or "ntfy" or "slack" or "github"`,
		"[bridges.a]\nkind = \"ntfy\"\ntoken_flie = \"x\"":                                   `bridges.a.token_flie :3 unknown key; did you mean token_file?`,
		"[bridges.a]\nkind = \"ntfy\"\ntoken = 5":                                            `bridges.a.token :3 give one text`,
		"[bridges.a]\nkind = \"ntfy\"\non_pause = \"stop\"":                                  `bridges.a :1 on_pause: "stop" is not one of wait, drop`,
		"[bridges.a]\nkind = \"ntfy\"\ntoken = \"hunter2\"":                                  `bridges.a :1 token: a token has 8 to 4096 visible characters of ASCII and no spaces`,
		"[bridges.a]\nkind = \"ntfy\"\ntopic = \"hunter2 x\"":                                `bridges.a :1 topic: a topic has 1 to 64 of A-Z a-z 0-9 _ -`,
		"[bridges.a]\nkind = \"slack\"":                                                      `bridges.a :1 token: give the token of a bot, or a webhook_url`,
		"[bridges.a]\nkind = \"slack\"\ntoken_env = \"A\"\nwebhook_url_env = \"B\"":          `bridges.a :1 token: give the token of a bot, or a webhook_url`,
		"[bridges.a]\nkind = \"github\"\ntoken = \"hunter2x\"\ntoken_env = \"T\"":            `bridges.a :1 give only one of token, token_file and token_env`,
		"[bridges.a]\nkind = \"github\"\ntoken_file = \"t\"":                                 `bridges.a :1 token_file "t" is relative; write the whole path`,
		"[bridges.a]\nkind = \"github\"\ntoken_env = \"A=B\"":                                `bridges.a :1 token_env "A=B" is no name of a variable`,
		"[bridges.a]\nkind = \"webhook\"\nsecret_env = \"S\"":                                `bridges.a :1 url: give the URL that webhooks are sent to`,
		"[bridges.a]\nkind = \"webhook\"\nurl = \"https://x.example\"":                       `bridges.a :1 secret: without a secret the receiver cannot tell who sent a webhook`,
		"[bridges.a]\nkind = \"webhook\"\nurl = \"http://x.example\"\nsecret_env = \"S\"":    `bridges.a :1 url: it must begin with https://; http is for bridges with allow_private`,
		"[bridges.a]\nkind = \"webhook\"\nurl = \"https://127.1.1.1\"\nsecret_env = \"S\"":   `bridges.a :1 url: its address is private or reserved; only a bridge in the configuration may have allow_private`,
		"[bridges.a]\nkind = \"webhook\"\nurl = \"https://x.example\"\nsecret = \"hunter2\"": `bridges.a :1 secret: a secret of Standard Webhooks is whsec_ and the Base64 of 24 to 64 bytes`,
		"[bridges.a]\nkind = \"webhook\"\ntargets = [\"x\"]":                                 `bridges.a.targets :3 a bridge of kind "webhook" has no such key; it is one of kind "ntfy" or "slack" or "github"`,
		"[bridges.a]\nkind = \"github\"\ntoken_env = \"T\"\ntargets = [\"octo/hello\"]":      `bridges.a :1 targets: octo/hello: give OWNER/REPOSITORY#NUMBER, such as octo/hello#12`,
		"[bridges.a]\nkind = \"slack\"\ntoken_env = \"T\"\ntargets = [\"#a\", \"a b\"]":      `bridges.a :1 targets[1].channel: give the id of a channel, such as C012AB3CD, or its name`,
		"[bridges.a]\nkind = \"command\"":                                                    `bridges.a :1 command: give the program and its arguments, as in ["notify-me", "--urgent"]`,
		"[bridges.a]\nkind = \"command\"\ncommand = \"x\"\ntimeout_seconds = 0.5":            `bridges.a :1 timeout_seconds: it must be from 1 to 600`,
		"[bridges.\"a b\"]\nkind = \"ntfy\"\n":                                               `bridges.a b :1 a name has 1 to 64 of A-Z, a-z, 0-9, _ and -`,
		"[bridgse.a]\nkind = \"ntfy\"\n":                                                     `bridgse :0 unknown key; did you mean bridges?`,
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
			t.Errorf("%q:\n got %s\nwant %s", file, got, want)
		}
	}
}

func TestSecretsOfABridgeThatAreMissingAreNamed(t *testing.T) {
	none := func(string) string { return "" }
	b := Bridge{Kind: "webhook", URL: "https://x.example", OnPause: "wait", Secret: SecretAt{Env: "ABSENT"}}
	if _, _, err := b.Open("b", none); err == nil || err.Error() != "secret_env: the variable ABSENT is empty or not set" {
		t.Error(err)
	}
	_, _, err := b.Open("b", func(string) string { return "hunter2" })
	if err == nil || !strings.HasPrefix(err.Error(), "secret: a secret of Standard Webhooks") || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
	b.Secret = SecretAt{File: filepath.Join(t.TempDir(), "absent")}
	if _, _, err := b.Open("b", none); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "secret_file: ") {
		t.Error(err)
	}
}
