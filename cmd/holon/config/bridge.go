package config

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/bridges/kinds"
	"github.com/seed82539d15/holon/turns"
)

// Bridge is one configured bridge. It has where its secrets are; Open reads the
// secrets themselves.
type Bridge struct {
	Kind         string
	OnPause      string // wait or drop
	AllowPrivate bool

	URL    string // webhook
	Server string // ntfy
	Topic  string // ntfy: everyone who knows it can read
	APIURL string // github, slack

	Targets []string // ntfy, slack, github: as people write them

	Secret     SecretAt // webhook
	Token      SecretAt // ntfy, slack, github
	WebhookURL SecretAt // slack

	Command []string // command
	Timeout time.Duration
}

// SecretAt says where a secret is: in at most one of three places.
type SecretAt struct {
	Value string
	File  string // an absolute path
	Env   string // the name of a variable
}

// bridgeKinds are all kinds of bridge, in the order of the documentation.
var bridgeKinds = func() (names []string) {
	for _, k := range bridges.Kinds {
		names = append(names, string(k))
	}
	return names
}()

// The kinds of bridge.
const (
	bridgeWebhook = string(bridges.KindWebhook)
	bridgeNtfy    = string(bridges.KindNtfy)
	bridgeSlack   = string(bridges.KindSlack)
	bridgeGitHub  = string(bridges.KindGitHub)
	bridgeCommand = string(bridges.KindCommand)
)

// BridgeKeys is the table of the keys of [bridges.NAME]. The order is that of the
// documentation.
var BridgeKeys = slices.Concat(
	[]Key[Bridge]{
		text("kind", "webhook, ntfy, slack, github or command", func(b *Bridge) *string { return &b.Kind }),
		text("on_pause", "wait or drop: what becomes of events that come while the bridge is paused", func(b *Bridge) *string { return &b.OnPause }),
		boolean("allow_private", "whether it may connect to this machine and to private networks, and without TLS", func(b *Bridge) *bool { return &b.AllowPrivate }).
			of(bridgeWebhook, bridgeNtfy, bridgeSlack, bridgeGitHub),
		address("url", "where webhooks are sent to", func(b *Bridge) *string { return &b.URL }).of(bridgeWebhook),
	},
	secretAt("secret", "the secret of Standard Webhooks that the receiver has as well, whsec_…", func(b *Bridge) *SecretAt { return &b.Secret }, bridgeWebhook),
	[]Key[Bridge]{
		text("server", "the ntfy server; https://ntfy.sh without it", func(b *Bridge) *string { return &b.Server }).of(bridgeNtfy),
		hidden("topic", "the topic of subscriptions that name none; whoever knows it can read", func(b *Bridge) *string { return &b.Topic }).of(bridgeNtfy),
	},
	secretAt("token", "the token of the service", func(b *Bridge) *SecretAt { return &b.Token }, bridgeNtfy, bridgeSlack, bridgeGitHub),
	secretAt("webhook_url", "the URL of an incoming webhook, instead of a token", func(b *Bridge) *SecretAt { return &b.WebhookURL }, bridgeSlack),
	[]Key[Bridge]{
		text("api_url", "the API of another server than the public one", func(b *Bridge) *string { return &b.APIURL }).of(bridgeSlack, bridgeGitHub),
		list("targets", "targets besides the bridge's own to which tokens limited to threads may subscribe, as --target takes them", func(b *Bridge) *[]string { return &b.Targets }).
			of(bridgeNtfy, bridgeSlack, bridgeGitHub),
		command("command", "the program and its arguments, a list or one line", func(b *Bridge) *[]string { return &b.Command }).of(bridgeCommand),
		seconds("timeout_seconds", "how long the program may run", func(b *Bridge) *time.Duration { return &b.Timeout }).of(bridgeCommand),
	},
)

// address returns a URL whose query is never shown.
func address(name, help string, at func(*Bridge) *string) Key[Bridge] {
	return entry(name, Text, help, at, asSecret, func(v string) any { return bridges.ShownURL(v) })
}

// secretAt returns the three keys of a secret.
func secretAt(name, help string, at func(*Bridge) *SecretAt, kinds ...string) []Key[Bridge] {
	return []Key[Bridge]{
		hidden(name, help, func(b *Bridge) *string { return &at(b).Value }).of(kinds...),
		text(name+"_file", "a file that has it, absolute", func(b *Bridge) *string { return &at(b).File }).of(kinds...),
		text(name+"_env", "a variable of the server's environment that has it", func(b *Bridge) *string { return &at(b).Env }).of(kinds...),
	}
}

// bridgeTables are the tables [bridges.NAME].
var bridgeTables = tables[Bridge]{
	sort: "bridges", one: "a bridge", keys: BridgeKeys,
	fresh:    func() Bridge { return Bridge{OnPause: string(bridges.PauseWaits)} },
	finished: func(b Bridge, _ string) Bridge { return b },
	at:       func(c *Config) map[string]Bridge { return c.Bridges },
	kind: func(b Bridge) string {
		if slices.Contains(bridgeKinds, b.Kind) {
			return b.Kind
		}
		return ""
	},
	check: func(b Bridge, _ string, _ Source) error { return b.check() },
}

// check returns an error if the definition is invalid. It does not look for secrets
// in files and in the environment, which only the server may be able to read.
func (b Bridge) check() error {
	if b.Kind == "" {
		return fmt.Errorf("kind is missing; give kind = %s", quoted(bridgeKinds))
	}
	if err := firstOf(member("kind", oneOf(b.Kind, bridgeKinds...)), member("on_pause", oneOf(b.OnPause, string(bridges.PauseWaits), string(bridges.PauseDrops)))); err != nil {
		return err
	}
	for _, s := range b.secrets() {
		if err := s.at.check(s.name); err != nil {
			return err
		}
	}
	if _, err := b.targets(); err != nil {
		return fmt.Errorf("targets: %w", err)
	}
	known := b
	for _, s := range known.secrets() {
		if s.at.File != "" || s.at.Env != "" {
			s.at.Value = s.placeholder // not known here
		}
	}
	c := known.config()
	return asKey(c.Check())
}

// namedSecret is one of the secrets of a bridge.
type namedSecret struct {
	name        string
	at          *SecretAt
	placeholder string // of the right form
}

func (b *Bridge) secrets() []namedSecret {
	return []namedSecret{
		{"secret", &b.Secret, "whsec_bm90IGtub3duLCBub3Qga25vd24sIG5vdCBrbm93bg=="},
		{"token", &b.Token, "not-known"},
		{"webhook_url", &b.WebhookURL, "https://hooks.slack.com/services/not-known"},
	}
}

func (s SecretAt) check(name string) error {
	given := 0
	for _, at := range []string{s.Value, s.File, s.Env} {
		if at != "" {
			given++
		}
	}
	switch {
	case given > 1:
		return fmt.Errorf("give only one of %s, %s_file and %s_env", name, name, name)
	case s.File != "" && !filepath.IsAbs(s.File):
		return fmt.Errorf("%s_file %s is relative; write the whole path", name, quote(s.File))
	case strings.ContainsAny(s.Env, "=\x00"):
		return fmt.Errorf("%s_env %s is no name of a variable", name, quote(s.Env))
	}
	return nil
}

// read returns the secret. The error names the key and says nothing of the secret.
func (s SecretAt) read(name string, getenv func(string) string) (string, error) {
	switch {
	case s.Env != "":
		if secret := getenv(s.Env); secret != "" {
			return secret, nil
		}
		return "", fmt.Errorf("%s_env: the variable %s is empty or not set", name, s.Env)
	case s.File != "":
		secret, err := readSecret(s.File)
		if err != nil {
			return "", fmt.Errorf("%s_file: %w", name, err)
		}
		return secret, nil
	}
	return s.Value, nil
}

// Open returns the bridge as it is shown and the settings of its channel, with the
// secrets, which it reads from files and from the environment. The error names the
// key and says nothing of the secret.
func (b Bridge) Open(name string, getenv func(string) string) (bridges.Bridge, kinds.Config, error) {
	for _, s := range b.secrets() { // b is a copy
		secret, err := s.at.read(s.name, getenv)
		if err != nil {
			return bridges.Bridge{}, kinds.Config{}, err
		}
		s.at.Value = secret
	}
	c := b.config()
	if err := asKey(c.Check()); err != nil {
		return bridges.Bridge{}, kinds.Config{}, err
	}
	secret := bridges.Secrets{Secret: b.Secret.Value, Token: b.Token.Value, WebhookURL: b.WebhookURL.Value, Topic: b.Topic}
	return bridges.Bridge{
		BridgeID: name, Kind: c.Kind, OnPause: bridges.OnPause(b.OnPause), SecretHint: secret.Hint(),
		Settings: bridges.Settings{URL: b.URL, Server: b.Server, APIURL: b.APIURL, Targets: c.Targets},
	}, c, nil
}

// Variables returns the variables of the environment that have secrets of the bridge.
func (b Bridge) Variables() (names []string) {
	for _, s := range b.secrets() {
		if s.at.Env != "" {
			names = append(names, s.at.Env)
		}
	}
	return names
}

// targets returns Targets as bridges have them.
func (b Bridge) targets() (list []bridges.Target, err error) {
	for _, text := range b.Targets {
		t, err := bridges.ParseTarget(bridges.Kind(b.Kind), text)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

func (b Bridge) config() kinds.Config {
	targets, _ := b.targets() // check has read them
	return kinds.Config{
		Kind: bridges.Kind(b.Kind), Configured: true, AllowPrivate: b.AllowPrivate, URL: b.URL, Server: b.Server, Topic: b.Topic,
		APIURL: b.APIURL, WebhookURL: b.WebhookURL.Value, Command: b.Command, Timeout: b.Timeout,
		Secret: cmp.Or(b.Secret.Value, b.Token.Value), Targets: targets,
	}
}

// asKey returns an error about a member as one about a key.
func asKey(err error) error {
	if bad, ok := errors.AsType[*turns.InvalidError](err); ok {
		return fmt.Errorf("%s: %s", bad.Field, bad.Text)
	}
	return err
}
