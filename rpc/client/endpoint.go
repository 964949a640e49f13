package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// DefaultURL is where a server listens when nothing says otherwise.
const DefaultURL = "http://127.0.0.1:8080"

// Where an Endpoint came from, in words for people.
const (
	SourceDefault = "the default address"
	SourceGiven   = "given"
)

// Endpoint is a place where a server listens and what gets one in.
type Endpoint struct {
	// URL is http://…, https://… or unix:PATH.
	URL string
	// Token is the bearer token; empty sends none. It is never part of an error.
	Token string
	// LogID is what the server recorded about itself, empty if unknown.
	LogID string
	// Source says in words where the URL came from.
	Source string
}

// Resolver tells where the server is. It is asked once per client and again at
// every reconnect, because a server that restarts may listen elsewhere.
type Resolver func() (Endpoint, error)

// At returns a Resolver for a URL somebody gave. The token of dataDir goes
// along when the host is this machine, or when sendToken says that the token
// was meant for this server: it is a key to running commands, and a URL alone
// is no reason to hand it to another host. dataDir may be empty.
func At(rawURL, source, dataDir string, sendToken bool) Resolver {
	return func() (Endpoint, error) {
		if err := checkURL(rawURL); err != nil {
			return Endpoint{}, err
		}
		endpoint := Endpoint{URL: rawURL, Source: source}
		if dataDir != "" && (sendToken || isLocal(rawURL)) {
			token, err := readToken(dataDir)
			if err != nil {
				return Endpoint{}, err
			}
			endpoint.Token = token
		}
		return endpoint, nil
	}
}

// Discover returns a Resolver that reads <dataDir>/server.json, which a running
// server keeps there, and falls back to DefaultURL when there is none or its
// process is gone. Nothing vouches for who listens at the default address, so
// no token is sent there.
func Discover(dataDir string) Resolver {
	return func() (Endpoint, error) {
		record, err := ReadServerFile(dataDir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return Endpoint{URL: DefaultURL, Source: SourceDefault}, nil
		case err != nil:
			return Endpoint{}, err
		case !record.Alive():
			return Endpoint{URL: DefaultURL, Source: fmt.Sprintf(
				"%s; process %d of %s is gone", SourceDefault, record.PID, ServerFile(dataDir))}, nil
		}
		address, ok := record.best()
		if !ok {
			return Endpoint{}, fmt.Errorf("%s names no URL that a client can reach: start the server with --listen HOST:PORT or --listen unix:PATH", ServerFile(dataDir))
		}
		token, err := readToken(dataDir)
		if err != nil {
			return Endpoint{}, err
		}
		return Endpoint{URL: address, Token: token, LogID: record.LogID, Source: ServerFile(dataDir)}, nil
	}
}

// ServerRecord is what a running server writes to server.json in its data
// directory, mode 0600.
type ServerRecord struct {
	PID   int      `json:"pid"`
	URLs  []string `json:"urls"`
	LogID string   `json:"log_id"`
}

// ServerFile returns the path of a data directory's server.json.
func ServerFile(dataDir string) string { return filepath.Join(dataDir, "server.json") }

// ReadServerFile reads a data directory's server.json; the error wraps
// fs.ErrNotExist when no server has left one.
func ReadServerFile(dataDir string) (ServerRecord, error) {
	var record ServerRecord
	data, err := os.ReadFile(ServerFile(dataDir))
	if err != nil {
		return record, fmt.Errorf("read server file: %w", err)
	}
	if err := json.Unmarshal(data, &record); err != nil {
		return record, fmt.Errorf("read %s: %w", ServerFile(dataDir), err)
	}
	return record, nil
}

// Alive tells whether the recorded process exists. A process of another user
// counts: kill(2) then fails with EPERM.
func (r ServerRecord) Alive() bool {
	if r.PID <= 0 {
		return false
	}
	err := syscall.Kill(r.PID, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// best picks the URL to use: a unix socket first, because the kernel vouches
// for both sides there, then the first of HTTP.
func (r ServerRecord) best() (string, bool) {
	for _, prefix := range []string{"unix:", "http://", "https://"} {
		for _, candidate := range r.URLs {
			if strings.HasPrefix(candidate, prefix) && checkURL(candidate) == nil {
				return candidate, true
			}
		}
	}
	return "", false
}

// checkURL says what is wrong with a URL in words that help.
func checkURL(raw string) error {
	if path, ok := strings.CutPrefix(raw, "unix:"); ok {
		if path == "" {
			return errors.New("unix: needs the path of a socket, as in unix:/run/holon.sock")
		}
		return nil
	}
	u, err := url.Parse(raw)
	if err != nil {
		return fmt.Errorf("server URL: %w", err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("server URL %q: give http://HOST:PORT, https://HOST:PORT or unix:PATH", raw)
	}
	return nil
}

// isLocal tells whether a URL stays on this machine.
func isLocal(raw string) bool {
	if strings.HasPrefix(raw, "unix:") {
		return true
	}
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// readToken returns the token of a data directory, or "" when there is none or
// it belongs to somebody else: the server then says whether it wants one.
func readToken(dataDir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dataDir, "token"))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read token: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}
