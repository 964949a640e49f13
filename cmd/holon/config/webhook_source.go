package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed82539d15/holon/hooks"
	"github.com/seed82539d15/holon/inbox"
)

// sourceKinds are all kinds of source, in the order of the documentation.
var sourceKinds = []string{hooks.KindGitHub, hooks.KindWebhook}

// WebhookSource is one configured source of webhooks. It has where its secret
// is; Hook reads the secret itself.
type WebhookSource struct {
	Kind       string
	Secret     string
	SecretFile string // an absolute path
	SecretEnv  string // the name of a variable

	// Of kind webhook.
	Verify       string
	HMACHeader   string
	HMACPrefix   string
	HMACEncoding string
	NativeID     string
	Summary      string
	ResourceRef  string
	EventFamily  string
	Variant      string
	About        string
	Outcome      string
	Immediate    string
	Breaks       string
	Filter       string
	Link         string
	LinkHosts    []string
}

// SourceKeys is the table of the keys of [sources.NAME]. The order is that of
// the documentation.
var SourceKeys = []Key[WebhookSource]{
	text("kind", "github or webhook", func(s *WebhookSource) *string { return &s.Kind }),
	hidden("secret", "the secret that the sender has as well", func(s *WebhookSource) *string { return &s.Secret }),
	text("secret_file", "a file that has the secret, absolute", func(s *WebhookSource) *string { return &s.SecretFile }),
	text("secret_env", "a variable of the server's environment that has the secret", func(s *WebhookSource) *string { return &s.SecretEnv }),

	text("verify", "standard, bearer or hmac: how a webhook proves who sent it", func(s *WebhookSource) *string { return &s.Verify }).of(hooks.KindWebhook),
	text("hmac_header", "the header with the HMAC-SHA256 of the body", func(s *WebhookSource) *string { return &s.HMACHeader }).of(hooks.KindWebhook),
	text("hmac_prefix", "what is before the HMAC in the header, such as sha256=", func(s *WebhookSource) *string { return &s.HMACPrefix }).of(hooks.KindWebhook),
	text("hmac_encoding", "hex or base64", func(s *WebhookSource) *string { return &s.HMACEncoding }).of(hooks.KindWebhook),

	expression("native_id", "the identity of an item at its sender; without it the SHA-256 of the body, for a day", func(s *WebhookSource) *string { return &s.NativeID }),
	expression("summary", "one line for people", func(s *WebhookSource) *string { return &s.Summary }),
	expression("resource_ref", "what an item is about: items are grouped by it and event_family", func(s *WebhookSource) *string { return &s.ResourceRef }),
	expression("event_family", "what kind of event an item is", func(s *WebhookSource) *string { return &s.EventFamily }),
	expression("variant", "what kind of event an item is that has no resource_ref: such items are bundled by it", func(s *WebhookSource) *string { return &s.Variant }),
	expression("about", "what an item is about within its group: the newest about the same counts", func(s *WebhookSource) *string { return &s.About }),
	expression("outcome", "what came of that, such as success", func(s *WebhookSource) *string { return &s.Outcome }),
	expression("immediate", "whether an item does not wait for further ones", func(s *WebhookSource) *string { return &s.Immediate }),
	expression("breaks", "none, before or after: whether an item ends its group", func(s *WebhookSource) *string { return &s.Breaks }),
	expression("filter", "which webhooks are stored", func(s *WebhookSource) *string { return &s.Filter }),
	expression("link", "the https address at which an item can be looked at", func(s *WebhookSource) *string { return &s.Link }),
	entry("link_hosts", List, "the hosts to which links may lead, such as ci.example.com; given if link is", func(s *WebhookSource) *[]string { return &s.LinkHosts }, asLinkHosts, same).of(hooks.KindWebhook),
}

// expression returns an expression over headers and payload. One that does not
// compile is an error of its own line.
func expression(name, help string, at func(*WebhookSource) *string) Key[WebhookSource] {
	read := func(v raw) (string, error) {
		source, err := asText(v)
		if err == nil {
			err = withoutKey(hooks.CheckExpression(name, source))
		}
		return source, err
	}
	return entry(name, Text, "an expression: "+help, at, read, same).of(hooks.KindWebhook)
}

// asLinkHosts accepts a list of hosts.
func asLinkHosts(v raw) ([]string, error) {
	hosts, err := asList(v)
	if err == nil {
		err = withoutKey(hooks.CheckLinkHosts(hosts))
	}
	return hosts, err
}

// hidden returns a text whose value is never shown.
func hidden[C any](name, help string, at func(*C) *string) Key[C] {
	return entry(name, Text, help, at, asSecret, func(v string) any {
		if v == "" {
			return ""
		}
		return "(hidden)"
	})
}

// asSecret accepts a text, and does not show what it refuses.
func asSecret(v raw) (string, error) {
	text, err := asText(v)
	if err != nil {
		return "", errors.New("give one text")
	}
	return text, nil
}

// sources are the tables [sources.NAME].
var sources = tables[WebhookSource]{
	sort: "sources", one: "a source", keys: SourceKeys,
	fresh:    func() WebhookSource { return WebhookSource{} },
	finished: WebhookSource.finished,
	at:       func(c *Config) map[string]WebhookSource { return c.Sources },
	kind: func(s WebhookSource) string {
		if slices.Contains(sourceKinds, s.Kind) {
			return s.Kind
		}
		return ""
	},
	check: func(s WebhookSource, name string, _ Source) error { return s.check(name) },
}

// finished fills in the optional parts.
func (s WebhookSource) finished(string) WebhookSource {
	if s.Verify == hooks.VerifyHMAC && s.HMACEncoding == "" {
		s.HMACEncoding = hooks.EncodingHex
	}
	return s
}

// check returns an error if the definition is invalid. It does not look for the
// secret, which only the server may be able to read.
func (s WebhookSource) check(name string) error {
	switch own := inbox.TakenForOwn(name); own {
	case "":
	case name:
		return fmt.Errorf("the name belongs to the server, as do %s", strings.Join(inbox.OwnSources, ", "))
	default:
		return fmt.Errorf("the name could be taken for %s, which belongs to the server: call it otherwise, such as %s-%s", own, name, cmp.Or(s.Kind, hooks.KindWebhook))
	}
	if s.Kind == "" {
		return fmt.Errorf(`kind is missing; give kind = "github" or kind = "webhook"`)
	}
	if err := member("kind", oneOf(s.Kind, sourceKinds...)); err != nil {
		return err
	}
	given := 0
	for _, at := range []string{s.Secret, s.SecretFile, s.SecretEnv} {
		if at != "" {
			given++
		}
	}
	switch {
	case given == 0:
		return fmt.Errorf("the secret is missing; give one of secret, secret_file and secret_env: without it nobody can tell who sent a webhook")
	case given > 1:
		return fmt.Errorf("give only one of secret, secret_file and secret_env")
	case s.SecretFile != "" && !filepath.IsAbs(s.SecretFile):
		return fmt.Errorf("secret_file %s is relative; write the whole path", quote(s.SecretFile))
	case strings.ContainsAny(s.SecretEnv, "=\x00"):
		return fmt.Errorf("secret_env %s is no name of a variable", quote(s.SecretEnv))
	}
	secret := s.Secret
	if secret == "" {
		secret = "whsec_bm90IGtub3du" // not known here
	}
	_, err := hooks.Compile(s.hook(name, secret))
	return err
}

// maxSecretBytes bounds a file with a secret.
const maxSecretBytes = 4 << 10

// Hook returns the source with its secret, which it reads from its file or from
// the environment. The error names the key and says nothing of the secret.
func (s WebhookSource) Hook(name string, getenv func(string) string) (hooks.Source, error) {
	secret := s.Secret
	switch {
	case s.SecretEnv != "":
		if secret = getenv(s.SecretEnv); secret == "" {
			return hooks.Source{}, fmt.Errorf("secret_env: the variable %s is empty or not set", s.SecretEnv)
		}
	case s.SecretFile != "":
		var err error
		if secret, err = readSecret(s.SecretFile); err != nil {
			return hooks.Source{}, fmt.Errorf("secret_file: %w", err)
		}
	}
	return s.hook(name, secret), nil
}

// readSecret reads the first line of a file that has nothing else.
func readSecret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxSecretBytes+1))
	if err != nil {
		return "", err
	}
	secret := strings.TrimRight(string(raw), "\r\n")
	switch {
	case len(raw) > maxSecretBytes:
		return "", fmt.Errorf("%s has more than %d bytes", path, maxSecretBytes)
	case secret == "":
		return "", fmt.Errorf("%s is empty", path)
	case strings.ContainsAny(secret, "\r\n"):
		return "", fmt.Errorf("%s has more than one line", path)
	}
	return secret, nil
}

func (s WebhookSource) hook(name, secret string) hooks.Source {
	return hooks.Source{
		Name: name, Kind: s.Kind, Secret: secret, Verify: s.Verify, HMACHeader: s.HMACHeader, HMACPrefix: s.HMACPrefix, HMACEncoding: s.HMACEncoding,
		NativeID: s.NativeID, Summary: s.Summary, ResourceRef: s.ResourceRef, EventFamily: s.EventFamily, Immediate: s.Immediate,
		Variant: s.Variant, About: s.About, Outcome: s.Outcome,
		Breaks: s.Breaks, Filter: s.Filter, Link: s.Link, LinkHosts: s.LinkHosts,
	}
}

// withoutKey returns an error of a source's key without the key, which the caller
// adds.
func withoutKey(err error) error {
	if bad, ok := errors.AsType[*hooks.KeyError](err); ok {
		return errors.New(bad.Text)
	}
	return err
}
