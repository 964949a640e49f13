package admission

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// hostPort is a host as HTTP writes it, split and in one spelling: lower case,
// addresses without brackets, port 0 where none was written.
type hostPort struct {
	name string
	addr netip.Addr // valid where name is an IP address
	port uint16
}

// parseHostPort reads the value of a Host header or the authority of an origin
// (RFC 9110 section 7.2). It accepts only the one plain spelling of each host
// and nothing that a resolver or another parser could read differently: no
// userinfo, no trailing dot, no zone, no octal, hexadecimal or short IPv4, no
// IPv6 without brackets, no empty port.
func parseHostPort(s string) (hostPort, bool) {
	var h hostPort
	name, port, hasPort := s, "", false
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return h, false
		}
		name, hasPort = s[:end+1], len(s) > end+1
		if hasPort {
			if s[end+1] != ':' {
				return h, false
			}
			port = s[end+2:]
		}
	} else {
		name, port, hasPort = strings.Cut(s, ":")
	}
	if hasPort {
		n, ok := parsePort(port)
		if !ok {
			return h, false
		}
		h.port = n
	}
	return h.withName(name)
}

// withName adds the host itself, after the port has been taken off.
func (h hostPort) withName(name string) (hostPort, bool) {
	if inner, ok := strings.CutPrefix(name, "["); ok {
		ip, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !ip.Is6() || ip.Is4In6() || ip.Zone() != "" {
			return hostPort{}, false
		}
		h.name, h.addr = ip.String(), ip
		return h, true
	}
	if !validName(name) {
		return hostPort{}, false
	}
	h.name = strings.ToLower(name)
	if lastLabelIsNumber(h.name) {
		// A browser takes a name that ends in a number for an IPv4 address
		// (WHATWG URL, "ends in a number"), so it has to be one in the plain
		// spelling.
		ip, err := netip.ParseAddr(h.name)
		if err != nil || !ip.Is4() {
			return hostPort{}, false
		}
		h.addr = ip
	}
	return h, true
}

// parsePort accepts 1 to 65535 in decimal, without sign or leading zeros.
func parsePort(s string) (uint16, bool) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || s[0] == '0' || s[0] == '+' {
		return 0, false
	}
	return uint16(n), true
}

// validName checks the labels of a host name: letters, digits, hyphen and
// underscore. None is empty, so there is neither a leading nor a trailing dot.
func validName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for i := range len(label) {
			c := label[i]
			switch {
			case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
			default:
				return false
			}
		}
	}
	return true
}

// lastLabelIsNumber reports whether a browser would take the name for an IPv4
// address in some spelling: 2130706433, 127.1, 0x7f.1 and the like.
func lastLabelIsNumber(s string) bool {
	last := s[strings.LastIndexByte(s, '.')+1:]
	if strings.HasPrefix(last, "0x") {
		return strings.Trim(last[2:], "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// isLoopback reports whether the host names this machine to every client:
// localhost, 127.0.0.0/8 or ::1. Names under .localhost are not accepted, since
// not every resolver maps them to this machine.
func (h hostPort) isLoopback() bool {
	return h.name == "localhost" || h.addr.IsValid() && h.addr.IsLoopback()
}

// hostRule is one --allow-host: port 0 means every port.
type hostRule hostPort

func (r hostRule) matches(h hostPort) bool {
	return r.name == h.name && (r.port == 0 || r.port == h.port)
}

func parseAllowedHosts(list []string) ([]hostRule, error) {
	rules := make([]hostRule, 0, len(list))
	for _, s := range list {
		h, ok := parseHostPort(s)
		if !ok {
			return nil, fmt.Errorf("--allow-host %q: want a host name or address with an optional port, such as holon.example.org or [fd00::1]:8443; there are no wildcards", s)
		}
		rules = append(rules, hostRule(h))
	}
	return rules, nil
}

// origin is a web origin (RFC 6454) in one spelling, with the default port of
// http and https written out so that both spellings compare equal.
type origin struct {
	scheme, host string
	port         uint16
}

// parseOrigin reads the value of an Origin header: scheme://host[:port] and
// nothing after it. The opaque origin "null" is refused.
func parseOrigin(s string) (origin, bool) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || !validScheme(scheme) {
		return origin{}, false
	}
	h, ok := parseHostPort(rest)
	if !ok {
		return origin{}, false
	}
	return makeOrigin(strings.ToLower(scheme), h), true
}

func makeOrigin(scheme string, h hostPort) origin {
	o := origin{scheme: scheme, host: h.name, port: h.port}
	if o.port == 0 {
		switch scheme {
		case "http":
			o.port = 80
		case "https":
			o.port = 443
		}
	}
	return o
}

// validScheme accepts RFC 3986 schemes. It allows others than http and https
// because editors and desktop shells have their own (vscode-webview://…). It
// never allows file, whose pages all share one origin.
func validScheme(s string) bool {
	if s == "" || len(s) > 64 || strings.EqualFold(s, "file") {
		return false
	}
	for i := range len(s) {
		c := s[i] | 0x20
		letter := 'a' <= c && c <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", rune(s[i]))) {
			return false
		}
	}
	return true
}

func parseAllowedOrigins(list []string) (map[origin]bool, error) {
	set := make(map[origin]bool, len(list))
	for _, s := range list {
		o, ok := parseOrigin(s)
		if !ok {
			return nil, fmt.Errorf(`--allow-origin %q: want scheme://host or scheme://host:port, without a path; "*", "null" and file: cannot be allowed, every page could claim them`, s)
		}
		set[o] = true
	}
	return set, nil
}
