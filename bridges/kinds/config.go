package kinds

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/turns"
)

// Config is a bridge with its secrets. It prints as its kind alone.
type Config struct {
	Kind bridges.Kind
	// Configured says that the bridge is in the configuration: command,
	// allow_private and other ports than 443 are for such bridges only.
	Configured bool
	// AllowPrivate allows http, and addresses of this machine and of private
	// networks. Link-local addresses and the server itself are never allowed.
	AllowPrivate bool

	URL        string           // webhook
	Server     string           // ntfy; "" = https://ntfy.sh
	Topic      string           // ntfy: where the target names none
	APIURL     string           // github, slack; "" = the public service
	WebhookURL string           // slack: an incoming webhook instead of a token
	Command    []string         // command: the program and its arguments
	Timeout    time.Duration    // command; 0 = 20 s
	Targets    []bridges.Target // as of bridges.Settings

	// Secret is the whsec_… of webhook, or the token of ntfy, slack and github.
	Secret string
	// Previous is the whsec_… from before a rotation. Until PreviousUntil, which is
	// 24 hours after it, webhooks are signed with both.
	Previous      string
	PreviousUntil time.Time
}

// String names the kind, so that no log shows a secret.
func (c Config) String() string { return "bridge of kind " + string(c.Kind) }

// GoString returns the same as String.
func (c Config) GoString() string { return c.String() }

// MarshalJSON returns the same as String, for loggers.
func (c Config) MarshalJSON() ([]byte, error) { return []byte(fmt.Sprintf("%q", c.String())), nil }

// Shared is what the bridges of a server share.
type Shared struct {
	Client *Client // of the HTTP kinds
	// Records is where running programs are recorded; nil = they are not.
	Records *process.Records
}

// New checks a bridge and makes its channel. The error is that of Check.
func New(c Config, with Shared) (bridges.Channel, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	switch c.Kind {
	case bridges.KindWebhook:
		return &channel{newWebhook(c, with.Client), c}, nil
	case bridges.KindNtfy:
		return &channel{newNtfy(c, with.Client), c}, nil
	case bridges.KindSlack:
		return &channel{newSlack(c, with.Client), c}, nil
	case bridges.KindGitHub:
		return &channel{newGitHub(c, with.Client), c}, nil
	}
	return &channel{newCommand(c, with.Records), c}, nil
}

// kind is what each kind does by itself.
type kind interface {
	Send(ctx context.Context, o *bridges.Outgoing) bridges.Result
	Edits() bool
}

// channel is a kind with the bridge that it was made of.
type channel struct {
	kind
	config Config
}

// String names the kind, so that no log shows a secret.
func (c *channel) String() string { return c.config.String() }

// GoString returns the same as String.
func (c *channel) GoString() string { return c.String() }

// CheckTarget implements bridges.Channel: which targets fit depends on the bridge,
// such as on whether it has a topic of its own.
func (c *channel) CheckTarget(t bridges.Target) error { return c.config.CheckTarget(t) }

// Own implements bridges.Channel.
func (c *channel) Own(t bridges.Target) bool {
	return t == (bridges.Target{}) || t == bridges.Target{Topic: c.config.Topic}
}

// Timeout implements bridges.Channel.
func (c *channel) Timeout() time.Duration {
	if c.config.Kind == bridges.KindCommand {
		return cmp.Or(c.config.Timeout, commandTime)
	}
	return attemptTime
}

// The public services.
const (
	defaultNtfy   = "https://ntfy.sh"
	defaultSlack  = "https://slack.com/api"
	defaultGitHub = "https://api.github.com"
)

// members are the members that a kind has, besides kind.
var members = map[bridges.Kind][]string{
	bridges.KindWebhook: {"allow_private", "url", "secret"},
	bridges.KindNtfy:    {"allow_private", "server", "topic", "token", "targets"},
	bridges.KindSlack:   {"allow_private", "api_url", "webhook_url", "token", "targets"},
	bridges.KindGitHub:  {"allow_private", "api_url", "token", "targets"},
	bridges.KindCommand: {"command", "timeout_seconds"},
}

// MaxTimeout and minTimeout bound a program's time.
const (
	minTimeout = time.Second
	MaxTimeout = 10 * time.Minute
)

// Check checks all members. The error is a *turns.InvalidError that names the
// member as the configuration and bridge/create do. It has no secret.
func (c *Config) Check() error {
	if err := c.checkMembers(); err != nil {
		return err
	}
	if !c.Configured {
		for member, set := range map[string]bool{"kind": c.Kind == bridges.KindCommand, "allow_private": c.AllowPrivate} {
			if set {
				return turns.Invalid(member, turns.ReasonInvalid, "only a bridge in the configuration may have that")
			}
		}
	}
	var err error
	switch c.Kind {
	case bridges.KindWebhook:
		err = c.checkWebhook()
	case bridges.KindNtfy:
		err = c.checkNtfy()
	case bridges.KindSlack:
		err = c.checkSlack()
	case bridges.KindGitHub:
		err = c.checkGitHub()
	default:
		err = c.checkCommand()
	}
	return cmp.Or(err, c.checkTargets())
}

// checkTargets checks each of Targets as CheckTarget does.
func (c *Config) checkTargets() error {
	if len(c.Targets) > bridges.MaxTargets {
		return turns.Invalid("targets", turns.ReasonTooLarge, "at most %d", bridges.MaxTargets)
	}
	for i, t := range c.Targets {
		at := fmt.Sprintf("targets[%d]", i)
		if t == (bridges.Target{}) {
			return turns.Invalid(at, turns.ReasonRequired, "name a target: the bridge's own needs no entry")
		}
		if bad, ok := errors.AsType[*turns.InvalidError](c.CheckTarget(t)); ok {
			return turns.Invalid(at+strings.TrimPrefix(bad.Field, "target"), bad.Reason, "%s", bad.Text)
		}
	}
	return nil
}

// checkMembers refuses members that the kind does not have: they would have no
// effect.
func (c *Config) checkMembers() error {
	has, ok := members[c.Kind]
	if !ok {
		return turns.Invalid("kind", turns.ReasonUnknown, "it must be one of %v", bridges.Kinds)
	}
	secret := "token"
	if slices.Contains(has, "secret") {
		secret = "secret"
	}
	for _, m := range []struct {
		name string
		set  bool
	}{
		{"allow_private", c.AllowPrivate}, {"url", c.URL != ""}, {"server", c.Server != ""}, {"topic", c.Topic != ""}, {"api_url", c.APIURL != ""},
		{"webhook_url", c.WebhookURL != ""}, {"command", len(c.Command) > 0}, {"timeout_seconds", c.Timeout != 0}, {"targets", len(c.Targets) > 0},
		{secret, c.Secret != "" || c.Previous != ""},
	} {
		if m.set && !slices.Contains(has, m.name) {
			return turns.Invalid(m.name, turns.ReasonUnknown, "a bridge of kind %s has no such member", c.Kind)
		}
	}
	return nil
}

func (c *Config) checkWebhook() error {
	if c.URL == "" {
		return turns.Invalid("url", turns.ReasonRequired, "give the URL that webhooks are sent to")
	}
	if _, err := c.checkURL("url", c.URL); err != nil {
		return err
	}
	if c.Secret == "" {
		return turns.Invalid("secret", turns.ReasonRequired, "without a secret the receiver cannot tell who sent a webhook")
	}
	for _, s := range []string{c.Secret, c.Previous} {
		if s == "" {
			continue
		}
		if key, err := webhookKey(s); err != nil || len(key) < 24 || len(key) > 64 {
			return turns.Invalid("secret", turns.ReasonInvalid, "a secret of Standard Webhooks is whsec_ and the Base64 of 24 to 64 bytes")
		}
	}
	return nil
}

// NewWebhookSecret makes a secret of Standard Webhooks.
func NewWebhookSecret() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

var topicForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (c *Config) checkNtfy() error {
	u, err := c.checkURL("server", cmp.Or(c.Server, defaultNtfy))
	if err != nil {
		return err
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" {
		return turns.Invalid("server", turns.ReasonInvalid, "give the address of the server alone; the topic is a member of its own")
	}
	if c.Topic != "" && !topicForm.MatchString(c.Topic) {
		return turns.Invalid("topic", turns.ReasonInvalid, "a topic has 1 to 64 of A-Z a-z 0-9 _ -")
	}
	return c.checkToken(false)
}

func (c *Config) checkSlack() error {
	if (c.Secret == "") == (c.WebhookURL == "") {
		return turns.Invalid("token", turns.ReasonRequired, "give the token of a bot, or a webhook_url")
	}
	if c.WebhookURL != "" {
		if c.APIURL != "" {
			return turns.Invalid("api_url", turns.ReasonInvalid, "a bridge with a webhook_url calls no API")
		}
		_, err := c.checkURL("webhook_url", c.WebhookURL)
		return err
	}
	return cmp.Or(c.checkBase(defaultSlack), c.checkToken(true))
}

func (c *Config) checkGitHub() error { return cmp.Or(c.checkBase(defaultGitHub), c.checkToken(true)) }

// checkBase checks api_url.
func (c *Config) checkBase(otherwise string) error {
	u, err := c.checkURL("api_url", cmp.Or(c.APIURL, otherwise))
	if err == nil && u.RawQuery != "" {
		err = turns.Invalid("api_url", turns.ReasonInvalid, "it must have no query")
	}
	return err
}

// checkToken checks what becomes the value of a header.
func (c *Config) checkToken(required bool) error {
	if c.Secret == "" {
		if required {
			return turns.Invalid("token", turns.ReasonRequired, "give the token with which to call %s", c.Kind)
		}
		return nil
	}
	if len(c.Secret) < 8 || len(c.Secret) > 4096 || strings.IndexFunc(c.Secret, func(r rune) bool { return r <= ' ' || r >= 0x7f }) >= 0 {
		return turns.Invalid("token", turns.ReasonInvalid, "a token has 8 to 4096 visible characters of ASCII and no spaces")
	}
	return nil
}

func (c *Config) checkCommand() error {
	if len(c.Command) == 0 || c.Command[0] == "" {
		return turns.Invalid("command", turns.ReasonRequired, `give the program and its arguments, as in ["notify-me", "--urgent"]`)
	}
	for _, arg := range c.Command {
		if strings.ContainsRune(arg, 0) {
			return turns.Invalid("command", turns.ReasonInvalid, "it holds a NUL byte")
		}
	}
	if c.Timeout != 0 && (c.Timeout < minTimeout || c.Timeout > MaxTimeout) {
		return turns.Invalid("timeout_seconds", turns.ReasonRange, "it must be from %d to %d", minTimeout/time.Second, MaxTimeout/time.Second)
	}
	return nil
}

// The forms of targets.
var (
	// channelForm is an id or a name of a channel.
	channelForm    = regexp.MustCompile(`^#?[^\s#<>&@"'\x00-\x1f]{1,80}$`)
	threadTSForm   = regexp.MustCompile(`^[0-9]{1,12}\.[0-9]{1,6}$`)
	repositoryForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,99}/[A-Za-z0-9._-]{1,100}$`)
)

// CheckTarget checks where a subscription sends through this bridge. The error is a
// *turns.InvalidError that names the member, such as target.channel.
func (c *Config) CheckTarget(t bridges.Target) error {
	has := map[bridges.Kind][]string{
		bridges.KindNtfy: {"topic"}, bridges.KindSlack: {"channel", "thread_ts"}, bridges.KindGitHub: {"repository", "number"},
	}[c.Kind]
	if c.WebhookURL != "" {
		has = []string{"thread_ts"} // the webhook decides the channel
	}
	for _, m := range []struct {
		name string
		set  bool
	}{
		{"topic", t.Topic != ""}, {"channel", t.Channel != ""}, {"thread_ts", t.ThreadTS != ""}, {"repository", t.Repository != ""}, {"number", t.Number != 0},
	} {
		if m.set && !slices.Contains(has, m.name) {
			return turns.Invalid("target."+m.name, turns.ReasonUnknown, "the targets of this bridge have no such member")
		}
	}
	bad := func(member, reason, text string) error { return turns.Invalid("target."+member, reason, "%s", text) }
	switch c.Kind {
	case bridges.KindNtfy:
		if t.Topic == "" && c.Topic == "" {
			return bad("topic", turns.ReasonRequired, "the bridge has no topic: give one")
		}
		if t.Topic != "" && !topicForm.MatchString(t.Topic) {
			return bad("topic", turns.ReasonInvalid, "a topic has 1 to 64 of A-Z a-z 0-9 _ -")
		}
	case bridges.KindSlack:
		if t.Channel == "" && c.WebhookURL == "" {
			return bad("channel", turns.ReasonRequired, "give the id or the name of a channel")
		}
		if t.Channel != "" && !channelForm.MatchString(t.Channel) {
			return bad("channel", turns.ReasonInvalid, "give the id of a channel, such as C012AB3CD, or its name")
		}
		if t.ThreadTS != "" && !threadTSForm.MatchString(t.ThreadTS) {
			return bad("thread_ts", turns.ReasonInvalid, "it is the ts of a message, such as 1405894322.002768")
		}
	case bridges.KindGitHub:
		if t.Repository == "" {
			return bad("repository", turns.ReasonRequired, "give owner/name")
		}
		owner, name, _ := strings.Cut(t.Repository, "/")
		if !repositoryForm.MatchString(t.Repository) || owner == "" || name == "." || name == ".." {
			return bad("repository", turns.ReasonInvalid, "give owner/name")
		}
		switch {
		case t.Number == 0: // absent
			return bad("number", turns.ReasonRequired, "give the number of an issue or a pull request")
		case t.Number < 0:
			return bad("number", turns.ReasonRange, "the numbers of issues and pull requests begin at 1")
		}
	}
	return nil
}

// mustURL parses a URL that Check has checked.
func mustURL(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic("a URL that was checked cannot be parsed")
	}
	return u
}
