package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"rsc.io/qr"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/tokens"
)

// browser is a program that a desktop would open addresses with.
type browser struct{ program, seen string }

// newBrowser makes a program that writes down its arguments and its environment, and ends
// with a code.
func newBrowser(t *testing.T, code string) browser {
	t.Helper()
	dir := t.TempDir()
	b := browser{filepath.Join(dir, "browser"), filepath.Join(dir, "seen")}
	script := "#!/bin/sh\n/usr/bin/env >" + b.seen + ".env\nprintf '[%s]' \"$@\" >" + b.seen + "\nexit " + code + "\n"
	if err := os.WriteFile(b.program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return b
}

// args are the arguments of its last start; "" = it was not started.
func (b browser) args(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(b.seen)
	if err != nil {
		return ""
	}
	environ, err := os.ReadFile(b.seen + ".env")
	if err != nil || strings.Contains(string(environ), "HOLON_TOKEN") {
		t.Errorf("the browser gets HOLON_TOKEN, or: %v", err)
	}
	return string(text)
}

// person is somebody on the server's machine.
func (s *server) person(environ ...string) *user {
	s.t.Helper()
	return &user{t: s.t, environ: append([]string{"HOLON_DATA=" + s.data, "XDG_CONFIG_HOME=" + s.t.TempDir()}, environ...)}
}

func (s *server) address() string {
	s.t.Helper()
	record, err := client.ReadServerFile(s.data)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, url := range record.URLs {
		if strings.HasPrefix(url, "http") {
			return url
		}
	}
	return ""
}

// codeIn is the code in an address that was printed alone on stdout.
func codeIn(t *testing.T, r result, address string) string {
	t.Helper()
	link := strings.TrimSuffix(r.out, "\n")
	code, ok := strings.CutPrefix(link, address+"/#code=")
	if r.code != exitOK || !ok || !strings.HasPrefix(code, tokens.CodePrefix) || strings.ContainsAny(code, "\n ") {
		t.Fatalf("exit %d, %q, %q", r.code, r.out, r.err)
	}
	return code
}

func TestOpenStartsTheBrowserOnThePlainAddress(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: only Linux lets the server's user in without the token")
	}
	s := &server{t: t, data: t.TempDir()}
	s.listen = []string{"unix:" + filepath.Join(s.data, "test.sock")} // which commands prefer
	s.start()
	b := newBrowser(t, "0")
	r := s.person("BROWSER=" + b.program + ":other").holon("open")
	if want := "[" + s.address() + "/]"; r.code != exitOK || b.args(t) != want || r.out != "The console opens in your browser: "+s.address()+"/\n" || r.err != "" {
		t.Errorf("exit %d, %q, %q; the browser was given %s, want %s", r.code, r.out, r.err, b.args(t), want)
	}
	own, err := os.ReadFile(filepath.Join(s.data, "token"))
	if err != nil {
		t.Fatal(err)
	}
	r = s.person("BROWSER="+b.program+" --new %s --x", "HOLON_TOKEN="+strings.TrimSpace(string(own))).holon("open", "-o", "json")
	if want := "[--new][" + s.address() + "/][--x]"; r.code != exitOK || b.args(t) != want || oneObject(t, r.out)["opened"] != true {
		t.Errorf("exit %d, %q, %q; the browser was given %s, want %s", r.code, r.out, r.err, b.args(t), want)
	}
	if text := s.post("signin/list", `{}`); !strings.Contains(text, `"signins":[]`) {
		t.Errorf("it has signed in: %s", text)
	}
}

// TestOpenPrintsThePlainAddress where it starts no browser, but one would be let in: a code
// would give fewer rights than the user has there.
func TestOpenPrintsThePlainAddress(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: only Linux lets the server's user in without the token")
	}
	s := startServer(t)
	works, fails := newBrowser(t, "0"), newBrowser(t, "3")
	for _, c := range []struct {
		name    string
		environ []string
		says    string
	}{
		{"by ssh", []string{"BROWSER=" + works.program, "SSH_CONNECTION=192.0.2.1 1 192.0.2.2 22"}, "you are here by ssh"},
		{"no desktop", nil, "there is no desktop here"},
		{"it fails", []string{"BROWSER=" + fails.program}, "exit status 3"},
		{"it is not there", []string{"BROWSER=/nowhere/browser"}, "no such file"},
	} {
		r := s.person(c.environ...).holon("open")
		if r.code != exitOK || r.out != s.address()+"/\n" {
			t.Errorf("%s: exit %d, %q", c.name, r.code, r.out)
		}
		for _, want := range []string{"No browser was started: ", c.says, "it needs no code, and may do all that you may.", "ssh -N -L "} {
			if !strings.Contains(r.err, want) {
				t.Errorf("%s: %q is not in %q", c.name, want, r.err)
			}
		}
		o := oneObject(t, s.person(c.environ...).must("", "open", "-o", "json").out)
		if o["url"] != s.address()+"/" || o["opened"] != false || o["role"] != nil {
			t.Errorf("%s: %v", c.name, o)
		}
	}
	if text := s.post("signin/list", `{}`); !strings.Contains(text, `"signins":[]`) {
		t.Errorf("it has signed in: %s", text)
	}
	if got := works.args(t); got != "" {
		t.Errorf("a browser was started with %s", got)
	}
}

func TestOpenPrintsAnAddressThatSignsIn(t *testing.T) {
	s := startServer(t)
	s.did("thread/start", `{"thread_id":"mine","title":"Fix it"}`)
	works := newBrowser(t, "0")
	withToken := "HOLON_TOKEN=" + s.newToken("phone", "--role", "respond")
	for _, c := range []struct {
		name    string
		environ []string
		args    []string
		says    string
		makes   string // as initialize says
	}{
		{"asked for", []string{"BROWSER=" + works.program}, []string{"--print"}, "it works once, and for 12 hours at most: it may only read, but everything, also what agents print.\nFor more: --role respond, work or operate.\n", `"role":"read"}`},
		{"for less", []string{"BROWSER=" + works.program}, []string{"--role", "work", "--thread", "Fix it", "--name", "desk"}, "RUN CODE AS THE SERVER'S USER, in mine", `"parent":"owner","code":true,"role":"work","limited_to":["mine"]`},
		{"a named token", []string{"BROWSER=" + works.program, withToken}, nil, "your token is not the server's own", `"parent":"phone"`},
	} {
		r := s.person(c.environ...).holon(append([]string{"open"}, c.args...)...)
		code := codeIn(t, r, s.address())
		if !strings.Contains(r.err, c.says) || strings.Contains(r.err, code) || strings.Count(r.err, "\n") > 3 {
			t.Errorf("%s: says %q", c.name, r.err)
		}
		_, answer := s.as(code, "initialize", `{}`)
		if i := strings.Index(answer, `,"expires_at"`); i < 0 || !strings.Contains(answer[:i]+"}", c.makes) {
			t.Errorf("%s: %s", c.name, answer)
		}
		console := s.signedIn(code)
		if _, answer := s.as(console, "thread/list", `{}`); !strings.Contains(answer, `"mine"`) {
			t.Errorf("%s: %s", c.name, answer)
		}
	}
	if got := works.args(t); got != "" {
		t.Errorf("a browser was started with %s", got)
	}
	r := s.person("BROWSER="+works.program).holon("open", "--print", "-o", "json", "--public-url", "https://holon.example.com/team/")
	o := oneObject(t, r.out)
	if link, _ := o["url"].(string); !strings.HasPrefix(link, "https://holon.example.com/team/#code="+tokens.CodePrefix) || o["role"] != "read" || o["expires_at"] == nil || o["opened"] != false {
		t.Errorf("%s", r.out)
	}
}

func TestOpenSaysWhatItCannotDo(t *testing.T) {
	s := &server{t: t, data: t.TempDir()}
	s.only = []string{"unix:" + filepath.Join(s.data, "test.sock")}
	s.start()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitFailed, "--listen 127.0.0.1:8080"},
		{[]string{"--role", "owner"}, exitUsage, `"owner" is not one of read, respond, work, operate`},
		{[]string{"--public-url", "holon.example.com"}, exitUsage, `--public-url: "holon.example.com" is no such address; give https://HOST`},
		{[]string{"--public-url", "http://holon.example.com"}, exitUsage, "give an https address"},
		{[]string{"--public-url", "unix:/x"}, exitUsage, "no browser opens a unix socket"},
		{[]string{"--qr", "-o", "json"}, exitUsage, "leave -o json out"},
		{[]string{"--name", "a b", "--public-url", "https://holon.example.com"}, exitFailed, "name: a name has 1 to 32"},
		{[]string{"--thread", "nothing", "--public-url", "https://holon.example.com"}, exitFailed, "nothing"},
		{[]string{"--url", "http://127.0.0.1:1"}, exitFailed, "no server at"},
		{[]string{"now"}, exitUsage, "Try: holon open --help"},
	} {
		r := s.person().holon(append([]string{"open"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.err, c.want) || r.out != "" {
			t.Errorf("%q: exit %d, %q, %q; want %d and %q", c.args, r.code, r.out, r.err, c.code, c.want)
		}
	}
	code := codeIn(t, s.person().holon("open", "--public-url", "https://holon.example.com"), "https://holon.example.com")
	if code == "" {
		t.Error("no code")
	}
	for range tokens.MaxCodesOfParent - 1 {
		s.person().must("", "open", "--public-url", "https://holon.example.com")
	}
	if r := s.person().holon("open", "--public-url", "https://holon.example.com"); r.code != exitFailed || !strings.Contains(r.err, "try again then") {
		t.Errorf("one more: exit %d, %q", r.code, r.err)
	}
	tcp := startServer(t)
	if r := tcp.person().holon("open", "--qr"); r.code != exitUsage || !strings.Contains(r.err, "a phone does not reach "+tcp.address()) {
		t.Errorf("a phone: exit %d, %q", r.code, r.err)
	}
}

// TestOpenPrintsThePublicAddressOfTheServer, unless a flag names another one. The browser
// of this machine still gets the plain address.
func TestOpenPrintsThePublicAddressOfTheServer(t *testing.T) {
	const public = "https://holon.example.com"
	s := &server{t: t, data: t.TempDir(), change: func(c *config.Config) { c.PublicURL = "https://Holon.example.com:443/" }}
	s.start()
	other := startServer(t)
	for _, c := range []struct {
		name, want string
		args       []string
	}{
		{"asked for", public, []string{"--print"}},
		{"named by its address", public, []string{"--url", s.address()}},
		{"another one is given", "https://box.example.com", []string{"--public-url", "https://box.example.com"}},
	} {
		codeIn(t, s.person().holon(append([]string{"open"}, c.args...)...), c.want)
	}
	token, err := os.ReadFile(filepath.Join(other.data, "token"))
	if err != nil {
		t.Fatal(err)
	}
	codeIn(t, s.person("HOLON_TOKEN="+strings.TrimSpace(string(token))).holon("open", "--print", "--url", other.address()), other.address())
	if r := s.person().holon("open", "--qr"); r.code != exitOK || !strings.Contains(r.out, public+"/#code=") {
		t.Errorf("for a phone: exit %d, %q, %q", r.code, r.out, r.err)
	}
	if runtime.GOOS == "linux" {
		b := newBrowser(t, "0")
		if r := s.person("BROWSER=" + b.program).holon("open"); r.code != exitOK || b.args(t) != "["+s.address()+"/]" {
			t.Errorf("exit %d, %q, %q; the browser was given %s", r.code, r.out, r.err, b.args(t))
		}
	}
	socket := &server{t: t, data: t.TempDir(), change: func(c *config.Config) { c.PublicURL = public }}
	socket.only = []string{"unix:" + filepath.Join(socket.data, "test.sock")}
	socket.start()
	codeIn(t, socket.person().holon("open"), public)
	local := &server{t: t, data: t.TempDir(), change: func(c *config.Config) { c.PublicURL = "http://localhost:8080" }}
	local.start()
	if r := local.person().holon("open", "--qr"); r.code != exitUsage || !strings.Contains(r.err, "a phone does not reach http://localhost:8080") {
		t.Errorf("a phone: exit %d, %q", r.code, r.err)
	}
}

func TestOpenSaysThatTheConsoleIsOff(t *testing.T) {
	s := &server{t: t, data: t.TempDir(), change: func(c *config.Config) { c.Console = false }}
	s.start()
	b := newBrowser(t, "0")
	for _, args := range [][]string{{"open"}, {"open", "--print"}, {"open", "--public-url", "https://holon.example.com"}} {
		r := s.person("BROWSER=" + b.program).holon(args...)
		if r.code != exitFailed || r.out != "" || !strings.Contains(r.err, "the console of this server is off\n") || !strings.Contains(r.err, "--console=false") || b.args(t) != "" {
			t.Errorf("%q: exit %d, %q, %q; the browser was given %s", args, r.code, r.out, r.err, b.args(t))
		}
	}
	if text := s.post("initialize", `{}`); !strings.Contains(text, `"console":false`) {
		t.Error(text)
	}
	if text := startServer(t).post("initialize", `{}`); !strings.Contains(text, `"console":true`) {
		t.Error(text)
	}
}

// modules reads what drawQR has drawn: true is dark.
func modules(t *testing.T, drawn string, inverted bool) (dark [][]bool) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSuffix(drawn, "\n"), "\n") {
		line = strings.TrimSuffix(strings.TrimPrefix(line, "\x1b[30;107m"), "\x1b[0m")
		var upper, lower []bool
		for _, r := range line {
			halves, ok := map[rune][2]bool{' ': {}, '▀': {true, false}, '▄': {false, true}, '█': {true, true}}[r]
			if !ok {
				t.Fatalf("%q", line)
			}
			upper, lower = append(upper, halves[0] != inverted), append(lower, halves[1] != inverted)
		}
		dark = append(dark, upper, lower)
	}
	return dark
}

func TestTheQRCodeIsThatOfTheAddress(t *testing.T) {
	s := startServer(t)
	r := s.person().holon("open", "--qr", "--public-url", "https://holon.example.com")
	i := strings.Index(r.out, "https://")
	if r.code != exitOK || i < 0 {
		t.Fatalf("exit %d, %q, %q", r.code, r.out, r.err)
	}
	drawn, link := r.out[:i], strings.TrimSuffix(r.out[i:], "\n")
	code, err := qr.Encode(link, qr.L)
	if err != nil {
		t.Fatal(err)
	}
	for drawn, inverted := range map[string]bool{drawn: true, drawModules(code, true): false} { // no terminal: light is drawn
		dark := modules(t, drawn, inverted)
		if len(dark) < code.Size+2*quietZone || len(dark[0]) != code.Size+2*quietZone {
			t.Fatalf("%d rows of %d for %d modules", len(dark), len(dark[0]), code.Size)
		}
		for y, row := range dark {
			for x, got := range row {
				if want := code.Black(x-quietZone, y-quietZone); got != want {
					t.Fatalf("inverted %v: the module %d, %d is dark: %v, want %v", inverted, x, y, got, want)
				}
			}
		}
	}
	if _, err := (&console{out: &buffer{}}).drawQR(strings.Repeat("x", 10_000)); err == nil {
		t.Error("an address that is too long is drawn")
	}
}
