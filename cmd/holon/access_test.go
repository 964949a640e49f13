package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/seed82539d15/holon/internal/host"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/tokens"
)

// dataOf is a data directory with a token, whose server is at some URLs.
func dataOf(t *testing.T, token string, urls ...string) string {
	t.Helper()
	data := freshDir(t)
	if err := os.WriteFile(filepath.Join(data, "token"), []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(client.ServerRecord{Process: host.Self(), URLs: urls, LogID: "log"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(client.ServerFile(data), b, 0o600); err != nil {
		t.Fatal(err)
	}
	return data
}

func TestTheTokenComesFromTheFirstPlaceThatHasOne(t *testing.T) {
	const ofFile, ofVariable, ofProfile, ofData, ofAgent = "of-the-file-0123456789", "of-the-variable-0123456789", "of-the-profile-0123456789", "of-the-data-0123456789", tokens.AgentPrefix + "0123456789"
	w := watchRequests(t, nil, anyAnswer)
	url := w.URL
	file := secretFile(t, ofFile+"\n")
	near := map[string]string{"another port": "http://127.0.0.1:1", "another name": strings.Replace(url, "127.0.0.1", "localhost", 1), "https": strings.Replace(url, "http", "https", 1), "a path": url + "/x", "no URL": "nonsense"}
	data := dataOf(t, ofData, url)
	alone := dataOf(t, ofData, near["another port"])
	login := newUser(t)
	login.must(ofProfile, "login", url)
	logged := login.environ[1]
	const noLogin = "XDG_CONFIG_HOME=/nowhere"
	token, at := "HOLON_TOKEN="+ofVariable, "HOLON_URL="+url
	w.got()
	for _, c := range []struct {
		environ []string
		args    []string
		want    string
	}{
		{[]string{logged, token, at, "HOLON_DATA=" + data}, []string{"--token-file", file}, ofFile},
		{[]string{logged, token, at, "HOLON_DATA=" + data}, nil, ofVariable},
		{[]string{logged, token, at, "HOLON_DATA=" + data}, []string{"--url", url + "/"}, ofVariable},
		{[]string{logged, at, "HOLON_DATA=" + data}, nil, ofProfile},
		{[]string{logged, "HOLON_DATA=" + data}, []string{"--url", url}, ofProfile},
		{[]string{logged, "HOLON_DATA=" + data}, nil, ofProfile}, // found by server.json
		{[]string{noLogin, at, "HOLON_DATA=" + data}, nil, ofData},
		{[]string{noLogin, "HOLON_DATA=" + data}, nil, ofData},
		{[]string{noLogin, "HOLON_DATA=" + data}, []string{"--token-file", file}, ofFile},
		{[]string{noLogin, token, "HOLON_DATA=" + data}, nil, ofVariable},
		{[]string{noLogin, token, "HOLON_DATA=" + alone}, []string{"--url", url}, ofVariable}, // a person's, for this command

		// What belongs to one URL does not go to another.
		{[]string{noLogin, at, "HOLON_DATA=" + alone}, nil, ""},
		{[]string{noLogin, "HOLON_DATA=" + alone}, []string{"--url", url}, ""},
		{[]string{noLogin, "HOLON_DATA=" + data}, []string{"--url", near["another name"]}, ""},
		{[]string{noLogin}, []string{"--url", url, "--data", alone}, ofData}, // named for this command
		{[]string{noLogin, token, "HOLON_URL=" + near["another port"], "HOLON_DATA=" + alone}, []string{"--url", url}, ""},
		{[]string{noLogin, token, "HOLON_URL=" + near["another name"], "HOLON_DATA=" + alone}, []string{"--url", url}, ""},
		{[]string{noLogin, token, "HOLON_URL=" + near["https"], "HOLON_DATA=" + alone}, []string{"--url", url}, ""},
		{[]string{noLogin, token, "HOLON_URL=" + near["a path"], "HOLON_DATA=" + alone}, []string{"--url", url}, ""},
		{[]string{noLogin, token, "HOLON_URL=" + near["no URL"], "HOLON_DATA=" + alone}, []string{"--url", url}, ""},
		{[]string{logged, token, "HOLON_URL=" + near["another port"], "HOLON_DATA=" + alone}, []string{"--url", url}, ofProfile},
		{[]string{noLogin, "HOLON_TOKEN=" + ofAgent, "HOLON_DATA=" + alone}, []string{"--url", url}, ""},
		{[]string{noLogin, "HOLON_TOKEN=" + ofAgent, at, "HOLON_DATA=" + alone}, []string{"--url", url}, ofAgent},
		{[]string{noLogin, "HOLON_TOKEN=" + ofAgent, at, "HOLON_DATA=" + alone}, nil, ofAgent},
	} {
		p := &user{t: t, environ: c.environ}
		r := p.must("", append([]string{"call", "holon/status"}, c.args...)...)
		if got := w.got(); len(got) != 1 || got[0] != c.want {
			t.Errorf("%v %v: %q came, want %q; %+v", c.environ, c.args, got, c.want, r)
		}
	}
}

func TestNoTokenGoesToAnotherMachineInClear(t *testing.T) {
	const far = "http://192.0.2.1:8080" // TEST-NET-1, nobody's
	file := secretFile(t, "of-the-file-0123456789")
	data := dataOf(t, "of-the-data-0123456789", "http://127.0.0.1:1")
	for _, c := range []struct {
		environ, args []string
	}{
		{nil, []string{"--url", far, "--token-file", file}},
		{[]string{"HOLON_TOKEN=of-the-variable-0123456789"}, []string{"--url", far}},
		{[]string{"HOLON_TOKEN=of-the-variable-0123456789", "HOLON_URL=" + far}, nil},
		{nil, []string{"--url", far, "--data", data}},
	} {
		for _, command := range [][]string{{"status"}, {"run", "hello"}, {"watch"}, {"connect"}, {"call", "--follow", "holon/status"}, {"conformance"}, {"await", "turn_1"}, {"prune", "--before=1"}} {
			newUser(t).with(c.environ...).fails(exitFailed, "", append(command, c.args...), far+" is plain http to another machine, so the token was not sent", "ssh -N -L")
		}
	}
}

func TestARedirectTakesNoTokenAlong(t *testing.T) {
	target := watchRequests(t, nil, anyAnswer)
	moved := httptest.NewServer(http.RedirectHandler(target.URL, http.StatusTemporaryRedirect))
	defer moved.Close()
	file := secretFile(t, "of-the-file-0123456789")
	for _, command := range [][]string{{"status"}, {"run", "hello"}, {"watch"}, {"connect"}} {
		newUser(t).fails(exitFailed, "", append(command, "--url", moved.URL, "--token-file", file), "HTTP 307", "Redirects are not followed")
	}
	if got := target.got(); len(got) != 0 {
		t.Errorf("the other address got %q", got)
	}
}

// Both meanings of --token-file: before the command it is that of the server.
func TestTheTokenOfTheServerIsNotThatOfABridge(t *testing.T) {
	s, p := startRemote(t), newUser(t)
	ofBridge := secretFile(t, "github_pat_0123456789")
	p.must("", "--token-file", secretFile(t, s.token), "--ca", s.ca, "--url", s.url, "bridge", "add", "github", "--token-file", ofBridge)
	contains(t, s.want("bridge", "show", "github"), "ends in 6789\n")
	p.fails(exitUsage, "", []string{"--token-file", secretFile(t, s.token), "--ca", s.ca, "--url", s.url, "bridge", "add", "github", "second"}, "which token?")
	p.fails(exitFailed, "", []string{"--ca", s.ca, "--url", s.url, "bridge", "list"}, "unauthorized")
	p.must("", "bridge", "list", "--token-file", secretFile(t, s.token), "--ca", s.ca, "--url", s.url)
	p.fails(exitUsage, "", []string{"status", "--url", s.url, "--token-file", "-"}, "only holon login reads a token from stdin")
}

func TestNothingThatIsPrintedHasAToken(t *testing.T) {
	tokens := []string{"of-the-file-0123456789-abcd", "of-the-variable-0123456789-abcd", "of-the-profile-0123456789-abcd", "of-the-data-0123456789-abcd"}
	// A server that repeats what it got, in every place of an answer.
	echo := watchRequests(t, nil, `{"jsonrpc":"2.0","id":1,"error":{"code":-32006,"message":"wrong: AUTHORIZATION","data":{"kind":"unauthorized","field":"AUTHORIZATION"}}}`)
	page := watchRequests(t, nil, `AUTHORIZATION is not welcome`)
	fine := watchRequests(t, nil, anyAnswer)
	p := newUser(t)
	p.must(tokens[2], "login", fine.URL)
	for _, url := range []string{echo.URL, page.URL, fine.URL, "http://127.0.0.1:1"} {
		data := dataOf(t, tokens[3], url)
		for _, environ := range [][]string{nil, {"HOLON_TOKEN=" + tokens[1], "HOLON_URL=" + url}} {
			p := p.with(append(environ, "HOLON_DATA="+data)...)
			for _, args := range [][]string{{"status"}, {"run", "hello"}, {"watch", "--limit=1"}, {"connect", "--no-start"}, {"threads"}, {"call", "x"}, {"tools"}, {"doctor", "--skip-agents"}, {"config"}, {"config", "-o", "json"}, {"profiles"}, {"profiles", "-o", "json"}, {"login", url}, {"logout", url + "/x"}, {"version"}} {
				for _, more := range [][]string{nil, {"--url", url}, {"--token-file", secretFile(t, tokens[0]), "--url", url}} {
					if args[0] == "watch" && url == fine.URL || args[0] == "connect" && more == nil || args[0] == "run" && url == page.URL {
						continue // it waits, or tries again
					}
					p.types(tokens[2], append(args, more...)...)
				}
			}
			for _, token := range tokens {
				if said := p.said.String(); strings.Contains(said, token) {
					i := strings.Index(said, token)
					t.Fatalf("%s: printed: …%s…", url, said[max(0, i-300):i+len(token)])
				}
			}
		}
	}
	// Every help, with the flags and variables set.
	g := &globals{console: console{environ: []string{"HOLON_TOKEN=" + tokens[1]}}}
	var all func(c *cobra.Command)
	all = func(c *cobra.Command) {
		for _, args := range [][]string{{"--help"}, {"--token-file", secretFile(t, tokens[0]), "--help"}} {
			p.with("HOLON_TOKEN="+tokens[1]).types("", append(strings.Fields(c.CommandPath())[1:], args...)...)
		}
		for _, child := range c.Commands() {
			all(child)
		}
	}
	all(newRootCommand(g))
	for _, token := range tokens {
		if strings.Contains(p.said.String(), token) {
			t.Errorf("a help has %q", token)
		}
	}
}

// The configuration directory may be unknown: then there are no profiles.
func TestWithoutAConfigurationDirectoryThereAreNoProfiles(t *testing.T) {
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME"} {
		t.Setenv(name, "")
	}
	w := watchRequests(t, nil, anyAnswer)
	p := &user{t: t, environ: []string{"HOLON_DATA=" + freshDir(t)}}
	p.must("", "call", "holon/status", "--url", w.URL)
	p.fails(exitFailed, "", []string{"login", w.URL}, "find the configuration directory")
	p.fails(exitFailed, "", []string{"profiles"}, "find the configuration directory")
}
