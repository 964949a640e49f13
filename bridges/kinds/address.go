package kinds

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/turns"
)

// The reasons for which no connection is made. Their texts are what
// bridges.Result.Error says.
var (
	errPrivate = errors.New("private_address")
	errOwn     = errors.New("own_address")
)

// privateV4 and privateV6 are what allow_private allows: loopback, the private
// networks, and those of providers and of overlays such as Tailscale.
var (
	privateV4 = prefixes("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
	privateV6 = prefixes("::1/128", "fc00::/7")
)

// metadata are the addresses at which clouds give credentials to every caller, as
// far as they are in a private network instead of a link-local one.
var metadata = prefixes("100.100.100.200/32", "fd00:ec2::254/128", "fd20:ce::254/128")

// The networks of the addresses that may be dialled, with and without
// allow_private. Ports are checked in the URL, which no redirect changes.
var (
	publicOnly  = ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork())
	alsoPrivate = ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork(), ssrf.WithAllowedV4Prefixes(privateV4...), ssrf.WithAllowedV6Prefixes(privateV6...))
)

func prefixes(list ...string) (all []netip.Prefix) {
	for _, p := range list {
		all = append(all, netip.MustParsePrefix(p))
	}
	return all
}

// mayDial returns errPrivate if an address must not be connected to. An IPv4
// address in IPv6 counts as the IPv4 address.
func mayDial(addr netip.Addr, allowPrivate bool) error {
	addr = addr.WithZone("").Unmap()
	if addr.IsLinkLocalUnicast() || addr.IsLinkLocalMulticast() {
		return errPrivate
	}
	for _, p := range metadata {
		if p.Contains(addr) {
			return errPrivate
		}
	}
	guard := publicOnly
	if allowPrivate {
		guard = alsoPrivate
	}
	if guard.SafeAddr(addr) != nil {
		return errPrivate
	}
	return nil
}

// guard checks each address after its name was looked up, at the moment of the
// connection. So a name that changes its address in between gains nothing.
func (c *Client) guard(allowPrivate bool) func(context.Context, string, string, syscall.RawConn) error {
	return func(_ context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return errPrivate
		}
		if c.isOwn(to) {
			return errOwn
		}
		return mayDial(to.Addr(), allowPrivate)
	}
}

// isOwn reports whether this server listens there. A listener on all addresses is
// at each address of this machine.
func (c *Client) isOwn(to netip.AddrPort) bool {
	own := c.own.Load()
	if own == nil {
		return false
	}
	addr := to.Addr().WithZone("").Unmap()
	for _, l := range *own {
		at := l.Addr().WithZone("").Unmap()
		if l.Port() == to.Port() && (at == addr || (at.IsUnspecified() || addr.IsUnspecified()) && isLocal(addr)) {
			return true
		}
	}
	return false
}

// isLocal reports whether an address is one of this machine's.
func isLocal(addr netip.Addr) bool {
	if addr.IsLoopback() || addr.IsUnspecified() {
		return true
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return true // it cannot be ruled out
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().WithZone("").Unmap() == addr {
			return true
		}
	}
	return false
}

// maxURL bounds the URL of a bridge.
const maxURL = 2048

// checkURL checks an address of a bridge; field is the member that has it. It
// refuses addresses that could be read in two ways: what one part of a program
// takes for a name, another may take for a number.
func (c *Config) checkURL(field, text string) (*url.URL, error) {
	bad := func(format string, args ...any) error {
		return turns.Invalid(field, turns.ReasonInvalid, format, args...)
	}
	if len(text) > maxURL {
		return nil, turns.Invalid(field, turns.ReasonTooLarge, "at most %d bytes", maxURL)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil: // its text would have the address
		return nil, bad("it is no URL")
	case u.Scheme == "http" && !c.AllowPrivate:
		return nil, bad("it must begin with https://; http is for bridges with allow_private")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, bad("it must begin with https://")
	case u.User != nil:
		return nil, bad("it must have no user and no password")
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		return nil, bad("it must have no fragment")
	case u.RawQuery == bridges.HiddenQuery:
		return nil, bad("reads do not show its query: give the whole URL")
	case u.Hostname() == "" || u.Opaque != "" || strings.HasSuffix(u.Host, ":"):
		return nil, bad("it has no host")
	}
	if port := u.Port(); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return nil, bad("its port is no port")
		}
		if n != 443 && !c.Configured {
			return nil, bad("other ports than 443 are for bridges in the configuration")
		}
	}
	return u, c.checkHost(field, u.Hostname())
}

// checkHost refuses an address that must not be dialled, and what might be read as
// one. Names are looked up at each connection.
func (c *Config) checkHost(field, host string) error {
	bad := func(text string) error { return turns.Invalid(field, turns.ReasonInvalid, "%s", text) }
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return bad("its address has a zone")
		}
		if mayDial(addr, c.AllowPrivate) != nil {
			if c.AllowPrivate {
				return bad("its address is link-local or reserved; bridges never connect there")
			}
			return bad("its address is private or reserved; only a bridge in the configuration may have allow_private")
		}
		return nil
	}
	name := strings.TrimSuffix(host, ".")
	labels := strings.Split(name, ".")
	last := strings.ToLower(labels[len(labels)-1])
	if last == "" || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return bad("its host is neither a name nor an IP address in the usual form")
	}
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return bad("its host is no name; give one with other letters as xn--…")
		}
	}
	return nil
}
