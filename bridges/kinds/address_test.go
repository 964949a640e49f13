package kinds

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/turns"
)

// never are addresses that no bridge connects to, whatever it may.
var never = []string{
	"169.254.169.254", "169.254.0.1", "fe80::1", "fe80::a9fe:a9fe", "::ffff:169.254.169.254", // link-local: metadata of clouds
	"100.100.100.200", "fd00:ec2::254", "fd20:ce::254", // metadata in private networks
	"0.0.0.0", "::", "0.1.2.3", "255.255.255.255", "224.0.0.1", "ff02::1", "240.0.0.1",
	"192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "192.88.99.1",
	"::127.0.0.1", "::7f00:1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", // IPv4-compatible, NAT64
	"2002:7f00:1::1", "2001:0:7f00:1::1", "2001:db8::1", "fec0::1", "3fff::1", // 6to4, Teredo, documentation, site-local
	"::ffff:0:127.0.0.1", "::ffff:0.0.0.0",
}

// private are those that allow_private allows.
var private = []string{
	"127.0.0.1", "127.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.127.255.254",
	"::1", "fc00::1", "fd12:3456::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
}

var public = []string{"1.1.1.1", "8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "2606:4700::1111", "2a00::1", "::ffff:8.8.8.8"}

func TestAddressesThatMayBeConnectedTo(t *testing.T) {
	for _, c := range []struct {
		list                 []string
		without, withPrivate bool
	}{{never, false, false}, {private, false, true}, {public, true, true}} {
		for _, text := range c.list {
			for _, zone := range []string{"", "eth0"} {
				addr := netip.MustParseAddr(text)
				if zone != "" && (addr.Is4() || addr.Is4In6()) {
					continue
				}
				addr = addr.WithZone(zone)
				if got := mayDial(addr, false) == nil; got != c.without {
					t.Errorf("%v may be dialled: %v, want %v", addr, got, c.without)
				}
				if got := mayDial(addr, true) == nil; got != c.withPrivate {
					t.Errorf("%v may be dialled with allow_private: %v, want %v", addr, got, c.withPrivate)
				}
			}
		}
	}
}

// urls are URLs of a host in all places where a bridge has one.
func urls(host string) map[string]Config {
	base := "https://" + host
	return map[string]Config{
		"url":         {Kind: bridges.KindWebhook, URL: base + "/x", Secret: NewWebhookSecret()},
		"server":      {Kind: bridges.KindNtfy, Server: base, Topic: "t"},
		"webhook_url": {Kind: bridges.KindSlack, WebhookURL: base + "/services/x"},
		"api_url":     {Kind: bridges.KindGitHub, APIURL: base + "/api", Secret: "token-123"},
	}
}

// refused checks that a bridge is refused for a member.
func refused(t *testing.T, what string, c Config, field string) {
	t.Helper()
	var invalid *turns.InvalidError
	ch, err := New(c, Shared{})
	if !errors.As(err, &invalid) || invalid.Field != field || ch != nil {
		t.Errorf("%s: the error is %v, want one of %s", what, err, field)
		return
	}
	if c.Secret != "" && strings.Contains(err.Error(), c.Secret) {
		t.Errorf("%s: the error has the secret: %v", what, err)
	}
}

func host(addr string) string {
	if strings.Contains(addr, ":") {
		return "[" + addr + "]"
	}
	return addr
}

func TestLiteralAddressesAreRefusedWhenTheBridgeIsMade(t *testing.T) {
	for _, addr := range append(append([]string{}, never...), private...) {
		for field, c := range urls(host(addr)) {
			refused(t, addr, c, field)
			c.Configured = true
			refused(t, addr, c, field)
		}
	}
	for _, addr := range never {
		for field, c := range urls(host(addr)) {
			c.Configured, c.AllowPrivate = true, true
			refused(t, addr+" with allow_private", c, field)
		}
	}
	for _, addr := range private {
		for _, c := range urls(host(addr)) {
			c.Configured, c.AllowPrivate = true, true
			if err := c.Check(); err != nil {
				t.Errorf("%s with allow_private: %v", addr, err)
			}
		}
	}
	for _, name := range append(public, "example.com", "example.com.", "EXAMPLE.com", "a-b.example", "xn--bcher-kva.example", "my_host.example", "localhost") {
		for _, c := range urls(host(name)) {
			if err := c.Check(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// What some programs take for an address and others for a name is neither here,
// whatever the bridge may.
func TestOddFormsOfAddressesAreRefused(t *testing.T) {
	for _, odd := range []string{
		"2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "127.0.1", "127.0.0.01", "127.0.0.1.", "127.0.0.1..", "017700000001", "0", "1.2.3.4.5",
		"127.0.0.0x1", "256.256.256.256", "1.1.1.1.", "example.123", "[::1%25lo]", "[fe80::1%25eth0]", "[2606:4700::1111%25eth0]", "[::ffff:7f00:1", "[127.0.0.1]", "①②⑦.0.0.1", "127。0。0。1",
		"１２７.0.0.1", "exämple.com", "example..com", ".example.com", "exa mple.com", "a@example.com", "user:pass@example.com", "evil.com%00.example.com", "%31%32%37.0.0.1",
		"example.com:", "example.com:0", "example.com:99999", "example.com:8443", "example.com:443:443", "example.com\\@evil.com", "example.com#@evil.com",
		"example.com\r\nX: y", "", strings.Repeat("a", 64) + ".com", strings.Repeat("a.", 1200) + "com",
	} {
		for field, c := range urls(odd) {
			refused(t, fmt.Sprintf("%.40q", odd), c, field)
		}
	}
	for _, scheme := range []string{"ftp://example.com", "file:///etc/passwd", "//example.com", "example.com", "javascript:alert(1)", "https:example.com", "unix:///run/x", "http://example.com", " https://example.com", "https://example.com/a?…"} {
		refused(t, scheme, Config{Kind: bridges.KindWebhook, URL: scheme, Secret: NewWebhookSecret()}, "url")
	}
	c := Config{Kind: bridges.KindWebhook, URL: "http://example.com:8080/x", Secret: NewWebhookSecret(), Configured: true, AllowPrivate: true}
	if err := c.Check(); err != nil {
		t.Errorf("http and another port are for bridges in the configuration: %v", err)
	}
}

func TestTheServersOwnListenersAreRecognised(t *testing.T) {
	var here string // an address of this machine besides loopback
	if all, err := net.InterfaceAddrs(); err == nil {
		for _, a := range all {
			if p, err := netip.ParsePrefix(a.String()); err == nil && !p.Addr().IsLoopback() && p.Addr().Is4() {
				here = p.Addr().String()
			}
		}
	}
	for _, c := range []struct {
		listener, to string
		want         bool
	}{
		{"127.0.0.1:8080", "127.0.0.1:8080", true}, {"127.0.0.1:8080", "127.0.0.1:8081", false}, {"127.0.0.1:8080", "127.0.0.2:8080", false},
		{"127.0.0.1:8080", "[::ffff:127.0.0.1]:8080", true}, {"[::ffff:127.0.0.1]:8080", "127.0.0.1:8080", true}, {"127.0.0.1:8080", "0.0.0.0:8080", true},
		{"0.0.0.0:8080", "127.0.0.1:8080", true}, {"0.0.0.0:8080", "127.9.9.9:8080", true}, {"[::]:8080", "127.0.0.1:8080", true}, {"[::]:8080", "[::1]:8080", true},
		{"[::]:8080", "8.8.8.8:8080", false}, {"[::]:8080", "127.0.0.1:80", false}, {"[::1%lo]:8080", "[::1]:8080", true}, {"[::]:8080", here + ":8080", true},
	} {
		if strings.HasPrefix(c.to, ":") {
			continue // this machine has loopback only
		}
		client := NewClient(ClientConfig{})
		if client.isOwn(netip.MustParseAddrPort(c.to)) {
			t.Errorf("%s is own before any listener is known", c.to)
		}
		client.SetOwn([]netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:1"), netip.MustParseAddrPort(c.listener)})
		if got := client.isOwn(netip.MustParseAddrPort(c.to)); got != c.want {
			t.Errorf("a server at %s: %s is own: %v, want %v", c.listener, c.to, got, c.want)
		}
	}
}
