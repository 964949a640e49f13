package client

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// SameURL reports whether two URLs are the same once they are normal; one that is no URL
// of a server is like no other.
func SameURL(a, b string) bool {
	a, errA := NormalURL(a)
	b, errB := NormalURL(b)
	return errA == nil && errB == nil && a == b
}

// NormalURL returns the one form of a server's URL: the scheme and the host in lower
// case, no default port, no slash at the end; the path of a socket is absolute. A
// token for one URL may go to another only if their forms are equal. A similar address
// (another port, a dot after the host, a path) has another form.
func NormalURL(raw string) (string, error) {
	if err := checkURL(raw); err != nil {
		return "", err
	}
	if path, ok := strings.CutPrefix(raw, "unix:"); ok {
		if filepath.IsAbs(path) {
			return raw, nil
		}
		dir, err := os.Getwd()
		if err != nil {
			return "", fmt.Errorf("server URL: %w", err)
		}
		return "unix:" + dir + "/" + path, nil // not cleaned: a/.. may lead elsewhere by a link
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "", fmt.Errorf("server URL: %w", withoutURL(err))
	}
	host, port := lowerASCII(u.Hostname()), u.Port()
	if strings.Contains(host, ":") {
		host = "[" + strings.ReplaceAll(host, "%", "%25") + "]"
	}
	if port != "" && (u.Scheme != "http" || port != "80") && (u.Scheme != "https" || port != "443") {
		host += ":" + port
	}
	return u.Scheme + "://" + host + strings.TrimRight(u.EscapedPath(), "/"), nil
}

// lowerASCII leaves other letters alone: some of them have an ASCII letter as their
// lower case.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// checkURL checks a URL; the error says what to give instead. It does not quote what
// may have a password, or be a token in the wrong place.
func checkURL(raw string) error {
	if path, ok := strings.CutPrefix(raw, "unix:"); ok {
		if path == "" {
			return errors.New("unix: needs the path of a socket, as in unix:/run/holon.sock")
		}
		return nil
	}
	const forms = "give http://HOST:PORT, https://HOST:PORT or unix:PATH"
	if !strings.Contains(raw, "://") {
		if _, port, err := net.SplitHostPort(raw); err == nil && port != "" && strings.Trim(port, "0123456789") == "" {
			return errors.New("server URL: http:// or https:// is missing: " + forms)
		}
		return errors.New("server URL: " + forms)
	}
	u, err := url.Parse(raw)
	switch {
	case strings.Contains(raw, "@"):
		return errors.New("server URL: leave the user and the password out, " + forms)
	case err != nil:
		return fmt.Errorf("server URL: %w", withoutURL(err))
	case (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return fmt.Errorf("server URL %q: %s", raw, forms)
	case strings.ContainsAny(raw, "?#"):
		return errors.New("server URL: leave out what begins with ? or #, " + forms)
	}
	return nil
}

// withoutURL returns an error of url.Parse without the URL in it.
func withoutURL(err error) error {
	var parse *url.Error
	if errors.As(err, &parse) {
		return parse.Err
	}
	return err
}

// isLocal reports whether a URL stays on this machine.
func isLocal(raw string) bool {
	if strings.HasPrefix(raw, "unix:") {
		return true
	}
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	host := lowerASCII(u.Hostname())
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// isTLS reports whether a certificate identifies the server.
func isTLS(raw string) bool { return strings.HasPrefix(lowerASCII(raw), "https:") }
