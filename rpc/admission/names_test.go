package admission

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestOnlyPlainLoopbackNamesAreLoopback(t *testing.T) {
	cases := []struct {
		host     string
		valid    bool
		loopback bool
	}{
		{"localhost", true, true},
		{"LocalHost:8080", true, true},
		{"127.0.0.1", true, true},
		{"127.0.0.1:1", true, true},
		{"127.255.255.254:65535", true, true},
		{"[::1]", true, true},
		{"[::1]:8080", true, true},
		{"[0:0:0:0:0:0:0:1]:8080", true, true},

		{"example.org", true, false},
		{"localhost.example.org:8080", true, false},
		{"example.localhost", true, false},
		{"127.0.0.1.nip.io", true, false},
		{"128.0.0.1", true, false},
		{"0.0.0.0:8080", true, false},
		{"10.0.0.1", true, false},
		{"[::]", true, false},
		{"[fe80::1]", true, false},
		{"localhost-", true, false},

		{"", false, false},
		{":8080", false, false},
		{"localhost.", false, false},
		{"localhost.:8080", false, false},
		{"127.0.0.1.", false, false},
		{".localhost", false, false},
		{"local..host", false, false},
		{"localhost:", false, false},
		{"localhost:0", false, false},
		{"localhost:080", false, false},
		{"localhost:+80", false, false},
		{"localhost:-1", false, false},
		{"localhost:65536", false, false},
		{"localhost:80:80", false, false},
		{"localhost:http", false, false},
		{"localhost ", false, false},
		{" localhost", false, false},
		{"localhost\t", false, false},
		{"local host", false, false},
		{"user@localhost", false, false},
		{"user:pw@localhost:8080", false, false},
		{"localhost@example.org", false, false},
		{"localhost,example.org", false, false},
		{"localhost/", false, false},
		{"localhost#", false, false},
		{"localhost?x", false, false},
		{"http://localhost", false, false},
		{"localhost%00", false, false},
		{"loc%61lhost", false, false},
		{"ｌocalhost", false, false},
		{"localhoſt", false, false},
		{"2130706433", false, false},
		{"0x7f000001", false, false},
		{"0X7F.0.0.1", false, false},
		{"127.0.0.0x1", false, false},
		{"0177.0.0.1", false, false},
		{"127.1", false, false},
		{"127.0.1", false, false},
		{"127.0.0.01", false, false},
		{"127.0.0.256", false, false},
		{"127.0.0.1.1", false, false},
		{"example.1", false, false},
		{"::1", false, false},
		{"[::1", false, false},
		{"::1]", false, false},
		{"[::1]8080", false, false},
		{"[::1]:", false, false},
		{"[::1%lo]", false, false},
		{"[::1%25lo]:8080", false, false},
		{"[::ffff:127.0.0.1]", false, false},
		{"[127.0.0.1]", false, false},
		{"[localhost]", false, false},
		{"[]", false, false},
		{"[[::1]]", false, false},
		{strings.Repeat("a", 64), false, false},
		{strings.Repeat("a.", 130) + "a", false, false},
	}
	for _, c := range cases {
		h, ok := parseHostPort(c.host)
		if ok != c.valid || ok && h.isLoopback() != c.loopback {
			t.Errorf("%q: valid %v, loopback %v; want %v, %v", c.host, ok, ok && h.isLoopback(), c.valid, c.loopback)
		}
	}
}

func TestOriginsCompareByWhatTheyMean(t *testing.T) {
	same := [][2]string{
		{"http://localhost", "http://localhost:80"},
		{"https://Example.ORG", "https://example.org:443"},
		{"HTTP://localhost:8080", "http://localhost:8080"},
		{"http://[::1]:8080", "http://[0:0::0:1]:8080"},
		{"vscode-webview://abc123", "vscode-webview://ABC123"},
	}
	for _, c := range same {
		a, okA := parseOrigin(c[0])
		b, okB := parseOrigin(c[1])
		if !okA || !okB || a != b {
			t.Errorf("%q and %q are one origin; got %v %v and %v %v", c[0], c[1], a, okA, b, okB)
		}
	}
	differ := [][2]string{
		{"http://localhost", "https://localhost"},
		{"http://localhost:8080", "http://localhost:8081"},
		{"http://localhost:8080", "http://127.0.0.1:8080"},
		{"http://localhost", "http://localhost:443"},
		{"ws://localhost", "ws://localhost:80"},
	}
	for _, c := range differ {
		a, okA := parseOrigin(c[0])
		b, okB := parseOrigin(c[1])
		if !okA || !okB || a == b {
			t.Errorf("%q and %q are two origins; got %v %v and %v %v", c[0], c[1], a, okA, b, okB)
		}
	}
	for _, s := range []string{
		"", "null", "*", "http:", "http://", "://localhost", "localhost", "//localhost",
		"http://localhost/", "http://localhost/path", "http://localhost?x", "http://localhost#x",
		"http://u@localhost", "http://localhost.", "http://localhost:", "http://localhost:0",
		"http://*.example.org", "http://a http://b", "http://a,http://b", "file://", "file://localhost",
		"ht tp://localhost", "1http://localhost", "http://local host", "http://127.1", "http://::1",
		" http://localhost", "http://localhost ", "http://http://localhost",
	} {
		if o, ok := parseOrigin(s); ok {
			t.Errorf("%q is taken as the origin %+v", s, o)
		}
	}
}

func FuzzHostPort(f *testing.F) {
	for _, s := range []string{"localhost:8080", "[::1]:80", "127.0.0.1", "a.b-c_d:1", "0x7f.1", "[::ffff:1.2.3.4]", "localhost."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, ok := parseHostPort(s)
		if !ok {
			return
		}
		if strings.ContainsAny(s, "@/?#%\\ \t\r\n\x00,") {
			t.Fatalf("%q was taken", s)
		}
		// net/url is another parser of the same grammar: it must accept what we
		// accept, with the same host.
		u, err := url.Parse("http://" + s + "/")
		if err != nil {
			t.Fatalf("%q: net/url refuses it: %v", s, err)
		}
		host := strings.ToLower(u.Hostname())
		if ip, err := netip.ParseAddr(host); err == nil {
			if !h.addr.IsValid() || h.addr != ip {
				t.Fatalf("%q: net/url sees the address %v, we see %+v", s, ip, h)
			}
		} else if host != h.name {
			t.Fatalf("%q: net/url sees %q, we see %q", s, host, h.name)
		}
		if h.isLoopback() && host != "localhost" && !h.addr.IsLoopback() {
			t.Fatalf("%q is no loopback name", s)
		}
	})
}

func FuzzOrigin(f *testing.F) {
	for _, s := range []string{"http://localhost:8080", "null", "https://[::1]", "vscode-webview://x", "http://a.b/c", "file://x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, ok := parseOrigin(s)
		if !ok {
			return
		}
		if again, ok := parseOrigin(strings.ToUpper(s)); !ok || again != o {
			t.Fatalf("%q: %+v, in capitals %+v", s, o, again)
		}
		u, err := url.Parse(s)
		if err != nil || u.Path != "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || !strings.EqualFold(u.Scheme, o.scheme) {
			t.Fatalf("%q: net/url sees %+v (%v), we see %+v", s, u, err, o)
		}
		if strings.ContainsAny(s, "\r\n\x00") {
			t.Fatalf("%q would be echoed in a header", s)
		}
	})
}
