package config

import (
	"errors"
	"strings"
	"testing"
)

func TestThePublicAddressHasOneForm(t *testing.T) {
	for given, want := range map[string]string{
		"https://holon.example.com": "https://holon.example.com", "https://Holon.Example.com:443/": "https://holon.example.com",
		"https://holon.example.com:8443": "https://holon.example.com:8443", "https://example.com/team/": "https://example.com/team",
		"https://[2001:db8::1]/": "https://[2001:db8::1]", "https://xn--mnchen-3ya.example": "https://xn--mnchen-3ya.example",
		"http://127.0.0.1:8080/": "http://127.0.0.1:8080", "http://localhost": "http://localhost", "http://[::1]:80": "http://[::1]", "": "",
	} {
		l, err := load(t, "", nil, "--public-url="+given)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Validate(); err != nil {
			t.Errorf("%q: %v", given, err)
		}
		if got := l.ConsoleURL(); got != want {
			t.Errorf("%q is %q, want %q", given, got, want)
		}
	}
}

func TestAServerDoesNotStartWithAPublicAddressThatNoLinkCanHave(t *testing.T) {
	for given, want := range map[string]string{
		"holon.example.com":                `"holon.example.com" is no such address; give https://HOST, the address under which browsers reach the console`,
		"/a":                               "is no such address",
		"https://":                         "is no such address",
		"https://a b.example":              "is no such address",
		"ftp://holon.example.com":          "is no such address",
		"javascript://holon.example.com":   "is no such address",
		"http://holon.example.com":         "in clear; give an https address",
		"http://127.0.0.1.example.com":     "in clear",
		"http://10.0.0.7:8080":             "in clear",
		"unix:/run/holon.sock":             "no browser opens a unix socket",
		"https://ann:SENTINEL@example.com": "leave the user and the password out",
		"https://SENTINEL@example.com":     "leave the user and the password out",
		"https://example.com/?SENTINEL":    "leave out what begins with ? or #",
		"https://example.com/#/thread/":    "leave out what begins with ? or #",
		"https://example.com/?":            "leave out what begins with ? or #",
		"https://m\u00fcnchen.example":     "write a name as xn--",
		"https://example.com/a)b":          "characters that links cannot have",
		"https://example.com/a|b":          "characters that links cannot have",
		"https://example.com/a>b":          "characters that links cannot have",
		"https://example.com/" + long(300): "it has 320 characters, and may have 256",
	} {
		l, err := load(t, "", []string{"HOLON_PUBLIC_URL=" + given})
		if err != nil {
			t.Fatal(err)
		}
		err = l.Validate()
		var bad *Error
		if !errors.As(err, &bad) || bad.Key != "public_url" || bad.Source.Place != "HOLON_PUBLIC_URL" || !strings.Contains(bad.Text, want) || strings.Contains(bad.Text, "SENTINEL") {
			t.Errorf("%q: %v, want %q", given, err, want)
		}
		if got := l.ConsoleURL(); got != "" {
			t.Errorf("%q is used as %q", given, got)
		}
	}
	l, err := load(t, "public_url = \"https://holon.example.com\"\nconsole = false\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Validate(); err == nil || !strings.Contains(err.Error(), "holon.toml:1): it is the address of the console, which is off") {
		t.Error(err)
	}
}

func long(n int) string { return strings.Repeat("a", n) }
