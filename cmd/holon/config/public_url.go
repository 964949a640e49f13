package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/seed82539d15/holon/rpc/client"
)

// maxPublicURL keeps the links to the console short: they are in messages of a few
// kilobytes.
const maxPublicURL = 256

// publicURLForm has the characters of an address that mean nothing in the messages of any
// bridge.
var publicURLForm = regexp.MustCompile(`^[A-Za-z0-9._~:/%\[\]-]+$`)

// NormalPublicURL returns the one form of an address under which browsers reach the
// console, without a slash at the end. The error says what to give instead; it does not
// quote what may have a password.
func NormalPublicURL(raw string) (string, error) {
	const give = "give https://HOST, the address under which browsers reach the console"
	u, err := url.Parse(raw)
	switch {
	case strings.HasPrefix(raw, "unix:"):
		return "", errors.New("no browser opens a unix socket; " + give)
	case strings.Contains(raw, "@"):
		return "", errors.New("leave the user and the password out; " + give)
	case strings.ContainsAny(raw, "?#"):
		return "", errors.New("leave out what begins with ? or #; " + give)
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return "", fmt.Errorf("%s is no such address; %s", quote(raw), give)
	case len(raw) > maxPublicURL:
		return "", fmt.Errorf("it has %d characters, and may have %d", len(raw), maxPublicURL)
	case !publicURLForm.MatchString(raw):
		return "", fmt.Errorf("%s has characters that links cannot have; write a name as xn--… and others as %%XX", quote(raw))
	}
	at, err := client.NormalURL(raw)
	if err != nil {
		return "", err
	}
	if client.MayGetToken(at) != nil {
		return "", fmt.Errorf("with %s what the browser does, and its token, would go through the network in clear; give an https address", at)
	}
	return at, nil
}

// ConsoleURL returns the address under which browsers reach the console, without a slash at the
// end; "" = PublicURL does not say it.
func (c *Config) ConsoleURL() string {
	at, err := NormalPublicURL(c.PublicURL)
	if err != nil {
		return "" // Validate says why
	}
	return at
}

func (l *Loaded) checkPublicURL() error {
	if l.PublicURL == "" {
		return nil
	}
	if _, err := NormalPublicURL(l.PublicURL); err != nil {
		return err
	}
	if !l.Console {
		return errors.New("it is the address of the console, which is off (console = false); leave one of the two out")
	}
	return nil
}
