package sanitize

import (
	"net/url"
	"strings"
	"testing"
)

func TestALinkIsHTTPSWithAHostThatPeopleCanRead(t *testing.T) {
	for address, want := range map[string]string{
		"https://github.com/octo/parser/pull/135#discussion_r1": "github.com",
		"https://github.com":                            "github.com",
		"https://github.com?x=1":                        "github.com",
		"https://GitHub.com/A":                          "github.com",
		"https://ci.example.com:8443/b?q=%22x%22&y=[1]": "ci.example.com:8443",
		"https://xn--gthub-n4a.com/":                    "xn--gthub-n4a.com", // gïthub.com: people see what it is
		"https://10.0.0.1/x":                            "10.0.0.1",
		"https://github.com/@ann/a:b":                   "github.com",
	} {
		link, host, ok := Link(address)
		if !ok || host != want || !strings.HasPrefix(link, "https://"+want) || len(link) != len(address) {
			t.Errorf("%q gives %q of %q, %v", address, link, host, ok)
		}
		if again, _, ok := Link(link); !ok || again != link {
			t.Errorf("%q is no link any more", link)
		}
	}
}

func TestWhatIsNoLink(t *testing.T) {
	for _, address := range []string{
		"", "https://", "https:///x", "https:x", "https:/x", "github.com", "//github.com/x", "http://github.com/x", "HTTPS://github.com", "Https://github.com",
		"javascript:alert(1)", "javascript://github.com/%0aalert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x", "blob:https://github.com/x",
		"https://user@github.com/x", "https://user:pw@github.com/", "https://github.com@evil.example/x", "https://github.com:x@evil.example",
		"https://@evil.example/", "https://github.com\\@evil.example", "https://evil.example\\.github.com/", "https://github.com%2f@evil.example/",
		"https://gïthub.com/", "https://github.com/ä", "https://github\u3002com/", "https://ｇithub.com/", "https://github.com/\u202egnp.exe",
		"https://github.com./x", "https://.github.com/", "https://git..hub/", "https://-x.com/", "https://github.com:/x", "https://github.com:0/", "https://github.com:443/x",
		"https://github.com:99999999/", "https://github.com:port/", "https://[::1]/", "https://git_hub.com/", "https://git%68ub.com/",
		"https://github.com/\tx", "https://git\thub.com/", "https://github.com/\nx", "\thttps://github.com/", " https://github.com/", "https://github.com/ ", "https://github.com/x y",
		"https://github.com/\x00", "https://github.com/\x7f", "https://github.com/\xff", "https://github.com/\x1b[31m", "https://github.com/\"><script>", "https://github.com/<", "https://github.com/`x`",
		"https://github.com/%zz", "https://github.com/" + strings.Repeat("a", MaxLink), "https://" + strings.Repeat("a.", 200) + "com/",
	} {
		if link, host, ok := Link(address); ok || link != "" || host != "" {
			t.Errorf("%q gives %q of %q", address, link, host)
		}
	}
	if _, _, ok := Link("https://github.com/" + strings.Repeat("a", MaxLink-len("https://github.com/"))); !ok {
		t.Error("one of the greatest length is none")
	}
}

// FuzzLink looks for an address that becomes a link with another host than programs connect to.
// fuzz: 20000x
func FuzzLink(f *testing.F) {
	for _, s := range []string{"https://github.com/x", "https://u@h/", "https://a:8443/?#", "https://a/%2e%2e/\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		link, host, ok := Link(s)
		if !ok {
			return
		}
		u, err := url.Parse(link)
		if err != nil || u.Scheme != "https" || u.Host != host || u.User != nil || Line(link, MaxLink) != link || strings.ContainsAny(link, " <>\"\\\t\n") {
			t.Errorf("%q gives %q of %q", s, link, host)
		}
	})
}
