package bridges

import (
	"regexp"
	"strings"
)

// Redacted replaces a secret in a text.
const Redacted = "[redacted]"

// Forms of secrets that are recognised wherever they are in a text.
var (
	privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)
	userInfo   = regexp.MustCompile(`(://[^\s/:@"'<>]*):[^\s/@"'<>]+@`)
	slackURL   = regexp.MustCompile(`(hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/)[^\s"'<>\\]+`)
	// knownKeys are the prefixes that services give to their keys, so that they
	// are found: of Anthropic, OpenAI and Stripe, GitHub, GitLab, Slack, AWS,
	// Google, Standard Webhooks, ntfy, npm, PyPI, Hugging Face, DigitalOcean,
	// SendGrid and Holon, and JSON Web Tokens.
	knownKeys = regexp.MustCompile(`\b(?:` + strings.Join([]string{
		`sk-[A-Za-z0-9_-]{16,}`, `[sr]k_(?:live|test)_[A-Za-z0-9]{10,}`,
		`gh[a-z]_[A-Za-z0-9]{16,}`, `github_pat_[A-Za-z0-9_]{20,}`, `glpat-[A-Za-z0-9_.-]{16,}`,
		`xox[a-z]-[A-Za-z0-9-]{10,}`, `xoxe\.[A-Za-z0-9.-]{10,}`, `xapp-[A-Za-z0-9-]{10,}`,
		`A(?:KIA|SIA)[A-Z0-9]{16}`, `AIza[A-Za-z0-9_-]{35}`, `ya29\.[A-Za-z0-9_-]{20,}`,
		`whsec_[A-Za-z0-9+/_=-]{16,}`, `tk_[a-z0-9]{29}`, `npm_[A-Za-z0-9]{36}`, `pypi-[A-Za-z0-9_-]{16,}`,
		`hf_[A-Za-z0-9]{20,}`, `do[opr]_v1_[a-f0-9]{32,}`, `SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`, `holon_agent_[A-Za-z0-9_-]{16,}`,
		`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`,
	}, "|") + `)`)
	// scheme is a credential after the name of its scheme. Prose has "bearer" too,
	// so the credential must look like one.
	scheme = regexp.MustCompile(`(?i)\b(bearer|basic)((?:\s|%20)+)([A-Za-z0-9._~+/=-]{8,})`)
	// member is a member, a header, a variable or a parameter whose name says that
	// its value is a secret. Quotes may be escaped, as in JSON in JSON.
	member = regexp.MustCompile(`(?i)([A-Za-z0-9_.-]*(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|signing[_-]?key|credential|authorization|cookie)s?(?:\\*["'])?\s*(?::|=>?)\s*)` +
		`(?:(\\*")((?:[^"\\]|\\[^"])*)|(')([^']*)|((?:bearer|basic|token)\s+)?([^\s"'\\,;&<>{}()\[\]]+))`)
	harmless = regexp.MustCompile(`(?i)^(?:[0-9.]{1,12}|true|false|null|none|nil|bearer|basic|token|)$`)
)

// Redact replaces what looks like a secret: private keys, keys in the known forms
// of services, credentials after "Bearer", passwords in URLs, and the values of
// members whose name says that they are secret. It is best effort: a secret without
// a known form or name stays. It is meant for texts that leave the server, before
// they are cut. It is idempotent.
func Redact(s string) string {
	s = privateKey.ReplaceAllString(s, Redacted)
	s = slackURL.ReplaceAllString(s, "${1}"+Redacted)
	s = userInfo.ReplaceAllString(s, "${1}:"+Redacted+"@")
	s = knownKeys.ReplaceAllString(s, Redacted)
	s = replaceGroups(scheme, s, func(g []string) string {
		if !looksRandom(g[3]) {
			return g[0]
		}
		return g[1] + g[2] + Redacted
	})
	return replaceGroups(member, s, func(g []string) string {
		open, value := g[2]+g[4]+g[6], g[3]+g[5]+g[7]
		if harmless.MatchString(value) {
			return g[0]
		}
		return g[1] + open + Redacted
	})
}

// looksRandom reports whether a word looks like a credential and not like prose: it is long,
// or has other characters than letters.
func looksRandom(word string) bool {
	return len(word) >= 20 || strings.ContainsAny(word, "0123456789_+/=~")
}

// replaceGroups replaces each match by what f makes of its groups; g[0] is the
// whole match.
func replaceGroups(re *regexp.Regexp, s string, f func(g []string) string) string {
	var b strings.Builder
	end := 0
	for _, at := range re.FindAllStringSubmatchIndex(s, -1) {
		g := make([]string, len(at)/2)
		for i := range g {
			if at[2*i] >= 0 {
				g[i] = s[at[2*i]:at[2*i+1]]
			}
		}
		b.WriteString(s[end:at[0]])
		b.WriteString(f(g))
		end = at[1]
	}
	if end == 0 {
		return s
	}
	return b.String() + s[end:]
}
