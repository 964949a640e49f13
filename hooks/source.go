package hooks

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/sanitize"
)

// The kinds of source.
const (
	KindGitHub  = "github"
	KindWebhook = "webhook"
)

// The ways in which a webhook proves who sent it.
const (
	VerifyStandard = "standard" // Standard Webhooks: an HMAC of id, time and body
	VerifyBearer   = "bearer"   // a token in Authorization
	VerifyHMAC     = "hmac"     // an HMAC-SHA256 of the body in a header
)

// The encodings of an HMAC.
const (
	EncodingHex    = "hex"
	EncodingBase64 = "base64"
)

// Source is the configuration of one sender. The names of its keys in the
// configuration are those of KeyError. Members after Secret belong to the kind
// webhook.
type Source struct {
	Name   string
	Kind   string
	Secret string // the secret itself, which the caller has read from a file or a variable

	Verify       string
	HMACHeader   string
	HMACPrefix   string
	HMACEncoding string // "" = hex

	// Expressions; "" = there is none.
	NativeID    string // a text or a whole number
	Summary     string // a text
	ResourceRef string // a text; "" or nil = not grouped
	EventFamily string // a text; "" or nil = not grouped
	Variant     string // a text: what kind of event it is, by which an item without a group can be grouped; "" or nil = none
	About       string // a text or a whole number: what it is about within its group; "" or nil = nothing else
	Outcome     string // a text: what came of that; "" or nil = nothing is known
	Immediate   string // true or false
	Breaks      string // none, before or after
	Filter      string // true or false; false = the webhook is not stored
	Link        string // a text: where it can be looked at; "" or nil = nowhere

	LinkHosts []string // to which links may lead; given if Link is
}

// KeyError is a key of a source that is wrong.
type KeyError struct {
	Key  string
	Text string
}

// Error implements error.
func (e *KeyError) Error() string { return e.Key + ": " + e.Text }

func keyError(key, format string, args ...any) error {
	return &KeyError{key, fmt.Sprintf(format, args...)}
}

// kinds of the results of the expressions, by key.
var kinds = map[string]reflect.Kind{
	"native_id": reflect.Interface, "summary": reflect.String, "resource_ref": reflect.String, "event_family": reflect.String,
	"variant": reflect.Interface, "about": reflect.Interface, "outcome": reflect.String,
	"immediate": reflect.Bool, "breaks": reflect.String, "filter": reflect.Bool, "link": reflect.String,
}

// CheckExpression returns a *KeyError if the expression of a key does not
// compile.
func CheckExpression(key, source string) error {
	if source == "" {
		return nil
	}
	kind, ok := kinds[key]
	if !ok {
		return keyError(key, "there is no such expression")
	}
	if _, err := compile(key, source, kind); err != nil {
		return keyError(key, "the expression does not compile: %v", err)
	}
	return nil
}

// Compiled is a source that is ready to take webhooks. It is safe for use by
// many goroutines.
type Compiled struct {
	name   string
	kind   string
	verify verifier

	nativeID, summary, resourceRef, eventFamily, variant, about, outcome, immediate, breaks, filter, link *expression

	linkHosts []string

	repository repository // github only
	runs       runs       // github only
}

// Compile checks a source and makes it ready. The error is a *KeyError.
func Compile(s Source) (*Compiled, error) {
	if !inbox.ValidSource(s.Name) || inbox.TakenForOwn(s.Name) != "" {
		return nil, keyError("name", "a source cannot be called %q", s.Name)
	}
	if s.Secret == "" {
		return nil, keyError("secret", "it is empty; without a secret nobody can tell who sent a webhook")
	}
	c := &Compiled{name: s.Name, kind: s.Kind, repository: repository{source: s.Name}, runs: runs{source: s.Name, now: time.Now}}
	switch s.Kind {
	case KindGitHub:
		c.verify = hmacVerifier{key: []byte(s.Secret), header: "X-Hub-Signature-256", prefix: "sha256=", decode: hex.DecodeString}
		if webhook := (Source{Name: s.Name, Kind: s.Kind, Secret: s.Secret}); !reflect.DeepEqual(s, webhook) {
			return nil, keyError("kind", "a source of kind github has a name and a secret only")
		}
		return c, nil
	case KindWebhook:
	default:
		return nil, keyError("kind", "it must be github or webhook")
	}
	var err error
	if c.verify, err = s.verifier(); err != nil {
		return nil, err
	}
	for _, e := range []struct {
		key, source string
		at          **expression
	}{
		{"native_id", s.NativeID, &c.nativeID}, {"summary", s.Summary, &c.summary}, {"resource_ref", s.ResourceRef, &c.resourceRef},
		{"event_family", s.EventFamily, &c.eventFamily}, {"variant", s.Variant, &c.variant}, {"about", s.About, &c.about},
		{"outcome", s.Outcome, &c.outcome}, {"immediate", s.Immediate, &c.immediate}, {"breaks", s.Breaks, &c.breaks},
		{"filter", s.Filter, &c.filter}, {"link", s.Link, &c.link},
	} {
		if e.source == "" {
			continue
		}
		if *e.at, err = compile(e.key, e.source, kinds[e.key]); err != nil {
			return nil, keyError(e.key, "the expression does not compile: %v", err)
		}
	}
	if (c.resourceRef == nil) != (c.eventFamily == nil) {
		return nil, keyError("resource_ref", "resource_ref and event_family go together: give both or neither")
	}
	if c.linkHosts = s.LinkHosts; (c.link == nil) != (len(c.linkHosts) == 0) {
		return nil, keyError("link_hosts", "link and link_hosts go together: name the hosts to which links may lead")
	}
	if err := CheckLinkHosts(s.LinkHosts); err != nil {
		return nil, err
	}
	if c.resourceRef == nil && (c.immediate != nil || c.breaks != nil) {
		return nil, keyError("immediate", "immediate and breaks are about groups: give resource_ref and event_family as well")
	}
	return c, nil
}

// maxLinkHosts bounds link_hosts.
const maxLinkHosts = 100

// CheckLinkHosts returns a *KeyError if one of these can be no host of a link.
func CheckLinkHosts(hosts []string) error {
	if len(hosts) > maxLinkHosts {
		return keyError("link_hosts", "give at most %d hosts", maxLinkHosts)
	}
	for _, host := range hosts {
		if !sanitize.ValidLinkHost(host) {
			return keyError("link_hosts", "%.80q is no host: give its whole name in lower case, such as ci.example.com or ci.example.com:8443; other scripts in their ASCII form (xn--…)", host)
		}
	}
	return nil
}

// verifier makes the verifier of a webhook source.
func (s Source) verifier() (verifier, error) {
	if s.Verify != VerifyHMAC && (s.HMACHeader != "" || s.HMACPrefix != "" || s.HMACEncoding != "") {
		return nil, keyError("verify", "hmac_header, hmac_prefix and hmac_encoding belong to verify = \"hmac\"")
	}
	switch s.Verify {
	case VerifyStandard:
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s.Secret, "whsec_"))
		if err != nil || len(key) == 0 {
			return nil, keyError("secret", "a secret of Standard Webhooks is whsec_ and base64")
		}
		return standardVerifier{key}, nil
	case VerifyBearer:
		return bearerVerifier{sha256.Sum256([]byte(s.Secret))}, nil
	case VerifyHMAC:
	case "":
		return nil, keyError("verify", "give standard, bearer or hmac")
	default:
		return nil, keyError("verify", "it must be standard, bearer or hmac")
	}
	if !headerName(s.HMACHeader) {
		return nil, keyError("hmac_header", "give the name of the header with the signature, such as X-Signature")
	}
	v := hmacVerifier{key: []byte(s.Secret), header: http.CanonicalHeaderKey(s.HMACHeader), prefix: s.HMACPrefix}
	switch cmp.Or(s.HMACEncoding, EncodingHex) {
	case EncodingHex:
		v.decode = hex.DecodeString
	case EncodingBase64:
		v.decode = base64.StdEncoding.DecodeString
	default:
		return nil, keyError("hmac_encoding", "it must be hex or base64")
	}
	return v, nil
}

// headerName reports whether s can be the name of a header.
func headerName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}
