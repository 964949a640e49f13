package client

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestURLsOfOneServerHaveOneForm(t *testing.T) {
	t.Chdir(t.TempDir())
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for want, all := range map[string][]string{
		"https://holon.example.com":      {"https://holon.example.com", "HTTPS://Holon.EXAMPLE.com", "https://holon.example.com/", "https://holon.example.com:443", "https://holon.example.com:443//", "https://holon.example.com:"},
		"http://127.0.0.1":               {"http://127.0.0.1:80", "http://127.0.0.1/"},
		"https://holon.example.com:8443": {"https://HOLON.example.com:8443/"},
		"https://[2001:db8::1]:8443":     {"https://[2001:DB8::1]:8443"},
		"https://[::1]":                  {"https://[::1]:443"},
		"https://holon.example.com/team": {"https://holon.example.com/team/", "https://holon.example.com:443/team"},
		"unix:/run/holon.sock":           {"unix:/run/holon.sock"},
		"unix:" + dir + "/s":             {"unix:s", "unix:" + filepath.Join(dir, "s")},
	} {
		for _, raw := range all {
			if got, err := NormalURL(raw); got != want || err != nil {
				t.Errorf("%s: %q, %v, want %s", raw, got, err, want)
			}
		}
	}
}

// What is merely alike is another server: a token must not go from one to another.
func TestURLsThatAreAlikeHaveOtherForms(t *testing.T) {
	seen := map[string]string{}
	for _, raw := range []string{
		"https://holon.example.com", "http://holon.example.com", "https://holon.example.com:444", "https://holon.example.com:80",
		"http://holon.example.com:443", "https://holon.example.com.", "https://holon.example.co", "https://holon.example.com.evil.test",
		"https://evil.test/holon.example.com", "https://holon.example.com/a", "https://holon.example.com/A", "https://holon.example.com/a/b",
		"https://holon.example.com/a/../", "https://holon.example.com/%61", "https://xholon.example.com", "https://holon-example.com",
		"https://\u212Aholon.example.com", "https://kholon.example.com", "https://127.0.0.1", "https://localhost", "https://[::1]",
		"https://holon.example.com:0443", "unix:/run/holon.sock", "unix:/run/Holon.sock", "unix:/run/x/../holon.sock", "unix:/run/holon.sock/",
	} {
		form, err := NormalURL(raw)
		if other := seen[form]; err != nil || other != "" {
			t.Errorf("%s has the form %s of %s, %v", raw, form, other, err)
		}
		seen[form] = raw
	}
}

func TestURLsThatNobodyMeansAreRefusedAndNotRepeated(t *testing.T) {
	const password = "hunter2"
	for raw, want := range map[string]string{
		"https://me:" + password + "@holon.example.com":   "leave the user and the password out",
		"https://" + password + "@holon.example.com":      "leave the user and the password out",
		"https://me:" + password + "%@[holon.example.com": "leave the user and the password out",
		"https://holon.example.com?token=" + password:     "leave out what begins with ? or #",
		"https://holon.example.com#" + password:           "leave out what begins with ? or #",
		"https://holon.example.com:port":                  "server URL",
		password:                                          "give http://HOST:PORT",
		"me:" + password:                                  "give http://HOST:PORT",
		"holon.example.com:8443":                          "give http://HOST:PORT",
		"ftp://holon.example.com":                         "give http://HOST:PORT",
		"https://:8443":                                   "give http://HOST:PORT",
		"https://":                                        "give http://HOST:PORT",
		"unix:":                                           "needs the path",
		"UNIX:/run/holon.sock":                            "give http://HOST:PORT",
		"https://holon.example .com":                      "server URL",
	} {
		form, err := NormalURL(raw)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v, want %q", raw, form, err, want)
			continue
		}
		if strings.Contains(err.Error(), password) {
			t.Errorf("the error repeats what may be secret: %v", err)
		}
		if _, err := At(raw, SourceGiven, "", false)(); err == nil {
			t.Errorf("%s is taken", raw)
		}
	}
}

func TestATokenIsNotSentInClearToAnotherMachine(t *testing.T) {
	const token = "s3cret-0123456789"
	for raw, refused := range map[string]bool{
		"http://holon.example.com": true, "HTTP://holon.example.com": true, "http://10.0.0.1:8080": true, "http://0.0.0.0:8080": true,
		"http://localhost.:8080": true, "http://localhost.example.com": true, "http://127.0.0.1.example.com": true, "http://[2001:db8::1]": true,
		"http://localhost:8080": false, "http://LOCALHOST": false, "http://127.8.9.10": false, "http://[::1]:80": false,
		"unix:/run/holon.sock": false, "https://holon.example.com": false, "HTTPS://10.0.0.1": false,
	} {
		c := New(WithToken(At(raw, SourceGiven, "", false), token))
		_, err := c.Endpoint()
		var clear *ClearTextError
		if errors.As(err, &clear) != refused || !refused && err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		if refused {
			if err := c.Call(t.Context(), "initialize", nil, nil); !errors.As(err, &clear) || strings.Contains(err.Error(), token) {
				t.Errorf("%s: a call ends with %v", raw, err)
			}
		}
		if _, err := New(At(raw, SourceGiven, "", false)).Endpoint(); err != nil {
			t.Errorf("%s without a token: %v", raw, err)
		}
	}
}

func TestWhatIsNoTokenIsNotSent(t *testing.T) {
	for _, token := range []string{"two words", "Authorization: Bearer abc", "line\nfeed", "tab\t", "ümlaut", "quote\"", strings.Repeat("x", maxTokenBytes+1)} {
		_, err := New(WithToken(At("http://127.0.0.1:1", SourceGiven, "", false), token)).Endpoint()
		if err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("%.20q: %v", token, err)
		}
	}
}
