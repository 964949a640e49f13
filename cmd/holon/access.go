package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/profiles"
	"github.com/seed82539d15/holon/rpc/admission"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/tokens"
)

// Where a token may come from, in the order in which they are looked at; the last is
// client.FromData.
const (
	fromTokenFile = "--token-file"
	fromVariable  = "HOLON_TOKEN"
	fromProfile   = "the profile"
)

// maxTokenFile bounds what is read of a token's file, in case it is another file.
const maxTokenFile = 4 << 10

// access has the credentials of a command: the token and the certificates that the
// command line and the environment give, and the profiles. It does not change.
type access struct {
	token, from string // "" if none is given for this command
	ca          []byte
	store       *profiles.Store // nil: this user has no configuration directory
}

// connectTo returns a client of the server that resolve finds, with the token and the
// certificates for it. The caller closes it.
func (g *globals) connectTo(resolve client.Resolver) (*client.Client, error) {
	a, err := g.access()
	if err != nil {
		return nil, err
	}
	g.server = client.New(a.of(resolve))
	return g.server, nil
}

// access reads what is given.
func (g *globals) access() (*access, error) {
	a := &access{}
	var err error
	switch {
	case g.tokenFile == "-":
		return nil, usagef("--token-file -: only holon login reads a token from stdin; give a file, or HOLON_TOKEN")
	case g.tokenFile != "":
		if a.token, err = tokenIn(g.tokenFile); err != nil {
			return nil, err
		}
		a.from = fromTokenFile
	default:
		if a.token = g.tokenOfEnvironment(); a.token != "" {
			a.from = fromVariable
		}
	}
	if a.ca, err = readCA(g.caFile); err != nil {
		return nil, err
	}
	if dir, err := configDir(&g.console); err == nil {
		a.store = profiles.In(dir)
	}
	return a, nil
}

// of returns a resolver of the same server that adds the credentials: the given token, or
// else that of the profile of its URL, or else what the resolver has found in the data
// directory.
func (a *access) of(resolve client.Resolver) client.Resolver {
	return func() (client.Endpoint, error) {
		endpoint, err := resolve()
		if err != nil {
			return client.Endpoint{}, err
		}
		token, from, ca := a.token, a.from, a.ca
		if token == "" || len(ca) == 0 {
			p, err := a.profile(endpoint.URL)
			if err != nil {
				return client.Endpoint{}, err
			}
			if token == "" && p.Token != "" {
				token, from = p.Token, fromProfile
			}
			if len(ca) == 0 {
				ca = []byte(p.CA)
			}
		}
		if token != "" {
			found := endpoint
			if endpoint, err = client.WithToken(func() (client.Endpoint, error) { return found, nil }, token)(); err != nil {
				return client.Endpoint{}, err
			}
			endpoint.TokenFrom = from
		}
		endpoint.CA = ca
		return endpoint, nil
	}
}

// profile returns the profile of a URL, or an empty one if there is none.
func (a *access) profile(url string) (profiles.Profile, error) {
	if a.store == nil {
		return profiles.Profile{}, nil
	}
	url, err := client.NormalURL(url)
	if err != nil {
		return profiles.Profile{}, err
	}
	p, err := a.store.Load(url)
	if errors.Is(err, fs.ErrNotExist) {
		return profiles.Profile{}, nil
	}
	return p, err
}

// tokenOfEnvironment returns HOLON_TOKEN if it is for the server of this command, else "".
// It belongs to HOLON_URL: the server gives both to an agent, whose token is sent
// where the server said and nowhere else. Without HOLON_URL it is a person's, for the
// server that the command line names.
func (g *globals) tokenOfEnvironment() string {
	token, url := g.env("HOLON_TOKEN"), g.env("HOLON_URL")
	switch {
	case g.url == "":
		return token
	case url == "" && strings.HasPrefix(token, tokens.AgentPrefix):
		return ""
	case url != "" && !client.SameURL(url, g.url):
		return ""
	}
	return token
}

// tokenIn reads a token from a file that only this user can read.
func tokenIn(path string) (string, error) {
	text, err := admission.ReadSecretFile(path, maxTokenFile)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	return checkedToken("--token-file "+path, string(text))
}

// checkedToken returns a token without the spaces around it.
func checkedToken(from, text string) (string, error) {
	token := strings.TrimSpace(text)
	if token == "" {
		return "", usagef("%s: nothing is in there", from)
	}
	if err := client.CheckToken(token); err != nil {
		return "", usagef("%s: %w", from, err)
	}
	return token, nil
}

// readCA reads the certificates of the file of --ca; nil if there is no path.
func readCA(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--ca: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, profiles.MaxCA+1))
	if err != nil {
		return nil, fmt.Errorf("--ca: %w", err)
	}
	if len(text) > profiles.MaxCA {
		return nil, usagef("--ca %s: more than %d kB are no certificates of an authority", path, profiles.MaxCA>>10)
	}
	if _, err := client.Certificates(text); err != nil {
		return nil, usagef("--ca %s: %w", path, err)
	}
	return text, nil
}

// configDir returns the user's directory for the configuration of holon.
func configDir(c *console) (string, error) {
	if dir := c.env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "holon"), nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the configuration directory: %w", err)
	}
	return filepath.Join(dir, "holon"), nil
}

// redact leaves the token of a server out of a text, which may come from a server that
// repeats what it got. The server may be nil.
func redact(server *client.Client, text string) string {
	if server == nil {
		return text
	}
	const least = 12 // a shorter one may be a part of a word
	if endpoint, err := server.Endpoint(); err == nil && len(endpoint.Token) >= least {
		text = strings.ReplaceAll(text, endpoint.Token, "[redacted]")
	}
	return text
}
