package bridges

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// secretForms are texts with a secret, which is what stands between ‹ and ›.
var secretForms = []string{
	`Authorization: Bearer ‹abc123›`,
	`curl -H "Authorization: Bearer ‹s3cr3t-with-dashes›" https://x`,
	`Authorization: Basic ‹dXNlcjpwYXNzd29yZA==›`,
	`authorization: token ‹abcdefgh›`,
	`use bearer ‹0123456789abcdef› here`,
	`key ‹sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAA› end`,
	`key ‹sk-proj-abcdefghijklmnop1234› end`,
	`‹ghp_abcdefghijklmnopqrstuvwxyz0123456789›`,
	`‹ghs_abcdefghijklmnopqrstuvwxyz0123456789›`,
	`‹github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz›`,
	`‹glpat-abcdefghijklmnopqrst›`,
	`‹xoxb-1234567890-abcdefghij›`, `‹xapp-1-A0123-456-abcdef›`,
	`https://hooks.slack.com/services/‹T000/B000/XXXXXXXXXXXX›`,
	`AWS ‹AKIAIOSFODNN7EXAMPLE›`,
	`‹AIzaSyA0123456789abcdefghijklmnopqrstuvw›`,
	`‹whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw›`,
	`‹tk_abcdefghijklmnopqrstuvwxyz012›`,
	`‹holon_agent_abcdefghijklmnopqrstuvwx›`,
	`‹eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123›`,
	"‹-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----› after",
	"‹-----BEGIN OPENSSH PRIVATE KEY-----\nMIIE without an end›",
	`postgres://user:‹hunter2›@db/x`,
	`{"password":"‹hunter2›","user":"x"}`,
	`{"client_secret": "‹a b c›"}`,
	`{"accessToken":"‹with \n escape›"}`,
	`{"text":"{\"api_key\":\"‹abc›\"}"}`,
	`DB_PASSWORD=‹hunter2› make`,
	`password: ‹hunter2›`,
	`password = '‹hunter 2›'`,
	`https://x/?access_token=‹abc›&page=2`,
	`Set-Cookie: ‹session=abc›; Path=/`,
	`api-key: ‹abc›`, `secret => ‹abc›`,
}

func TestSecretsOfKnownFormsAreRemoved(t *testing.T) {
	for _, form := range secretForms {
		before, rest, _ := strings.Cut(form, "‹")
		secret, after, _ := strings.Cut(rest, "›")
		got := Redact(before + secret + after)
		if strings.Contains(got, secret) || !strings.Contains(got, Redacted) {
			t.Errorf("%s\nbecomes %s", form, got)
		}
		if !strings.HasPrefix(got, strings.TrimSuffix(before, `"`)) || !strings.HasSuffix(got, after) {
			t.Errorf("%s\nloses what is around it: %s", form, got)
		}
	}
}

func TestWhatIsNoSecretStays(t *testing.T) {
	for _, s := range []string{
		"", "The tests pass.", `{"usage":{"input_tokens":1200,"output_tokens":15}}`, "max_tokens = 4096", "a bearer certificate",
		"Basic knowledge of Go", "tokens: none", `"token":null`, "the secret of success", "see https://example.com/a:b@c", "mail me@example.com",
		"sk-learn", "password:", "https://hooks.slack.com/docs", "ghost_writer", "a cookie, a token and a password",
	} {
		if got := Redact(s); got != s {
			t.Errorf("%q becomes %q", s, got)
		}
	}
}

func TestRedactIsDoneOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			b.WriteString(rapid.OneOf(
				rapid.SampledFrom(secretForms), rapid.StringMatching(`[ "'\\:={}\n]{0,4}`), rapid.String(), rapid.SampledFrom([]string{"token", "password=", "Bearer "}),
			).Draw(t, "part"))
		}
		once := Redact(b.String())
		if twice := Redact(once); twice != once {
			t.Fatalf("%q\nbecomes %q\nand then %q", b.String(), once, twice)
		}
	})
}

func FuzzRedact(f *testing.F) {
	for _, s := range secretForms {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Redact(s)
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Fatalf("%q becomes %q, which is no UTF-8", s, got)
		}
		if knownKeys.MatchString(got) || privateKey.MatchString(got) {
			t.Fatalf("%q becomes %q", s, got)
		}
	})
}
