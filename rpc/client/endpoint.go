package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/seed82539d15/holon/internal/host"
)

// DefaultURL is where a server listens when nothing says otherwise.
const DefaultURL = "http://127.0.0.1:8080"

// Where an Endpoint came from, in words for people.
const (
	SourceDefault = "the default address"
	SourceGiven   = "given"
)

// FromData is Endpoint.TokenFrom of the token of a data directory.
const FromData = "the data directory"

// Endpoint is the address of a server and the token for it.
type Endpoint struct {
	// URL is http://…, https://… or unix:PATH.
	URL string
	// Token is the bearer token; if empty none is sent. It is never part of an
	// error.
	Token string
	// TokenFrom says in words where the token came from, "" if there is none.
	TokenFrom string
	// LogID is the log id that the server recorded, empty if unknown.
	LogID string
	// HTTP is an address of the same server for programs that take no unix:PATH; "" = none is known.
	HTTP string
	// Source says in words where the URL came from.
	Source string
	// CA has certificates in the form of PEM: authorities that are trusted for https
	// besides those of the system. May be empty.
	CA []byte

	user uint32 // the user who owns the file of Token; 0, root, if it came from no file
}

// Resolver tells where the server is. It is called once per client and again at
// every reconnect, because a server that restarts may listen elsewhere.
type Resolver func() (Endpoint, error)

// At returns a Resolver for a given URL. The token of dataDir is sent if its
// server.json names this URL on this machine, or if sendToken says that the token is
// meant for this server. The token allows running commands, so a URL alone is no
// reason to send it: a port of this machine may lead to another one. By plain http it
// never goes there (ClearTextError). dataDir may be empty.
func At(rawURL, source, dataDir string, sendToken bool) Resolver {
	return func() (Endpoint, error) {
		if err := checkURL(rawURL); err != nil {
			return Endpoint{}, err
		}
		endpoint := Endpoint{URL: rawURL, Source: source}
		if dataDir != "" && (sendToken || isLocal(rawURL) && servedAt(dataDir, rawURL)) {
			if err := endpoint.readToken(dataDir); err != nil {
				return Endpoint{}, err
			}
		}
		return endpoint, nil
	}
}

// servedAt reports whether the server of a data directory is, or was, at a URL.
func servedAt(dataDir, rawURL string) bool {
	record, err := ReadServerFile(dataDir)
	at, wrong := NormalURL(rawURL)
	return err == nil && wrong == nil && slices.ContainsFunc(record.URLs, func(url string) bool {
		url, err := NormalURL(url)
		return err == nil && url == at
	})
}

// WithToken returns a Resolver of the same server with another token: one that was
// given for this server, such as that of an agent.
func WithToken(resolve Resolver, token string) Resolver {
	return func() (Endpoint, error) {
		endpoint, err := resolve()
		if err != nil {
			return Endpoint{}, err
		}
		endpoint.Token, endpoint.TokenFrom, endpoint.user = token, SourceGiven, 0
		return endpoint, nil
	}
}

// Discover returns a Resolver of the server that runs on a data directory. It
// reads <dataDir>/server.json, which a running server keeps there. The error is
// a *NoServerError if none runs.
func Discover(dataDir string) Resolver {
	return func() (Endpoint, error) {
		record, err := ReadServerFile(dataDir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return Endpoint{}, &NoServerError{DataDir: dataDir}
		case err != nil:
			return Endpoint{}, err
		case !record.Alive():
			return Endpoint{}, &NoServerError{DataDir: dataDir, GonePID: record.PID}
		}
		// A socket first: the kernel names the users of both ends.
		address, ok := record.first("unix:", "http://", "https://")
		if !ok {
			return Endpoint{}, fmt.Errorf("%s names no URL that a client can reach: start the server with --listen HOST:PORT or --listen unix:PATH", ServerFile(dataDir))
		}
		endpoint := Endpoint{URL: address, LogID: record.LogID, Source: ServerFile(dataDir)}
		endpoint.HTTP, _ = record.first("http://", "https://")
		if err := endpoint.readToken(dataDir); err != nil {
			return Endpoint{}, err
		}
		return endpoint, nil
	}
}

// DiscoverOrDefault works like Discover, but falls back to DefaultURL when no server
// runs on the data directory: for a directory that the user has not named. It
// is unknown whose server listens at the default address, so no token is sent
// there.
func DiscoverOrDefault(dataDir string) Resolver {
	discover := Discover(dataDir)
	return func() (Endpoint, error) {
		endpoint, err := discover()
		var none *NoServerError
		if !errors.As(err, &none) {
			return endpoint, err
		}
		endpoint = Endpoint{URL: DefaultURL, Source: SourceDefault}
		if none.GonePID != 0 {
			endpoint.Source = fmt.Sprintf("%s; process %d of %s is gone", SourceDefault, none.GonePID, ServerFile(dataDir))
		}
		return endpoint, nil
	}
}

// NoServerError says that no server runs on a data directory. GonePID is the
// process of the last one if it was killed, 0 if there is no record of one.
type NoServerError struct {
	DataDir string
	GonePID int
}

// Error names the directory.
func (e *NoServerError) Error() string {
	if e.GonePID != 0 {
		return fmt.Sprintf("no server runs on %s: process %d, which did, is gone", e.DataDir, e.GonePID)
	}
	return "no server runs on " + e.DataDir
}

// ServerRecord is what a running server writes to server.json in its data
// directory, mode 0600. A killed server leaves it behind; Alive reports whether
// the server still runs.
type ServerRecord struct {
	host.Process
	URLs  []string `json:"urls"`
	LogID string   `json:"log_id"`
	// PublicURL is the address under which browsers reach the console; "" = unknown.
	PublicURL string `json:"public_url,omitzero"`
	// LeftOut are the names of the variables that the server was started with and does not
	// pass on to its agents; nil = a server that passes them on.
	LeftOut []string `json:"left_out_environment,omitzero"`
	// Path is where the server looks for the commands of its agents; "" = unknown.
	Path string `json:"path,omitzero"`
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
		return record, fmt.Errorf("%s is damaged: it is not what a server writes there. Remove it if no server runs; one that starts writes it anew", ServerFile(dataDir))
	}
	return record, nil
}

// first returns the first URL that begins with one of these, in their order.
func (r ServerRecord) first(prefixes ...string) (string, bool) {
	for _, prefix := range prefixes {
		for _, candidate := range r.URLs {
			if strings.HasPrefix(candidate, prefix) && checkURL(candidate) == nil {
				return candidate, true
			}
		}
	}
	return "", false
}

// readToken reads the token of a data directory, or none if there is none or
// another user owns it: the server then says whether it needs one.
func (e *Endpoint) readToken(dataDir string) error {
	f, err := os.Open(filepath.Join(dataDir, "token"))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil
	case err != nil:
		return fmt.Errorf("read token: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read token: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxTokenBytes))
	if err != nil {
		return fmt.Errorf("read token: %w", err)
	}
	e.Token, e.TokenFrom = strings.TrimSpace(string(data)), FromData
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		e.user = stat.Uid
	}
	return nil
}

// maxTokenBytes is more than any token has.
const maxTokenBytes = 4 << 10
