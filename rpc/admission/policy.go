package admission

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Mode is the value of --auth: which requests have to carry the token.
type Mode string

// The three modes. The zero value of Mode is none of them and is refused by
// [Policy.Check], so that a forgotten setting admits no one.
const (
	// Auto admits the server's own user on loopback TCP (Linux) and on unix
	// sockets, and demands the token from everyone else.
	Auto Mode = "auto"
	// RequireToken demands the token on every listener.
	RequireToken Mode = "token"
	// None demands no token. The rules against browsers still hold.
	None Mode = "none"
)

// Kind says from where a listener is reachable.
type Kind int

// The kinds of listeners. The zero value is the one with the strictest rules.
const (
	// OtherTCP is reachable from other machines.
	OtherTCP Kind = iota
	// LoopbackTCP is bound to 127.0.0.0/8 or ::1.
	LoopbackTCP
	// Unix is a unix socket made by [ListenUnix].
	Unix
)

// String names the kind for messages.
func (k Kind) String() string {
	switch k {
	case LoopbackTCP:
		return "loopback"
	case Unix:
		return "unix socket"
	default:
		return "non-loopback"
	}
}

// Policy holds the rules of one listener. It is a plain value: fill it, call
// Check, then pass it to [New].
type Policy struct {
	// Mode is --auth; empty is an error.
	Mode Mode
	// Token is what RequireToken and Auto demand. Check does not look at it, so
	// that a bad command line is refused before the token file is made.
	Token Token
	// Tokens looks up a token other than the server's own: that of an agent, a named or
	// console token, or a code. mine says that the text looks like one, ok that it is
	// valid: the request then gets the returned context. It is called in every mode, None
	// too, because such a token always narrows; an invalid one is refused, never ignored.
	// It must not keep or log the text. nil: there are no such tokens.
	Tokens func(ctx context.Context, text string) (_ context.Context, mine, ok bool) `json:"-"`
	// AllowOrigins are further origins of web pages that may send requests:
	// scheme://host[:port]. Empty: only the server's own origin.
	AllowOrigins []string
	// AllowHosts are further names the server is reached by: a host, which
	// admits every port, or host:port. Empty: only the loopback names.
	AllowHosts []string
	// Listen is the address as the user wrote it, for messages only.
	Listen string
	// Kind says from where the listener is reachable; see [KindOf].
	Kind Kind
	// TLS says that the listener itself speaks TLS.
	TLS bool
	// BehindProxy says that a proxy in front ends TLS. Then the server's own
	// user needs the token too, because the proxy may run as that user.
	BehindProxy bool
}

// KindOf returns the kind of a --listen value (host:port or unix:PATH) without
// resolving names: "localhost" counts as loopback, any other name does not.
// The caller that binds a name confirms the result with [KindOfAddr].
func KindOf(listen string) (Kind, error) {
	if path, ok := strings.CutPrefix(listen, "unix:"); ok {
		if path == "" {
			return OtherTCP, errors.New(`"unix:" has no path of a socket: write unix:/run/user/1000/holon.sock, say`)
		}
		return Unix, nil
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		hint := ""
		if port, err := strconv.ParseUint(listen, 10, 16); err == nil {
			hint = fmt.Sprintf("; did you mean 127.0.0.1:%d?", port)
		}
		return OtherTCP, fmt.Errorf("%q is no address: give HOST:PORT or unix:PATH%s", listen, hint)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return OtherTCP, fmt.Errorf("%q: %q is not a port: give a number from 0 to 65535, 0 for a free one", listen, port)
	}
	if strings.EqualFold(host, "localhost") {
		return LoopbackTCP, nil
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Unmap().IsLoopback() {
		return LoopbackTCP, nil
	}
	return OtherTCP, nil
}

// KindOfAddr returns the kind of an address that is already bound. An unknown
// type of address counts as reachable from other machines.
func KindOfAddr(addr net.Addr) Kind {
	switch a := addr.(type) {
	case *net.UnixAddr:
		return Unix
	case *net.TCPAddr:
		if a.IP.IsLoopback() {
			return LoopbackTCP
		}
	}
	return OtherTCP
}

// Check returns the first reason why the policy is unsafe or unusable. The text
// says why and what to do instead; a command prints it and exits 2.
func (p Policy) Check() error {
	switch p.Mode {
	case Auto, RequireToken, None:
	default:
		return fmt.Errorf("--auth %q: want auto, token or none", string(p.Mode))
	}
	if p.Kind == OtherTCP {
		if err := p.checkReachable(); err != nil {
			return err
		}
	}
	if p.Mode == None && p.BehindProxy {
		return errors.New("--auth none with --behind-proxy lets in everyone the proxy lets in, and control of agents is code execution as you; use --auth token")
	}
	if _, err := parseAllowedOrigins(p.AllowOrigins); err != nil {
		return err
	}
	_, err := parseAllowedHosts(p.AllowHosts)
	return err
}

// checkReachable applies the rules for a listener that other machines can
// reach.
func (p Policy) checkReachable() error {
	switch {
	case p.Mode == Auto:
		return fmt.Errorf("%s is reachable from other machines, and --auth auto knows only users of this one; use --auth token, or listen on 127.0.0.1", p.Listen)
	case p.Mode == None:
		return fmt.Errorf("%s with --auth none lets every machine that reaches it run code as you; use --auth token, or listen on 127.0.0.1", p.Listen)
	case !p.TLS && !p.BehindProxy:
		return fmt.Errorf("%s would carry the token in clear text; give --tls-cert and --tls-key, or --behind-proxy if a proxy in front ends TLS, or listen on 127.0.0.1", p.Listen)
	}
	return nil
}

// Warnings returns settings that are allowed but probably not intended, one
// sentence each, for the log at start. A policy that Check refuses may return
// nothing.
func (p Policy) Warnings() []string {
	var out []string
	if p.Kind != Unix && len(p.AllowHosts) == 0 && (p.Kind == OtherTCP || p.BehindProxy) {
		out = append(out, fmt.Sprintf("--listen %s without --allow-host answers 403 to every request that names it by anything but localhost; add --allow-host NAME", p.Listen))
	}
	if p.Mode == None {
		out = append(out, fmt.Sprintf("--auth none: every local user and process that reaches %s can run code as this user", p.Listen))
	}
	return out
}
