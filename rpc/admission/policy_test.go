package admission

import (
	"net"
	"strings"
	"testing"
)

// TestEveryCombinationOfKindModeAndShieldIsJudged covers the whole matrix, so
// that a new mode or kind cannot be added without a decision.
func TestEveryCombinationOfKindModeAndShieldIsJudged(t *testing.T) {
	for _, kind := range []Kind{OtherTCP, LoopbackTCP, Unix} {
		for _, mode := range []Mode{Auto, RequireToken, None} {
			for shield := range 4 {
				p := Policy{Mode: mode, Kind: kind, Listen: "ADDRESS", TLS: shield&1 != 0, BehindProxy: shield&2 != 0}
				safe := true
				if kind == OtherTCP {
					safe = mode == RequireToken && (p.TLS || p.BehindProxy)
				}
				if mode == None && p.BehindProxy {
					safe = false
				}
				if err := p.Check(); (err == nil) != safe {
					t.Errorf("%s, %s, tls %v, behind proxy %v: %v; want safe %v", kind, mode, p.TLS, p.BehindProxy, err, safe)
				}
			}
		}
	}
}

func TestUnsafePoliciesSayWhyAndWhatToDo(t *testing.T) {
	cases := []struct {
		name string
		p    Policy
		want []string
	}{
		{"no mode", Policy{Kind: LoopbackTCP}, []string{"auto, token or none"}},
		{"unknown mode", Policy{Mode: "off", Kind: LoopbackTCP}, []string{`"off"`, "auto, token or none"}},
		{"zero policy", Policy{}, []string{"auto, token or none"}},
		{"auto for all", Policy{Mode: Auto, Listen: "0.0.0.0:8080", TLS: true}, []string{"0.0.0.0:8080", "--auth token", "127.0.0.1"}},
		{"none for all", Policy{Mode: None, Listen: ":8080", TLS: true}, []string{":8080", "run code as you", "--auth token"}},
		{"clear text", Policy{Mode: RequireToken, Listen: "10.0.0.1:80"}, []string{"clear text", "--tls-cert", "--tls-key", "--behind-proxy"}},
		{"none behind a proxy", Policy{Mode: None, Kind: LoopbackTCP, BehindProxy: true}, []string{"--behind-proxy", "--auth token"}},
		{"any origin", Policy{Mode: Auto, Kind: LoopbackTCP, AllowOrigins: []string{"*"}}, []string{"--allow-origin", `"*"`}},
		{"null origin", Policy{Mode: Auto, Kind: LoopbackTCP, AllowOrigins: []string{"null"}}, []string{"--allow-origin", `"null"`}},
		{"origin with path", Policy{Mode: Auto, Kind: LoopbackTCP, AllowOrigins: []string{"https://a.example/"}}, []string{"without a path"}},
		{"any host", Policy{Mode: Auto, Kind: LoopbackTCP, AllowHosts: []string{"*.example.org"}}, []string{"--allow-host", "no wildcards"}},
		{"host as URL", Policy{Mode: Auto, Kind: LoopbackTCP, AllowHosts: []string{"http://a.example"}}, []string{"--allow-host"}},
		{"empty host", Policy{Mode: Auto, Kind: LoopbackTCP, AllowHosts: []string{""}}, []string{"--allow-host"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := c.p.Check()
			if err == nil {
				t.Fatal("nothing was said")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
			c.p.Token = testToken(t)
			if _, err := New(c.p); err == nil {
				t.Error("New made a gate of it")
			}
		})
	}
}

func TestGateThatMayAskForTheTokenNeedsOne(t *testing.T) {
	for mode, want := range map[Mode]bool{Auto: false, RequireToken: false, None: true} {
		if _, err := New(Policy{Mode: mode, Kind: LoopbackTCP}); (err == nil) != want {
			t.Errorf("%s without a token: %v", mode, err)
		}
	}
}

func TestKindOfListenDoubtsEveryName(t *testing.T) {
	cases := map[string]Kind{
		"127.0.0.1:8080": LoopbackTCP, "127.9.9.9:0": LoopbackTCP, "[::1]:8080": LoopbackTCP,
		"localhost:8080": LoopbackTCP, "[::ffff:127.0.0.1]:80": LoopbackTCP,
		":8080": OtherTCP, "0.0.0.0:8080": OtherTCP, "[::]:8080": OtherTCP, "10.0.0.1:80": OtherTCP,
		"example.org:80": OtherTCP, "localhost.:80": OtherTCP, "127.1:80": OtherTCP, "[::ffff:0.0.0.0]:80": OtherTCP,
		"unix:/run/holon.sock": Unix, "unix:holon.sock": Unix,
	}
	for listen, want := range cases {
		if got, err := KindOf(listen); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", listen, got, err, want)
		}
	}
	for _, listen := range []string{"", "8080", "unix:", "localhost", "::1:80", "stdio", "localhost:99999", "localhost:htp"} {
		if kind, err := KindOf(listen); err == nil {
			t.Errorf("%q is taken as %v", listen, kind)
		}
	}
}

func TestKindOfBoundAddress(t *testing.T) {
	for _, c := range []struct {
		addr net.Addr
		want Kind
	}{
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, LoopbackTCP},
		{&net.TCPAddr{IP: net.IPv6loopback}, LoopbackTCP},
		{&net.TCPAddr{IP: net.IPv6zero}, OtherTCP},
		{&net.TCPAddr{}, OtherTCP},
		{&net.UnixAddr{Name: "x"}, Unix},
		{&net.IPAddr{IP: net.IPv4(127, 0, 0, 1)}, OtherTCP},
		{nil, OtherTCP},
	} {
		if got := KindOfAddr(c.addr); got != c.want {
			t.Errorf("%v: %v, want %v", c.addr, got, c.want)
		}
	}
}

func TestWarningsNameWhatIsProbablyNotMeant(t *testing.T) {
	quiet := []Policy{
		{Mode: Auto, Kind: LoopbackTCP},
		{Mode: RequireToken, Kind: OtherTCP, TLS: true, AllowHosts: []string{"holon.example.org"}},
		{Mode: RequireToken, Kind: Unix, BehindProxy: true},
	}
	for _, p := range quiet {
		if w := p.Warnings(); len(w) != 0 {
			t.Errorf("%+v: %q", p, w)
		}
	}
	loud := []Policy{
		{Mode: None, Kind: LoopbackTCP},
		{Mode: RequireToken, Kind: OtherTCP, TLS: true},
		{Mode: RequireToken, Kind: LoopbackTCP, BehindProxy: true},
	}
	for _, p := range loud {
		if w := p.Warnings(); len(w) != 1 {
			t.Errorf("%+v: %q", p, w)
		}
	}
}
